"""Mutants of good DeepSpeed files, and what planc and DeepSpeed itself say of each.

`python -m tests.native.deepspeed_mutations [SHARE]` judges every mutant (each `SHARE`-th, spread over all), with those
of the corpus where it is, and prints what was missed and what only planc reports.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from planc.diagnostics.diagnostic import Severity
from planc.native.job import Beside, judge
from planc.native.kind import Options, Recognised
from planc.native.recognising import recognise
from planc.native.tree import Entry, Scalar
from planc.source import Source
from tests.consumers.deepspeed_world import World
from tests.native.mutating import Errors, Judge, Mutant, paths
from tests.shared import SHARED

#: Ranks of the world in which both look at a file.
WORLD = 8

#: Good files that between them have every section of DeepSpeed's own documentation.
FILES: dict[str, dict[str, Any]] = {
    "zero2": {
        "train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2,
        "gradient_clipping": 1.0, "steps_per_print": 10, "wall_clock_breakdown": False, "bf16": {"enabled": True},
        "zero_optimization": {
            "stage": 2, "overlap_comm": True, "contiguous_gradients": True, "reduce_scatter": True,
            "reduce_bucket_size": 500000000, "allgather_bucket_size": 500000000, "allgather_partitions": True,
            "offload_optimizer": {"device": "cpu", "pin_memory": True},
        },
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}},
        "scheduler": {
            "type": "WarmupDecayLR",
            "params": {"warmup_min_lr": 0, "warmup_max_lr": 1e-4, "warmup_num_steps": 100, "total_num_steps": 1000},
        },
    },
    "zero3": {
        "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 4, "prescale_gradients": False,
        "fp16": {
            "enabled": True, "loss_scale": 0, "initial_scale_power": 16, "loss_scale_window": 1000, "hysteresis": 2,
            "min_loss_scale": 1, "auto_cast": False, "consecutive_hysteresis": False,
        },
        "zero_optimization": {
            "stage": 3, "sub_group_size": 1000000000, "stage3_prefetch_bucket_size": 50000000,
            "stage3_param_persistence_threshold": 100000, "stage3_max_live_parameters": 1000000000,
            "stage3_max_reuse_distance": 1000000000, "stage3_gather_16bit_weights_on_model_save": True,
            "zero_hpz_partition_size": 1, "zero_quantized_weights": False, "round_robin_gradients": True,
            "offload_param": {"device": "nvme", "nvme_path": "/local", "buffer_count": 5, "buffer_size": 100000000},
            "offload_optimizer": {"device": "nvme", "nvme_path": "/local", "buffer_count": 4, "ratio": 1.0},
        },
        "aio": {"block_size": 1048576, "queue_depth": 8, "thread_count": 1, "single_submit": False},
        "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False,
    },
    "watched": {
        "train_batch_size": 32, "gradient_accumulation_steps": 1, "communication_data_type": "fp32",
        "seq_parallel_communication_data_type": "fp32", "disable_allgather": False,
        "zero_optimization": {"stage": 1}, "bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "fp32"},
        "activation_checkpointing": {
            "partition_activations": True, "cpu_checkpointing": False, "contiguous_memory_optimization": False,
            "number_checkpoints": 4, "synchronize_checkpoint_boundary": False, "profile": False,
        },
        "flops_profiler": {
            "enabled": True, "profile_step": 5, "module_depth": -1, "top_modules": 1, "detailed": True,
        },
        "comms_logger": {"enabled": True, "verbose": False, "prof_all": True, "debug": False},
        "tensorboard": {"enabled": True, "output_path": "logs", "job_name": "run"},
        "csv_monitor": {"enabled": False, "output_path": "logs", "job_name": "run"},
        "wandb": {"enabled": False, "project": "p"}, "dump_state": False,
        "checkpoint": {"tag_validation": "Warn", "load_universal": False, "use_node_local_storage": False},
        "data_efficiency": {"enabled": False, "seed": 1234}, "dataloader_drop_last": True,
        "tensor_parallel": {"autotp_size": 1},
    },
}  # fmt: skip

#: What DeepSpeed takes in silence and planc reports as an error: the harm, by code.
HARM = {
    "PLN062": "a key that DeepSpeed passes over: what it was meant to set keeps its default",
    "PLN015": "a rate, norm or decay below 0, betas that are no pair, or a group of no ranks: steps go the wrong way",
    "PLN063": "a value of another type or range than is meant: it fails later, or counts as something else",
    "PLN064": "the first of two equal keys does nothing",
    "PLN067": "a key in another section is passed over there",
    "PLN069": "`auto` that nothing resolves stays a text",
    "PLN070": "a path that offloading needs is asked for when the first step runs",
    "PLN075": "settings of which one is left out, or which fail when the optimizer or the schedule is made",
    "PLN101": "ranks that no tensor-parallel group holds, which stops the run when its groups are made",
    "PLN307": "ranks that no secondary group holds, which stops the run when its groups are made",
}


def good_texts() -> dict[str, str]:
    """The good files as texts."""
    return {name: json.dumps(content, indent=2) for name, content in FILES.items()}


def corpus_texts() -> dict[str, str]:
    """Files of the corpus that DeepSpeed takes, if it is here."""
    found = {}
    for path in sorted((SHARED / "corpus" / "deepspeed").glob("*.json")):
        text = path.read_text(encoding="utf-8")
        if '"zero_optimization"' in text and _answer(text) is None:
            found[path.name] = text
    return found


def mutants(name: str, text: str) -> Iterator[Mutant]:
    """Every mutant of a file: a key dropped, misspelt, doubled, moved to the top, and other values for it."""
    tree = _recognised(name, text).tree
    assert tree.root is not None
    for path, entry in paths(tree.root):
        yield from _of_key(name, text, path, entry)
        for new in dict.fromkeys(_values(entry)):
            at = entry.value.span
            if new != at.text:
                yield Mutant(name, f"= {new[:20]}", path, f"{text[: at.start]}{new}{text[at.end :]}")


def _of_key(name: str, text: str, path: str, entry: Entry) -> Iterator[Mutant]:
    key, whole = entry.key.span, entry.span
    without = text[: whole.start] + text[whole.end :].lstrip(" \n,") if _follows(text, whole.end) else None
    if without is None:
        before = text[: whole.start].rstrip()
        without = (before[:-1] if before.endswith(",") else before) + text[whole.end :]
    yield Mutant(name, "dropped", path, without)
    word = entry.name
    for slip in dict.fromkeys((word[:-1], word + "s", word[1::-1] + word[2:], word.replace("_", "-"), word.upper())):
        if slip and slip != word:
            yield Mutant(name, "misspelt", path, f'{text[: key.start]}"{slip}"{text[key.end :]}')
    yield Mutant(name, "doubled", path, f"{text[: whole.start]}{whole.text}, {text[whole.start :]}")
    if "." in path:
        yield Mutant(name, "moved", path, f"{{{whole.text}, {without.lstrip()[1:]}")


def _follows(text: str, at: int) -> bool:
    return text[at:].lstrip().startswith(",")


def _values(entry: Entry) -> Iterator[str]:
    """Other values for a key: of other types, in quotes, and other numbers."""
    yield from (
        "null",
        "true",
        "false",
        "0",
        "-1",
        "1",
        "1.5",
        '"x"',
        '""',
        '"auto"',
        "[]",
        "{}",
        "[1]",
        "1e999",
        "1e30",
    )
    value = entry.value.value if isinstance(entry.value, Scalar) else None
    if isinstance(value, bool):
        yield from (f'"{str(value).lower()}"', f'"{value}"')
    elif isinstance(value, (int, float)):
        yield from (f'"{value}"', str(value * 2), str(value * 3), str(value + 1), str(-value), f"{float(value) + 0.5}")
    elif isinstance(value, str):
        yield from (json.dumps(value.upper()), json.dumps(value + "x"), json.dumps(value.lower()))


def _recognised(name: str, text: str) -> Recognised:
    found = recognise(Source(f"{name}.json", text), "deepspeed", True)
    assert isinstance(found, Recognised), found
    return found


def _errors(text: str) -> Errors:
    beside = Beside(world=WORLD, options=Options("deepspeed"))
    found = recognise(Source("ds.json", text), "deepspeed", True)
    if not isinstance(found, Recognised):
        assert found is not None
        return ((found.code, found.message),)
    judged = judge([found], lambda name, importer: "no such file", beside)
    return tuple((each.code, each.message) for each in judged.diagnostics if each.severity is Severity.ERROR)


def _answer(text: str) -> str | None:
    """Why DeepSpeed refuses a file; None if it takes it."""
    import deepspeed.comm.comm
    from deepspeed.runtime.config import DeepSpeedConfig

    with tempfile.TemporaryDirectory() as folder, patch.object(deepspeed.comm.comm, "cdb", World(WORLD)):
        path = Path(folder, "ds_config.json")
        path.write_text(text, encoding="utf-8")
        try:
            DeepSpeedConfig(str(path))
        except Exception as error:  # whatever it raises is its answer
            return f"{type(error).__name__}: {error}".replace("\n", " ")[:200]
    return None


#: Both of them, in a world of `WORLD` ranks.
JUDGE = Judge("DeepSpeed", _errors, _answer, HARM)


def every_mutant(texts: dict[str, str]) -> Iterator[Mutant]:
    """The mutants of some files."""
    return (mutant for name, text in texts.items() for mutant in mutants(name, text))


if __name__ == "__main__":
    sys.exit(JUDGE.main(every_mutant({**good_texts(), **corpus_texts()})))

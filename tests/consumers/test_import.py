"""Import and back: for a file of the corpus a plan is made and a file emitted, and the consumer resolves both alike.

What differs is listed, with the reason. Files of trainers that are not asked here are read again by planc itself.
"""

from __future__ import annotations

import copy
import json
import math
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planc.native.job import ALONE, read
from planc.native.kind import Recognised, Said
from planc.native.recognising import recognise
from planc.source import Source
from tests.compiling import load
from tests.consumers.deepspeed_world import World
from tests.consumers.imported import arguments, beside, emitted, has_auto, in_yaml
from tests.consumers.running import needs
from tests.native.deepspeed_mutations import WORLD
from tests.native.judging import corpus, is_known_good
from tests.shared import shared

pytestmark = pytest.mark.consumer

_OF_PROGRAM = "it is a setting of DeepSpeed's own for which a plan has no field; it is listed at the plan's end"
_OFF = "a section that turns itself off is left out"

#: Values that DeepSpeed resolves otherwise, by the beginning of their names.
DIFFERS = {
    "steps_per_print": _OF_PROGRAM, "disable_allgather": _OF_PROGRAM,
    "prescale_gradients": _OF_PROGRAM, "compile_config": _OF_PROGRAM, "torch_autocast": _OF_PROGRAM,
    "data_efficiency": _OF_PROGRAM, "zero_allow_untested_optimizer": _OF_PROGRAM,
    "zero_force_ds_cpu_optimizer": _OF_PROGRAM, "float16_config.": _OF_PROGRAM,
    "optimizer_name": "`Adam` decays weights as `AdamW` does here, where nothing else is said",
    "optimizer_params": "only what a plan has fields for; where the file has no optimizer, the Trainer makes this one",
    "scheduler_name": "the Trainer makes it from its arguments where the file has none, else the program",
    "scheduler_params": "the Trainer makes it from its arguments where the file has none, else the program",
    "zero_config.overlap_comm": _OF_PROGRAM, "zero_config.contiguous_gradients": _OF_PROGRAM,
    "zero_config.allgather_bucket_size": _OF_PROGRAM, "zero_config.sub_group_size": _OF_PROGRAM,
    "zero_config.gather_16bit_weights_on_model_save": _OF_PROGRAM, "zero_config.max_live_parameters": _OF_PROGRAM,
    "zero_config.stage3_gather_fp16_weights_on_model_save": _OF_PROGRAM,
    "zero_config.max_reuse_distance": _OF_PROGRAM, "zero_config.model_persistence_threshold": _OF_PROGRAM,
    "zero_config.zenflow": _OF_PROGRAM, "zero_config.zero_quantized": _OF_PROGRAM,
    "zero_config.param_persistence_threshold": "the target takes what the Trainer takes for `auto`",
    "zero_config.prefetch_bucket_size": "the target takes what the Trainer takes for `auto`",
    "zero_config.offload_param": _OFF, "zero_config.offload_optimizer": _OFF,
}  # fmt: skip

#: Of these, the ones that make no difference at the stage of the file.
_AT_STAGE_0 = ("zero_config.reduce_bucket_size",)


_BESIDE_IT = "the DeepSpeed file beside it has it, which is not handed on here"
_OF_LAUNCHER = "it is a setting of accelerate's own for which a plan has no field"

#: Values that `accelerate launch` makes of its file otherwise.
DIFFERS_IN_LAUNCH = {
    "tpu_env": _OF_LAUNCHER, "tpu_name": _OF_LAUNCHER, "tpu_zone": _OF_LAUNCHER, "command_file": _OF_LAUNCHER,
    "debug": _OF_LAUNCHER, "zero3_init_flag": _OF_LAUNCHER, "zero3_save_16bit_model": _OF_LAUNCHER,
    "deepspeed_multinode_launcher": _OF_LAUNCHER, "fsdp_cpu_ram_efficient_loading": _OF_LAUNCHER,
    "fsdp_sync_module_states": _OF_LAUNCHER, "fsdp_use_orig_params": _OF_LAUNCHER,
    "parallelism_config_sp_attn_implementation": _OF_LAUNCHER, "seq_parallel_communication_data_type": _OF_LAUNCHER,
    "deepspeed_config_file": _BESIDE_IT, "zero_stage": _BESIDE_IT,
    "gradient_accumulation_steps": "the program has it", "gradient_clipping": "the program has it",
    "fsdp_transformer_layer_cls_to_wrap": "the target names the class of the model's layers",
    "multi_gpu": "a file that says nothing of a type is of one process",
}  # fmt: skip

#: Fields that the file of a trainer says otherwise when it is read again.
DIFFERS_IN_PLAN = {
    ("gpt-neox", "schedule.warmup"): "a share of the steps becomes one of whole steps",
    ("gpt-neox", "precision.gradients"): "they are in the dtype of training, which needs no word",
    ("megatron", "cluster.nodes"): "the launcher has it",
    ("megatron", "cluster.gpus_per_node"): "the launcher has it",
    ("megatron", "parallel.expert"): "a single rank is the default",
    ("megatron", "precision.gradients"): "the default of the dtype of training",
    ("nanotron", "model.max_sequence_length"): "positions are as many as a sequence has tokens",
}

#: Files of each kind that are emitted again; the plans of the others lack more than can be filled in here.
LEAST = {"gpt-neox": 25, "megatron": 120, "nanotron": 6, "torchtitan": 6}


@pytest.fixture
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """DeepSpeed as on a machine without cards, in a world of `WORLD` ranks."""
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    import deepspeed.comm.comm

    monkeypatch.setattr(deepspeed.comm.comm, "cdb", World(WORLD))
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def resolved(config: dict[str, Any]) -> dict[str, Any]:
    """All values that DeepSpeed makes of a configuration, by their names."""
    from deepspeed.runtime.config import DeepSpeedConfig

    made = vars(DeepSpeedConfig(copy.deepcopy(config)))
    return dict(_flat("", {name: value for name, value in made.items() if name != "_param_dict"}))


def _flat(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    names = getattr(type(value), "model_fields", None)
    if names is not None:
        value = {name: getattr(value, name, None) for name in names}
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(f"{path}.{name}" if path else str(name), inner)
    else:
        yield (
            path,
            value if isinstance(value, (bool, int, float, str, list, tuple, type(None))) else type(value).__name__,
        )


def by_trainer(config: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """A configuration as the Trainer hands it on, with these arguments and a model of the plan's width."""
    from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

    told = SimpleNamespace(
        **given, world_size=WORLD, bf16_full_eval=False, fp16_full_eval=False, save_on_each_node=False,
        get_warmup_steps=lambda steps: given["warmup_steps"],
    )  # fmt: skip
    made = HfTrainerDeepSpeedConfig(copy.deepcopy(config))
    made.trainer_config_process(told)
    model = SimpleNamespace(config=SimpleNamespace(hidden_size=2048))
    made.trainer_config_finalize(told, model, given["max_steps"])
    found: dict[str, Any] = made.config
    return found


def files() -> dict[str, str]:
    """The DeepSpeed files of the corpus that are JSON, and no files of gpt-neox."""
    found = {}
    for path in sorted(shared("corpus/deepspeed").glob("*.json")):
        text = path.read_text(encoding="utf-8")
        try:
            json.loads(text)
        except ValueError:
            continue  # a template with gaps
        known = recognise(Source(path.name, text), None, True)
        if isinstance(known, Recognised) and known.kind.name == "deepspeed":
            found[path.name] = text
    return found


def original(text: str) -> dict[str, Any] | None:
    """What DeepSpeed makes of a file of the corpus; None if it, or the Trainer, refuses it."""
    config = json.loads(text)
    try:
        return resolved(by_trainer(config, arguments(config)) if has_auto(text) else config)
    except Exception:  # whatever it raises, it takes no such file
        return None


def again(text: str) -> dict[str, Any] | str:
    """What DeepSpeed makes of the file that is emitted for the plan of a file; or why none is emitted."""
    config = json.loads(text)
    if not has_auto(text):
        made = emitted({"ds.json": text})
        return made.reason or resolved(json.loads(made.files["ds_config.json"]))
    given = arguments(config)
    made = emitted({"ds.json": text, "args.yaml": in_yaml(given)})
    return made.reason or resolved(by_trainer(json.loads(made.files["ds_config.json"]), given))


@needs("deepspeed", "transformers")
@pytest.mark.usefixtures("on_the_cpu")
def test_deepspeed_resolves_what_is_emitted_again_as_the_file_of_the_corpus() -> None:
    compared, listed, unlisted, refused = 0, set(), {}, {}
    for name, text in files().items():
        one = original(text)
        if one is None:
            continue
        other = again(text)
        if isinstance(other, str):
            refused[name] = other
            continue
        compared += 1
        for key in {*one, *other}:
            if one.get(key) == other.get(key) or (key in _AT_STAGE_0 and not one["zero_config.stage"]):
                continue
            reason = next((each for each in DIFFERS if key.startswith(each)), None)
            if reason is None or (DIFFERS[reason] == _OFF and _is_on(one, key)):
                unlisted[name, key] = (one.get(key), other.get(key))
            else:
                listed.add(reason)
    assert unlisted == {}
    assert refused == {}
    assert set(DIFFERS) == listed, "listed, and alike in all files"
    assert 50 < compared


def _is_on(found: dict[str, Any], key: str) -> bool:
    """Whether a section of offloading that is gone had an effect: what holds weights has none below stage 3."""
    section = ".".join(key.split(".")[:2])
    device = getattr(found.get(f"{section}.device"), "value", found.get(f"{section}.device"))
    below = section.endswith("param") and found["zero_config.stage"] < 3
    return device not in (None, "none") and not below


def launched(text: str, folder: Path) -> dict[str, Any] | None:
    """What `accelerate launch` makes of a file; None if it refuses it."""
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser

    path = folder / "accelerate.yaml"
    path.write_text(text, encoding="utf-8")
    try:
        made, _, _ = _validate_launch_command(launch_command_parser().parse_args(["--config_file", str(path), "a.py"]))
    except Exception:  # whatever it raises, it takes no such file
        return None
    return {name: str(value).lower() for name, value in vars(made).items() if name != "config_file"}


@needs("accelerate")
def test_accelerate_takes_what_is_emitted_again_as_the_file_of_the_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import accelerate.utils.launch

    monkeypatch.setattr(accelerate.utils.launch, "is_port_in_use", lambda port: False)
    compared, listed, unlisted = 0, set(), {}
    for row, text in corpus("accelerate"):
        one, made = launched(text, tmp_path), emitted({"accelerate.yaml": text}, ALONE)
        if one is None or made.reason:
            continue
        fsdp = f"fsdp{one['fsdp_version']}" if one["use_fsdp"] == "true" else "ddp"
        name = "deepspeed" if one["use_deepspeed"] == "true" else fsdp
        other = launched(made.files[f"accelerate_{name}.yaml"], tmp_path)
        assert other is not None, row["file"]
        compared += 1
        for key in {*one, *other}:
            if one.get(key, "none") != other.get(key, "none"):
                listed.add(key)
                if key not in DIFFERS_IN_LAUNCH:
                    unlisted[row["file"], key] = (one.get(key), other.get(key))
    assert unlisted == {}
    assert set(DIFFERS_IN_LAUNCH) == listed, "listed, and alike in all files"
    assert 20 < compared


def said_by(name: str, text: str) -> tuple[str, tuple[Said, ...]]:
    """The kind of a file, and what it says; nothing of one that planc does not read."""
    found = recognise(Source(name, text), None, False)
    return (found.kind.name, read([found], load).said) if isinstance(found, Recognised) else ("", ())


def again_said(name: str, text: str) -> dict[str, str] | None:
    """What the file says that is emitted for the plan of a file; None if none is emitted."""
    kind, said = said_by(name, text)
    sizes = {each.path: int(each.text) for each in said if each.path.startswith("parallel.") and each.text.isdigit()}
    split = math.prod(sizes.get(f"parallel.{axis}", 1) for axis in ("tensor", "pipeline", "context"))
    ranks = math.lcm(split * sizes.get("parallel.expert", 1), 8)
    if "parallel.data" in sizes:
        ranks = split * sizes["parallel.data"]
    has = {each.path.partition(".")[0] for each in said}
    made = emitted({name: text}, beside(ranks, "cluster" not in has, "model" not in has))
    for path, content in made.files.items():
        other, found = said_by(path, content)
        if other == kind:
            return {each.path: each.text for each in found}
    return None


def test_a_trainer_is_told_the_same_again() -> None:
    compared: Counter[str] = Counter()
    listed, unlisted = set(), {}
    for row, text in corpus(*LEAST):
        kind, said = said_by(row["file"], text) if is_known_good(row) else ("", ())
        other = again_said(row["file"], text) if kind in LEAST else None
        if other is None:
            continue
        compared[kind] += 1
        for each in said:
            if each.assumed or each.path.startswith(("emit.", "launch.env.")) or other.get(each.path) == each.text:
                continue
            listed.add((kind, each.path))
            if (kind, each.path) not in DIFFERS_IN_PLAN:
                unlisted[row["file"], each.path] = (each.text, other.get(each.path))
    assert unlisted == {}
    assert set(DIFFERS_IN_PLAN) == listed, "listed, and alike in all files"
    assert {kind: compared[kind] for kind in LEAST if compared[kind] < LEAST[kind]} == {}

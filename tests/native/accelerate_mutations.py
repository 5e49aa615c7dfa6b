"""Mutants of good configurations of accelerate, and what planc and accelerate's launcher and plugins say of each.

`python -m tests.native.accelerate_mutations [SHARE]` judges every mutant, or each `SHARE`-th of them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from planc.diagnostics.diagnostic import Severity
from planc.native.job import judge
from planc.native.kind import Recognised
from planc.native.recognising import recognise
from planc.native.tree import Map, Scalar
from planc.source import Source
from tests.native.mutating import Errors, Judge, Mutant, paths

#: Good files, one for each type of distribution.
FILES = {
    "multi": """\
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
mixed_precision: bf16
num_machines: 2
num_processes: 16
machine_rank: 0
main_process_ip: node1
main_process_port: 29500
main_training_function: main
rdzv_backend: static
same_network: true
use_cpu: false
""",
    "fsdp1": """\
distributed_type: FSDP
mixed_precision: bf16
num_machines: 1
num_processes: 8
fsdp_config:
  fsdp_version: 1
  fsdp_sharding_strategy: FULL_SHARD
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
  fsdp_backward_prefetch: BACKWARD_PRE
  fsdp_forward_prefetch: false
  fsdp_use_orig_params: true
  fsdp_offload_params: false
  fsdp_cpu_ram_efficient_loading: false
  fsdp_sync_module_states: false
  fsdp_activation_checkpointing: false
  fsdp_state_dict_type: SHARDED_STATE_DICT
""",
    "fsdp2": """\
distributed_type: FSDP
mixed_precision: bf16
num_machines: 1
num_processes: 8
fsdp_config:
  fsdp_version: 2
  fsdp_reshard_after_forward: true
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer
  fsdp_offload_params: false
  fsdp_state_dict_type: SHARDED_STATE_DICT
parallelism_config:
  parallelism_config_dp_replicate_size: 1
  parallelism_config_dp_shard_size: 4
  parallelism_config_tp_size: 2
  parallelism_config_cp_size: 1
""",
    "deepspeed": """\
distributed_type: DEEPSPEED
mixed_precision: bf16
num_machines: 1
num_processes: 8
deepspeed_config:
  zero_stage: 3
  gradient_accumulation_steps: 4
  gradient_clipping: 1.0
  offload_optimizer_device: cpu
  offload_param_device: none
  zero3_init_flag: true
  zero3_save_16bit_model: true
""",
}

#: What accelerate takes in silence and planc reports as an error: the harm, by code.
HARM = {
    "PLN014": "a value of another kind than the field has: it fails in the processes",
    "PLN015": "a number below what it counts: processes, steps or ranks that there cannot be",
    "PLN062": "a key that is passed over: what it was meant to set keeps its default",
    "PLN063": "a value of another type or range than is meant: it is turned into a text, or fails in the processes",
    "PLN064": "the first of two equal keys does nothing",
    "PLN067": "a key in another section sets nothing there, or something else",
    "PLN069": "`auto` stays a text here, which fails in the processes or counts as something else",
    "PLN070": "what the others need is left out, which stops the processes when they start",
    "PLN075": "settings of which one is left out, processes that are lost, or a mesh that no job of this size has",
    "PLN101": "ranks that no tensor-parallel group holds, which stops the run when its groups are made",
    "PLN102": "a mesh that the ranks do not fill, which stops the run when it is made",
    "PLN616": "a port that no program may open",
}

_VALUES = ("null", "true", "0", "-1", "1", "3", "1.5", "x", "'8'", "[]", "{}", "auto", "'no'", "no")


def mutants(name: str, text: str) -> Iterator[Mutant]:
    """Every mutant of a file: a key dropped, misspelt, doubled, moved to the top, and other values for it."""
    found = recognise(Source(f"{name}.yaml", text), "accelerate", True)
    assert isinstance(found, Recognised) and found.tree.root is not None
    for path, entry in paths(found.tree.root):
        key, at = entry.key.span, entry.value.span
        start = text.rfind("\n", 0, key.start) + 1
        end = text.find("\n", at.end - isinstance(entry.value, Map)) + 1
        line = text[start:end]
        yield Mutant(name, "dropped", path, text[:start] + text[end:])
        word = entry.name
        for slip in dict.fromkeys((word[:-1], word + "s", word[1::-1] + word[2:], word.replace("_", "-"))):
            if slip and slip != word:
                yield Mutant(name, "misspelt", path, text[: key.start] + slip + text[key.end :])
        if isinstance(entry.value, Scalar):
            yield Mutant(name, "doubled", path, text[:end] + line.replace(at.text, "7") + text[end:])
            if "." in path:
                yield Mutant(name, "moved", path, text[:start] + text[end:] + line.lstrip())
            for new in dict.fromkeys((*_VALUES, f"{at.text}x", at.text.lower())):
                if new != at.text:
                    yield Mutant(name, f"= {new}", path, text[: at.start] + new + text[at.end :])


def _errors(text: str) -> Errors:
    found = recognise(Source("accelerate.yaml", text), "accelerate", True)
    if not isinstance(found, Recognised):
        assert found is not None
        return ((found.code, found.message),)
    judged = judge([found], lambda name, importer: "no such file")
    return tuple((each.code, each.message) for each in judged.diagnostics if each.severity is Severity.ERROR)


def answer(text: str) -> str | None:
    """Why accelerate refuses a file: its launcher, or the plugins that a process makes; None if it takes it."""
    import accelerate.utils.launch

    before = dict(os.environ)
    free = patch.object(accelerate.utils.launch, "is_port_in_use", lambda port: False)
    with tempfile.TemporaryDirectory() as folder, free:
        path = Path(folder, "accelerate.yaml")
        path.write_text(text, encoding="utf-8")
        try:
            _started(path)
        except (Exception, SystemExit) as error:  # whatever it raises is its answer
            return f"{type(error).__name__}: {error}".replace("\n", " ")[:200]
        finally:
            os.environ.clear()
            os.environ.update(before)
    return None


def _started(path: Path) -> None:
    """What happens until the program runs: the launcher's checks, the variables that it hands on, and the plugins."""
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from accelerate.parallelism_config import ParallelismConfig
    from accelerate.utils.launch import (
        prepare_deepspeed_cmd_env,
        prepare_multi_gpu_env,
        prepare_simple_launcher_cmd_env,
    )

    parser = launch_command_parser()
    args, defaults, _ = _validate_launch_command(parser.parse_args(["--config_file", str(path), "train.py"]))
    environment: dict[str, Any]
    if args.use_deepspeed:
        args.deepspeed_fields_from_accelerate_config = ",".join([*defaults.deepspeed_config, "mixed_precision"])
        _, environment = prepare_deepspeed_cmd_env(args)
    elif args.use_fsdp or args.multi_gpu:
        environment = prepare_multi_gpu_env(args)
    else:
        _, environment = prepare_simple_launcher_cmd_env(args)
    os.environ.update(environment)
    _plugins(args)
    if os.environ.get("ACCELERATE_USE_PARALLELISM_CONFIG") == "true":
        sizes = ParallelismConfig()
        if sizes.total_size != int(args.num_processes):
            raise ValueError(f"{sizes.total_size} ranks of the mesh are not {args.num_processes} processes")


def _plugins(args: Any) -> None:
    from accelerate import DeepSpeedPlugin, FullyShardedDataParallelPlugin
    from accelerate.utils import PrecisionType
    from accelerate.utils.environment import parse_flag_from_env

    PrecisionType(os.environ["ACCELERATE_MIXED_PRECISION"])
    if args.use_fsdp:
        for name in ("SYNC_MODULE_STATES", "CPU_RAM_EFFICIENT_LOADING"):
            parse_flag_from_env(f"FSDP_{name}")
            os.environ[f"FSDP_{name}"] = "false"  # which would ask for the number of a card
        FullyShardedDataParallelPlugin()
    elif args.use_deepspeed:
        DeepSpeedPlugin()


#: Both of them.
JUDGE = Judge("accelerate", _errors, answer, HARM)


def every_mutant() -> Iterator[Mutant]:
    """The mutants of the good files."""
    return (mutant for name, text in FILES.items() for mutant in mutants(name, text))


if __name__ == "__main__":
    sys.exit(JUDGE.main(every_mutant()))

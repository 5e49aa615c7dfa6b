"""megatron_bridge.sh with the overrides in it, or beside a file of them."""

from __future__ import annotations

import re
import shlex
from typing import Any

import yaml

from tests.targets.truth.words import ranks

_COUNTS = {
    "tensor": "model.tensor_model_parallel_size", "pipeline": "model.pipeline_model_parallel_size",
    "context": "model.context_parallel_size", "expert": "model.expert_model_parallel_size",
    "micro_batch": "train.micro_batch_size", "global_batch": "train.global_batch_size",
    "sequence": "model.seq_length",
}  # fmt: skip
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")


def values(files: dict[str, str]) -> dict[str, object]:
    """What the overrides say, and the script about its ranks."""
    script = files["megatron_bridge.sh"]
    said = of_file(files["megatron_bridge.yaml"]) if "megatron_bridge.yaml" in files else of_script(script)
    found: dict[str, object] = {name: said[key] for name, key in _COUNTS.items() if key in said}
    dtypes = said["mixed_precision"]
    found["precision"] = next(name for name in ("bf16", "fp16", "fp32") if f"{name}:true" in dtypes)
    if said["optimizer.clip_grad"]:  # 0 turns the recipe's own 1.0 off
        found["clip"] = said["optimizer.clip_grad"]
    if "optimizer.lr" in said:
        found["learning_rate"] = said["optimizer.lr"]
    assert said.get("dataset.sequence_length", said.get("model.seq_length")) == said.get("model.seq_length")
    return found | ranks(script)


def of_script(script: str) -> dict[str, Any]:
    """The overrides of the script by name; numbers are read, anything else is left as it stands."""
    _, _, rest = script.partition("\nset -- \\\n")
    words = shlex.split(rest.partition('  "$@"\n')[0].replace(" \\\n", "\n"))
    pairs = [word.split("=", 1) for word in words if re.match(r"\+?[a-z_][a-z0-9_.]*=", word)]
    return {name.lstrip("+"): _read(value) for name, value in pairs}


def of_file(text: str) -> dict[str, Any]:
    """The overrides of a file by name; the object of dtypes as words say it."""
    data = yaml.safe_load(text)
    dtypes = ",".join(f"{name}:{str(value).lower()}" for name, value in data.pop("mixed_precision").items())
    data.pop("comm_overlap", None)
    return {f"{section}.{name}": value for section, found in data.items() for name, value in found.items()} | {
        "mixed_precision": dtypes
    }


def _read(value: str) -> Any:
    if not _NUMBER.fullmatch(value):
        return value
    return float(value) if set(value) & set(".e") else int(value)

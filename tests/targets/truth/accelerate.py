"""The YAML files of accelerate, and accelerate.sh."""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

from tests.targets.truth.words import ranks

_AXES = {"tensor": "tp", "context": "cp"}

DRAWN = {"stage": ("", 0, 1, 2, 3, 3), "pipeline": (1,)}


def values(files: dict[str, str]) -> dict[str, object]:
    """What the script and each of the files say; they agree where both are there."""
    found = ranks(files["accelerate.sh"])
    for path, text in files.items():
        if path.endswith(".yaml"):
            for name, value in _said(yaml.safe_load(text)).items():
                assert found.setdefault(name, value) == value, path
    if files.keys() & {"accelerate_ddp.yaml", "accelerate_fsdp2.yaml"}:
        steps = re.search(r"export ACCELERATE_GRADIENT_ACCUMULATION_STEPS=(\d+)$", files["accelerate.sh"], re.MULTILINE)
        assert steps is not None
        assert found.setdefault("accumulation", int(steps[1])) == int(steps[1])
    return found


def _said(data: dict[str, Any]) -> dict[str, object]:
    world, nodes = data["num_processes"], data["num_machines"]
    precision = data["mixed_precision"]
    found: dict[str, object] = {
        "world": world,
        "nodes": nodes,
        "gpus_per_node": world // nodes,
        "precision": "fp32" if precision == "no" else precision,
    }
    sizes = data.get("parallelism_config", {})
    for axis, short in _AXES.items():
        if f"parallelism_config_{short}_size" in sizes:
            found[axis] = sizes[f"parallelism_config_{short}_size"]
    if "parallelism_config_dp_shard_size" in sizes:
        found["data"] = sizes["parallelism_config_dp_shard_size"] * sizes["parallelism_config_dp_replicate_size"]
    deepspeed = data.get("deepspeed_config", {})
    if "gradient_accumulation_steps" in deepspeed:
        found["accumulation"] = deepspeed["gradient_accumulation_steps"]
    if deepspeed.get("gradient_clipping", math.inf) < math.inf:  # infinite where the plan clips nothing
        found["clip"] = deepspeed["gradient_clipping"]
    return found

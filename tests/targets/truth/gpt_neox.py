"""gpt_neox.yml and gpt_neox.sh."""

from __future__ import annotations

from typing import Any

import yaml

from tests.targets.truth.words import ranks

NEEDS = "train { duration = 1000 steps }"

DRAWN = {"context": (1,), "expert": (1,), "mixture": (False,), "rate": ("1e-4", "3e-5", "0.002")}

_PRECISIONS = {"bfloat16": "bf16", "fp16": "fp16", "fp32": "fp32"}


def values(files: dict[str, str]) -> dict[str, object]:
    """What the file says, and the script beside it: they agree."""
    data: dict[str, Any] = yaml.safe_load(files["gpt_neox.yml"])
    found: dict[str, object] = {
        "world": data["global_num_gpus"],
        "nodes": data["num_nodes"],
        "gpus_per_node": data["num_gpus"],
        "tensor": data["model_parallel_size"],
        "pipeline": max(1, data["pipe_parallel_size"]),
        "micro_batch": data["train_micro_batch_size_per_gpu"],
        "accumulation": data["gradient_accumulation_steps"],
        "global_batch": data["train_batch_size"],
        "data": data["train_batch_size"]
        // (data["train_micro_batch_size_per_gpu"] * data["gradient_accumulation_steps"]),
        "sequence": data["seq_length"],
        "precision": _PRECISIONS[data["precision"]],
        "learning_rate": data["optimizer"]["params"]["lr"],
    }
    assert data["deepspeed_extra_args"]["gradient_clipping"] == data["gradient_clipping"]
    if data["gradient_clipping"]:
        found["clip"] = data["gradient_clipping"]
    for name, value in ranks(files["gpt_neox.sh"]).items():
        assert found[name] == value, name
    return found

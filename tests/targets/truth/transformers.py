"""training_args.json."""

from __future__ import annotations

import json
from typing import Any

EMIT = "transformers, deepspeed { trainer = hf }"

#: The file has neither nodes nor axes: those are an object of the program.
DRAWN = {"tensor": (1,), "pipeline": (1,), "context": (1,), "expert": (1,)}


def values(files: dict[str, str]) -> dict[str, object]:
    """What the file says, and DeepSpeed's file in it, which agrees."""
    data: dict[str, Any] = json.loads(files["training_args.json"])
    found: dict[str, object] = {
        "micro_batch": data["per_device_train_batch_size"],
        "accumulation": data["gradient_accumulation_steps"],
        "precision": next((name for name in ("bf16", "fp16") if data.get(name)), "fp32"),
    }
    if data["max_grad_norm"]:  # where the plan clips nothing, 0 turns the Trainer's own 1.0 off
        found["clip"] = data["max_grad_norm"]
    if "learning_rate" in data:
        found["learning_rate"] = data["learning_rate"]
    if backend_in(data) == "deepspeed":
        assert data["deepspeed"] == json.loads(files["ds_config.json"])
        assert data["deepspeed"]["train_micro_batch_size_per_gpu"] == found["micro_batch"]
        assert data["deepspeed"]["gradient_accumulation_steps"] == found["accumulation"]
    return found


def backend_in(arguments: dict[str, Any]) -> str:
    """Who shares the states by these arguments: `deepspeed`, `fsdp2` or, where neither is asked for, `ddp`."""
    if "deepspeed" in arguments:
        return "deepspeed"
    return "fsdp2" if arguments.get("fsdp") else "ddp"

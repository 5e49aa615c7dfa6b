"""ds_config.json."""

from __future__ import annotations

import json
from typing import Any

#: DeepSpeed's file has no nodes, and pipelines are code.
DRAWN = {"context": (1,), "pipeline": (1, 1, 1, 2)}


def values(files: dict[str, str]) -> dict[str, object]:
    """What the file says."""
    data = config_in(files)
    found: dict[str, object] = {
        "micro_batch": data["train_micro_batch_size_per_gpu"],
        "accumulation": data["gradient_accumulation_steps"],
        "precision": next((name for name in ("bf16", "fp16") if data.get(name, {}).get("enabled")), "fp32"),
    }
    if "train_batch_size" in data:
        found["global_batch"] = data["train_batch_size"]
        found["data"] = data["train_batch_size"] // (found["micro_batch"] * found["accumulation"])  # type: ignore[operator]
    if "tensor_parallel" in data:
        found["tensor"] = data["tensor_parallel"]["autotp_size"]
    if data["gradient_clipping"]:  # where the plan clips nothing, 0 turns DeepSpeed's own 1.0 off
        found["clip"] = data["gradient_clipping"]
    if "optimizer" in data:
        found["learning_rate"] = data["optimizer"]["params"]["lr"]
    return found


def config_in(files: dict[str, str]) -> dict[str, Any]:
    """The file itself."""
    config: dict[str, Any] = json.loads(files["ds_config.json"])
    return config

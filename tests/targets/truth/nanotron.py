"""nanotron.yaml and nanotron.sh."""

from __future__ import annotations

from typing import Any

import yaml

from tests.targets.truth.words import ranks

#: nanotron has no default for these: they stand beside the learning rate.
_REST = "betas = [0.9, 0.95]  epsilon = 1e-8  weight_decay = 0.1"

NEEDS = """\
train { duration = 1000 steps }
  dataset { path = "tokens" }
  checkpoint { every = 100 steps  directory = "out" }"""

DRAWN = {
    "context": (1,),
    "expert": (1,),
    "mixture": (False,),
    "rate": tuple(f"{rate}  {_REST}" for rate in ("1e-4", "3e-5", "0.002")),
    "stage": ("", 0, 1),
    "precision": ("bf16",),
}

_DTYPES = {"bfloat16": "bf16"}


def values(files: dict[str, str]) -> dict[str, object]:
    """What the file says, and the script beside it: they agree."""
    data: dict[str, Any] = yaml.safe_load(files["nanotron.yaml"])
    layout, tokens = data["parallelism"], data["tokens"]
    batch = tokens["micro_batch_size"] * tokens["batch_accumulation_per_replica"]
    found: dict[str, object] = {
        "world": layout["dp"] * layout["tp"] * layout["pp"],
        "tensor": layout["tp"],
        "pipeline": layout["pp"],
        "data": layout["dp"],
        "micro_batch": tokens["micro_batch_size"],
        "accumulation": tokens["batch_accumulation_per_replica"],
        "global_batch": batch * layout["dp"],
        "sequence": tokens["sequence_length"],
        "precision": _DTYPES[data["model"]["dtype"]],
        "learning_rate": data["optimizer"]["learning_rate_scheduler"]["learning_rate"],
    }
    if data["optimizer"]["clip_grad"] is not None:
        found["clip"] = data["optimizer"]["clip_grad"]
    for name, value in ranks(files["nanotron.sh"]).items():
        assert found.setdefault(name, value) == value, name
    return found

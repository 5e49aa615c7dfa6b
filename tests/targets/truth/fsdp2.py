"""parallelize.py, of which the names in capitals are read; nothing is run."""

from __future__ import annotations

import ast
from typing import Any

DRAWN = {"stage": (1, 2, 3, 3), "pipeline": (1,), "context": (1,), "expert": (1,)}

_NAMES = {
    "world": "WORLD_SIZE", "nodes": "NODES", "gpus_per_node": "GPUS_PER_NODE", "tensor": "TENSOR", "data": "DATA",
    "micro_batch": "MICRO_BATCH", "accumulation": "ACCUMULATION", "global_batch": "GLOBAL_BATCH",
    "sequence": "SEQUENCE_LENGTH", "clip": "LARGEST_NORM", "learning_rate": "LEARNING_RATE",
}  # fmt: skip
#: Names of the dtypes by those of torch.
DTYPES = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.float32": "fp32"}


def values(files: dict[str, str]) -> dict[str, object]:
    """What the module says; its factors make up its world."""
    said: dict[str, Any] = {}
    for statement in ast.parse(files["parallelize.py"]).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            said[statement.targets[0].id] = statement.value
    dtype = DTYPES[ast.unparse(said["COMPUTE_DTYPE"])]
    numbers = {name: ast.literal_eval(said[name]) for name in (*_NAMES.values(), "REPLICAS", "SHARDS") if name in said}
    assert numbers["REPLICAS"] * numbers["SHARDS"] == numbers["DATA"]
    assert numbers["DATA"] * numbers["TENSOR"] == numbers["WORLD_SIZE"]
    return {name: numbers[theirs] for name, theirs in _NAMES.items() if theirs in numbers} | {"precision": dtype}

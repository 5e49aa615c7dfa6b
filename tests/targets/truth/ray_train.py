"""ray_train.py, of which the names in capitals and the arguments of Ray's classes are read; nothing is run.

What a trainer's file says stands in the module as a whole: that of DeepSpeed is read here, as its own reader reads it.
"""

from __future__ import annotations

import ast
import json
from typing import Any

from tests.targets.truth import deepspeed
from tests.targets.truth.words import ranks

EMIT = "deepspeed, ray-train"
DRAWN = deepspeed.DRAWN


def values(files: dict[str, str]) -> dict[str, object]:
    """What the module says; the script that sends it agrees, and so does the file beside it."""
    tree = ast.parse(files["ray_train.py"])
    said: dict[str, Any] = {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    assert _argument(tree, "ScalingConfig", "num_workers") == "WORLD_SIZE"
    assert _argument(tree, "ScalingConfig", "use_gpu") == "True"
    assert said["NODES"] * said["GPUS_PER_NODE"] == said["WORLD_SIZE"]
    found = {"world": said["WORLD_SIZE"], "nodes": said["NODES"], "gpus_per_node": said["GPUS_PER_NODE"]}
    assert ranks(files["ray_job.sh"]) == found
    assert said["DS_CONFIG"] == json.loads(files["ds_config.json"])
    return found | deepspeed.values({"ds_config.json": json.dumps(said["DS_CONFIG"])})


def _argument(tree: ast.Module, name: str, argument: str) -> str:
    """The text of an argument of the only call of a name."""
    (call,) = [
        node for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]  # fmt: skip
    (value,) = [keyword.value for keyword in call.keywords if keyword.arg == argument]
    return ast.unparse(value)

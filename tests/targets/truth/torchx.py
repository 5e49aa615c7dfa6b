"""torchx_job.py: the nodes and cards of the job, and the script that it carries."""

from __future__ import annotations

import ast

from tests.targets.truth.skypilot import carried
from tests.targets.truth.words import ranks

EMIT = "torchx { scheduler = slurm }"


def values(files: dict[str, str]) -> dict[str, object]:
    """What the component says, read without TorchX."""
    tree = ast.parse(files["torchx_job.py"])
    (script,) = (ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign))
    words = {word.arg: word.value for node in ast.walk(tree) if isinstance(node, ast.Call) for word in node.keywords}
    found = ranks(carried(script, "torchrun.sh"))
    assert ast.literal_eval(words["num_replicas"]) == found["nodes"]
    assert ast.literal_eval(words["gpu"]) == found["gpus_per_node"]
    return found

"""lightning_trainer.py, of which names in capitals and arguments are read; nothing is run."""

from __future__ import annotations

import ast
from typing import Any

from tests.targets.truth import deepspeed, fsdp2

EMIT = "lightning, deepspeed"

#: Over tensor ranks `parallelize.py` has to be emitted too: tests of its own read these.
DRAWN = {"tensor": (1,), "pipeline": (1,), "context": (1,), "expert": (1,)}

_NAMES = {
    "world": "WORLD_SIZE", "nodes": "NODES", "gpus_per_node": "GPUS_PER_NODE", "tensor": "TENSOR", "data": "DATA",
    "micro_batch": "MICRO_BATCH", "accumulation": "ACCUMULATION", "global_batch": "GLOBAL_BATCH",
    "sequence": "SEQUENCE_LENGTH", "clip": "LARGEST_NORM", "learning_rate": "LEARNING_RATE",
}  # fmt: skip
_PRECISIONS = {"bf16-mixed": "bf16", "16-mixed": "fp16", "32-true": "fp32"}


def values(files: dict[str, str]) -> dict[str, object]:
    """What the module says, and the files that it builds on, which agree."""
    tree = ast.parse(files["lightning_trainer.py"])
    constants = {
        statement.targets[0].id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    found: dict[str, Any] = {
        name: ast.literal_eval(constants[theirs]) for name, theirs in _NAMES.items() if theirs in constants
    }
    arguments, strategy = arguments_in(tree), strategy_in(tree)
    for name, constant in (("num_nodes", "NODES"), ("devices", "GPUS_PER_NODE"), ("strategy", "strategy()")):
        assert ast.unparse(arguments[name]) == constant
    assert ast.unparse(arguments["accumulate_grad_batches"]) == "ACCUMULATION"
    assert found["nodes"] * found["gpus_per_node"] == found["world"] == found["data"] * found.get("tensor", 1)
    name = ast.unparse(strategy.func)
    options = {word.arg: word.value for word in strategy.keywords}
    if name == "DeepSpeedStrategy":
        plugin = options["precision_plugin"]
        assert isinstance(plugin, ast.Call)
        arguments["precision"] = plugin.args[0]
    precision = _PRECISIONS[ast.literal_eval(arguments["precision"])]
    if name == "ModelParallelStrategy":
        beside = fsdp2.values(files)
        assert precision == "fp32"
        assert all(beside[name] == value for name, value in found.items())
        return beside
    if name == "ReducedAtOnce":
        assert ast.literal_eval(constants["REPLICAS"]) * ast.literal_eval(constants["SHARDS"]) == found["data"]
        assert fsdp2.DTYPES[ast.unparse(constants["COMPUTE_DTYPE"])] == precision
    if name == "DeepSpeedStrategy":
        config = ast.literal_eval(constants["DEEPSPEED"])
        config["gradient_accumulation_steps"] = found["accumulation"]  # as Lightning adds it
        beside = deepspeed.values(files)
        assert config == deepspeed.config_in(files)
        assert all(found.setdefault(name, value) == value for name, value in beside.items())
        assert precision == beside["precision"]
    return found | {"precision": precision}


def arguments_in(tree: ast.Module) -> dict[str, ast.expr]:
    """Arguments of the Trainer by name."""
    (data,) = (
        statement.value
        for statement in function_in(tree, "trainer").body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "arguments"
    )
    assert isinstance(data, ast.Dict)
    return {ast.literal_eval(key): value for key, value in zip(data.keys, data.values, strict=True) if key is not None}


def strategy_in(tree: ast.Module) -> ast.Call:
    """The call that makes the strategy."""
    (call,) = (
        statement.value
        for statement in function_in(tree, "strategy").body
        if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Call)
    )
    return call


def function_in(tree: ast.Module, name: str) -> ast.FunctionDef:
    """The function of this name."""
    (found,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    return found

"""Who puts a value in the place of `auto` in a DeepSpeed file, read from the source of those that do."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any


def resolvers() -> dict[str, str]:
    """By the path of each key whose `auto` is resolved: `accelerate`, or `hf` where only the Trainer does.

    The Trainer hands its file on to accelerate, so what accelerate resolves is resolved under it too.
    """
    from accelerate import Accelerator, DeepSpeedPlugin
    from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

    trainer = set(_filled(HfTrainerDeepSpeedConfig))
    accelerate = {
        *_mapped(DeepSpeedPlugin.__post_init__, "plugin_to_config_mapping"),
        *_filled(DeepSpeedPlugin.set_mixed_precision),
        *_keys_given(Accelerator._prepare_deepspeed, "config_kwargs"),
    }
    assert "optimizer.params.lr" in trainer & accelerate, "the source is written in another way"
    return {path: "accelerate" if path in accelerate else "hf" for path in sorted(trainer | accelerate)}


def _tree(owner: Any) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(owner)))


def _filled(owner: Any) -> Iterator[str]:
    """First arguments of the calls of `fill_match` and `fill_only`."""
    for node in ast.walk(_tree(owner)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.startswith("fill_"):
            yield from _texts(node.args[:1])


def _mapped(owner: Any, name: str) -> Iterator[str]:
    """Values of the dict that is assigned to a name."""
    for node in ast.walk(_tree(owner)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict) and _is(node.targets[0], name):
            yield from _texts(node.value.values)


def _keys_given(owner: Any, name: str) -> Iterator[str]:
    """Keys that a dict of this name gets: by its assignment, by `update`, one by one."""
    for node in ast.walk(_tree(owner)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict) and _is(node.targets[0], name):
            yield from _texts(node.value.keys)
        elif isinstance(node, ast.Subscript) and _is(node.value, name):
            yield from _texts([node.slice])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is(node.func.value, name):
            for argument in node.args:
                if isinstance(argument, ast.Dict):
                    yield from _texts(argument.keys)


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _texts(nodes: Any) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value

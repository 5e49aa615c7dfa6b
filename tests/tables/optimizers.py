"""Optimizers and schedules that a DeepSpeed file may name, each with the parameters that its class takes."""

from __future__ import annotations

import collections.abc
import inspect
import typing
from typing import Any

from tests.tables.common import Row, of_hint, type_name
from tests.tables.deepspeed_rows import FLOAT, REMOVED_OPTIMIZERS, list_of, object_of

#: Names of arguments that DeepSpeed fills in itself.
_FILLED = {"self", "params", "model_params", "optimizer", "adamw_mode"}

#: Schedules that take functions or other schedules, which no file holds; and what they all descend from.
_OF_PROGRAMS = {"ChainedScheduler", "LRScheduler", "LambdaLR", "MultiplicativeLR", "SequentialLR"}

#: What the engine takes out of the parameters before it builds an optimizer of the family of Adam.
_TAKEN_OUT: dict[str, Row] = {
    "torch_adam": {"types": ["bool"], "default": False},
    "adam_w_mode": {"types": ["bool"], "default": True},
    "fp32_optimizer_states": {"types": ["bool"]},
}

#: Rows of parameters whose default says too little: a learning rate of 0 is a number all the same.
_PARAMETERS: dict[str, Row] = {
    "betas": list_of(FLOAT),
    "lr": FLOAT,
    "weight_decay": FLOAT,
    "adam_lr": FLOAT,
    "muon_lr": FLOAT,
    "momentum": FLOAT,
    "ns_method": {"types": ["string"]},
}


def optimizers() -> Row:
    """The section `optimizer`: its types, and for each of them the parameters."""
    from deepspeed.runtime.config import DEEPSPEED_OPTIMIZERS

    own = _own_optimizers()
    assert {name.lower() for name in own} == set(DEEPSPEED_OPTIMIZERS), "DeepSpeed builds others now"
    torch = {name: _clipped(_parameters(kind)) for name, kind in _torch_optimizers().items() if name not in own}
    kinds = {
        "types": ["string"],
        "words": sorted([*own, *torch]),
        "folded": sorted(own),
        "removed_words": REMOVED_OPTIMIZERS,
    }
    params = {"types": ["object"], "unknown": "open"}
    variants = {"by": "type", "of": "params", "rows": own | torch}
    section = object_of(type=kinds, params=params, legacy_fusion={"types": ["bool"], "default": False})
    return section | {"variants": variants}


def schedulers() -> Row:
    """The section `scheduler`: its types, and for each of them the parameters."""
    from deepspeed.runtime import lr_schedules
    from torch.optim import lr_scheduler

    own = {name: getattr(lr_schedules, name) for name in lr_schedules.VALID_LR_SCHEDULES}
    torch = {name: getattr(lr_scheduler, name) for name in lr_scheduler.__all__ if name not in _OF_PROGRAMS}
    found = {name: _parameters(kind) for name, kind in (torch | own).items()}
    for name in own:
        _add_bounds(found[name]["keys"])
    kinds = {"types": ["string"], "words": sorted(found)}
    params = {"types": ["object"], "unknown": "open"}
    return object_of(type=kinds, params=params) | {"variants": {"by": "type", "of": "params", "rows": found}}


def _own_optimizers() -> dict[str, Row]:
    """Those that DeepSpeed builds itself, by the names that its documentation has for them."""
    from deepspeed.ops.adagrad import DeepSpeedCPUAdagrad
    from deepspeed.ops.adam import DeepSpeedCPUAdam, FusedAdam
    from deepspeed.ops.lamb import FusedLamb
    from deepspeed.ops.lion import DeepSpeedCPULion, FusedLion
    from torch import optim

    adam = _parameters(FusedAdam, DeepSpeedCPUAdam)
    adam["keys"] |= _TAKEN_OUT
    only = "optimizer.params.torch_adam = true"
    for name, row in _parameters(optim.AdamW)["keys"].items():
        adam["keys"].setdefault(name, row | {"only": only})
    of_mup = {"types": ["object"], "unknown": "open"}
    kinds = {
        "Adagrad": _parameters(optim.Adagrad, DeepSpeedCPUAdagrad),
        "Adam": adam,
        "AdamW": adam,
        "Lamb": _parameters(FusedLamb),
        "Lion": _parameters(FusedLion, DeepSpeedCPULion),
        "MuAdam": of_mup,
        "MuAdamW": of_mup,
        "MuSGD": of_mup,
        "Muon": _muon(),
    }
    return {name: _clipped(row) for name, row in kinds.items()}


def _muon() -> Row:
    """Muon takes what one of its halves takes, and what the engine takes out before."""
    from deepspeed.runtime.engine import DeepSpeedEngine

    names = {*DeepSpeedEngine._MUON_HALF_KEYS, *DeepSpeedEngine._ADAM_HALF_KEYS, "muon_lr", "adam_lr"}
    keys = {name: _PARAMETERS.get(name, FLOAT) for name in names}
    return {"types": ["object"], "keys": keys | _TAKEN_OUT, "unknown": "ignored"}


def _torch_optimizers() -> dict[str, Any]:
    from torch import optim

    classes = {name: kind for name, kind in vars(optim).items() if inspect.isclass(kind)}
    return {name: kind for name, kind in classes.items() if issubclass(kind, optim.Optimizer) and name != "Optimizer"}


def _parameters(*kinds: Any) -> Row:
    """The parameters that the constructors of these classes take, each of which builds the optimizer somewhere."""
    keys: dict[str, Row] = {}
    required: list[str] = []
    for kind in kinds:
        # Some of torch's annotations name what is imported for type checkers only.
        hints = typing.get_type_hints(kind.__init__, localns=vars(collections.abc))
        for name, parameter in inspect.signature(kind).parameters.items():
            if name in _FILLED or name in keys:
                continue
            keys[name] = _parameter(name, parameter, hints.get(name))
            if parameter.default is inspect.Parameter.empty:
                required.append(name)
    return {"types": ["object"], "keys": keys, "unknown": "rejected"} | ({"required": required} if required else {})


def _clipped(row: Row) -> Row:
    """DeepSpeed refuses the clipping of an optimizer."""
    keys = {name: key for name, key in row.get("keys", {}).items() if name != "max_grad_norm"}
    return row | ({"keys": keys} if keys else {}) | {"removed": {"max_grad_norm": {"renamed": "gradient_clipping"}}}


def _parameter(name: str, parameter: inspect.Parameter, hint: Any) -> Row:
    default = parameter.default
    row = dict(_PARAMETERS.get(name, {})) or of_hint(hint)
    if not row.get("types"):
        row = {"types": [type_name(default)]} if isinstance(default, bool | int | float | str) else {}
    if isinstance(default, tuple):
        default = list(default)
    return row | (
        {"default": default} if default is None or isinstance(default, bool | int | float | str | list) else {}
    )


def _add_bounds(keys: dict[str, Row]) -> None:
    """What DeepSpeed's schedules check of their steps and rates; a rate may be a list, one a group of parameters."""
    for name in ("warmup_num_steps", "lr_range_test_step_size"):
        if name in keys:
            keys[name] |= {"types": ["int"], "minimum": 1}
    for name in ("warmup_min_lr", "warmup_max_lr", "cycle_min_lr", "cycle_max_lr", "lr_range_test_min_lr"):
        if name in keys:
            keys[name] |= {"types": ["float", "list"], "items": FLOAT}
    if "warmup_type" in keys:
        keys["warmup_type"] |= {"types": ["string"], "words": ["log", "linear"]}
    if "cycle_first_step_size" in keys:
        keys["cycle_first_step_size"] |= {"types": ["float"], "above": 0}

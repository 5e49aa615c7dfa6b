"""Since which megatron-core Megatron-LM has a flag that planc writes, where 0.14 lacks it.

Read from the classes of the wheels 0.14.0, 0.15.0, 0.15.3 and 0.16.1: TransformerConfig and OptimizerConfig, of whose
fields these flags are made or into which they go. Muon came with core/optimizer/muon.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from planc.plan.evaluate import version_key
from planc.plan.model import Plan
from planc.targets._launch import written
from planc.targets._megatron_flags import Flag

#: The key of `versions` that states it.
KEY = "megatron-core"

_OLDEST = "0.14"
_SINCE = {
    "softmax-type": "0.15", "window-attn-skip-freq": "0.15", "fp4-format": "0.15",
    "moe-flex-dispatcher-backend": "0.16", "moe-shared-expert-gate": "0.16", "optimizer=muon": "0.16",
}  # fmt: skip


class Late(NamedTuple):
    """Why a version is too old: what is wrong, and what would work."""

    message: str
    help: str


def too_old(plan: Plan, flags: Iterable[Flag]) -> Iterator[Late]:
    """Each flag of the plan that its version of Megatron does not have; one fault for a version before them all."""
    stated = (written(plan, "versions") or {}).get(KEY)
    if not isinstance(stated, str):
        return
    if version_key(stated) < version_key(_OLDEST):
        yield Late(f"planc writes flags of core {_OLDEST} and later, not {stated}", f'use `{KEY} = "0.16"`')
        return
    for flag in flags:
        name = "optimizer=muon" if (flag.name, flag.value) == ("optimizer", "muon") else flag.name
        since = _SINCE.get(name)
        if since is not None and version_key(stated) < version_key(since):
            help = f'use `{KEY} = "{since}"` or later, or leave out what `{flag.path}` says'
            yield Late(f"`--{name}` came with core {since}, not with {stated}", help)

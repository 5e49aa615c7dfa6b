"""Names of cards, as clouds and clusters call them: whether one is another card than that of the plan."""

from __future__ import annotations

import re

from planc.plan.model import Plan, Record
from planc.targets._launch import written

#: A model of a card: `h100`, `mi300x`, `gb200`; in a name other letters and numbers may stand beside it.
_MODEL = re.compile(r"(?<![a-z])(?:gb|gh|mi|rtx-?|[abhlptv])\d+[a-z]?(?![a-z])")


def another_card(plan: Plan, accelerator: str) -> str | None:
    """The name of the plan's card where an accelerator is surely another; None where it may be the same."""
    gpu = plan["cluster.gpu"].value
    name = gpu.word if isinstance(gpu, Record) and written(plan, "cluster.gpu.memory") is not None else None
    own, asked = _models(name or ""), _models(accelerator)
    return name if own and asked and own.isdisjoint(asked) else None


def _models(name: str) -> frozenset[str]:
    """The models in a name, without what tells its packages apart (`RTX-4090`, `MI250X`, `L40S` as they are)."""
    return frozenset(found.replace("-", "") for found in _MODEL.findall(name.lower()))

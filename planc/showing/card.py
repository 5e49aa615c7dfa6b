"""The memory of a card as a bar: what the fullest stage needs of it, part by part, and what is left."""

from __future__ import annotations

from typing import Any

from planc.diagnostics.amounts import percent_text
from planc.explanation import stage_of
from planc.facts.facts import Facts
from planc.facts.memory import PARTS
from planc.plan.model import Unknown
from planc.showing.stages import gib_text

#: The parts in the order of the bar, each with its letter and what the legend calls it.
_SHOWN = {
    "weights": ("W", "weights"), "gradients": ("G", "gradients"), "optimizer": ("O", "optimizer"),
    "activations": ("A", "activations"), "transient": ("T", "temporary"), "working_set": ("S", "gathered layers"),
    "buffers": ("B", "buffers"), "context": ("C", "context"), "reserve": ("R", "reserve"),
}  # fmt: skip


#: A blank at which no line is broken.
BLANK = "\xa0"


def card_lines(facts: Facts, width: int) -> list[str]:
    """The bar with what it says in words, and its legend; empty if neither need nor card is known."""
    capacity, needed = facts["memory.capacity"], facts["memory.total"]
    parts = [(name, facts[f"memory.{name}"]) for name in PARTS]
    known = [(name, value) for name, value in parts if not isinstance(value, Unknown)]
    legend = [BLANK.join((*_SHOWN[name], gib_text(value))).replace(" ", BLANK) for name, value in known if 0 < value]
    if isinstance(needed, Unknown) or isinstance(capacity, Unknown) or capacity <= 0:
        return [f"of the GiB that are known: {', '.join(legend)}"] if legend else []
    stage = "" if facts["parallel.pipeline"] == 1 else f" on stage {stage_of(facts)}"
    head = f"{gib_text(needed)} of {gib_text(capacity)} GiB{stage}, {_left(needed, capacity)}"
    return [head, _bar(known, needed, capacity, width), ", ".join(legend)]


def _left(needed: Any, capacity: Any) -> str:
    if needed <= capacity:
        return f"{gib_text(capacity - needed)} GiB free ({percent_text((capacity - needed) / capacity)})"
    return f"{gib_text(needed - capacity)} GiB too much"


def _bar(parts: list[tuple[str, Any]], needed: Any, capacity: Any, width: int) -> str:
    """The bar, of the card or of the need if that is more; `|` is then where the card ends."""
    room = width - 2 - (needed > capacity)
    whole = max(needed, capacity)
    ends, total = [], 0
    for _, value in parts:
        total = total + value
        ends.append(int(room * total / whole + 0.5))
    starts = [0, *ends[:-1]] if ends else []
    bar = "".join(_SHOWN[name][0] * (end - at) for (name, _), at, end in zip(parts, starts, ends, strict=True))
    if needed <= capacity:
        return f"[{bar:.<{room}}]"
    at = int(room * capacity / whole)
    return f"[{bar[:at]}|{bar[at:]}]"

"""What a plan says about the training that no file of a target can say: the program has to do it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from planc.diagnostics.diagnostic import Diagnostic, Fault
from planc.plan.model import Plan, Record
from planc.targets._launch import choice_of

#: Sections about the training itself; `model`, `cluster`, `launch` and the rest are the compiler's or the launcher's.
_TRAINING = (
    "parallel", "shard", "batch", "precision", "recompute", "pipeline", "context", "expert", "offload", "optimizer",
    "schedule", "train", "dataset", "adapter", "checkpoint", "resume", "log", "profile",
)  # fmt: skip


def check_left(plan: Plan, target: str, fault: Fault, said: Collection[str]) -> Iterator[Diagnostic]:
    """One diagnostic with every written field that is not `said`, neither in the target's files nor as a fault."""
    choice = choice_of(plan, target)
    left = [path for section in _TRAINING for path in _written_paths(plan, section) if path not in said]
    if choice is None or not left:
        return
    count = "1 written field" if len(left) == 1 else f"{len(left)} written fields"
    yield fault.at(
        choice.span,
        f"`{target}` leaves {count} to the program",
        "not said in its files",
        notes=("the program sets " + ", ".join(f"`{path}`" for path in left),),
    )


def _written_paths(plan: Plan, section: str) -> Iterator[str]:
    """Paths of the written fields of a section; the section's own name stands for the variant it was made from."""
    value: Any = plan[section].value
    if not isinstance(value, Record):
        return
    if plan.is_written(section) and value.word not in (value.kind, "none"):
        yield section
    for name in value:
        path = f"{section}.{name}"
        if plan.is_written(path) and plan[path].value is not None:
            yield path

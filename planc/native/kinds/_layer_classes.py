"""Names of layer classes by which FSDP wraps a model."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix
from planc.native import faults
from planc.native.tree import Entry, Scalar, Seq
from planc.plan.families import LAYER_CLASSES


def check(entry: Entry | None) -> Iterator[Diagnostic]:
    """A class that is written in other letters than the one that there is: FSDP finds no such layer."""
    known = {name.lower(): name for name in LAYER_CLASSES.values()}
    nodes = () if entry is None else entry.value.items if isinstance(entry.value, Seq) else (entry.value,)
    for node in nodes:
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            continue
        for name in (part.strip() for part in node.value.split(",")):
            right = known.get(name.lower())
            if right is not None and right != name:
                fixes = (Fix(f"write `{right}`", (Edit(node.span, node.span.text.replace(name, right)),), safe=True),)
                message = f"no layer is called `{name}`"
                help = (f"write `{right}`",)
                yield faults.WRONG_VALUE.at(node.span, message, "the model has no such class", help=help, fixes=fixes)

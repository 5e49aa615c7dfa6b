"""Shapes: what is written for a record, with inheritance and narrowing merged, before anything is evaluated.

A shape maps each written field to a slot: the expression or the inner shape, where it stands, and the block at which
its paths start. Deriving (`from`) and narrowing copy slots, not values, so everything is worked out again in the
child.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from planc.plan.model import Origin
from planc.plan.schema import SECTIONS, Field
from planc.plan.scope import Scope
from planc.source import Source, Span
from planc.syntax import nodes

#: The scope of slots that hold no expression of their own.
NOWHERE = Scope(Source("", ""), nodes.File(Span(Source("", ""), 0, 0), (), (), (), complete=True))

#: What a slot holds where the text says nothing that could be used.
BROKEN = "broken"


class Slot(NamedTuple):
    """One written field.

    value: an expression node, a Shape, BROKEN, or a `nodes.Rule` in a policy; a `nodes.Candidates` is left open.
    span, entry, key: of the value, of the whole entry, and of the field's name.
    home: path of the block in which it is written, from the root of what is evaluated; paths in `value` start there.
    """

    value: Any
    span: Span
    entry: Span
    key: Span
    home: tuple[str, ...]
    scope: Scope
    origin: Origin


class Shape(NamedTuple):
    """The slots of a record.

    kind: section or block kind; word: its variant or the name of its block, at `span`.
    fields: what it may hold, by name; slots: what is written.
    home: path of the block that it is part of. poisoned: an entry could not be read, so unwritten fields are unknown.
    """

    kind: str
    word: str | None
    span: Span
    fields: dict[str, Field]
    slots: dict[str, Slot]
    home: tuple[str, ...]
    poisoned: bool

    def moved(self, prefix: tuple[str, ...]) -> Shape:
        """The shape as part of a larger record, under a path."""
        slots = {
            name: slot._replace(
                home=prefix + slot.home, value=slot.value.moved(prefix) if isinstance(slot.value, Shape) else slot.value
            )
            for name, slot in self.slots.items()
        }
        return self._replace(slots=slots, home=prefix + self.home)


def fields_of(kind: str) -> dict[str, Field]:
    """The fields of a kind of block or a section, by name."""
    return {field.name: field for field in SECTIONS.get(kind, ())}


def inherited(shape: Shape) -> Shape:
    """The shape as another block gets it: its slots are inherited."""
    slots = {
        name: slot._replace(
            origin=Origin.INHERITED, value=inherited(slot.value) if isinstance(slot.value, Shape) else slot.value
        )
        for name, slot in shape.slots.items()
    }
    return shape._replace(slots=slots)


def unread(shape: Shape) -> Shape:
    """The shape of a block that takes over what is not known: whatever it does not write itself is unknown.

    Its own entries are checked all the same, but for those in a section whose variant is not known.
    """
    slots: dict[str, Slot] = {}
    for field in shape.fields.values():
        form, of, span = field.type.form, field.type.of, shape.span
        value: Any = None
        if form == "record" or (form == "reference" and of not in ("plan", "policy")):
            home = (*shape.home, field.name) if form == "reference" else shape.home
            value = unread(Shape(of, None, span, fields_of(of), {}, home, True))
        elif form == "variant":
            value = BROKEN
        if value is not None:
            slots[field.name] = Slot(value, span, span, span, (), NOWHERE, Origin.INHERITED)
    return shape._replace(slots=slots, poisoned=True)


def head_of(item: Any) -> nodes.Name | None:
    """The name with which a reference, target or variant is written; None if it is no name."""
    if isinstance(item, nodes.Narrowed):
        return item.head
    if isinstance(item, nodes.String):
        return nodes.Name(item.span, item.value)
    if isinstance(item, nodes.Path) and len(item.names) == 1:
        return item.names[0]
    return None


def standing_alone(shape: Shape, kind: str) -> Shape:
    """A model, cluster or gpu block as the only field of a plan, so that it is read by the same paths as in one."""
    path = {"gpu": ("cluster", "gpu")}.get(kind, (kind,))
    span, name = shape.span, str(shape.word)
    whole = shape.moved(path)
    for at in range(len(path) - 1, -1, -1):
        outer = "plan" if at == 0 else path[at - 1]
        slot = Slot(whole, span, span, span, (), NOWHERE, Origin.WRITTEN)
        whole = Shape(outer, name, span, {path[at]: fields_of(outer)[path[at]]}, {path[at]: slot}, path[:at], False)
    return whole

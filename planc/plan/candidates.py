"""Fields that are left open: the plans that each choice gives, so that `lint` can say what holds for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

from planc.plan.instance import MAX_CANDIDATES, Instance
from planc.plan.model import Open, Plan
from planc.plan.shape import Shape, Slot
from planc.syntax import nodes


class Choices(NamedTuple):
    """One or several open fields and the plans that their candidates give; `written` says which was chosen in each."""

    fields: tuple[Open, ...]
    written: tuple[str, ...]
    plans: tuple[Plan, ...]


def open_slots(shape: Shape, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Slot]]:
    """Every field that is left open, with its path."""
    for name, slot in shape.slots.items():
        if isinstance(slot.value, nodes.Candidates):
            yield (*path, name), slot
        elif isinstance(slot.value, Shape):
            yield from open_slots(slot.value, (*path, name))


def choices_of(instance: Instance, settle: Callable[[Shape], Plan]) -> tuple[Choices, ...]:
    """The open fields of a plan with the plans that they may become.

    All fields together where that makes no more than 64 plans, else each field by itself with the others open; a field
    with more candidates than that is not tried.
    """
    slots = [(path, slot, instance.candidates(slot)) for path, slot in open_slots(instance.root)]
    slots = [entry for entry in slots if 0 < len(entry[2]) <= MAX_CANDIDATES]
    total = 1
    for _, _, items in slots:
        total *= len(items)
    if not slots:
        return ()
    groups = [slots] if total <= MAX_CANDIDATES else [[entry] for entry in slots]
    return tuple(_settled(instance, group, settle) for group in groups)


def _settled(
    instance: Instance,
    group: list[tuple[tuple[str, ...], Slot, tuple[Any, ...]]],
    settle: Callable[[Shape], Plan],
) -> Choices:
    plans, written = [], []
    for combination in product(*(items for _, _, items in group)):
        shape = instance.root
        for (path, slot, _), item in zip(group, combination, strict=True):
            shape = _with(instance, shape, path, slot, item)
        plans.append(settle(shape))
        texts = (item.text if isinstance(item, nodes.Number) else item.span.text for item in combination)
        pairs = zip(group, texts, strict=True)
        written.append(" and ".join(f"`{path[-1]} = {text}`" for (path, _, _), text in pairs))
    fields = tuple(Open(".".join(path), slot.entry) for path, slot, _ in group)
    return Choices(fields, tuple(written), tuple(plans))


def _with(instance: Instance, shape: Shape, path: tuple[str, ...], slot: Slot, item: Any) -> Shape:
    """The shape with one open field settled."""
    name, rest = path[0], path[1:]
    slots = dict(shape.slots)
    if rest:
        inner = slots[name]
        slots[name] = inner._replace(value=_with(instance, inner.value, rest, slot, item))
    else:
        slots[name] = instance.merger.settled(shape, shape.fields[name], item, slot)
    return shape._replace(slots=slots)

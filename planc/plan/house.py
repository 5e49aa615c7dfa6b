"""What holds for every plan of a house without being written in it: policies and versions of consumers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic
from planc.plan import faults
from planc.plan.merge import Merger
from planc.plan.model import Origin
from planc.plan.scope import Scope
from planc.plan.shape import Shape
from planc.source import Source, Span
from planc.syntax import nodes


class House(NamedTuple):
    """Files whose policies judge every plan, and `versions` of plans that do not say them; places in `source`."""

    source: Source
    policies: tuple[nodes.Use, ...]
    versions: tuple[nodes.Field, ...]


def house(
    source: Source, policies: Sequence[tuple[str, Span]], versions: Sequence[tuple[str, Span, str, Span]]
) -> House:
    """A house of files with the places of their names, and of versions: name and its place, text and its place."""
    uses = [nodes.Use(span, nodes.String(span, name)) for name, span in policies]
    fields = [
        nodes.Field(span, nodes.Name(key, name), nodes.String(span, text), quoted=False)
        for name, key, text, span in versions
    ]
    return House(source, tuple(uses), tuple(fields))


def scope_of_house(house: House) -> Scope:
    """The scope that uses the house's files, to be linked as any other."""
    whole = Span(house.source, 0, len(house.source.text))
    return Scope(house.source, nodes.File(whole, (), house.policies, (), complete=True))


def policies_of(scope: Scope) -> list[tuple[Scope, nodes.Block]]:
    """The policies of the files that a scope uses."""
    return [
        (used, block)
        for _, used in scope.used
        for block in used.file.blocks
        if block.kind == "policy" and (block.kind, block.name.text) not in used.twice
    ]


def without_policies(scope: Scope) -> Iterator[Diagnostic]:
    """The faults of used files that define no policy, for which they are named."""
    for use, used in scope.used:
        if used.file.complete and all(block.kind != "policy" for block in used.file.blocks):
            yield faults.UNKNOWN_NAME.at(use.path.span, f"`{use.path.value}` defines no policy", "judges no plan")


def with_versions(shape: Shape, house: House, merger: Merger, scope: Scope) -> Shape:
    """The shape of a plan with the house's versions of what it does not say itself."""
    slot = shape.slots.get("versions")
    if slot is not None and not isinstance(slot.value, Shape):
        return shape  # `versions = none`, or a value with a fault
    written = slot.value.slots if slot is not None else {}
    missing = tuple(field for field in house.versions if field.key.text not in written)
    if not missing:
        return shape
    span = missing[0].span
    section = nodes.Section(span, nodes.Name(span, "versions"), nodes.Body(span, missing))
    return merger.apply(shape, nodes.Body(span, (section,)), (), scope, "plan", Origin.INHERITED)

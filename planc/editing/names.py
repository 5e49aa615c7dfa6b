"""Names of blocks across files: where they are defined, where they are used, and what they may be renamed to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from planc.diagnostics.diagnostic import Edit
from planc.editing.document import Document
from planc.editing.linking import Linked
from planc.editing.roles import Role, parent_kinds
from planc.plan.naming import written
from planc.source import Source, Span

#: The document of a source.
Documents = Callable[[Source], Document]

_NAMING = ("definition", "reference", "parent")


class Target(NamedTuple):
    """A block that a name means: the file that defines it, its kind and name."""

    file: Linked
    kind: str
    name: str

    @property
    def span(self) -> Span:
        """Where the block's name is defined."""
        return self.file.scope.blocks[self.kind, self.name].name.span


def targets_of(role: Role, linked: Linked) -> tuple[Target, ...]:
    """The blocks that a name in a file may mean: none if it is unknown, several if it is not clear which."""
    if role.type == "definition":
        key = (role.kinds[0], role.text)
        return (Target(linked, *key),) if key in linked.scope.blocks else ()
    if role.type in _NAMING:
        for kind in role.kinds:
            found = linked.candidates((kind, role.text))
            if found:
                return tuple(Target(file, kind, role.text) for file in found)
    return ()


def uses_of(target: Target, files: Iterable[Linked], documents: Documents) -> Iterator[tuple[Span, Role]]:
    """Every place at which a name means a block, its definition included."""
    source = target.file.scope.source
    for linked in files:
        own = linked.scope.source
        if not _sees(linked, target):
            continue
        for role in documents(own).all_roles():
            if role.text == target.name and role.type in _NAMING:
                meant = targets_of(role, linked)
                if any(other.kind == target.kind and other.file.scope.source is source for other in meant):
                    yield Span(own, role.start, role.end), role


def renamed(target: Target, name: str, files: Iterable[Linked], documents: Documents) -> tuple[Edit, ...] | str:
    """The edits that give a block another name wherever it is used, or the reason why it cannot have that name."""
    reason = _unusable(name)
    if reason:
        return reason
    if name == target.name:
        return ()
    edits: list[Edit] = []
    for linked in files:
        places = [span for span, _ in uses_of(target, (linked,), documents)]
        # Where the new name is used already, in a file that sees the block, it would mean two.
        if places or (_sees(linked, target) and _mentions(documents(linked.scope.source), name)):
            for kind in parent_kinds(target.kind):
                other = linked.candidates((kind, name))
                if other and (places or other != [linked]):
                    return f"{other[0].scope.source.name} has a {kind} `{name}` already"
        edits.extend(Edit(span, written(name, span.text.startswith('"'))) for span in places)
    return tuple(edits)


def _sees(linked: Linked, target: Target) -> bool:
    """Whether a file is the one that defines a block, or uses that."""
    return any(file.scope.source is target.file.scope.source for file in (linked, *linked.used))


def _mentions(document: Document, name: str) -> bool:
    return any(role.text == name and role.type in _NAMING for role in document.all_roles())


def _unusable(name: str) -> str:
    if not name.strip():
        return "a name cannot be empty"
    if name != name.strip():
        return "a name cannot begin or end with a blank"
    if not name.isprintable():
        return "a name cannot hold characters that do not print"
    return ""

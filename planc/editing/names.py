"""Names of blocks across files: where they are defined, where they are used, and what they may be renamed to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from planc.diagnostics.diagnostic import Edit
from planc.editing.document import Document
from planc.editing.linking import Linked
from planc.editing.roles import Role, parent_kinds
from planc.plan.schema import KINDS
from planc.source import Source, Span
from planc.syntax.parse import scan

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
        if own is not source and all(used.scope.source is not source for used in linked.used):
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
    if not target.file.alone.parts:
        return f"`{target.name}` is of planc's own catalogue, which cannot be edited"
    if name == target.name:
        return ()
    edits: list[Edit] = []
    files = tuple(files)
    for linked in files:
        places = [(span, role) for span, role in uses_of(target, (linked,), documents)]
        for kind in parent_kinds(target.kind):
            if places and (other := linked.candidates((kind, name))):
                return f"{other[0].scope.source.name} has a {kind} `{name}` already"
        edits.extend(Edit(span, written(name, span.text.startswith('"'))) for span, _ in places)
    return tuple(edits)


def written(name: str, quoted: bool) -> str:
    """A name as it stands in a text: in quotes if it was, or has to be."""
    if not quoted and is_plain(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def is_plain(name: str) -> bool:
    """Whether a name can be written without quotes, wherever a name may stand."""
    tokens = scan(name)
    return [token.type for token in tokens] == ["NAME", "$END"] and tokens[0].end == len(name) and name not in KINDS


def _unusable(name: str) -> str:
    if not name.strip():
        return "a name cannot be empty"
    if name != name.strip():
        return "a name cannot begin or end with a blank"
    if not name.isprintable():
        return "a name cannot hold characters that do not print"
    return ""

"""The blocks that a document knows, each read when it is first asked for, and the files that it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from planc.diagnostics.diagnostic import Diagnostic
from planc.editing.document import Document, Part
from planc.editing.moving import moved
from planc.plan.scope import Load, Scope, is_read_in_parts, scope_of
from planc.source import Source, Span
from planc.syntax import nodes
from planc.syntax.outline import Outline
from planc.syntax.parse import MAX_FAULTS, parse_part, unquoted

#: Parts whose tree was summed up; as many as some hundred files have.
_MOST_KEPT = 5_000

#: The text of places that are counted from the start of a part.
NOWHERE = Source("", "")

#: Tokens that may name a block.
_NAMES = ("NAME", "STRING", "QUANTITY")

#: Kind and name of a block.
Key = tuple[str, str]


class Summary(NamedTuple):
    """What the tree of a part holds, with places from its start: its blocks, and what is wrong with its text.

    blocks: kind, name, and the place of the name. bad: some of it could not be read. words: every text in it that may
    be a name. The spans of faults are of no text, as a text that is kept for each keystroke would fill the memory.
    """

    blocks: tuple[tuple[str, str, int, int], ...]
    bad: bool
    faults: tuple[Diagnostic, ...]
    words: frozenset[str]


#: Summaries by the text of a part and what stands before it in its line.
Summaries = dict[tuple[str, str], Summary]


class Blocks(Mapping[Key, nodes.Block]):
    """The blocks of a document by kind and name, read on demand."""

    __slots__ = ("_parts", "_read", "_source")

    def __init__(self, source: Source, parts: dict[Key, Part]) -> None:
        self._source = source
        self._parts = parts
        self._read: dict[Key, nodes.Block] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._parts

    def __getitem__(self, key: Key) -> nodes.Block:
        if key not in self._read:
            found, _ = parse_part(self._source, self._parts[key].tokens)
            for node in found:
                if isinstance(node, nodes.Block):
                    self._read.setdefault((node.kind, node.name.text), node)
        return self._read[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


class Alone(NamedTuple):
    """A file by itself. scope: with all blocks and faults of the text, none of its blocks to be judged.

    parts: of each block that a name may mean, in the order of the text, with its words; empty for the catalogue.
    whole: False if the text has to be read in one piece, because it cannot be cut, or has too many faults.
    """

    scope: Scope
    parts: dict[Key, Part]
    words: dict[Key, frozenset[str]]
    whole: bool


def alone(document: Document, summaries: Summaries) -> Alone:
    """A document by itself."""
    source = document.source
    nodes_of: list[Any] = []
    parts: dict[Key, Part] = {}
    words: dict[Key, frozenset[str]] = {}
    faults: list[Diagnostic] = []
    for part in document.parts:
        if part.tokens[0].type in ("USE", "LANGUAGE"):
            found, reported = parse_part(source, part.tokens)
            nodes_of.extend(found)
            faults.extend(reported)
            continue
        summary = _summary(source, part, summaries)
        for kind, name, start, end in summary.blocks:
            place = Span(source, part.start + start, part.start + end)
            nodes_of.append(nodes.Block(place, kind, nodes.Name(place, name), None, None, broken=False))
            if (kind, name) not in parts:
                parts[kind, name], words[kind, name] = part, summary.words
        if summary.bad:
            nodes_of.append(nodes.Bad(Span(source, part.start, part.end), ()))
        faults.extend(_at(source, part.start, summary.faults))
    scope = scope_of(source, _file(source, nodes_of), tuple(faults))
    scope.file = scope.file._replace(blocks=())
    scope.blocks = Blocks(source, parts)
    return Alone(scope, parts, words, document.whole and len(faults) < MAX_FAULTS)


def catalogue(source: Source) -> Alone:
    """A file of planc's own."""
    scope = Scope(source, _file(source, []))
    scope.blocks = Outline(source)
    return Alone(scope, {}, {}, True)


class Linked:
    """A file with those that it uses, as they are now.

    scope: its own, with `used`; used: these files, in the order of `use`; outcomes: what became of each `use`: the
    reason why it failed, or nothing.
    """

    __slots__ = ("_visible", "alone", "outcomes", "scope", "used")

    def __init__(self, alone: Alone) -> None:
        self._visible: dict[str, list[tuple[Linked, Key]]] | None = None
        self.alone = alone
        self.scope = copied(alone.scope, ())
        self.used: list[Linked] = []
        self.outcomes: list[str] = []

    def files(self) -> list[Linked]:
        """This file and those that it uses, directly or through others, each once; the nearest first."""
        found = [self]
        for linked in found:
            found.extend(used for used in linked.used if not any(used is other for other in found))
        return found

    def candidates(self, key: Key) -> list[Linked]:
        """The files whose block a name may mean: the file's own hides the used ones."""
        if key in self.scope.blocks:
            return [self]
        return [used for used in self.used if key in used.scope.blocks]

    def visible(self) -> dict[str, list[tuple[Linked, Key]]]:
        """The blocks that a name may mean, of whatever kind, but for those of the catalogue."""
        if self._visible is None:
            self._visible = {}
            for file in (self, *self.used):
                for key in file.alone.parts:
                    if file is self or key not in self.scope.blocks:
                        self._visible.setdefault(key[1], []).append((file, key))
        return self._visible


def link(source: Source, alone_of: Callable[[Source, bool], Alone], load: Load) -> Linked:
    """A source with all that it uses. `alone_of` takes whether it is a file of planc's own."""
    found: dict[Source, Linked] = {source: Linked(alone_of(source, False))}
    todo = [found[source]]
    for linked in todo:
        for use in linked.scope.file.uses:
            reading = load(use.path.value, linked.scope.source)
            linked.outcomes.append(reading if isinstance(reading, str) else "")
            if isinstance(reading, str):
                continue
            if reading not in found:
                found[reading] = Linked(alone_of(reading, is_read_in_parts(use.path.value)))
                todo.append(found[reading])
            linked.used.append(found[reading])
            linked.scope.used.append((use, found[reading].scope))
    return found[source]


def copied(scope: Scope, blocks: tuple[nodes.Block, ...]) -> Scope:
    """A scope without faults, of whose blocks these are judged; its links are those of the other one."""
    made = Scope(scope.source, scope.file._replace(blocks=blocks))
    made.blocks, made.twice, made.used, made.linked = scope.blocks, scope.twice, list(scope.used), True
    return made


def _file(source: Source, found: list[Any]) -> nodes.File:
    return nodes.File(
        Span(source, 0, len(source.text)),
        tuple(node for node in found if isinstance(node, nodes.Setting)),
        tuple(node for node in found if isinstance(node, nodes.Use)),
        tuple(node for node in found if isinstance(node, nodes.Block)),
        not any(isinstance(node, nodes.Bad) for node in found),
    )


def _summary(source: Source, part: Part, summaries: Summaries) -> Summary:
    key = part_key(source, part)
    if key not in summaries:
        if _MOST_KEPT < len(summaries):
            summaries.clear()
        found, faults = parse_part(source, part.tokens)
        blocks = tuple(
            (node.kind, node.name.text, node.name.span.start - part.start, node.name.span.end - part.start)
            for node in found
            if isinstance(node, nodes.Block)
        )
        bad = any(isinstance(node, nodes.Bad) for node in found)
        summaries[key] = Summary(blocks, bad, _at(NOWHERE, -part.start, faults), _words(source, part))
    return summaries[key]


def part_key(source: Source, part: Part) -> tuple[str, str]:
    """The text of a part, and what stands before it in its line: all on which its tree depends."""
    line = source.text.rfind("\n", 0, part.start) + 1
    return source.text[line : part.start], source.text[part.start : part.end]


def _words(source: Source, part: Part) -> frozenset[str]:
    texts = ((token.type, source.text[token.start : token.end]) for token in part.tokens)
    return frozenset(unquoted(text) if type == "STRING" else text for type, text in texts if type in _NAMES)


def _at(source: Source, by: int, diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Diagnostics of one text, all places moved into another one."""

    def move(span: Span) -> Span:
        return Span(source, span.start + by, span.end + by)

    return tuple(found for fault in diagnostics if (found := moved(fault, move)) is not None)

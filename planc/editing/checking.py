"""What is wrong with a document, block by block: a block is judged anew only if its text, or that of a block on which
it depends, has changed. The result is that of `compiler.analyse` for the whole text.
"""

from __future__ import annotations

from typing import NamedTuple

from planc.compiler import analyse
from planc.diagnostics.diagnostic import Diagnostic, in_order
from planc.editing.document import Document, Kept, Part
from planc.editing.linking import Alone, Key, Linked, Summaries, alone, catalogue, copied, link, part_key
from planc.editing.moving import Move, moved
from planc.plan import faults
from planc.plan.house import House
from planc.plan.scope import Load, Made, Scope
from planc.source import MAX_BYTES, Source, Span

#: Judgements that are kept; a long session forgets the older ones.
_MOST_KEPT = 300

#: A block of a file.
Item = tuple[Linked, Key]


class Unit(NamedTuple):
    """What is judged at a time: a block, or with an empty key what the file uses.

    state: all on which the judgement depends, but for `names`; places: the parts in which its diagnostics may lie.
    """

    key: Key
    state: tuple[object, ...]
    places: tuple[Span, ...]
    names: tuple[object, ...]
    changed: bool


class Judged(NamedTuple):
    """What was found, with places from the start of a part: the spans are of `parts`, of which each stands for one.

    text: of the first part. names: what could be referred to, where that matters. fixed: the places for which alone it
    holds, as something was found outside of them; else None, and no text that has changed since is kept alive.
    """

    diagnostics: tuple[Diagnostic, ...]
    parts: tuple[Source, ...]
    text: str
    names: tuple[object, ...] | None
    fixed: tuple[Span, ...] | None


class Check(NamedTuple):
    """A document that is being checked. units: in the order in which they report; none if it is read whole.

    ruled: the files of the house's policies, or why they cannot be had.
    """

    document: Document
    linked: Linked
    house: House | None
    ruled: tuple[Source | str, ...]
    units: tuple[Unit, ...]
    whole: bool


class Checker:
    """What is remembered between two checks of the same files. `load` supplies files, as for `analyse`."""

    __slots__ = ("_alone", "_judged", "_kept", "_last", "_load", "_summaries", "documents")

    def __init__(self, load: Load) -> None:
        self._load = load
        self._kept = Kept({}, {})
        self._summaries: Summaries = {}
        self._alone: dict[Source, Alone] = {}
        self._judged: dict[tuple[object, ...], Judged] = {}
        self._last: dict[tuple[str, Key], Judged] = {}
        self.documents: dict[Source, Document] = {}

    def document(self, source: Source) -> Document:
        """The document of a source."""
        found = self.documents.get(source)
        if found is None:  # another thread may forget it at any time
            found = self.documents[source] = Document(source, self._kept)
        return found

    def forget(self, source: Source) -> None:
        """Drops what is known of a source that nobody uses any more."""
        self.documents.pop(source, None)
        self._alone.pop(source, None)

    def linked(self, source: Source) -> Linked:
        """A source with the files that it uses, as they are now."""
        return link(source, self._alone_of, self._load)

    def check(self, source: Source, house: House | None = None) -> Check:
        """The check of a source, of which nothing is judged yet; `house` is as for `analyse`."""
        linked = self.linked(source)
        files = linked.files()
        ruled = self._of_house(house)
        circular = source in ruled or any(used is linked for file in files for used in file.used)
        if circular or not all(file.alone.whole for file in files):
            return Check(self.document(source), linked, house, ruled, (), True)
        shape: tuple[object, ...] = tuple(
            (file.scope.source.name, file.scope.file.complete, tuple(file.outcomes), frozenset(file.scope.twice))
            for file in files
        )
        shape = (*shape, house, *ruled)
        names = tuple(tuple(file.alone.parts) for file in files)
        keys = [key for key in linked.alone.parts if key not in linked.scope.twice]
        met: dict[Item, tuple[Item, ...]] = {}
        units = [self._unit(linked, key, shape, names, _closure(linked, key, met)) for key in keys]
        units.append(self._used(linked, files, shape, names))
        # In this order a whole analysis finds them, of which the first to report a fault is the one that counts.
        units.sort(key=lambda unit: unit.key[0] == "plan")
        return Check(self.document(source), linked, house, ruled, tuple(units), False)

    def pending(self, check: Check) -> list[Unit]:
        """The units that have to be judged, those first whose own text has changed."""
        pending = [unit for unit in check.units if self._known(unit) is None]
        return sorted(pending, key=lambda unit: not unit.changed)

    def judge(self, check: Check, unit: Unit) -> None:
        """Judges a unit, and remembers the outcome."""
        source = check.document.source
        if unit.key[0]:
            made: Made = {(source, True): copied(check.linked.scope, (check.linked.scope.blocks[unit.key],))}
        else:
            root = Scope(source, check.linked.scope.file)
            root.blocks, root.twice = check.linked.scope.blocks, check.linked.scope.twice
            made = {(source, True): root}
        made.update({(file.scope.source, False): file.scope for file in check.linked.files() if not file.alone.parts})
        found = analyse((source,), self._load, made=made, house=check.house).diagnostics
        unknown = any(diagnostic.code == faults.UNKNOWN_NAME.code for diagnostic in found)
        if _MOST_KEPT < len(self._judged):
            self._judged.clear()
        parts = tuple(Source("", "") for _ in unit.places)
        stand_ins = tuple(
            Span(part, 0, place.end - place.start) for part, place in zip(parts, unit.places, strict=True)
        )
        kept = [moved(diagnostic, _move(unit.places, stand_ins)) for diagnostic in found]
        judged = Judged(
            tuple(diagnostic for diagnostic in kept if diagnostic is not None) if None not in kept else found,
            parts,
            unit.places[0].text if unit.places else "",
            unit.names if unknown else None,
            unit.places if None in kept else None,
        )
        self._judged[unit.state] = self._last[source.name, unit.key] = judged

    def diagnostics(self, check: Check) -> tuple[Diagnostic, ...]:
        """What is known by now: of a unit that is not judged yet, what was found before."""
        if check.whole:
            return analyse((check.document.source,), self._load, house=check.house).diagnostics
        found = list(check.linked.alone.scope.faults)
        for unit in check.units:
            judged = self._known(unit) or self._last.get((check.document.source.name, unit.key))
            if judged is not None:
                found.extend(_moved_to(judged, unit.places))
        return in_order(found)

    def all_diagnostics(self, source: Source, house: House | None = None) -> tuple[Diagnostic, ...]:
        """Everything that is wrong with a source, and with what it uses."""
        check = self.check(source, house)
        for unit in self.pending(check):
            self.judge(check, unit)
        return self.diagnostics(check)

    def _of_house(self, house: House | None) -> tuple[Source | str, ...]:
        """The files of a house's policies and what these use, or why they cannot be had."""
        found: list[Source | str] = []
        for use in house.policies if house is not None else ():
            reading = self._load(use.path.value, house.source if house is not None else None)
            files = [] if isinstance(reading, str) else self.linked(reading).files()
            found.extend([file.scope.source for file in files] or [reading])
        return tuple(found)

    def _alone_of(self, source: Source, own: bool) -> Alone:
        found = self._alone.get(source)
        if found is None:
            found = catalogue(source) if own else alone(self.document(source), self._summaries)
            self._alone[source] = found
        return found

    def _known(self, unit: Unit) -> Judged | None:
        judged = self._judged.get(unit.state)
        if judged is None or judged.names not in (None, unit.names):
            return None
        return None if judged.fixed not in (None, unit.places) else judged

    def _unit(
        self,
        linked: Linked,
        key: Key,
        shape: tuple[object, ...],
        names: tuple[object, ...],
        closure: list[tuple[Linked, Part]],
    ) -> Unit:
        texts = tuple((file.scope.source.name, part_key(file.scope.source, part)) for file, part in closure)
        read = tuple(self._imports(file, part) for file, part in closure)
        places = tuple(Span(file.scope.source, part.start, part.end) for file, part in closure)
        last = self._last.get((linked.scope.source.name, key))
        changed = last is None or last.text != places[0].text
        return Unit(key, (key, shape, texts, read), places, names, changed)

    def _used(self, linked: Linked, files: list[Linked], shape: tuple[object, ...], names: tuple[object, ...]) -> Unit:
        """What is wrong with the lines that use files, and in these files."""
        source = linked.scope.source
        sources = tuple(file.scope.source for file in files[1:])
        uses = tuple(use.span.text for use in linked.scope.file.uses)
        places = [use.span for use in linked.scope.file.uses]
        places.extend(Span(used, 0, len(used.text) + 1) for used in sources)
        return Unit(("", ""), ("", source.name, shape, sources, uses), tuple(places), names, False)

    def _imports(self, file: Linked, part: Part) -> tuple[object, ...]:
        document = self.documents.get(file.scope.source)
        if document is None or not any(token.type == "FROM" for token in part.tokens):
            return ()
        paths = [role.text for role in document.roles(part) if role.type == "import"]
        return tuple(self._load(path, file.scope.source) for path in paths)


def _closure(linked: Linked, key: Key, met: dict[Item, tuple[Item, ...]]) -> list[tuple[Linked, Part]]:
    """The part of a block and those of all blocks that a word in it may mean, each with its file."""
    found = {(linked, key): None}
    todo = [(linked, key)]
    for item in todo:
        if item not in met:
            file, own = item
            visible = file.visible()
            words = sorted(file.alone.words[own] & visible.keys())
            met[item] = tuple(meant for word in words for meant in visible[word])
        todo.extend(other for other in met[item] if other not in found)
        found.update(dict.fromkeys(met[item]))
    return [(file, file.alone.parts[own]) for file, own in found]


def _moved_to(judged: Judged, places: tuple[Span, ...]) -> list[Diagnostic]:
    """The diagnostics where the parts stand now; those that cannot be placed are left out."""
    if judged.fixed is not None:
        return list(judged.diagnostics) if judged.fixed == places else []
    stand_ins = tuple(Span(part, 0, MAX_BYTES) for part in judged.parts)
    move = _move(stand_ins, places)
    return [diagnostic for found in judged.diagnostics if (diagnostic := moved(found, move)) is not None]


def _move(before: tuple[Span, ...], after: tuple[Span, ...]) -> Move:
    """Where a span lies, now that the parts lie elsewhere; a text of which none is a part stays as it is."""

    def move(span: Span) -> Span | None:
        for old, new in zip(before, after, strict=False):
            if old.source is span.source and old.start <= span.start and span.end <= old.end:
                by = new.start - old.start
                return Span(new.source, min(span.start + by, new.end), min(span.end + by, new.end))
        return span if all(span.source is not old.source for old in before) else None

    return move

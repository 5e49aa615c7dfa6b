"""What files say as the text of a plan, and the way back from places in that text to places in the files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from planc.native.kind import Said
from planc.native.saying import quoted
from planc.plan.naming import is_plain
from planc.plan.schema import SECTIONS
from planc.source import Source, Span


class Range(NamedTuple):
    """Where one said value stands in the composed text: from `start` to `end`, its value from `value` on.

    reach: how far what belongs to it goes: of a section with a word, to the closing brace.
    """

    start: int
    value: int
    end: int
    reach: int
    said: Said


class Composed(NamedTuple):
    """The text of a plan, with the ranges of what was said."""

    source: Source
    ranges: tuple[Range, ...]

    def said_at(self, span: Span) -> Range | None:
        """The range that holds a span; of several the smallest."""
        holding = [each for each in self.ranges if each.start <= span.start and span.end <= each.reach]
        return min(holding, key=lambda each: each.reach - each.start, default=None)

    def said_within(self, span: Span) -> Range | None:
        """The first range within a span: what a section holds."""
        return next((each for each in self.ranges if span.start <= each.start and each.end <= span.end), None)


class Parts(NamedTuple):
    """What stands around the said fields.

    uses: names behind `use`; blocks: whole blocks before the plan; cluster, model, gpu: names that the plan refers to.
    """

    uses: tuple[str, ...] = ()
    blocks: str = ""
    cluster: str | None = None
    model: str | None = None
    gpu: str | None = None


#: The field that names the targets.
_EMIT = "emit"

#: No part: the files say everything.
NOTHING = Parts()


class Remarks(NamedTuple):
    """Comments for who reads the text.

    beside: what stands behind a field, empty if nothing does; within: lines at the end of a section, by its path, its
    word, and the fields that it has.
    """

    beside: Callable[[Said], str]
    within: Callable[[tuple[str, ...], str | None, tuple[str, ...]], Iterable[str]]


#: A text that nobody reads.
SILENT = Remarks(lambda said: "", lambda path, word, fields: ())


def compose(
    said: Sequence[Said],
    targets: Sequence[str],
    name: str,
    parts: Parts = NOTHING,
    remarks: Remarks = SILENT,
) -> Composed:
    """The plan that says so. Of several values of one field, the first that is not assumed; a section's word before
    what stands in it. A field of a section whose word nobody says, and which has no default, is left out.
    `emit.NAME.OPTION` is an option of one of the targets.
    """
    chosen: dict[str, Said] = {}
    for each in said:
        known = chosen.get(each.path)
        if known is None or (known.assumed and not each.assumed) or (each.leads and not known.leads):
            chosen[each.path] = each
    writer = _Writer(remarks)
    for used in parts.uses:
        writer.line(f"use {quoted(used)}")
    writer.add(parts.blocks)
    writer.add("\n" if parts.uses or parts.blocks else "")
    writer.line(f"plan {name if is_plain(name) else quoted(name)} {{")
    tree = _tree(chosen, parts)
    options = tree.inside.pop(_EMIT, _Branch())
    _wordless(tree, "plan")
    if targets:
        tree.inside[_EMIT] = _Branch()
        tree.inside[_EMIT].inside.update({target: options.inside.get(target, _Branch()) for target in targets})
    writer.section((), tree)
    writer.line("}")
    return writer.done(name)


class _Branch:
    """The said fields of one section: its own word, if it has one, and what is in it."""

    __slots__ = ("inside", "reference", "said")

    def __init__(self) -> None:
        self.said: Said | None = None
        self.reference: str | None = None
        self.inside: dict[str, _Branch] = {}


def _tree(chosen: dict[str, Said], parts: Parts) -> _Branch:
    root = _Branch()
    for name, reference in (("model", parts.model), ("cluster", parts.cluster)):
        if reference is not None:
            root.inside[name] = _Branch()
            root.inside[name].reference = reference
    if parts.gpu is not None:
        gpu = root.inside.setdefault("cluster", _Branch()).inside.setdefault("gpu", _Branch())
        gpu.reference = parts.gpu
    for path, said in chosen.items():
        at = root
        for name in path.split("."):
            at = at.inside.setdefault(name, _Branch())
        at.said = said
    return root


def _wordless(branch: _Branch, kind: str) -> None:
    """Removes sections that need a word and have none."""
    fields = {field.name: field for field in SECTIONS.get(kind, ())}
    for name, inner in list(branch.inside.items()):
        field = fields.get(name)
        if field is None or not inner.inside:
            continue
        if field.type.form == "variant" and inner.said is None and not field.default:
            del branch.inside[name]
        elif field.type.form in ("record", "variant", "reference"):
            _wordless(inner, field.type.of)


class _Writer:
    """A text that grows, and where what was said stands in it."""

    __slots__ = ("_at", "_depth", "_pieces", "_ranges", "_remarks")

    def __init__(self, remarks: Remarks) -> None:
        self._remarks = remarks
        self._pieces: list[str] = []
        self._ranges: list[Range] = []
        self._at = 0
        self._depth = 0

    def add(self, text: str) -> int:
        """Adds a text; returns where it begins."""
        start = self._at
        self._pieces.append(text)
        self._at += len(text)
        return start

    def line(self, text: str) -> int:
        """Adds a line, indented; returns where its text begins."""
        self.add("  " * self._depth)
        start = self.add(text)
        self.add("\n")
        return start

    def section(self, path: tuple[str, ...], branch: _Branch) -> None:
        """Adds what stands in a section."""
        self._depth += 1
        for name, inner in branch.inside.items():
            self._entry((*path, name), name if name.isidentifier() else quoted(name), inner)
        word = branch.said.text if branch.said is not None else branch.reference
        for remark in self._remarks.within(path, word, tuple(branch.inside)):
            self.line(f"# {remark}")
        self._depth -= 1

    def _entry(self, path: tuple[str, ...], name: str, branch: _Branch) -> None:
        if path == (_EMIT,):
            self._targets(branch.inside)
            return
        said, reference = branch.said, branch.reference
        remark = "" if said is None else self._remarks.beside(said)
        behind = f"  # {remark}" if remark else ""
        if not branch.inside:
            text = str(reference) if said is None else said.text
            start = self.line(f"{name} = {text}{behind}")
            self._note(said, start, start + len(name) + 3, start + len(name) + 3 + len(text), None)
            return
        head = f" = {said.text if said is not None else reference}" if said is not None or reference else ""
        start = self.line(f"{name}{head} {{{behind}")
        self.section(path, branch)
        self.line("}")
        self._note(said, start, start + len(name) + 3, start + len(name) + len(head), self._at - 1)

    def _targets(self, chosen: dict[str, _Branch]) -> None:
        """Adds the list of targets, each with its options."""
        self.add(f"{'  ' * self._depth}{_EMIT} = [")
        for at, (target, branch) in enumerate(chosen.items()):
            self.add(f"{', ' if at else ''}{target}")
            said = [each.said for each in branch.inside.values() if each.said is not None]
            for number, each in enumerate(said):
                name = each.path.rpartition(".")[2]
                self.add("  " if number else " { ")
                start = self.add(f"{name} = {each.text}")
                self._note(each, start, start + len(name) + 3, self._at, None)
            self.add(" }" if said else "")
        self.add("]\n")

    def _note(self, said: Said | None, start: int, value: int, end: int, reach: int | None) -> None:
        if said is not None:
            self._ranges.append(Range(start, value, end, end if reach is None else reach, said))

    def done(self, name: str) -> Composed:
        """The text as a source."""
        return Composed(Source(name, "".join(self._pieces)), tuple(sorted(self._ranges, key=lambda each: each.start)))

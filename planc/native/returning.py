"""What rules say of a composed plan, said of the files that it was made of: at their places, by their keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label
from planc.native.composing import Composed
from planc.native.kind import Said
from planc.native.values import with_point
from planc.native.wording import argument, worded
from planc.source import Source, Span

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?")
_FLAGS = ("true", "false")
_QUOTED = re.compile(r"`([^`\n]+)`")
_SETTING = re.compile(r"(?:[\w.]+\.)?(\w+) = (.+)")

#: A text without anything that a format would write in another way.
_TEXT = re.compile(r'"([A-Za-z][\w-]*)"')

#: An option of a command line.
_OPTION = re.compile(r"--?[A-Za-z][\w.-]*")

#: The other way out that a plan has: to let planc work a field out.
_OR_AUTO = re.compile(r",? or `[\w.]+ = auto`")


class Way:
    """The way back. `formats` are those of the files, `home` is the file to show what stands in none of them."""

    __slots__ = ("_by_leaf", "_by_path", "_composed", "_formats", "_home")

    def __init__(self, composed: Composed, formats: dict[Source, str], home: Source) -> None:
        self._composed = composed
        self._formats = formats
        self._home = home
        self._by_path: dict[str, Said] = {}
        self._by_leaf: dict[str, Said | None] = {}
        for each in composed.ranges:
            said = each.said
            self._by_path[said.path] = said
            leaf = said.path.rpartition(".")[2]
            self._by_leaf[leaf] = said if leaf not in self._by_leaf else None

    def all(self, found: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
        """The diagnostics, each said of the files."""
        return map(self.one, found)

    def one(self, found: Diagnostic) -> Diagnostic:
        """A diagnostic, said of the files. Of its fixes, those that change a number which the file writes alike."""
        near = self._near(found)
        fixes = [self._fix(fix, near) for fix in found.fixes]
        primary = self._label(found.primary, near)
        shown = (each for each in found.related if self._is_written(each.span))
        related = [label for each in shown if (label := self._label(each, near)).span != primary.span]
        return found._replace(
            message=self._words(found.message, near),
            primary=primary,
            related=tuple(dict.fromkeys(related)),
            help=tuple(self._words(_OR_AUTO.sub("", text), near) for text in found.help),
            notes=tuple(self._words(text, near) for text in found.notes),
            fixes=tuple(fix for fix in fixes if fix is not None),
        )

    def _near(self, found: Diagnostic) -> dict[str, Said]:
        """What is said at the places that a diagnostic shows, by the last parts of the paths; the first counts."""
        near: dict[str, Said] = {}
        for label in (found.primary, *found.related):
            if label.span.source is self._composed.source:
                at = self._composed.said_at(label.span)
                if at is not None:
                    near.setdefault(at.said.path.rpartition(".")[2], at.said)
        return near

    def span(self, span: Span) -> Span:
        """The place in a file that a place in the composed text stands for; else the start of the first file."""
        if span.source is not self._composed.source:
            return span
        at = self._composed.said_at(span)
        if at is None:
            within = self._composed.said_within(span)
            return within.said.entry if within is not None else Span(self._home, 0, 0)
        return at.said.value if at.value <= span.start and span.end <= at.end else at.said.entry

    def _is_written(self, span: Span) -> bool:
        """Whether somebody wrote what stands at a place; of the composed text much is said beside the files."""
        if span.source is not self._composed.source:
            return True
        return self._composed.said_at(span) is not None or self._composed.said_within(span) is not None

    def _label(self, label: Label, near: Mapping[str, Said]) -> Label:
        text = self._words(label.text, near)
        at = self._composed.said_at(label.span) if label.span.source is self._composed.source else None
        if at is not None and at.said.assumed:
            reason = f"follows from `{at.said.key}`" if at.said.follows else f"`{at.said.key}` is left out"
            text = f"{reason}: {text}" if text else reason
        return Label(self.span(label.span), text)

    def _fix(self, fix: Fix, near: Mapping[str, Said]) -> Fix | None:
        edits = []
        for edit in fix.edits:
            if edit.span.source is not self._composed.source:
                return None  # a plan that the files are judged beside belongs to others, too
            at = self._composed.said_at(edit.span)
            exact = at is not None and (edit.span.start, edit.span.end) == (at.value, at.end)
            text = as_written(at.said, edit.text) if at is not None and exact else None
            if at is None or text is None or at.said.assumed:
                return None
            edits.append(Edit(at.said.value, self._number(at.said, text)))
        return fix._replace(title=self._words(fix.title, near), edits=tuple(edits)) if edits else None

    def _words(self, text: str, near: Mapping[str, Said]) -> str:
        """A text with the files' own keys in place of the fields that they say, and words for other settings."""
        return _QUOTED.sub(lambda match: self._quoted(match, near), text)

    def _quoted(self, match: re.Match[str], near: Mapping[str, Said]) -> str:
        inner = match[1]
        said = self._by_path.get(inner)
        if said is not None:
            return f"`{self._key(said)}`"
        setting = _SETTING.fullmatch(inner)
        if setting is None:
            return match[0]
        path, name, value = inner.partition(" = ")[0], setting[1], setting[2]
        said = self._by_path.get(path) if "." in path else near.get(name) or self._by_leaf.get(name)
        text = _shown(said, value) if said is not None else None
        if said is not None and text is not None:
            return f"`{self.setting(said, text)}`"
        own = self._argument(name)
        if own is not None:
            return f"`{self._set(self._home, own, value)}`"
        return worded(name, value) or match[0]

    def _argument(self, name: str) -> str | None:
        """The argument of Megatron-LM for a field that none of its files has, in the form of those that they have."""
        own, known = argument(name), self._by_path.get("parallel.tensor") or self._by_path.get("model.layers")
        if own is None or known is None or not known.key.startswith("--"):
            return None
        return f"--{own}"

    def setting(self, said: Said, value: str) -> str:
        """A key with a value, as its file writes them."""
        source, text = said.entry.source, said.entry.text
        key, number = self._key(said), self._number(said, value)
        if self._formats.get(source) == "shell" and text.startswith(f"{key}="):
            return f"{key}={number}"
        return self._set(source, key, number)

    def _key(self, said: Said) -> str:
        """A key as its file writes it: an option of a command line with its dashes."""
        option = _OPTION.match(said.entry.text) if self._formats.get(said.entry.source) == "shell" else None
        return said.key if option is None else option[0]

    def _number(self, said: Said, text: str) -> str:
        """A number as the file's format reads it: without a point, `1e-5` is a text to YAML."""
        is_yaml = self._formats.get(said.entry.source, "yaml") == "yaml"
        return with_point(text) if is_yaml and _NUMBER.fullmatch(text) else text

    def _set(self, source: Source, key: str, value: str) -> str:
        form = self._formats.get(source, "yaml")
        if form == "json":
            return f'"{key}": {value}'
        if form == "shell":
            return key if value == "true" else f"{key} {value}"
        return f"{key} = {value}" if form == "toml" else f"{key}: {value}"


def _shown(said: Said, text: str) -> str | None:
    """Another value of what was said, for who is to write it: also a number that the file writes in another way."""
    written = as_written(said, text)
    if written is not None or not (_NUMBER.fullmatch(said.text) and _NUMBER.fullmatch(text)):
        return written
    try:
        return text if float(said.value.text) == float(said.text) else None
    except ValueError:
        return None


def as_written(said: Said, text: str) -> str | None:
    """Another value of what was said, as its file writes it: a flag, or a number without the unit that its key implies.

    None where the file may write it otherwise than the language does.
    """
    number, _, unit = said.text.partition(" ")
    if unit and said.value.text == number:
        other, _, own = text.partition(" ")
        return other if own == unit and _NUMBER.fullmatch(other) else None
    old, new = _TEXT.fullmatch(said.text), _TEXT.fullmatch(text)
    if old is not None and new is not None:
        own = said.value.text
        return own.replace(old[1], new[1]) if own.strip("\"'") == old[1] else None
    is_flag = said.text in _FLAGS and text in _FLAGS
    return text if said.plain and (is_flag or _NUMBER.fullmatch(text)) else None

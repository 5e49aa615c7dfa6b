"""Values of a file in the words of the language, field by field."""

from __future__ import annotations

from typing import Any

from planc.diagnostics.diagnostic import Diagnostic
from planc.native.kind import Content, Reference, Said
from planc.native.tree import Entry, Map, Scalar, Seq
from planc.source import Source, Span


class Sayer:
    """Collects what one file says; a kind's `read` fills it and returns `content()`."""

    __slots__ = (
        "_diagnostics", "_hidden", "_name", "_references", "_said", "_starters", "_stated", "_targets", "_used",
        "_withheld",
    )  # fmt: skip

    def __init__(self) -> None:
        self._said: list[Said] = []
        self._diagnostics: list[Diagnostic] = []
        self._references: list[Reference] = []
        self._targets: list[str] = []
        self._withheld: list[str] = []
        self._hidden: list[str] = []
        self._used: list[Span] = []
        self._stated: list[Entry] = []
        self._starters: list[str] = []
        self._name = ""

    def content(self) -> Content:
        """All that was said."""
        withheld = tuple(dict.fromkeys(self._withheld))
        targets = tuple(dict.fromkeys(self._targets))
        return Content(
            tuple(self._said), tuple(self._diagnostics), tuple(self._references), withheld, targets,
            tuple(dict.fromkeys(self._hidden)), tuple(self._used), tuple(self._stated),
            tuple(dict.fromkeys(self._starters)), self._name,
        )  # fmt: skip

    def target(self, name: str) -> None:
        """The file is for this trainer too, by the name that `emit` has."""
        self._targets.append(name)

    def start(self, target: str) -> None:
        """An imported plan has this target, which starts such a job."""
        self._starters.append(target)

    def name(self, name: str) -> None:
        """The job has this name."""
        self._name = name

    def report(self, *diagnostics: Diagnostic) -> None:
        """Something is wrong with the file."""
        self._diagnostics.extend(diagnostics)

    def refer(
        self,
        path: str,
        span: Span,
        kind: str | None = None,
        sure: bool = True,
        here: bool = True,
        taken: Source | None = None,
    ) -> None:
        """The file names another one, as `Reference` has it."""
        self._references.append(Reference(path, span, kind, sure, here, taken))

    def withhold(self, *paths: str) -> None:
        """The file decides these fields or sections in a way that cannot be told: they have no default."""
        self._withheld.extend(paths)

    def hide(self, *paths: str) -> None:
        """The file decides these fields over all others, by what only the run knows."""
        self._hidden.extend(paths)

    def use(self, *entries: Entry | None) -> None:
        """What is said holds these entries as well."""
        self._used.extend(entry.span for entry in entries if entry is not None)

    def state(self, entry: Entry) -> None:
        """A text without a tree has this setting, whether or not it is said."""
        self._stated.append(entry)

    def say(self, path: str, entry: Entry | None, text: str | None = None, unit: str = "", wins: bool = False) -> None:
        """The field at a path is what the entry says: `text` in the language, else the entry's number, flag or text.

        Nothing is said where there is no entry, or its value is null, a gap of a template or no scalar: the key tables
        tell of wrong types. `unit` is set behind a number: `steps`; `wins`: the consumer takes this over other files.
        """
        if entry is None:
            return
        plain = text is None
        if text is None:
            if not isinstance(entry.value, Scalar):
                return
            text = written(entry.value.value)
            if text is None or (unit and not isinstance(entry.value.value, (int, float))):
                return
        if unit:
            text, plain = f"{text} {unit}", False
        plain = plain and entry.value.span.text == text
        self._said.append(Said(path, text, entry.span, entry.value.span, entry.name, plain, wins=wins))

    def assume(self, path: str, text: str, place: Span, key: str, plain: bool = False) -> None:
        """The file leaves `key` out, and the consumer takes this value; `place` is what the key would stand in.

        `plain`: under that key the file would write the same text as the language does.
        """
        self._said.append(Said(path, text, place, place, key, plain, assumed=True))


def written(value: Any) -> str | None:
    """A value as the language writes it: a number, a flag, a quoted text; None where it has no such value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**18 else None
    if isinstance(value, float):
        return number(value)
    if isinstance(value, str) and value.isprintable():
        return quoted(value)
    return None


def number(value: float) -> str | None:
    """A float as the language writes numbers; None for NaN and infinities."""
    if value != value or value in (float("inf"), float("-inf")):
        return None
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(value).replace("e+", "e").replace("e0", "e").replace("e-0", "e-")


def quoted(text: str) -> str:
    """A text in the quotes of the language."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def numbers(entry: Entry | None) -> str | None:
    """A list of numbers as the language writes it; None if it is none."""
    if entry is None or not isinstance(entry.value, Seq):
        return None
    texts = [
        written(item.value) if isinstance(item, Scalar) and isinstance(item.value, (int, float)) else None
        for item in entry.value.items
    ]
    return None if not texts or None in texts else f"[{', '.join(text for text in texts if text)}]"


def whole(entry: Entry | None) -> int | None:
    """The whole number of an entry; None if it has none. True and false are none."""
    value = entry.value.value if entry is not None and isinstance(entry.value, Scalar) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def is_on(node: Map, *path: str) -> bool:
    """Whether the flag at a path is true."""
    return node.value(*path) is True

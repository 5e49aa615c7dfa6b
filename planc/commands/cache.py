"""What `lint` found before, kept for files that are as they were.

An entry belongs to one file's text, the place where it lies, the configuration that says what holds for every plan, the
command line's settings, and planc itself: the key is a hash of all of them, planc's part being name, size and time of
each file of the package. It also holds what the file used: each `use` is looked up again and its text hashed before the
entry is believed. So an entry is either right or not found. Entries are JSON in a folder that only this user can enter;
a folder that others could write to is not used.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from typing import Any

from planc import resources
from planc.commands.files import Files
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Severity
from planc.source import Source, Span

try:
    from _blake2 import blake2b  # what `hashlib` gives, without its loading of OpenSSL, which takes as long as the rest
except ImportError:
    from hashlib import blake2b

#: Entries beyond which the oldest half is dropped.
MOST_ENTRIES = 10_000

Analyse = Callable[[Source, Callable[[str, "Source | None"], "Source | str"]], "tuple[Diagnostic, ...]"]


class Cache:
    """The entries of one user; every operation that fails leaves planc to analyse the file."""

    __slots__ = ("_digests", "_files", "_folder", "_planc", "_settings")

    def __init__(self, files: Files, settings: tuple[str, ...]) -> None:
        self._files = files
        self._settings = settings
        self._digests: dict[Source, str] = {}
        self._folder = own_folder()
        self._planc = _fingerprint() if self._folder is not None else ""

    def kept(self, source: Source, house: Source | None) -> tuple[Diagnostic, ...] | None:
        """What was kept of a source under a house's configuration; None if it has to be analysed."""
        entry = self._entry(source, house)
        return None if entry is None else self._kept(entry, _known(source, house))

    def found(self, source: Source, house: Source | None, analyse: Analyse) -> tuple[Diagnostic, ...]:
        """What `analyse` finds in a source, which is then kept."""
        entry = self._entry(source, house)
        if entry is None:
            return analyse(source, self._files.load)
        used: list[tuple[Source | None, str, Source | str]] = []

        def load(name: str, importer: Source | None) -> Source | str:
            outcome = self._files.load(name, importer)
            used.append((importer, name, outcome))
            return outcome

        diagnostics = analyse(source, load)
        self._keep(entry, _known(source, house), used, diagnostics)
        return diagnostics

    def _entry(self, source: Source, house: Source | None) -> str | None:
        path = self._files.real_path(source)
        if self._folder is None or path is None:
            return None
        return os.path.join(self._folder, self._key(source, house, path))

    def _key(self, source: Source, house: Source | None, path: str) -> str:
        home = ("",) if house is None else (self._files.place(house), house.name, house.text)
        parts = (self._planc, path, source.name, source.text, *home, *self._settings)
        return key_of("\0".join(parts))

    def _kept(self, entry: str, sources: list[Source]) -> tuple[Diagnostic, ...] | None:
        try:
            with open(entry, encoding="utf-8") as file:
                data = json.load(file)
            for importer, name, digest in data["used"]:
                outcome = self._files.load(name, sources[importer])
                if self._digest(outcome) != digest:
                    return None
                if isinstance(outcome, Source) and outcome not in sources:
                    sources.append(outcome)
            return tuple(_diagnostic(found, sources) for found in data["found"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None

    def _keep(
        self,
        entry: str,
        sources: list[Source],
        used: list[tuple[Source | None, str, Source | str]],
        diagnostics: tuple[Diagnostic, ...],
    ) -> None:
        lookups = []
        for importer, name, outcome in used:
            if importer not in sources:
                return
            lookups.append((sources.index(importer), name, self._digest(outcome)))
            if isinstance(outcome, Source) and outcome not in sources:
                sources.append(outcome)
        if any(span.source not in sources for found in diagnostics for span in _spans(found)):
            return  # a place in the command line, which no file holds
        data = {"used": lookups, "found": [_data(found, sources) for found in diagnostics]}
        put(entry, data)

    def _digest(self, outcome: Source | str) -> str:
        """As `_digest`, with each text hashed once: a thousand files use one catalogue."""
        if isinstance(outcome, str):
            return _digest(outcome)
        if outcome not in self._digests:
            self._digests[outcome] = _digest(outcome)
        return self._digests[outcome]

    def tidy(self) -> None:
        """Drops the oldest half of the entries where there are too many."""
        if self._folder is None:
            return
        try:
            entries = [(entry.stat().st_mtime, entry.path) for entry in os.scandir(self._folder)]
            for _, path in sorted(entries)[: len(entries) // 2 if MOST_ENTRIES < len(entries) else 0]:
                os.unlink(path)
        except OSError:
            return


def remembered(what: str, make: Callable[[], Any]) -> Any:
    """A value that follows from planc alone, as JSON gives it back: kept from an earlier run, else made and kept."""
    folder = own_folder()
    if folder is None:
        return make()
    entry = os.path.join(folder, key_of(f"{what}\0{_fingerprint()}"))
    try:
        with open(entry, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError, RecursionError):
        value = make()
        put(entry, value)
        return value


def put(entry: str, value: Any) -> None:
    """Puts a value in place of an entry, as a whole; where that cannot be done, nothing is kept."""
    temporary = f"{entry}.{os.getpid()}"
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump(value, file)
        os.replace(temporary, entry)
    except (OSError, ValueError):
        return


def _known(source: Source, house: Source | None) -> list[Source]:
    """The sources that an entry may speak of without having looked them up."""
    return [source] if house is None else [source, house]


def own_folder() -> str | None:
    """The folder of the entries: made if it is not there, None if it is not this user's alone."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    if not os.path.isabs(base) or not hasattr(os, "getuid"):
        return None
    folder = os.path.join(base, "planc")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.lstat(folder)
    except OSError:
        return None
    private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return folder if private else None


def _fingerprint() -> str:
    """A hash of name, size and time of every file that planc is made of."""
    lines = [f"{path}\0{found.st_size}\0{found.st_mtime_ns}" for path, found in resources.own_files()]
    return key_of("\n".join(sorted(lines)))


def _digest(outcome: Source | str) -> str:
    """A hash of what a `use` came to: a text under its name, or the reason why there is none."""
    kind, text = ("text", f"{outcome.name}\0{outcome.text}") if isinstance(outcome, Source) else ("reason", outcome)
    return key_of(f"{kind}\0{text}")


def key_of(text: str) -> str:
    """The name of the entry for what a text says."""
    return str(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest())


def _spans(found: Diagnostic) -> Iterator[Span]:
    yield found.primary.span
    yield from (label.span for label in found.related)
    yield from (edit.span for fix in found.fixes for edit in fix.edits)


def _data(found: Diagnostic, sources: list[Source]) -> list[Any]:
    def place(span: Span) -> list[int]:
        return [sources.index(span.source), span.start, span.end]

    return [
        found.message,
        [place(found.primary.span), found.primary.text],
        [[place(label.span), label.text] for label in found.related],
        found.help,
        found.notes,
        [[fix.title, [[place(edit.span), edit.text] for edit in fix.edits], fix.safe] for fix in found.fixes],
        found.code,
        found.name,
        found.severity.value,
    ]


def _diagnostic(data: list[Any], sources: list[Source]) -> Diagnostic:
    def span(place: list[int]) -> Span:
        return Span(sources[place[0]], place[1], place[2])

    message, primary, related, advice, notes, fixes, code, name, severity = data
    return Diagnostic(
        message,
        Label(span(primary[0]), primary[1]),
        tuple(Label(span(place), text) for place, text in related),
        tuple(advice),
        tuple(notes),
        tuple(
            Fix(title, tuple(Edit(span(place), text) for place, text in edits), safe) for title, edits, safe in fixes
        ),
        code,
        name,
        Severity(severity),
    )

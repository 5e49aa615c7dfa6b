"""What a language server knows: the open texts, what is wrong with each, and what has to be checked again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from pygls.uris import from_fs_path, to_fs_path

from planc.commands.buffers import Buffers
from planc.commands.configuring import Configurations
from planc.commands.files import ENDING, project_root
from planc.commands.known import compare
from planc.commands.output import CannotWork
from planc.commands.search import search
from planc.commands.settling import settle
from planc.diagnostics.diagnostic import Diagnostic, Severity, in_order
from planc.editing.checking import Check, Checker
from planc.editing.document import Document
from planc.editing.linking import Key, Linked
from planc.editing.positions import Positions
from planc.editing.subjects import subject_of
from planc.plan.model import Plan
from planc.reporting.configuration import Chosen
from planc.resources import find
from planc.source import Source

#: Files of a project that are searched for uses of a name, or offered after `use`.
_MOST_FILES = 2_000

#: Characters of the largest text that is asked about while an editor waits: beyond it an answer takes seconds.
_LARGE = 128 << 10


class Opened(NamedTuple):
    """A text that is open: under which address and version, and where it lies, or its address if it is no file."""

    uri: str
    version: int
    path: str
    source: Source


class Session:
    """The state of one server.

    `publish` is called with an address, a version and what is wrong there, `fail` where an exception was caught, and
    `complain` with a reason why something could not be done.

    A change is checked at once, block by block, in a thread of its own; the next change takes its place. What other
    open files use of a file is checked after the file itself.
    """

    def __init__(
        self,
        publish: Callable[[str, int | None, tuple[Diagnostic, ...]], None],
        fail: Callable[[], None],
        complain: Callable[[str], None],
    ) -> None:
        self.files = Buffers()
        self.checker = Checker(self.files.load)
        self.positions = Positions("utf-16")
        self.folders: list[str] = []
        self.takes_snippets = False
        self.takes_versions = False
        self._publish = publish
        self._fail = fail
        self._complain = complain
        self._open: dict[str, Opened] = {}
        self._found: dict[str, tuple[Diagnostic, ...]] = {}
        self._used: dict[str, set[str]] = {}
        self._shown: dict[str, tuple[int | None, tuple[Diagnostic, ...]]] = {}
        self._waiting: dict[str, None] = {}
        self._subjects: dict[tuple[Source, Key], tuple[tuple[Source, ...], Plan | None]] = {}
        self._task: asyncio.Task[None] | None = None
        self._worker = ThreadPoolExecutor(1)

    def put(self, uri: str, version: int, text: str) -> None:
        """A text was opened or has changed."""
        # Half a character, as JSON may hold and no file can, becomes what a file would have in its place.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        path = path_of(uri)
        is_new = path not in self._open
        self._forget(path)
        self._open[path] = Opened(uri, version, path, self.files.open(path, text))
        # A file that comes to be open may be one that others had looked for in vain.
        self.look_again(path, *(self._open if is_new else ()))

    def close(self, uri: str) -> None:
        """A text was closed: the file on disk counts again."""
        path = path_of(uri)
        self._forget(path)
        self._open.pop(path, None)
        for known in (self._found, self._used, self._waiting):
            known.pop(path, None)
        self.look_again(path, *self._open)
        self._show()

    def look_again(self, *paths: str) -> None:
        """Files have changed: they are checked if they are open, and what uses them."""
        users = [path for path, used in self._used.items() if any(changed in used for changed in paths)]
        self._waiting = dict.fromkeys(path for path in (*paths, *self._waiting, *users) if path in self._open)
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.get_running_loop().create_task(self._work())

    def look_at_all_again(self) -> None:
        """Something that all files depend on has changed."""
        self.look_again(*self._open)

    def opened(self, uri: str) -> Opened | None:
        """The open text of an address."""
        return self._open.get(path_of(uri))

    def is_large(self, uri: str) -> bool:
        """Whether the open text of an address is too large to be read while an editor waits; it is checked anyhow."""
        opened = self.opened(uri)
        return opened is not None and _LARGE < len(opened.source.text)

    def linked(self, source: Source) -> Linked:
        """A text with the files that it uses."""
        return self.checker.linked(source)

    def document(self, source: Source) -> Document:
        """A text with its parts."""
        return self.checker.document(source)

    def subject(self, linked: Linked, key: Key) -> Plan | None:
        """The plan that a block is, or that holds it; worked out once for each state of the files."""
        sources = tuple(file.scope.source for file in linked.files())
        known = self._subjects.get((linked.scope.source, key))
        if known is None or known[0] != sources:
            if 100 < len(self._subjects):
                self._subjects.clear()
            known = sources, subject_of(linked, key, self.files.load)
            self._subjects[linked.scope.source, key] = known
        return known[1]

    def reported(self, uri: str) -> tuple[Diagnostic, ...]:
        """What is shown of a file, as far as it is of its present text."""
        shown = self._shown.get(uri, (None, ()))[1]
        return tuple(found for found in shown if self.files.is_current(found.primary.span.source))

    def address(self, source: Source) -> str | None:
        """The address of a text: that under which it is open, else that of its file."""
        path = self.files.real_path(source)
        if path is None:
            return next((opened.uri for opened in self._open.values() if opened.source is source), None)
        return self._open[path].uri if path in self._open else from_fs_path(path)

    def is_shipped(self, source: Source) -> bool:
        """Whether a text is of planc's own catalogue or policies, also where it is open by its path."""
        folder = os.path.dirname(self.files.real_path(source) or "")
        return folder in (os.path.realpath(find("catalogue")), os.path.realpath(find("policies")))

    def version(self, uri: str) -> int | None:
        """The version of an open text; None of a file that is not open."""
        opened = self.opened(uri)
        return opened.version if opened is not None else None

    def project(self, path: str, *words: str) -> Iterator[Linked]:
        """The open texts, and the plan files of the project that a file belongs to, that hold one of some words."""
        seen: set[str] = set()
        for opened in tuple(self._open.values()):
            seen.add(opened.path)
            if any(word in opened.source.text for word in words):
                yield self.linked(opened.source)
        for other in self.plan_files(path):
            real_path = os.path.realpath(other)
            reading = self.files.read(real_path) if real_path not in seen else ""
            seen.add(real_path)
            if isinstance(reading, Source) and any(word in reading.text for word in words):
                yield self.linked(reading)

    def plan_files(self, path: str) -> list[str]:
        """The plan files of the workspace, and of the project of a file; of its folder alone if it is in no project."""
        folder = os.path.dirname(path) if os.path.isabs(path) else ""
        folders = list(self.folders)
        if folder and not any(folder == root or folder.startswith(f"{root}{os.sep}") for root in folders):
            root = project_root(folder)
            if root == folder:
                return [*_in_folder(folder, ENDING), *self._below(folders)]
            folders.append(root)
        return self._below(folders)

    def json_files(self, folder: str) -> list[str]:
        """The JSON files in a folder and in the folders in it, relative to it."""
        inner = sorted(entry.path for entry in _entries(folder) if entry.is_dir() and not entry.name.startswith("."))
        found = [path for at in (folder, *inner) for path in _in_folder(at, ".json")]
        return [os.path.relpath(path, folder) for path in found][:_MOST_FILES]

    def _below(self, folders: list[str]) -> list[str]:
        return [path for folder in folders for path in search(folder)[0]][:_MOST_FILES]

    def _forget(self, path: str) -> None:
        before = self.files.close(path)
        if before is not None:
            self.checker.forget(before)
            self.positions.forget(before)

    async def _work(self) -> None:
        """Checks what waits, one file after the other; the next change cancels it."""
        while self._waiting:
            path = next(iter(self._waiting))
            try:
                await self._check(self._open[path])
            except CannotWork as reason:  # such as a baseline that cannot be read
                self._complain(str(reason))
            except Exception:
                self._fail()
            self._waiting.pop(path, None)

    async def _check(self, opened: Opened) -> None:
        loop = asyncio.get_running_loop()
        configurations = Configurations(self.files)
        house, is_large = configurations.of(opened.source).house, self.is_large(opened.uri)
        if is_large:
            check = await loop.run_in_executor(self._worker, self.checker.check, opened.source, house)
        else:
            check = self.checker.check(opened.source, house)
        self._used[opened.path] = set(filter(None, map(self.files.real_path, self._files_of(check))))
        pending = self.checker.pending(check)
        for number, unit in enumerate(pending):
            await loop.run_in_executor(self._worker, self.checker.judge, check, unit)
            if number == 0 and 1 < len(pending) and not is_large:
                self._take(opened, self.checker.diagnostics(check), configurations)
        if check.whole or is_large:
            found = await loop.run_in_executor(self._worker, self.checker.diagnostics, check)
        else:
            found = self.checker.diagnostics(check)
        self._take(opened, found, configurations)
        for source in [source for source in tuple(self.checker.documents) if not self.files.is_current(source)]:
            self.checker.forget(source)
            self.positions.forget(source)

    def _files_of(self, check: Check) -> list[Source]:
        ruled = [source for source in check.ruled if isinstance(source, Source)]
        return [*(file.scope.source for file in check.linked.files()), *ruled]

    def _take(self, opened: Opened, found: tuple[Diagnostic, ...], configurations: Configurations) -> None:
        self._found[opened.path] = as_lint_shows(found, opened.source, self.files, configurations)
        self._show(opened.uri)

    def _show(self, changed: str | None = None) -> None:
        """Publishes what is wrong, by file: of a file that is not open, what those that use it have to say."""
        by_file: dict[str, list[Diagnostic]] = {opened.uri: [] for opened in self._open.values()}
        for found in self._found.values():
            for diagnostic in found:
                uri = self.address(diagnostic.primary.span.source)
                if uri is not None and self.files.is_current(diagnostic.primary.span.source):
                    by_file.setdefault(uri, []).append(diagnostic)
        for uri in (*by_file, *[uri for uri in self._shown if uri not in by_file]):
            shown = self.version(uri), in_order(by_file.get(uri, ()))
            before = self._shown.get(uri)
            if uri not in by_file and not (before and before[1]):
                self._shown.pop(uri, None)
            elif before != shown and (uri == changed or before is None or before[1] != shown[1]):
                self._shown[uri] = shown
                self._publish(uri, *shown)


def as_lint_shows(
    found: tuple[Diagnostic, ...], source: Source, files: Buffers, configurations: Configurations
) -> tuple[Diagnostic, ...]:
    """What `planc lint` shows of what was found: less what is suppressed, not selected, or in the baseline.

    Advice is shown too, as hints, where the configuration does not say what is the least that counts.
    """
    said = configurations.of(source)
    all_said = (said.chosen, *(rule.chosen for rule in said.per_path))
    is_said = any(chosen.min_severity is not None for chosen in all_said)
    least = Chosen() if is_said else Chosen(min_severity=Severity.INFO)
    settled = settle(found, (source,), configurations, least, ()).diagnostics
    if not configurations.have_baseline((source,)):
        return settled
    return compare(settled, (source,), files, configurations, None).diagnostics


def path_of(uri: str) -> str:
    """The real path of an address; the address itself if it is no file's, nor could be."""
    try:
        path = to_fs_path(uri) if uri.startswith("file:") else None
        return uri if not path or "\0" in path else os.path.realpath(path)
    except ValueError:  # not encodable, or no address at all
        return uri


def _in_folder(folder: str, ending: str) -> list[str]:
    return sorted(entry.path for entry in _entries(folder) if entry.name.endswith(ending) and entry.is_file())


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except OSError:
        return []

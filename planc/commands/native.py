"""Files of other tools that `lint` reads beside plans: which they are, which of them are one job, and what is found."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from planc.commands.files import Files
from planc.commands.jobs import Named, by_part, jobs
from planc.compiler import Skipped
from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.native import faults
from planc.native.job import Beside, Job, content_of, judge, read, ruled
from planc.native.kind import Content, Recognised, Reference
from planc.native.layout import Layout
from planc.native.recognising import ENDINGS, format_of, recognise
from planc.plan.house import House
from planc.plan.scope import Load
from planc.source import STDIN, Source

#: References that are followed one from the other.
_MOST_STEPS = 8


class Found(NamedTuple):
    """What was found in files of other tools, the rules that stayed silent about them, and how each is laid out."""

    diagnostics: tuple[Diagnostic, ...]
    skipped: tuple[Skipped, ...]
    layouts: Mapping[Source, Layout]


class One(NamedTuple):
    """Files as one job: what is wrong with what they say, and what the rules find in it; how each is laid out."""

    job: Job | None
    of_files: tuple[Diagnostic, ...]
    of_rules: tuple[Diagnostic, ...]
    layouts: Mapping[Source, Layout]


class Natives:
    """The files of other tools of one run, by the names under which they are shown.

    kind: what the command line says that each of them is; beside, load: what it says of the job, and how the files of
    its options are found.
    """

    __slots__ = ("_beside", "_files", "_kind", "_load", "_outright", "_parts", "_read_once", "_taken")

    def __init__(self, files: Files, kind: str | None, beside: Beside, load: Load) -> None:
        self._files = files
        self._kind = kind
        self._beside = beside._replace(options=beside.options._replace(open=self._open))
        self._load = load
        self._taken: dict[str, str] = {}
        self._outright: set[str] = set()
        self._read_once: dict[Source, Recognised] = {}
        self._parts: dict[Source, Sequence[Content]] = {}

    def endings(self) -> tuple[str, ...]:
        """Endings of the files that are looked into in a folder."""
        return ENDINGS

    def may_take(self, path: str) -> bool:
        """Whether the file at a path may be one of them: a plan is none, whatever is said of the kind."""
        return not path.endswith(".plan")

    def takes(self, reading: Source | Diagnostic, outright: bool) -> bool | Diagnostic:
        """Whether a file is one of them; what is wrong where it should be."""
        if isinstance(reading, Diagnostic):
            return reading if outright else False  # a text of another encoding in a folder is nobody's
        # What is on standard input without a name may be a plan that is written in some other way.
        promised = self._kind is not None or (reading.name != STDIN and format_of(reading) is not None)
        found = recognise(reading, self._kind, outright and promised)
        if isinstance(found, Recognised):
            self._taken[reading.name] = found.kind.name
            self._read_once[reading] = found
            if outright:
                self._outright.add(reading.name)
            return True
        return found if found is not None else False

    def split(self, sources: Sequence[Source]) -> tuple[tuple[Source, ...], tuple[Source, ...]]:
        """The plans of some sources, and the files of other tools; a file that was mended keeps its name."""
        plans = tuple(source for source in sources if source.name not in self._taken)
        return plans, tuple(source for source in sources if source.name in self._taken)

    def judged(self, sources: Sequence[Source], houses: Mapping[Source, House | None]) -> Found:
        """What is found in the files, each by itself and those of a job together."""
        diagnostics: dict[Diagnostic, None] = {}
        skipped: dict[Skipped, None] = {}
        layouts: dict[Source, Layout] = {}
        recognised: dict[Source, Recognised] = {}
        for source in sources:
            found = self._read_once.get(source) or recognise(source, self._taken[source.name], True)
            if isinstance(found, Recognised):
                recognised[source] = found
            elif found is not None:  # a fix broke it, which the one that applies fixes takes back
                diagnostics[found] = None
        named = self._followed(recognised, diagnostics)
        linked = jobs(list(recognised.values()), named, self._outright)
        for group in (one for files in linked for one in by_part(files, named, self._parts)):
            house = houses.get(group[0].tree.source)
            result = judge(group, self._load, self._beside, house)
            shown = " + ".join(file.tree.source.name for file in group)
            skipped.update(dict.fromkeys(each._replace(plan=shown) for each in result.skipped))
            silent = frozenset(each.code for each in result.skipped)
            layouts.update((file.tree.source, Layout(file.tree, silent)) for file in group)
            users = {file.tree.source for file in group}
            diagnostics.update(dict.fromkeys(_through(each, named, users) for each in result.diagnostics))
        return Found(tuple(diagnostics), tuple(skipped), layouts)

    def as_one(self, sources: Sequence[Source], houses: Mapping[Source, House | None]) -> One:
        """The files, with those that they name, as one job; None where none of them can be read."""
        diagnostics: dict[Diagnostic, None] = {}
        recognised: dict[Source, Recognised] = {}
        for source in sources:
            found = recognise(source, self._kind, True)
            if isinstance(found, Recognised):
                recognised[source] = found
            elif found is not None:
                diagnostics[found] = None
        named = self._followed(recognised, diagnostics)
        if not recognised:
            return One(None, tuple(diagnostics), (), {})
        job = read(list(recognised.values()), self._load, self._beside, houses.get(sources[0]))
        diagnostics.update(dict.fromkeys(_through(each, named, recognised) for each in job.diagnostics))
        by_rules, skipped = ruled(job, self._beside.world)
        silent = frozenset(each.code for each in skipped)
        layouts = {source: Layout(file.tree, silent) for source, file in recognised.items()}
        return One(job, tuple(diagnostics), tuple(_through(each, named, recognised) for each in by_rules), layouts)

    def _followed(
        self, recognised: dict[Source, Recognised], diagnostics: dict[Diagnostic, None]
    ) -> dict[Source, list[tuple[Source, Reference]]]:
        """The files that others name, by which of them; those that were not asked for are recognised as well."""
        named: dict[Source, list[tuple[Source, Reference]]] = {}
        todo = [(file, self._references(file)) for file in recognised.values()]
        taken: set[Source] = set()  # what they name is named by those that have read them as parts of themselves
        for file, references in todo:
            if file.tree.source not in taken:
                taken.update(each.taken for each in references if each.taken is not None)
        todo = [(file, references) for file, references in todo if file.tree.source not in taken]
        for _ in range(_MOST_STEPS):
            following: list[Recognised] = []
            for file, references in todo:
                for reference in references:
                    user = reference.span.source if reference.taken is None else file.tree.source
                    other = reference.taken or self._read(reference.path, user)
                    if isinstance(other, Diagnostic):
                        diagnostics[other] = None
                    if not isinstance(other, Source):
                        if other is None and reference.sure and reference.here:
                            diagnostics[_missing(reference)] = None
                        continue
                    known = other in recognised
                    found = recognised.get(other) or recognise(other, reference.kind, reference.sure)
                    if isinstance(found, Diagnostic):
                        diagnostics[_through_reference(found, reference)] = None
                    elif isinstance(found, Recognised):
                        named.setdefault(other, []).append((file.tree.source, reference))
                        recognised[other] = found
                        if not known and reference.taken is None:
                            following.append(found)
            if not following:
                break
            todo = [(file, self._references(file)) for file in following]
        for source in taken:
            self._parts.pop(source, None)
        return named

    def _references(self, file: Recognised) -> tuple[Reference, ...]:
        """The files that a file names; of a script with several launches, its parts are kept."""
        content = content_of(file, self._beside.options)
        self._parts[file.tree.source] = content.parts
        return content.references

    def _open(self, path: str, user: Source) -> Source | None:
        """The script that another one names, if it can be read."""
        found = self._read(path, user)
        return found if isinstance(found, Source) else None

    def _read(self, path: str, user: Source) -> Source | Diagnostic | None:
        """The file that another one names: beside it, or from this folder; None if it is nowhere."""
        if os.path.isabs(path) or "\0" in path:
            return None
        for folder in dict.fromkeys((os.path.dirname(user.name), "")):
            at = os.path.normpath(os.path.join(folder, path))
            if os.path.isfile(at):
                reading = self._files.read(at)
                return None if isinstance(reading, str) else reading
        return None


def _missing(reference: Reference) -> Diagnostic:
    message = f"`{reference.path[:80]}` is not there"
    return faults.MISSING_FILE.at(reference.span, message, "neither beside this file nor from here")


def _through(found: Diagnostic, named: Named, users: Container[Source]) -> Diagnostic:
    """A diagnostic with the place through which its file came, if it came through another one of its job."""
    at = next((at for user, at in named.get(found.primary.span.source, ()) if user in users), None)
    return found if at is None else _through_reference(found, at)


def _through_reference(found: Diagnostic, reference: Reference) -> Diagnostic:
    label = Label(reference.span, "read through here")
    return found if label in found.related else found._replace(related=(*found.related, label))

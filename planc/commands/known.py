"""The baseline on disk: the findings that `lint` passes over, read and written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from planc.commands import output
from planc.commands.configuring import Configurations, relative
from planc.commands.files import Files, reason_of
from planc.commands.output import CannotWork
from planc.commands.placing import other_than_file
from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic
from planc.reporting import baseline
from planc.reporting.baseline import Baseline, Outcome
from planc.reporting.faults import UNKNOWN_SETTING, UNREADABLE_CONFIGURATION, WRONG_SETTING
from planc.source import Source

#: Where a baseline is written if nothing names one.
DEFAULT = "planc-baseline.json"

_OF_CONFIGURATION = {fault.code for fault in (UNREADABLE_CONFIGURATION, UNKNOWN_SETTING, WRONG_SETTING)}


def compare(
    diagnostics: tuple[Diagnostic, ...],
    sources: Sequence[Source],
    files: Files,
    configurations: Configurations,
    given: str | None,
) -> Outcome:
    """What is new; each file is compared with the baseline of its configuration, or all with the given one."""
    new: list[Diagnostic] = []
    num_known = num_gone = 0
    by_path: dict[str | None, list[Diagnostic]] = {}
    read: dict[str | None, list[Source]] = {}
    for found in diagnostics:
        path = None if found.code in _OF_CONFIGURATION else _path(found.primary.span.source, configurations, given)
        by_path.setdefault(path, []).append(found)
    for source in sources:
        read.setdefault(_path(source, configurations, given), []).append(source)
    for path in dict.fromkeys((*by_path, *read)):
        here = by_path.get(path, [])
        if path is None:
            new.extend(here)
            continue
        folder = os.path.dirname(path)
        names, known = _Names(files, folder), _read(path)
        looked_at = {names(source) for source in read.get(path, [])}
        looked_at.update(name for name in set(known.files.values()) if not os.path.exists(os.path.join(folder, name)))
        outcome = baseline.without(here, known, looked_at, names)
        new.extend(outcome.diagnostics)
        num_known += outcome.num_known
        num_gone += outcome.num_gone
    return Outcome(tuple(new), num_known, num_gone)


def write(
    diagnostics: Iterable[Diagnostic],
    sources: Sequence[Source],
    files: Files,
    configurations: Configurations,
    given: str | None,
) -> str:
    """Writes the baseline; what there is to say of it."""
    paths = {_path(source, configurations, given) for source in sources} - {None}
    if 1 < len(paths):
        listing = ", ".join(output.quoted(os.path.relpath(str(path))) for path in sorted(map(str, paths)))
        raise CannotWork(f"the files have several baselines: {listing}; name one with `--baseline`")
    path = os.path.realpath(next(iter(paths)) or DEFAULT) if paths else os.path.realpath(DEFAULT)
    kind = other_than_file(path)
    if kind:
        raise CannotWork(f"cannot write {output.quoted(os.path.relpath(path))}: it is {kind} and no file")
    findings = [found for found in diagnostics if found.code not in _OF_CONFIGURATION]
    folder, names = os.path.dirname(path), _Names(files, os.path.dirname(path))
    read = {names(source) for source in sources}
    before = _read(path).findings if os.path.lexists(path) else ()
    kept = [each for each in before if each["file"] not in read and os.path.exists(os.path.join(folder, each["file"]))]
    text = baseline.text_of(findings, names, kept)
    shown = os.path.relpath(path)
    temporary = f"{path}.planc-{os.getpid()}"
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError as error:
        raise CannotWork(f"cannot write {output.quoted(shown)}: {reason_of(error)}") from error
    hint = "" if paths else f'; `baseline = "{DEFAULT}"` in `planc.toml` makes `planc lint` read it'
    others = f", and kept {len(kept)} of files that were not read" if kept else ""
    return f"Wrote {plural(len(findings), 'finding')} to {output.quoted(shown)}{others}{hint}\n"


class _Names:
    """The path of a source from a folder; planc's own files and the command line keep their names."""

    __slots__ = ("_files", "_folder")

    def __init__(self, files: Files, folder: str) -> None:
        self._files = files
        self._folder = folder

    def __call__(self, source: Source) -> str:
        path = self._files.real_path(source)
        return source.name if path is None else relative(path, self._folder)


def _path(source: Source, configurations: Configurations, given: str | None) -> str | None:
    """The real path of the baseline of a file; None if it has none."""
    if given is not None:
        return os.path.realpath(given)
    configuration = configurations.of(source)
    if configuration.baseline is None:
        return None
    return os.path.realpath(os.path.join(configurations.folder(configuration), configuration.baseline))


def _read(path: str) -> Baseline:
    shown = output.quoted(os.path.relpath(path))
    kind = other_than_file(path)
    if kind not in ("", "a folder"):  # a pipe would be waited for
        raise CannotWork(f"cannot read the baseline {shown}: it is {kind} and no file")
    try:
        with open(path, encoding="utf-8") as file:
            found = baseline.read(file.read())
    except FileNotFoundError:
        raise CannotWork(f"there is no baseline {shown}; `planc lint --write-baseline` writes it") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else "it is no text"
        raise CannotWork(f"cannot read the baseline {shown}: {reason}") from error
    if isinstance(found, str):
        raise CannotWork(f"cannot read the baseline {shown}: {found}")
    return found

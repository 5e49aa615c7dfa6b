"""What `planc compile` writes and `planc compile --check` compares with: a plan file's plans, and the files of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from planc.commands.configuring import Configurations
from planc.commands.files import Files
from planc.commands.output import CannotWork, did_you_mean, is_error, quoted
from planc.commands.reading import chosen_plans, read_one
from planc.commands.settling import settle
from planc.compiler import analyse, emit, open_fields
from planc.diagnostics.diagnostic import Diagnostic, Severity, in_order
from planc.manifest import Origin
from planc.plan.model import Plan
from planc.reporting.configuration import Chosen
from planc.targets.target import EmittedFile

#: What is left to whoever runs the files is advice, and said when they are written.
_SHOWN = Chosen(min_severity=Severity.INFO)


class Ready(NamedTuple):
    """The chosen plans of a file, none if there is an error; what is wrong with it; and the names of the files read."""

    plans: tuple[Plan, ...]
    diagnostics: tuple[Diagnostic, ...]
    names: tuple[str, ...]
    origin: Origin

    def is_faulty(self) -> bool:
        """Whether an error keeps the file from being compiled."""
        return any(map(is_error, self.diagnostics))


class Judged(NamedTuple):
    """A plan file with `settings` set: its plans, none if there is an error, whichever of them are to be compiled.

    file: the file as the command line names it.
    path: its path from the root of its project.
    """

    file: str
    path: str
    settings: tuple[str, ...]
    plans: tuple[Plan, ...]
    diagnostics: tuple[Diagnostic, ...]
    names: tuple[str, ...]


def judge(files: Files, file: str, settings: tuple[str, ...]) -> Judged:
    """A plan file, analysed: what takes long, and is the same for all folders that are compiled from it."""
    read = read_one(files, file)
    configurations = Configurations(files)
    house = next(iter(configurations.houses(read.sources).values()), None)
    analysis = analyse(read.sources, files.load, settings, None, house)
    found = (*read.diagnostics, *analysis.diagnostics)
    diagnostics, _ = settle(found, read.sources, configurations, _SHOWN, settings)
    path = files.project_path(read.sources[0]) if read.sources else file
    plans = () if any(map(is_error, diagnostics)) else analysis.plans
    return Judged(file, path, settings, plans, diagnostics, read.names)


def ready(judged: Judged, names: Sequence[str], targets: Sequence[str]) -> Ready:
    """The plans of a file with these names, or all of them, to be compiled for `targets`."""
    origin = Origin(judged.path, judged.settings, tuple(sorted(set(targets))))
    if any(map(is_error, judged.diagnostics)):
        return Ready((), in_order(judged.diagnostics), judged.names, origin)
    plans = chosen_plans(judged.plans, names, judged.file)
    _check_targets(plans, targets)
    still_open = (found for plan in plans if plan.targets for found in open_fields(plan))
    diagnostics = in_order((*judged.diagnostics, *still_open))
    faulty = any(map(is_error, diagnostics))
    return Ready(() if faulty else tuple(plans), diagnostics, judged.names, origin)


def emitted(plan: Plan, targets: Sequence[str], stays: Callable[[EmittedFile], bool]) -> tuple[EmittedFile, ...]:
    """The files of a plan, each path once; targets that share a file emit the same text.

    Where targets were chosen, `stays` says which files of the others are still part of what was compiled, as when a
    launch script asks for the file of a second target.
    """
    files: dict[str, EmittedFile] = {}
    for file in emit(plan, lambda choice: not targets or choice.name in targets):
        if files.setdefault(file.path, file) != file:
            raise CannotWork(f"two targets of plan {quoted(plan.name)} write {quoted(file.path)}")
    if files and targets:
        for file in emit(plan, lambda choice: choice.name not in targets):
            if stays(file):
                files.setdefault(file.path, file)
    return tuple(files.values())


def _check_targets(plans: Sequence[Plan], targets: Sequence[str]) -> None:
    """Refuses a target that none of the plans emits: it would have been checked for none of them."""
    emitted = sorted({choice.name for plan in plans for choice in plan.targets})
    for name in targets:
        if name not in emitted:
            known = ", ".join(map(quoted, emitted)) or "nothing"
            guess = did_you_mean(name, emitted)
            raise CannotWork(f"target {quoted(name)} is not in `emit`{guess}; the plan emits {known}")

"""What is wrong in a script: directives that the scheduler never sees, launchers that do not fit each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.native import faults
from planc.native.kinds import (
    _launcher_checks,
    _meeting_checks,
    _scheduler_checks,
    _slurm_checks,
    _srun_checks,
    _srun_program_checks,
)
from planc.native.shell.embedded import Embedded, outermost
from planc.native.shell.launching import Launch
from planc.native.shell.model import Command, Directive, Script

#: Schedulers that read no options behind the first command; Grid Engine does.
_STOPPING = ("slurm", "pbs")


def check(script: Script, launches: Sequence[Launch]) -> Iterator[Diagnostic]:
    """Everything that is wrong in a script by itself."""
    yield from _broken(script)
    yield from _directives(script)
    yield from _launcher_checks.check(script, launches)
    yield from _scheduler_checks.check(script, launches)
    for launch in launches:
        if launch.launcher in _launcher_checks.LAUNCHERS:
            yield from _pipe(script, launch)
            yield from _meeting_checks.check(script, launch)
            yield from _srun_checks.check(script, launch)
            yield from _slurm_checks.check(script, launch)
        elif launch.launcher == "python":
            yield from _slurm_checks.processors(script, launch)
            yield from _srun_program_checks.check(script, launch)
            yield from _meeting_checks.check(script, launch)


def _broken(script: Script) -> Iterator[Diagnostic]:
    whole = (each for each in script.every() if not isinstance(each.source, Embedded))
    for broken in (broken for each in whole for broken in each.broken):
        found = faults.UNREADABLE.at(outermost(broken.span), "the script cannot be read here", broken.text)
        # A reader that is not bash may stumble where bash does not.
        yield found if "carriage" in broken.text or "NUL" in broken.text else found._replace(severity=Severity.WARNING)


def _directives(script: Script) -> Iterator[Diagnostic]:
    for directive in script.directives:
        place = directive.line
        if directive.misspelt:
            help = (f"write `{_meant(directive)}` at the start of the line, or `##` if it is switched off",)
            told = faults.UNSEEN_DIRECTIVE.at(place, f"`{directive.mark}` is a comment like any other", help=help)
            yield told._replace(severity=Severity.WARNING)  # some switch an option off in this way
        elif directive.late and directive.scheduler in _STOPPING:
            message = f"`{directive.mark} {directive.option}` stands behind the first command"
            help = ("move it up: the scheduler stops reading there",)
            yield faults.UNSEEN_DIRECTIVE.at(place, message, "never read", help=help)
        elif directive.variable and directive.value_span is not None and not _is_pattern(directive):
            message = f"no shell expands `{directive.value}` here"
            help = ("write the value, or pass the option to the command that submits",)
            yield faults.UNSEEN_DIRECTIVE.at(directive.value_span, message, "a comment to the shell", help=help)


def _meant(directive: Directive) -> str:
    return {"slurm": "#SBATCH", "pbs": "#PBS", "lsf": "#BSUB", "sge": "#$"}[directive.scheduler]


def _is_pattern(directive: Directive) -> bool:
    """Whether the scheduler itself fills something in: SGE does so for paths."""
    return directive.scheduler in ("sge", "pbs")


def _pipe(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """A launch whose failure a pipe hides: its own, or one of a command that starts it, as `bash -c` does."""
    way = script.way_to(launch.command)
    piped = (way[: at + 1] for at, (_, command) in enumerate(way) if _is_first_of_pipe(command))
    hidden = next((each[-1][1] for each in piped if not _is_pipefail(each)), None)
    if hidden is not None and hidden.words and "PIPESTATUS" not in script.source.text:
        help = ("write `set -o pipefail` at the top of the script",)
        message = "a pipe hides whether the training failed"
        yield faults.HIDDEN_FAILURE.at(
            outermost(hidden.words[0].span), message, "its status is that of the last", help=help
        )


def _is_first_of_pipe(command: Command) -> bool:
    """Whether the output of a command goes into a pipe, whose status is that of another."""
    frame = next((each for each in command.context if each.kind == "pipe"), None)
    return frame is not None and frame.position == 0


def _is_pipefail(way: tuple[tuple[Script, Command], ...]) -> bool:
    """Whether the shell that runs the command at the end of a way may have the option: it was set before, and not
    taken back.
    """
    place, on = outermost(way[-1][1].span), False
    for each in _shell_of(way):
        for setting in each.settings:
            span = outermost(setting.span)
            if setting.name == "pipefail" and (span.source is not place.source or span.start < place.start):
                on = setting.on or (on and bool(setting.context))
    return on


def _shell_of(way: tuple[tuple[Script, Command], ...]) -> Iterator[Script]:
    """The scripts on a way that are run by the shell at its end: what `eval` gets is run by the same as the rest."""
    for at, (script, _) in enumerate(way):
        if all(command.name == "eval" for _, command in way[at:-1]):
            yield script

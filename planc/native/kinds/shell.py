"""A shell or sbatch script: what it starts with which options, for which machines, and the files that it hands over."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Diagnostic
from planc.native.kind import OF_THE_PROGRAM, Content, Kind, Options
from planc.native.kinds import (
    _launcher_says,
    _programs,
    _references,
    _script_parts,
    _script_says,
    _slurm_checks,
    _tool_lines,
    _written_files,
)
from planc.native.kinds import _scheduled_jobs as jobs
from planc.native.kinds import _shell_checks as checks
from planc.native.kinds._launcher_checks import LAUNCHERS
from planc.native.kinds._script_launches import before, is_certain
from planc.native.recognising import SCRIPTS
from planc.native.saying import Sayer
from planc.native.shell.launching import Launch, launches
from planc.native.shell.model import Script
from planc.native.shell.reading import read as read_script
from planc.native.tree import Entry, Scalar, Tree

#: How options for schedulers begin, which start nothing but jobs.
_OF_SCHEDULERS = ("#SBATCH", "#PBS -", "#BSUB -")

_MARKS = (
    "torchrun", "torch.distributed", "accelerate launch", "accelerate-launch", "deepspeed", "srun ",
    "python", *_references.TOOLS, *_OF_SCHEDULERS,
)  # fmt: skip

#: Launches of one script that are judged one by one.
_MOST_LAUNCHES = 12


def recognise(tree: Tree) -> int:
    """How sure it is that a text is a script that starts training."""
    text = tree.source.text
    if not text.startswith("#!") and not tree.source.name.endswith(SCRIPTS):
        return 0
    if any(mark in text for mark in (*_OF_SCHEDULERS, *_MARKS[:5])):
        return 85
    script = read_script(tree.source)
    return 60 if launches(script) or any(_references.tools(script)) else 0


def read(tree: Tree, options: Options) -> Content:
    """What the script says, with its directives and launches checked."""
    script = read_script(tree.source, options.open)
    found = launches(script)
    training = [launch for launch in found if launch.launcher in LAUNCHERS]
    sure = [launch for launch in training if is_certain(script, launch)]
    faults = tuple(checks.check(script, found))
    whole = _content(script, found, sure[0] if len(training) == 1 and sure else None, faults, options)
    if len(training) < 2 or not sure or _MOST_LAUNCHES < len(sure):
        return whole
    rest = tuple(launch for launch in found if not any(launch is each for each in sure))
    parts = [_content(script, (launch,), launch, faults, options) for launch in sure]
    parts += [_content(script, rest, None, faults, options)] if rest else []
    return whole._replace(parts=tuple(parts))


def _content(
    script: Script, found: tuple[Launch, ...], launch: Launch | None, faults: tuple[Diagnostic, ...], options: Options
) -> Content:
    """What a script says for one of its launches, or for none.

    found: launches whose files are named.
    """
    sayer = Sayer()
    sayer.report(*faults)
    _references.refer(script, found, sayer, _written_files.made_by(script))
    _written_files.check(script, found, sayer, options)
    _script_parts.refer(script, sayer)
    limit = _slurm_checks.walltime(script) or jobs.limit(script)
    if limit is not None and limit[1]:
        line = limit[0].line
        entry = Entry(line, Scalar(limit[0].span, limit[0].option), Scalar(limit[0].value_span or line, limit[1]))
        sayer.say("launch.walltime", entry, unit="s")
    told = {label.span for each in faults for label in (each.primary, *each.related)}
    if launch is None:
        _launcher_says.variables(script, None, told, sayer)
        by_srun = None if any(each.launcher in LAUNCHERS for each in found) else _script_says.by_srun(found)
        alone = None if any(each.launcher in LAUNCHERS for each in found) else _alone(script, found)
        if by_srun is not None:
            _programs.tell(by_srun, sayer, options)
        elif alone is not None:
            _programs.tell(alone, sayer, options)
            _script_says.of_launch(alone, sayer)
        _tool_lines.machines(script, sayer)
        _script_says.say(script, by_srun, sayer)
        content = sayer.content()
        return content._replace(said=(*content.said, *_tool_lines.overrides(script, options)))
    _launcher_says.variables(before(script, launch), launch, told, sayer)
    _launcher_says.machines(script, launch, sayer)
    _programs.tell(launch, sayer, options)
    _script_says.say(script, launch, sayer)
    content = sayer.content()
    said = (*content.said, *_launcher_says.settings(launch))
    return content._replace(said=said, inside=_written_files.named_by(script, launch))


def _alone(script: Script, found: tuple[Launch, ...]) -> Launch | None:
    """The only program that trains, started by no launcher; others prepare for it."""
    known = [each for each in found if each.launcher == "python" and _programs.is_known(each)]
    return known[0] if len(known) == 1 and is_certain(script, known[0]) else None


KIND = Kind(
    "shell",
    "a shell script",
    ("text",),
    _MARKS,
    recognise,
    read,
    withheld=OF_THE_PROGRAM,
)

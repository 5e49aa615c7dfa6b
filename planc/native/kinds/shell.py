"""A shell or sbatch script: what it starts with which options, for which machines, and the files that it hands over."""

from __future__ import annotations

from planc.native.kind import OF_THE_PROGRAM, Content, Kind, Options
from planc.native.kinds import _launcher_says, _programs, _references, _script_parts, _slurm_checks, _written_files
from planc.native.kinds import _scheduled_jobs as jobs
from planc.native.kinds import _shell_checks as checks
from planc.native.kinds._launcher_checks import LAUNCHERS
from planc.native.saying import Sayer
from planc.native.shell.launching import launches
from planc.native.shell.reading import read as read_script
from planc.native.tree import Entry, Scalar, Tree

_MARKS = (
    "torchrun", "torch.distributed", "accelerate launch", "accelerate-launch", "deepspeed", "#SBATCH", "srun ",
    "python", *_references.TOOLS,
)  # fmt: skip


def recognise(tree: Tree) -> int:
    """How sure it is that a text is a script that starts training."""
    text = tree.source.text
    if not text.startswith("#!") and not tree.source.name.endswith((".sh", ".sbatch", ".slurm", ".bash")):
        return 0
    if "#SBATCH" in text or any(mark in text for mark in _MARKS[:5]):
        return 85
    script = read_script(tree.source)
    return 60 if launches(script) or any(_references.tools(script)) else 0


def read(tree: Tree, options: Options) -> Content:
    """What the script says, with its directives and launches checked."""
    sayer = Sayer()
    script = read_script(tree.source, options.open)
    found = launches(script)
    faults = tuple(checks.check(script, found))
    sayer.report(*faults)
    _references.refer(script, found, sayer, _written_files.made_by(script))
    _written_files.check(script, found, sayer, options)
    _script_parts.refer(script, sayer)
    limit = _slurm_checks.walltime(script) or jobs.limit(script)
    if limit is not None and limit[1]:
        line = limit[0].line
        entry = Entry(line, Scalar(limit[0].span, limit[0].option), Scalar(limit[0].value_span or line, limit[1]))
        sayer.say("launch.walltime", entry, unit="s")
    training = [launch for launch in found if launch.launcher in LAUNCHERS]
    is_sure = len(training) == 1 and not training[0].command.within("loop", "if", "case", "function")
    told = {label.span for each in faults for label in (each.primary, *each.related)}
    _launcher_says.variables(script, training[0] if is_sure else None, told, sayer)
    if not is_sure:
        return sayer.content()
    _launcher_says.machines(script, training[0], sayer)
    _programs.tell(training[0], sayer, options)
    content = sayer.content()
    return content._replace(said=(*content.said, *_launcher_says.settings(training[0])))


KIND = Kind(
    "shell",
    "a shell script",
    ("text",),
    _MARKS,
    recognise,
    read,
    withheld=OF_THE_PROGRAM,
)

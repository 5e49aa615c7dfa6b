"""The commands of a script that start training, each with its options and those of the program."""

from __future__ import annotations

import re
from typing import NamedTuple

from planc.native.shell.model import Assignment, Command, Script
from planc.native.shell.options import Line, Option, grammar, grammar_of, line_of, parameters
from planc.native.shell.shells import SHELLS
from planc.native.shell.values import Unknown, Word
from planc.native.shell.wrappers import unwrap

#: Launchers by the names of their programs, and by the modules that they are.
_PROGRAMS = {
    "torchrun": "torchrun",
    "accelerate-launch": "accelerate",
    "deepspeed": "deepspeed",
    "ds": "deepspeed",
    "srun": "srun",
    "sbatch": "sbatch",
    "mpirun": "mpirun",
    "mpiexec": "mpirun",
    "orterun": "mpirun",
}
_MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "accelerate.commands.launch": "accelerate",
    "deepspeed.launcher.runner": "deepspeed",
}
#: Those of PBS, LSF and its CSM that start a program on nodes of a job: pbsdsh(1B), blaunch(8), jsrun(1).
_SPREADING = {
    "pbsdsh": grammar("-c -h -n", "-o -s -v -u"),
    "blaunch": grammar("-u -z", "-n -no-shell -no-wait -use-login-shell"),
    "jsrun": grammar(
        "-n --nrs -a --tasks_per_rs -c --cpu_per_rs -g --gpu_per_rs -r --rs_per_host -d --launch_distribution -b --bind"
        " -l --latency_priority -p --np -X --exit_on_error --smpiargs -E --env"
    ),
}

#: Those that start any program, not one of Python.
_STARTERS = {"srun", "mpirun"}

_SCRIPT = re.compile(r"[\w./~+-]+\.(sh|bash|sbatch|slurm)")
_PYTHON = re.compile(r"(python|pypy)[\d.]*")
# Python 3.13; `-c` and `-m` end the options.
_PYTHON_OPTIONS = grammar("-W -X -c -m --check-hash-based-pycs", "-b -B -d -E -i -I -O -OO -P -q -s -S -u -v -x")
_SHELL_OPTIONS = grammar("-c -o -O --rcfile --init-file", "-e -u -x -l -i -v -n -s --login --norc --noprofile")
_MOST_LEVELS = 20

#: A program that the shell looks up.
_LOOKED_UP = re.compile(r"\$\(\s*(?:which|command -v|type -p)\s+([\w.-]+)\s*\)")


class Launch(NamedTuple):
    """A command that starts training.

    launcher: `torchrun`, `accelerate`, `deepspeed`, `srun`, `mpirun`, `sbatch`, `python` or `bash`, and around others
    `pbsdsh`, `blaunch` or `jsrun`; alias: as it is called, `torch.distributed.launch`.
    name: the word that names it; options: its own, `strange` those that it does not know; open: words that only the run
    knows may be more of them.
    script: what it starts, with `module` one of Python's; arguments: what that gets, and as options `parameters`.
    environment: variables set for it alone; outer: the launch that starts this one, `srun` of `torchrun`.
    command: the command of the script in which all of this stands.
    """

    launcher: str
    alias: str
    name: Word
    command: Command
    options: tuple[Option, ...] = ()
    strange: tuple[Option, ...] = ()
    open: bool = False
    script: Word | None = None
    module: bool = False
    arguments: tuple[Word, ...] = ()
    environment: tuple[Assignment, ...] = ()
    outer: Launch | None = None

    @property
    def parameters(self) -> tuple[Option, ...]:
        """The arguments of the program, as options."""
        return parameters(self.arguments)

    @property
    def variables(self) -> tuple[Assignment, ...]:
        """The variables that are set for it, and for what starts it."""
        return (*(self.outer.variables if self.outer is not None else ()), *self.environment)

    def option(self, name: str) -> Option | None:
        """The option of a name, the last if there are several; None if it is not given."""
        return next((option for option in reversed(self.options) if option.name == name), None)

    def parameter(self, *names: str) -> Option | None:
        """The program's option of one of some names, the last if there are several."""
        return next((option for option in reversed(self.parameters) if option.name in names), None)


def launches(script: Script) -> tuple[Launch, ...]:
    """The commands that start training, in the order in which they run."""
    found: list[Launch] = []
    for command in script.commands:
        if not command.within("substitution"):
            found += _launches(command, command.words, command.environment, None, 0)
    return tuple(found)


def started_script(command: Command) -> Launch | None:
    """How a command starts a script that is a file, as `bash run.sh` and `srun ./run.sh` do; None if it does not."""
    found = _launches(command, command.words, command.environment, None, 0)
    return found[0] if len(found) == 1 and found[0].launcher == "bash" else None


def _launches(
    command: Command, words: tuple[Word, ...], environment: tuple[Assignment, ...], outer: Launch | None, level: int
) -> list[Launch]:
    """The launches of some words of a command, within one that starts them."""
    called = _called(words[0]) if words else None
    if called is None or _MOST_LEVELS < level:
        return []
    name = called.rsplit("/", 1)[-1]
    start = Launch(name, name, words[0], command, environment=environment, outer=outer)
    unwrapped = unwrap(name, words)
    if unwrapped is not None:
        return _launches(command, unwrapped.words, (*environment, *unwrapped.environment), outer, level + 1)
    if name == "eval":
        return _inner(command, environment, outer)
    if name in SHELLS:
        line = line_of(words[1:], _SHELL_OPTIONS)
        inner = _inner(command, environment, outer)
        if inner or line.strange or not line.rest or any(option.name in "cs" for option in line.options):
            return inner
        return [start._replace(launcher="bash", script=line.rest[0], arguments=line.rest[1:])]
    if _PYTHON.fullmatch(name):
        return _python(start, words)
    if name == "accelerate" and len(words) > 1 and words[1].known == "launch":
        return [_launch(start, "accelerate", words[2:])]
    if name in _SPREADING:
        return _spread(start, words, level)
    if name in _PROGRAMS:
        launch = _launch(start, _PROGRAMS[name], words[1:])
        return _started(launch, level) if launch.launcher in _STARTERS else [launch]
    if _SCRIPT.fullmatch(called):
        file = start._replace(launcher="bash", script=words[0], arguments=words[1:])
        return _inner(command, environment, outer) or [file]
    return []


def _called(word: Word) -> str | None:
    """What a command is called by: also where its folder, or that of `$(which torchrun)`, is for the run to say."""
    last = word.pieces[-1] if word.pieces else None
    if isinstance(last, Unknown):
        found = _LOOKED_UP.fullmatch(last.text)
        return found[1] if found is not None and len(word.pieces) == 1 else None
    if word.known is None and last is not None:
        return last.text if "/" in last.text else None
    return word.known


def _launch(start: Launch, launcher: str, words: tuple[Word, ...]) -> Launch:
    """A launcher with its options and its program."""
    line = line_of(words, grammar_of(launcher))
    script = line.rest[0] if line.rest else None
    module = any(option.name == "module" for option in line.options)
    return _with(start, line)._replace(launcher=launcher, script=script, module=module, arguments=line.rest[1:])


def _with(start: Launch, line: Line) -> Launch:
    return start._replace(options=line.options, strange=line.strange, open=line.open)


def _started(launch: Launch, level: int) -> list[Launch]:
    """What `srun` or `mpirun` starts, or that itself."""
    words = (launch.script, *launch.arguments) if launch.script is not None else ()
    inner = _launches(launch.command, words, (), launch, level + 1)
    return inner or [launch]


def _spread(start: Launch, words: tuple[Word, ...], level: int) -> list[Launch]:
    """What a program starts on nodes of a job; the name of one may stand before it."""
    line = line_of(words[1:], _SPREADING[start.launcher])
    if line.strange:
        return []
    outer = _with(start, line)
    found = _launches(start.command, line.rest, (), outer, level + 1)
    return found or _launches(start.command, line.rest[1:], (), outer, level + 1)


def _python(start: Launch, words: tuple[Word, ...]) -> list[Launch]:
    """`python x.py`, `python -m x`, and launchers that are modules."""
    own: list[Word] = []
    for index, word in enumerate(words[1:], 1):
        text = word.known or ""
        if text == "-c" or (word.many and not word.prefix and index + 1 == len(words)):
            return []
        if re.fullmatch("-[bBdEiIOPqsSuvx]*m", text):
            line = line_of(tuple(own), _PYTHON_OPTIONS)
            return _module(start, words[index + 1 :], line)
        own.append(word)
    line = line_of(words[1:], _PYTHON_OPTIONS)
    if not line.rest:
        return []
    return [_with(start, line)._replace(launcher="python", script=line.rest[0], arguments=line.rest[1:])]


def _module(start: Launch, words: tuple[Word, ...], line: Line) -> list[Launch]:
    if not words:
        return []
    name = words[0].known
    if name in _MODULES:
        return [_launch(start._replace(alias=name, name=words[0]), _MODULES[name], words[1:])]
    return [_with(start, line)._replace(launcher="python", script=words[0], module=True, arguments=words[1:])]


def _inner(command: Command, environment: tuple[Assignment, ...], outer: Launch | None) -> list[Launch]:
    """The launches of a text that a shell gets, as `bash -c` does."""
    if command.inner is None:
        return []
    found: list[Launch] = []
    for launch in launches(command.inner):
        first = launch
        chain = [launch]
        while first.outer is not None:
            first = first.outer
            chain.append(first)
        placed = outer
        for each in reversed(chain):
            own = (*environment, *each.environment) if each is first else each.environment
            placed = each._replace(outer=placed, environment=own)
        if placed is not None:
            found.append(placed)
    return found

"""The signal that a Slurm job gets before its walltime, so that the program can save."""

from __future__ import annotations

import re
from typing import NamedTuple

from planc.plan.model import Plan
from planc.targets._launch import option, written

#: Given where the plan names a walltime of an hour or more and no signal of its own.
_USUAL = "B:USR1@300"
_HOUR = 3600

_FORM = re.compile(r"(?:([RB]+):)?(?:SIG)?([A-Z]+[0-9]*|[0-9]+)(?:@([0-9]+))?", re.IGNORECASE)
_NUMBERS = {"1": "HUP", "2": "INT", "3": "QUIT", "9": "KILL", "10": "USR1", "12": "USR2", "15": "TERM", "19": "STOP"}

#: Signals on which torchrun ends its ranks (torch 2.13, --signals-to-handle): it hands them on and waits 30 s.
_OF_TORCHRUN = ("TERM", "INT", "HUP", "QUIT")

#: What no process can ignore, and what a shell needs for itself.
_UNTOUCHED = ("KILL", "STOP", "CHLD", "CONT")


class Signal(NamedTuple):
    """A signal: its name without `SIG`, the seconds before the walltime, and what the job does about it.

    to_shell: only the batch shell gets it, and hands it on to the steps. ignored: the launcher and the ranks begin with
    the signal ignored, so that it reaches those alone that ask for it.
    """

    name: str
    seconds: int
    to_shell: bool
    ignored: bool


def signal_text(plan: Plan) -> str | None:
    """The option of sbatch; None where the job gets no signal."""
    given: dict[str, str] = written(plan, "launch.slurm") or {}
    walltime = written(plan, "launch.walltime")
    usual = _USUAL if walltime is not None and _HOUR <= walltime else None
    return given.get("signal", usual)


def signal_of(plan: Plan) -> Signal | None:
    """The signal of the job; None where it gets none, or one of which sbatch knows nothing."""
    match = _FORM.fullmatch(signal_text(plan) or "")
    if match is None:
        return None
    flags, text, seconds = match[1] or "", match[2].upper(), match[3] or "60"
    name = _NUMBERS.get(text, text)
    is_ours = name not in _UNTOUCHED
    ignored = is_ours and name not in _OF_TORCHRUN and not _is_handled_by_lightning(plan, name)
    return Signal(name, int(seconds), is_ours and "B" in flags.upper(), ignored)


def _is_handled_by_lightning(plan: Plan, name: str) -> bool:
    """Whether Lightning saves on the signal and queues the job again, which it does only where nobody ignores it.

    `_SignalConnector` of Lightning 2.6 leaves a signal alone that has another handler than the default; it knows a rank
    of Slurm by srun's variables, which torchrun hides.
    """
    return name == "USR1" and plan.emits("lightning") and option(plan, "slurm", "launcher") == "srun"

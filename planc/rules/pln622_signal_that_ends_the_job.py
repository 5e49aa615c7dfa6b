"""The signal before the walltime ends the job at once.

Why: Slurm sends `signal` a while before the walltime, so that a run can save. With `B:` it reaches only the
    batch shell, which ends, and the job with it. Without `B:` it reaches every process of the step: torchrun
    hands on SIGTERM, SIGINT, SIGHUP and SIGQUIT, and any other ends it, and so the ranks. Either way the last
    minutes are lost, and nothing is saved.

Example:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  slurm { signal = "USR1@600" } }
      emit     = [slurm]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  slurm { signal = "TERM@600" } }
      emit     = [slurm]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use a signal that torchrun hands on, and let the program save on it; or let torchrun handle another, by the
    variable that the help names.

Source: sbatch(1), --signal; torch/distributed/run.py of torch 2.13, --signals-to-handle, whose default
    PET_SIGNALS_TO_HANDLE replaces; templates/slurm/job.sbatch.j2 sets no trap.

Versions: torchrun as in torch 2.13; one that has no --signals-to-handle hands on the four that are named.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._variables import text_place, texts, variables, with_text
from planc.rules.rule import Rule

_HANDLED = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
_VARIABLE = "PET_SIGNALS_TO_HANDLE"
_NUMBERS = {"1": "SIGHUP", "2": "SIGINT", "3": "SIGQUIT", "10": "SIGUSR1", "12": "SIGUSR2", "15": "SIGTERM"}
_IGNORED = ("SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH")


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A signal to the batch shell alone, or one that the launcher of a node does not hand on."""
    text = texts(plan, "launch.slurm").get("signal")
    if text is None or not plan.emits("slurm"):
        return
    flags, _, rest = text.rpartition(":")
    signal, _, seconds = rest.partition("@")
    name, to_shell = _name(signal), "B" in flags
    if name in _IGNORED or (not to_shell and name in _handled(plan)):
        return
    span, when = text_place(plan, "launch.slurm", "signal"), seconds or "60"
    by_variable = f"set `{_VARIABLE}` to `{_HANDLED},{name}` in `launch.env`"
    yield Diagnostic(
        f"`{name}` ends the job {when} s before its walltime",
        Label(span, "the batch shell sets no trap" if to_shell else "torchrun does not hand it on"),
        help=(f'write `signal = "TERM@{when}"`', *(() if to_shell else (by_variable,))),
        fixes=with_text(plan, "launch.slurm", "signal", f"TERM@{when}"),
    )


def _name(signal: str) -> str:
    """A signal's whole name, of a number, a name or a name without its first letters."""
    upper = _NUMBERS.get(signal.strip(), signal.strip().upper())
    return upper if upper.startswith("SIG") else f"SIG{upper}"


def _handled(plan: Plan) -> list[str]:
    return [_name(item) for item in variables(plan).get(_VARIABLE, _HANDLED).split(",")]


RULE = Rule(Severity.WARNING, "plan", check, ("launch.slurm",))

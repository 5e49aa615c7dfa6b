"""The signal before the walltime ends the job at once.

Why: Slurm sends `signal` a while before the walltime, so that a run can save. On SIGTERM, SIGINT, SIGHUP and
    SIGQUIT torchrun ends its ranks, and kills after 30 s those that are still there: with `TERM@600` a save has
    30 of its 600 s. Nothing can catch SIGKILL. Any other signal reaches the ranks that ask for it, and ends
    nothing: the script of the job sees to it, whether `B:` sends it to the shell or not.

Example:
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

Instead:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  slurm { signal = "B:USR1@600" } }
      emit     = [slurm]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use `B:USR1` or `B:USR2`, for which the program has a handler that saves. `--unsafe-fixes` writes it.

Source: sbatch(1), --signal; torch/distributed/run.py of torch 2.13, --signals-to-handle and --shutdown-timeout,
    whose defaults PET_SIGNALS_TO_HANDLE and PET_SHUTDOWN_TIMEOUT replace; templates/slurm/job.sbatch.j2.

Versions: torchrun as in torch 2.13; one that has no --signals-to-handle ends its ranks on the four that are named.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._variables import text_place, texts, variables, with_text
from planc.rules.rule import Rule

_HANDLED = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"
_NUMBERS = {"1": "SIGHUP", "2": "SIGINT", "3": "SIGQUIT", "9": "SIGKILL", "15": "SIGTERM", "19": "SIGSTOP"}
_UNCAUGHT = ("SIGKILL", "SIGSTOP")
_SHUTDOWN = 30


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A signal on which torchrun ends its ranks long before the walltime, or one that nobody can catch."""
    text = texts(plan, "launch.slurm").get("signal")
    if text is None or not plan.emits("slurm"):
        return
    signal, _, seconds = text.rpartition(":")[2].partition("@")
    name, when = _name(signal), int(seconds) if seconds.isascii() and seconds.isdigit() else 60
    ended = not _by_srun(plan) and name in _handled(plan) and _shutdown(plan) < when
    if not ended and name not in _UNCAUGHT:
        return
    label = f"torchrun kills its ranks after {_shutdown(plan)} s" if ended else "no program can catch it"
    free = next((other for other in ("USR1", "USR2") if f"SIG{other}" not in _handled(plan)), None)
    span, message = text_place(plan, "launch.slurm", "signal"), f"`{name}` ends the run {when} s before its walltime"
    if free is None:
        yield Diagnostic(message, Label(span, label), help=("leave `PET_SIGNALS_TO_HANDLE` out",))
        return
    other = f"B:{free}@{when}"
    fixes = with_text(plan, "launch.slurm", "signal", other)
    yield Diagnostic(message, Label(span, label), help=(f'write `signal = "{other}"`',), fixes=fixes)


def _name(signal: str) -> str:
    """A signal's whole name, of a number, a name or a name without its first letters."""
    upper = _NUMBERS.get(signal.strip(), signal.strip().upper())
    return upper if upper.startswith("SIG") else f"SIG{upper}"


def _handled(plan: Plan) -> list[str]:
    return [_name(item) for item in variables(plan).get("PET_SIGNALS_TO_HANDLE", _HANDLED).split(",")]


def _shutdown(plan: Plan) -> int:
    """Seconds for which torchrun waits for its ranks."""
    text = variables(plan).get("PET_SHUTDOWN_TIMEOUT", "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else _SHUTDOWN


def _by_srun(plan: Plan) -> bool:
    """Whether the ranks are started without torchrun."""
    options = next(choice.options for choice in plan.targets if choice.name == "slurm")
    return "launcher" in options and options.value("launcher") == "srun"


RULE = Rule(Severity.WARNING, "plan", check, ("launch.slurm",))

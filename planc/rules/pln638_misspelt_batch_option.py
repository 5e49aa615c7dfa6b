"""`launch.slurm` names an option that sbatch does not have, and almost has.

Why: fields of `launch.slurm` become `#SBATCH` lines as they stand; sbatch refuses the whole job for one option
    that it does not know, and a plugin of the site would hardly be named like a slip of the pen.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      emit = [slurm]  launch { script = "train.py"  slurm { parition = "gpu" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      emit = [slurm]  launch { script = "train.py"  slurm { partition = "gpu" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: correct the name; options are named as sbatch names them in full, without `--`. `--unsafe-fixes` corrects it.

Source: Slurm 22.05 and 24.11, src/sbatch (the long options of sbatch).

Versions: all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Origin, Plan
from planc.rules._places import key_place
from planc.rules._variables import texts
from planc.rules.rule import Rule

#: The options of sbatch that are words; a plugin may add others, of which planc knows nothing.
_OPTIONS = (
    "account", "acctg-freq", "array", "batch", "bb", "bbf", "begin", "chdir", "cluster", "cluster-constraint",
    "clusters", "comment", "constraint", "container", "container-id", "contiguous", "core-spec", "cores-per-socket",
    "cpu-freq", "cpus-per-gpu", "cpus-per-task", "deadline", "delay-boot", "dependency", "distribution", "error",
    "exclude", "exclusive", "export", "export-file", "extra", "extra-node-info", "get-user-env", "gid", "gpu-bind",
    "gpu-freq", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "gres-flags", "hint", "hold",
    "ignore-pbs", "input", "job-name", "kill-on-invalid-dep", "licenses", "mail-type", "mail-user", "mcs-label", "mem",
    "mem-bind", "mem-per-cpu", "mem-per-gpu", "mincpus", "network", "nice", "no-kill", "no-requeue", "nodefile",
    "nodelist", "nodes", "ntasks", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-socket",
    "open-mode", "output", "overcommit", "oversubscribe", "parsable", "partition", "power", "prefer", "priority",
    "profile", "propagate", "qos", "quiet", "reboot", "requeue", "reservation", "resv-ports", "segment", "signal",
    "sockets-per-node", "spread-job", "stepmgr", "switches", "test-only", "thread-spec", "threads-per-core", "time",
    "time-min", "tmp", "tres-bind", "tres-per-task", "tasks-per-node", "uid", "use-min-nodes", "verbose", "wait",
    "wait-all-nodes", "wckey", "wrap",
)  # fmt: skip

_LETTERS = {
    "a": "array", "b": "begin", "c": "cpus-per-task", "d": "dependency", "e": "error", "n": "ntasks", "o": "output",
    "p": "partition", "q": "qos", "t": "time", "w": "nodelist", "x": "exclude",
}  # fmt: skip
_MOST = 60  # letters of a name that is compared


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Each option that sbatch does not have and that is close to one of its own, or is its letter."""
    if not plan.emits("slurm"):
        return
    for name in texts(plan, "launch.slurm"):
        meant = _meant(name)
        if meant:
            span = key_place(plan, "launch.slurm", name)
            yield Diagnostic(
                f"sbatch has no option `--{name}`",
                Label(span, f"did you mean `{meant}`?"),
                help=(f"write `{meant}`",),
                fixes=(Fix(f"write `{meant}`", (Edit(span, meant),), safe=False),)
                if plan["launch.slurm"].origin is Origin.WRITTEN and span.text.strip('"') == name
                else (),
            )


def _meant(name: str) -> str | None:
    """The option that an unknown name is a slip of; None for a known one, for no name (PLN911), or if none is close."""
    if name in _OPTIONS or _MOST < len(name) or not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        return None
    if len(name) == 1:
        return _LETTERS.get(name)
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, _OPTIONS, 1, 0.85)), None)


RULE = Rule(Severity.WARNING, "plan", check, ("launch.slurm",))

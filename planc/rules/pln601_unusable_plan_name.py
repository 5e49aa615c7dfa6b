"""The plan's name cannot name a folder and a job.

Why: `compile` writes the plan's files into a folder of its name, and the scheduler lists the job by it. A
    name with a slash would leave the folder, one with a leading dash reads as an option, and Kubernetes and
    Slurm have limits of their own.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan "7B chat" {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = bf16
      emit     = [deepspeed]
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan "7B-chat" {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = bf16
      emit     = [deepspeed]
    }

Fix: use letters, digits, `_`, `-` and `.`, at most 63 of them, the first a letter, a digit or `_`.
    `--unsafe-fixes` writes the name with dashes.

Source: Kubernetes, object names (63 characters of a DNS label); POSIX, portable file names.

Versions: all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules.rule import Rule

_LONGEST = 63
_USABLE = rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{_LONGEST - 1}}}"
_OTHER = r"[^A-Za-z0-9_.-]+"


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A name that no folder or job should have; a plan that writes nothing may be called anything."""
    if not plan.targets or re.fullmatch(_USABLE, plan.name):
        return
    usable = re.sub(_OTHER, "-", _unaccented(plan.name)).strip("-.")[:_LONGEST].strip("-.")
    wrong = next((character for character in plan.name if re.match(_OTHER, character)), None)
    if wrong is not None:
        text = f"{wrong!r} is none of the letters, digits, `_`, `-` and `.`"
    elif _LONGEST < len(plan.name):
        text = f"{len(plan.name)} characters, at most {_LONGEST} are usable"
    else:
        text = "the first character is a letter, a digit or `_`"
    fix = Fix(f"call it `{usable}`", (Edit(plan.span, f'"{usable}"'),), safe=False)
    yield Diagnostic(
        "the plan's name cannot name a folder and a job",
        Label(plan.span, text),
        help=(f'use `"{usable}"`',) if usable else (),
        fixes=(fix,) if usable else (),
    )


def _unaccented(name: str) -> str:
    """The name without the marks of its letters, which are no letters of a DNS label."""
    from unicodedata import combining, normalize

    return "".join(character for character in normalize("NFKD", name) if not combining(character))


RULE = Rule(Severity.ERROR, "plan", check)

"""The record of the run will hold no result, as no metrics are asked for.

Why: `planc attest` insists on the metrics that `evidence.metrics` names, and reads the file that `evidence.file`
    names. With neither, a record is complete without a single number of the run, and that is noticed when it is needed.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      dataset  { name = "corpus"  version = "v3" }
      evidence {}
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
      dataset  { name = "corpus"  version = "v3" }
      evidence { metrics = ["loss"]  file = "metrics.jsonl" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: name the metrics that have to be in the record as the run's log spells them, or the file that the run writes.

Source: planc, docs/evidence.md.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import absent
from planc.rules._places import place
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Evidence that is asked for, and neither metrics nor a file of them."""
    if absent(plan, "evidence") or not (absent(plan, "evidence.metrics") and absent(plan, "evidence.file")):
        return
    yield Diagnostic(
        "the record need not hold any metric",
        Label(place(plan, "evidence"), "nothing says what the run reports"),
        help=('write `metrics = ["loss"]`, or whichever the run reports, in `evidence`',),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("evidence",))

"""torchtitan keeps two checkpoints at least.

Why: while one is written the one before has to stay, so torchtitan refuses to keep a single one and stops at
    its start.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      checkpoint { every = 500 steps  keep = 1 }
      emit     = [torchtitan { module = "my_models"  flavor = "small" }]
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
      checkpoint { every = 500 steps  keep = 2 }
      emit     = [torchtitan { module = "my_models"  flavor = "small" }]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: keep two. `--unsafe-fixes` writes it.

Source: torchtitan, components/checkpoint.py: keep_latest_k.

Versions: torchtitan 0.2 and 0.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A single checkpoint under torchtitan."""
    if facts["checkpoint.keep"] != 1 or not plan.emits("torchtitan"):
        return
    span = place(plan, "checkpoint.keep")
    yield Diagnostic(
        "`torchtitan` does not keep 1 checkpoint",
        Label(span, "the last one may be half written"),
        help=("use `keep = 2` or more",),
        fixes=writing(plan, ("checkpoint.keep", "2")),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("checkpoint.keep",))

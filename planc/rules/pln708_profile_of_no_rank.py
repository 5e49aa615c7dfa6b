"""A rank is traced that the job does not have.

Why: ranks count from 0, so that the last of 8 is 7; a rank beyond it writes no trace.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      profile  { start = 20 steps  ranks = [0, 8] }
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
      profile  { start = 20 steps  ranks = [0, 7] }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: name ranks below the world size; `planc explain --ranks` shows who sits where. `--unsafe-fixes` leaves the
    others out.

Source: Megatron-LM, --profile-ranks; torch.distributed: ranks count from 0.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Traced ranks at or over the world size."""
    world = facts["world.size"]
    ranks = [rank for rank in facts["profile.ranks"] if isinstance(rank, int)]
    beyond = [rank for rank in ranks if world <= rank]
    if not beyond:
        return
    span = place(plan, "profile.ranks")
    kept = ", ".join(count_text(rank) for rank in ranks if rank < world) or count_text(world - 1)
    yield Diagnostic(
        f"rank {count_text(beyond[0])} is traced, and the last one is {count_text(world - 1)}",
        Label(span, f"{plural(world, 'rank')}, from 0 on"),
        related(plan, span, ("cluster.nodes", ""), ("cluster.gpus_per_node", "")),
        help=(f"use `ranks = [{kept}]`",),
        fixes=writing(plan, ("profile.ranks", f"[{kept}]")),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("profile.ranks", "world.size"))

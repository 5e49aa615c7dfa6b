"""The job would wait for more nodes than the cluster has.

Why: an elastic job starts once `launch.min_nodes` nodes have met. With more than there are they never do, and
    each waits until the rendezvous times out.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  min_nodes = 8 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  min_nodes = 2 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: wait for no more nodes than `cluster.nodes`. `--unsafe-fixes` writes that number.

Source: torch/distributed/run.py of torch 2.13, --nnodes MIN:MAX, which has to rise.

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
    """A least number of nodes over their number."""
    least, nodes = facts["launch.min_nodes"], facts["cluster.nodes"]
    if least <= nodes:
        return
    span = place(plan, "launch.min_nodes")
    yield Diagnostic(
        f"the job waits for {plural(least, 'node')} and has {count_text(nodes)}",
        Label(span, f"{count_text(least - nodes)} of them never come"),
        related(plan, span, ("cluster.nodes", plural(nodes, "node"))),
        help=(f"use at most `min_nodes = {count_text(nodes)}`",),
        fixes=writing(plan, ("launch.min_nodes", count_text(nodes))),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("launch.min_nodes", "cluster.nodes"))

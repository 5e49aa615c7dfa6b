"""A node runs more processes than it has cores.

Why: each rank is a process that launches kernels, and has `dataset.workers` more that load its data: 8 ranks
    with 15 workers are 128 processes. On 96 cores loaders take time from the ranks, and the cards wait.

Example:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8  cpu_cores = 96 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      dataset  { workers = 15 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8  cpu_cores = 96 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      dataset  { workers = 11 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: fewer workers; the help names the most that leave a core to each process. `--unsafe-fixes` writes them.

Source: torch/utils/data/dataloader.py of torch 2.13, num_workers: processes a loader, and one loader a rank.

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
    """Ranks and their loaders over the cores of a node."""
    ranks, cores, workers = facts["cluster.gpus_per_node"], facts["cluster.cpu_cores"], facts["dataset.workers"]
    if ranks * (workers + 1) <= cores or workers == 0:
        return
    span, fits = place(plan, "dataset.workers"), count_text(max(0, cores // ranks - 1))
    yield Diagnostic(
        f"{plural(ranks * (workers + 1), 'process')} for {plural(cores, 'core')} of a node",
        Label(span, f"{plural(ranks, 'rank')} x (1 + {plural(workers, 'worker')})"),
        related(plan, span, ("cluster.cpu_cores", plural(cores, "core")), ("cluster.gpus_per_node", "")),
        help=(f"use at most `workers = {fits}`",),
        fixes=writing(plan, ("dataset.workers", fits)),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("cluster.gpus_per_node", "cluster.cpu_cores", "dataset.workers"))

"""More loaders than files to read.

Why: each file of a replica is read by one of its loaders. 4 loaders for 2 files leave two without work, in
    memory and at the start of each epoch.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      dataset  { shards = 16  workers = 4 }
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
      dataset  { shards = 32  workers = 4 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: fewer loaders, or more files.

Source: datasets, iterable_dataset.py: workers beyond the number of shards are stopped; webdataset,
    split_by_worker.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """More loaders a replica than files, where the files divide."""
    files, data, workers = facts["dataset.shards"], facts["parallel.data"], facts["dataset.workers"]
    if files % data != 0 or workers * data <= files:
        return
    span, each = place(plan, "dataset.workers"), files // data
    yield Diagnostic(
        f"{plural(workers, 'loader')} a replica for {plural(each, 'file')}",
        Label(span, f"{plural(workers - each, 'loader')} without work"),
        related(plan, span, ("dataset.shards", f"{count_text(files)} / {plural(data, 'replica')}")),
        help=(f"use `workers = {count_text(each)}`, or `shards = {count_text(workers * data)}`",),
    )


RULE = Rule(Severity.INFO, "plan", check, ("dataset.shards", "parallel.data", "dataset.workers"))

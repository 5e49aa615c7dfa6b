"""The files of the data do not divide among the replicas.

Why: data that is read file by file is dealt out whole: of 15 files for 2 replicas one gets 8 and the other 7.
    It runs out first, and the other waits in a collective that it never joins; Hugging Face's datasets rather
    lets every replica read all files and drop what is not its own.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      dataset  { shards = 15 }
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
      dataset  { shards = 16 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: cut the data into a multiple of the replicas, or end an epoch after a number of steps that all of them
    reach.

Source: pytorch/pytorch#33148 and #38174; datasets, distributed.py, split_dataset_by_node; webdataset,
    split_by_node.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, either, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import multiples
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Files that leave a rest over the replicas."""
    files, data = facts["dataset.shards"], facts["parallel.data"]
    if files % data == 0:
        return
    span = place(plan, "dataset.shards")
    fits = [f"`shards = {count_text(size)}`" for size in multiples(files, data)]
    yield Diagnostic(
        f"{plural(files, 'file')} for {plural(data, 'replica')} leave {count_text(files % data)} over",
        Label(span, f"{quotient_text(files, data)} files each"),
        related(plan, span, ("parallel.data", ""), ("cluster.nodes", ""), ("cluster.gpus_per_node", "")),
        help=(f"cut the data into {either(fits)}",),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("dataset.shards", "parallel.data"))

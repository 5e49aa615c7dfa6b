"""The ranks of a node start more threads than it has cores.

Why: every rank runs `OMP_NUM_THREADS` threads in each operation on the host. 8 ranks with 96 threads are 768
    threads on 96 cores: they wait for each other, and an Adam on the host takes several times as long.

Example:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8  cpu_cores = 96 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  env { OMP_NUM_THREADS = "96" } }
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
      launch   { script = "train.py"  env { OMP_NUM_THREADS = "12" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: give each rank its share of the cores, or leave the variable out: the launch scripts set the share.
    `--unsafe-fixes` writes it.

Source: OpenMP, OMP_NUM_THREADS; torch/distributed/run.py of torch 2.13, which sets 1 where nothing is set.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import related
from planc.rules._variables import variable_place, variables, with_text
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Threads of all ranks over the cores of a node."""
    text = variables(plan).get("OMP_NUM_THREADS", "").strip()
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        return
    ranks, cores, threads = facts["cluster.gpus_per_node"], facts["cluster.cpu_cores"], int(text)
    each = threads or cores  # OpenMP refuses 0, and takes all that it sees
    if each * ranks <= cores or each <= 1:
        return
    span, share = variable_place(plan, "OMP_NUM_THREADS"), count_text(max(1, cores // ranks))
    refused = "" if threads else ": 0 is refused, and all cores are taken"
    yield Diagnostic(
        f"{plural(each * ranks, 'thread')} for {plural(cores, 'core')} of a node",
        Label(span, f"{plural(ranks, 'rank')} x {count_text(each)} threads{refused}"),
        related(plan, span, ("cluster.cpu_cores", plural(cores, "core")), ("cluster.gpus_per_node", "")),
        help=(f'write `OMP_NUM_THREADS = "{share}"`, or leave it out',),
        fixes=with_text(plan, "launch.env", "OMP_NUM_THREADS", share),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("launch.env", "cluster.cpu_cores", "cluster.gpus_per_node"))

"""The optimizer runs on the host, with few threads.

Why: an offloaded optimizer updates the parameters on the cores of the node. With 1 of the 12 cores that a rank
    could have, each update takes many times as long, and the cards wait for it.

Example:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8  cpu_cores = 96 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      offload  { optimizer = cpu }  shard { stage = 2 }
      launch   { script = "train.py"  env { OMP_NUM_THREADS = "1" } }
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
      offload  { optimizer = cpu }  shard { stage = 2 }
      launch   { script = "train.py"  env { OMP_NUM_THREADS = "12" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: leave the variable out: the launch scripts set the share of each rank.

Source: deepspeed 0.19.8, csrc/adam/cpu_adam_impl.cpp: the update is an OpenMP loop.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import related
from planc.rules._variables import variable_place, variables
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Fewer than half of the threads that a rank could have, where the update needs them."""
    text = variables(plan).get("OMP_NUM_THREADS", "").strip()
    if plan.value("offload.optimizer") != "cpu" or not (text.isascii() and text.isdigit() and len(text) < 7):
        return
    share = facts["cluster.cpu_cores"] // facts["cluster.gpus_per_node"]
    if int(text) * 2 < share:
        span = variable_place(plan, "OMP_NUM_THREADS")
        yield Diagnostic(
            f"{plural(int(text), 'thread')} for the optimizer on the host",
            Label(span, f"of {plural(share, 'core')} that a rank could have"),
            related(plan, span, ("offload.optimizer", "updates on the cores"), ("cluster.cpu_cores", "")),
            help=(f'write `OMP_NUM_THREADS = "{count_text(share)}"`, or leave it out',),
        )


RULE = Rule(Severity.INFO, "plan", check, ("launch.env", "cluster.cpu_cores", "cluster.gpus_per_node"))

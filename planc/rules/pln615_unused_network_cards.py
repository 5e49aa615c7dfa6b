"""`NCCL_IB_HCA` leaves network cards of the node unused.

Why: each card carries its share between nodes. With half of the cards named, the ranks of a node share half of
    the bandwidth that the cluster states, and with which planc predicts.

Example:
    use "planc/gpus"
    cluster one {
      gpu = h100-sxm-80gb  nodes = 2  gpus_per_node = 8
      nics { count = 2  speed = 400 Gbit/s  names = ["mlx5_0", "mlx5_1"] }
    }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  env { NCCL_IB_HCA = "mlx5_0" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    use "planc/gpus"
    cluster one {
      gpu = h100-sxm-80gb  nodes = 2  gpus_per_node = 8
      nics { count = 2  speed = 400 Gbit/s  names = ["mlx5_0", "mlx5_1"] }
    }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  env { NCCL_IB_HCA = "mlx5" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: name all cards that are for training; if the others are for storage, leave them out of `cluster.nics`.

Source: the NCCL user guide, Environment Variables, NCCL_IB_HCA.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, percent_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import related
from planc.rules._variables import variable_place, variables
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Some of a node's cards named, and some not."""
    value, names = variables(plan).get("NCCL_IB_HCA", "").strip(), facts["cluster.nics.names"]
    if not value or value.startswith("^") or not 1 < facts["cluster.nodes"]:
        return
    exact = value.startswith("=")
    items = [item.partition(":")[0].strip() for item in value.lstrip("=").split(",")]
    used = [name for name in names if any(item == name if exact else name.startswith(item) for item in items)]
    if used and len(used) < len(names):
        span = variable_place(plan, "NCCL_IB_HCA")
        yield Diagnostic(
            f"`NCCL_IB_HCA` names {count_text(len(used))} of {plural(len(names), 'network card')}",
            Label(span, f"{percent_text(len(used) / len(names))} of the node's bandwidth"),
            related(plan, span, ("cluster.nics.names", plural(len(names), "card")), ("cluster.nics", "")),
            help=(f'write `NCCL_IB_HCA = "{",".join(names)}"`, or leave it out',),
        )


RULE = Rule(Severity.INFO, "plan", check, ("launch.env", "cluster.nics.names", "cluster.nodes"))

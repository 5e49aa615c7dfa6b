"""`NCCL_IB_HCA` names network cards that the cluster does not have.

Why: NCCL takes the cards whose names begin with one of these. If none does, it falls back to TCP sockets
    without a word, at a fourth or fifth of the speed; if some do not, their share of the bandwidth is missing.

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
      launch   { script = "train.py"  env { NCCL_IB_HCA = "rdma0,rdma1" } }
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
      launch   { script = "train.py"  env { NCCL_IB_HCA = "mlx5_0,mlx5_1" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: write the names that `cluster.nics.names` holds, or leave the variable out: NCCL finds the cards by itself.
    `--unsafe-fixes` removes it.

Source: the NCCL user guide, Environment Variables, NCCL_IB_HCA: prefixes, `=` for whole names, `^` for cards to
    leave out, `:port`.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import either, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import related
from planc.rules._variables import variable_place, variables, without
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Names that no card of a node begins with."""
    value, names = variables(plan).get("NCCL_IB_HCA", "").strip(), facts["cluster.nics.names"]
    if not value or value.startswith("^"):
        return
    exact = value.startswith("=")
    items = [item.partition(":")[0].strip() for item in value.lstrip("=").split(",")]
    strange = [item for item in items if not any(item == name if exact else name.startswith(item) for name in names)]
    if not strange:
        return
    span = variable_place(plan, "NCCL_IB_HCA")
    fits = ",".join(names)
    yield Diagnostic(
        f"`NCCL_IB_HCA` names {plural(len(strange), 'network card')} that no node has",
        Label(span, f"{either(strange, 'and')}: {_outcome(len(strange), len(items))}"),
        related(plan, span, ("cluster.nics.names", plural(len(names), "card")), ("cluster.nics", f"{fits}")),
        help=(f'leave it out, or write `NCCL_IB_HCA = "{fits}"`',),
        fixes=without(plan, "NCCL_IB_HCA"),
    )


def _outcome(strange: int, items: int) -> str:
    return "NCCL falls back to TCP" if strange == items else f"{plural(items - strange, 'name')} left"


RULE = Rule(Severity.WARNING, "plan", check, ("launch.env", "cluster.nics.names"))

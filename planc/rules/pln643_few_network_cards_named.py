"""The cluster names fewer network cards than its nodes have, and NCCL is told to use those alone.

Why: the scripts set `NCCL_IB_HCA` to the names, each of which stands for the cards whose names begin with it. Nodes
    with 8 cards of which one is named exchange over that one: the network is an eighth of what the plan counts with.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster two {
      gpu = card  nodes = 2  gpus_per_node = 8
      nics { count = 8  speed = 400 Gbit/s  names = ["mlx5_0"] }
    }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = two
      launch   { script = "train.py" }
      batch    { global = 64  micro = 1 }
      precision = bf16
      emit     = [torchrun]
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster two {
      gpu = card  nodes = 2  gpus_per_node = 8
      nics { count = 8  speed = 400 Gbit/s  names = ["mlx5"] }
    }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = two
      launch   { script = "train.py" }
      batch    { global = 64  micro = 1 }
      precision = bf16
      emit     = [torchrun]
    }

Fix: name all cards that the ranks are to use, or what their names begin with; or lower `count` where the others are for
    storage.

Source: the NCCL user guide, NCCL_IB_HCA: a name without `=` before it stands for all that begin with it.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Names that end in a number, each of which is one card, and fewer than there are."""
    names, count = facts["cluster.nics.names"], facts["cluster.nics.count"]
    if facts["cluster.nodes"] == 1 or not names or count <= len(names):
        return
    if not all(isinstance(name, str) and name[-1:].isdigit() and "_" in name for name in names):
        return  # `mlx5`, or a name with a sign of NCCL's own: it may stand for all of them
    span = place(plan, "cluster.nics.names", "cluster.nics")
    yield Diagnostic(
        f"{plural(len(names), 'network card')} named, of {count} that a node has",
        Label(span, "NCCL uses no others"),
        related(plan, span, ("cluster.nics.count", "counted with")),
        help=(f'name all {count}, or what they begin with: `names = ["{names[0].rstrip("0123456789").rstrip("_")}"]`',),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("cluster.nics.names", "cluster.nics.count", "cluster.nodes"))

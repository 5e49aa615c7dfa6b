"""`MASTER_PORT` is no port at which ranks could meet.

Why: a port is a whole number from 1 to 65535. torchrun takes the text as a part of the address and ends with
    it; and over several nodes 0 is a free port of its own on each of them.

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
      launch   { script = "train.py"  env { MASTER_PORT = "295000" } }
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
      launch   { script = "train.py"  env { MASTER_PORT = "29500" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: leave it to the launch script, which derives one from the job's id, or write one that is free on the first
    node. `--unsafe-fixes` removes it.

Source: torch/distributed/elastic/rendezvous/utils.py of torch 2.13, parse_rendezvous_endpoint; TCP: 16 bits.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import related
from planc.rules._variables import variable_place, variables, without
from planc.rules.rule import Rule

_LAST = 65535


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A text that is no port, or 0 where nodes have to meet."""
    text = variables(plan).get("MASTER_PORT")
    if text is None:
        return
    least = 1 if 1 < facts["cluster.nodes"] else 0
    if text.isascii() and text.isdigit() and len(text) <= 5 and least <= int(text) <= _LAST:
        return
    span = variable_place(plan, "MASTER_PORT")
    yield Diagnostic(
        "`MASTER_PORT` is no port for the ranks to meet at",
        Label(span, f"ports go from {least} to {_LAST}"),
        related(plan, span, ("cluster.nodes", plural(facts["cluster.nodes"], "node"))),
        help=('leave it out, or write `MASTER_PORT = "29500"`',),
        fixes=without(plan, "MASTER_PORT"),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("launch.env", "cluster.nodes"))

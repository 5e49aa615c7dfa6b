"""A variable sends the traffic between nodes over the loopback interface.

Why: `lo` reaches its own machine only: every node would wait for the others until the timeout, with all cards held.
    The variable is left over from a try on one machine.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 2  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  env { NCCL_SOCKET_IFNAME = "lo" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 2  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  env { NCCL_SOCKET_IFNAME = "eth0" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: name the interface that the nodes share (`ip -brief address` lists them), or remove the variable: NCCL and
    gloo look for one themselves. `--unsafe-fixes` removes it.

Source: the NCCL user guide, NCCL_SOCKET_IFNAME; torch.distributed, Choosing the network interface to use.

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

_NAMES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A variable that names `lo` alone, in a plan of several nodes."""
    nodes, found = facts["cluster.nodes"], variables(plan)
    for name in _NAMES:
        if 1 < nodes and found.get(name, "").strip().lstrip("=") == "lo":
            span = variable_place(plan, name)
            yield Diagnostic(
                f"`{name}` keeps {plural(nodes, 'node')} from reaching each other",
                Label(span, "`lo` reaches its own machine only"),
                related(plan, span, ("cluster.nodes", plural(nodes, "node"))),
                help=("name the interface that the nodes share, or remove the variable",),
                fixes=without(plan, name),
            )


RULE = Rule(Severity.ERROR, "plan", check, ("cluster.nodes", "launch.env"))

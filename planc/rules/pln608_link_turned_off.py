"""A variable turns off the link that the cluster has.

Why: NCCL is told not to use the cards' own link, or the network's verbs, and takes host memory or TCP sockets
    instead: 450 GB/s within a node, or 400 Gbit/s a network card, become a few GB/s. Such variables are left
    over from a search for a fault.

Example:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  env { NCCL_P2P_DISABLE = "1" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    use "planc/gpus"
    cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  env { NCCL_P2P_DISABLE = "0" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: remove the variable; what it went round is to be found, not kept. `--unsafe-fixes` removes it.

Source: the NCCL user guide, Environment Variables: NCCL_P2P_DISABLE, NCCL_P2P_LEVEL, NCCL_IB_DISABLE, NCCL_NET;
    what is meant for debugging may slow, crash or hang a run, it says.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import speed_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import known
from planc.rules._places import related
from planc.rules._variables import is_on, variable_place, variables, without
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A variable that takes away a link, where the cluster says that it has one."""
    found = variables(plan)
    for name, is_off, what, has in (
        ("NCCL_P2P_DISABLE", is_on, "the link between cards", _has_link),
        ("NCCL_P2P_LEVEL", _is_local, "the link between cards", _has_link),
        ("NCCL_IB_DISABLE", is_on, "the network's verbs", _has_verbs),
        ("NCCL_NET", _is_socket, "the network's verbs", _has_verbs),
    ):
        if name not in found or not is_off(found[name]):
            continue
        path = has(facts)
        if path:
            span = variable_place(plan, name)
            instead = f', or write `{name} = "0"`' if is_off is is_on else ""
            yield Diagnostic(
                f"`{name}` turns off {what}",
                Label(span, f"without it: {speed_text(facts[path])}, a card and direction"),
                related(plan, span, ("cluster.nics", "verbs that NCCL could use")) if has is _has_verbs else (),
                help=(f"remove it{instead}",),
                fixes=without(plan, name),
            )


def _has_link(facts: Facts) -> str:
    """The field that holds the speed of a link that is faster than PCIe, if there is one between ranks."""
    link, pcie, ranks = facts["cluster.intra_node"], facts["cluster.gpu.pcie"], facts["cluster.gpus_per_node"]
    return "cluster.intra_node" if 1 < ranks and pcie < link else ""


def _has_verbs(facts: Facts) -> str:
    """The field that holds the speed of network cards that NCCL knows by name, if ranks need them."""
    names, domain, world = facts["cluster.nics.names"], facts["cluster.domain"], facts["world.size"]
    speed = facts["cluster.inter_node"]
    return "cluster.inter_node" if known(names) and names and known(speed) and domain < world else ""


def _is_local(text: str) -> bool:
    return text.strip().upper() in ("LOC", "0")


def _is_socket(text: str) -> bool:
    return text.strip().lower() == "socket"


RULE = Rule(Severity.WARNING, "plan", check, ("launch.env",))

"""Fewer cards are visible than a node starts ranks.

Why: one rank a card is started on every node, and each takes the card of its local number. Where
    `CUDA_VISIBLE_DEVICES` shows fewer, the ranks without one stop with "invalid device ordinal".

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  env { CUDA_VISIBLE_DEVICES = "0" } }
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
      launch   { script = "train.py"  env { CUDA_VISIBLE_DEVICES = "0,1,2,3,4,5,6,7" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: leave the variable to Slurm and the launcher, or list as many cards as `gpus_per_node` says.
    `--unsafe-fixes` removes it unless fewer ranks are an answer too.

Source: CUDA C++ Programming Guide, environment variables; torch.cuda.set_device.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import key_place, related
from planc.rules._repairs import each_size
from planc.rules._variables import without
from planc.rules.rule import Rule

_VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A variable that shows fewer cards than a node has ranks."""
    ranks, variables = facts["cluster.gpus_per_node"], plan["launch.env"].value
    for name in _VARIABLES:
        if not isinstance(variables, dict) or name not in variables:
            continue
        cards = _visible(variables[name])
        if cards < ranks:
            span = key_place(plan, "launch.env", name)
            yield Diagnostic(
                f"{plural(cards, 'visible card')} for {plural(ranks, 'rank')} a node",
                Label(span, f"{count_text(ranks - cards)} of {plural(ranks, 'rank')} find no card"),
                related(plan, span, ("cluster.gpus_per_node", plural(ranks, "rank") + " a node")),
                help=(f"leave `{name}` out, or list {plural(ranks, 'card')}", *_fewer_ranks(cards)),
                fixes=without(plan, name) + each_size(plan, "cluster.gpus_per_node", (cards,) if cards else ()),
            )


def _fewer_ranks(cards: int) -> tuple[str, ...]:
    return (f"for fewer ranks use `gpus_per_node = {count_text(cards)}`",) if cards else ()


def _visible(text: str) -> int:
    """Cards that a list shows: what stands behind a number that is none is hidden."""
    cards = 0
    for item in text.split(","):
        if not item.strip() or item.strip().startswith("-"):
            break
        cards += 1
    return cards


RULE = Rule(Severity.ERROR, "plan", check, ("cluster.gpus_per_node",))

"""The written data-parallel size is not the one that the world gives.

Why: the number of replicas follows: world / (tensor x pipeline x context). A `data` that says otherwise
    contradicts the nodes or the sizes: trainers take the world's number and train on another batch than the
    plan, or refuse to start.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster eight { gpu = card  nodes = 8  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = eight
      parallel { tensor = 8  data = 4 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster eight { gpu = card  nodes = 8  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = eight
      parallel { tensor = 8  data = auto }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: leave `data` out, or write `data = auto`; or correct the nodes or the other sizes. An editor offers both
    values.

Source: Megatron-LM, parallel_state: data-parallel size = world size / model-parallel size; DeepSpeed and
    torchtitan alike.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import cards_text
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A written `data` that the world contradicts; a world with a rest is PLN101's."""
    data, replicas = facts["parallel.data"], facts["world.replicas"]
    if not plan.is_written("parallel.data") or facts["world.leftover"] != 0 or data == replicas:
        return
    world, replica = facts["world.size"], facts["world.model_parallel"]
    span = place(plan, "parallel.data")
    yield Diagnostic(
        f"data-parallel size {count_text(data)}, but the world holds {plural(replicas, 'replica')}",
        Label(span, f"{plural(world, 'rank')} / {plural(replica, 'rank')} per replica = {count_text(replicas)}"),
        related(
            plan,
            span,
            ("parallel.tensor", ""),
            ("parallel.pipeline", ""),
            ("parallel.context", ""),
            ("cluster.nodes", cards_text(facts)),
        ),
        help=(f"write `data = {count_text(replicas)}`, or `data = auto`",),
        fixes=(
            *writing(plan, ("parallel.data", count_text(replicas))),
            *writing(plan, ("parallel.data", "auto")),
        ),
    )


RULE = Rule(
    Severity.ERROR, "plan", check, ("parallel.data", "world.replicas", "world.leftover", "world.model_parallel")
)

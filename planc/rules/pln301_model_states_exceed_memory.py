"""Weights, gradients and optimizer states do not fit the card's memory.

Why: with Adam in 16 bits the model states take 16 bytes a parameter, of which ZeRO's stages share 12, 14 or
    all 16 among the data-parallel ranks. They are there before the first activation: a run that they overfill
    stops at start-up.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model big { layers = 32  hidden = 4096  heads = 32  ffn = 11008  vocab = 32_000 }
    plan run {
      model    = big
      cluster  = one
      shard    { stage = 0 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model big { layers = 32  hidden = 4096  heads = 32  ffn = 11008  vocab = 32_000 }
    plan run {
      model    = big
      cluster  = one
      shard    { stage = 1 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use a higher stage, more cards, or more tensor or pipeline ranks; the help says what would fit by the same
    formulas. What activations need comes on top. `--unsafe-fixes` makes the change where the help names only
    one.

Source: Rajbhandari et al., ZeRO (2020), sections 3 and 5, figure 1.

Versions: all; each engine's bytes per parameter are its own (`planc explain`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planc.diagnostics.amounts import count_text, either, parameters_text, plural, size_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.engine import engines
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.rules._numbers import known, options, tensor_fits
from planc.rules._places import place, related
from planc.rules._repairs import Repair, fixes, helps, writing
from planc.rules.rule import Rule

_MANY = 10**30  # ranks that share so many ways that nothing is left of what is shared


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Model states over the card's usable memory, for the engine that keeps most."""
    total, capacity = facts["memory.states"], facts["memory.capacity"]
    if total <= capacity or not _is_worst(plan, facts, total):
        return
    in_gib = "iB" in plan["cluster.gpu.memory"].span.text
    stages = facts.stages
    assert not isinstance(stages, Unknown)  # or their states would not be known
    fullest = max(stages, key=lambda stage: stage["stage.states"])
    parts = " + ".join(
        f"{size_text(fullest[f'stage.{part}'], in_gib)} of {name}"
        for part, name in (("weights", "weights"), ("gradients", "gradients"), ("optimizer", "optimizer states"))
    )
    span = place(plan, "shard.stage", "shard", "model", "cluster")
    card = plan["cluster.gpu"].value.word
    repairs = tuple(_advice(plan, facts, in_gib))
    yield Diagnostic(
        f"model states take {size_text(total, in_gib)} of a card's {size_text(capacity, in_gib)}",
        Label(span, f"stage {facts['shard.stage']} over {plural(facts['shard.group'], 'rank')}: {parts}"),
        related(
            plan,
            span,
            ("model", f"{parameters_text(facts['parallel.parameters_per_rank'])} parameters on the fullest rank"),
            ("cluster.gpu.usable_memory", ""),
            ("cluster.gpu", f"`{card}` has {size_text(capacity, in_gib)} that a process can use"),
            ("cluster.nodes", ""),
        ),
        help=helps(repairs) or ("no stage and no number of these cards is enough",),
        fixes=fixes(repairs),
        notes=(f"{facts.engine.convention}; activations come on top",),
    )


def _is_worst(plan: Plan, facts: Facts, total: Any) -> bool:
    """Whether no other engine of the plan needs more, nor an earlier one as much."""
    before = True
    for engine in engines(plan):
        if engine == facts.engine:
            before = False
            continue
        other = Facts(plan, engine)["memory.states"]
        if known(other) and (total <= other if before else total < other):
            return False
    return True


def _advice(plan: Plan, facts: Facts, in_gib: bool) -> Iterator[Repair]:
    own, capacity = facts["shard.stage"], facts["memory.capacity"]
    stages = _stages(facts)
    higher = [(stage, _total(plan, facts, {"shard.stage": stage})) for stage in stages if own < stage]
    enough = next(((stage, total) for stage, total in higher if known(total) and total <= capacity), None)
    if enough is not None:
        yield _repair(plan, [("shard.stage", enough[0])], "", enough[1], in_gib)
    # More cards are an answer at the plan's own stage; at another one only where that stage alone is not enough.
    for stage in stages if enough is None else (own,):
        nodes = _nodes(plan, facts, stage) if 0 < stage else None
        if nodes is not None:
            change = [("shard.stage", stage)] if stage != own else []
            cards = plural(nodes * facts["cluster.gpus_per_node"], "card")
            total = _total(plan, facts, _with_nodes(facts, stage, nodes))
            yield _repair(plan, [*change, ("cluster.nodes", nodes)], f" ({cards})", total, in_gib)
            break
    else:
        if enough is None:
            yield from _more_tensor_ranks(plan, facts, stages[-1], in_gib)


def _repair(plan: Plan, change: list[tuple[str, int]], cards: str, total: Any, in_gib: bool) -> Repair:
    """Numbers in fields, and what a card would hold with them."""
    shown = [options(path.partition(".")[2], (number,))[0] for path, number in change]
    help = f"{either(shown, 'and')}{cards} needs {size_text(total, in_gib)} a card"
    return Repair(help, writing(plan, *((path, count_text(number)) for path, number in change)))


def _stages(facts: Facts) -> tuple[int, ...]:
    """The stages that a plan may have, from its own on; DeepSpeed's pipeline engine takes 0 and 1 only (PLN109)."""
    highest = 1 if facts.engine.runtime == "deepspeed" and 1 < facts["parallel.pipeline"] else 3
    own = facts["shard.stage"]
    return tuple(range(own, max(own, highest) + 1))


def _more_tensor_ranks(plan: Plan, facts: Facts, stage: int, in_gib: bool) -> Iterator[Repair]:
    """The smallest larger tensor size on which the states fit, for the cards that there are."""
    fits, tensor = tensor_fits(plan, facts), facts["parallel.tensor"]
    for size in (tensor << power for power in range(1, 8)):
        data = facts["world.size"] // (size * facts["parallel.pipeline"] * facts["parallel.context"])
        if data and fits(size):
            total = _total(
                plan, facts, {"shard.stage": stage, "parallel.tensor": size, "parallel.data": data, "shard.size": data}
            )
            if known(total) and total <= facts["memory.capacity"]:
                change = [("shard.stage", stage)] if stage != facts["shard.stage"] else []
                yield _repair(plan, [*change, ("parallel.tensor", size)], "", total, in_gib)
                return


def _nodes(plan: Plan, facts: Facts, stage: int) -> int | None:
    """The fewest nodes, more than there are, on which the states fit at a stage; None if no number is enough.

    What is shared shrinks as A + B / p, so two evaluations give A and B, and the third confirms the result.
    """
    if plan.is_written("shard.size") or plan.is_written("parallel.data"):
        return None
    alone, floor = (_total(plan, facts, {"shard.stage": stage, "shard.group": ranks}) for ranks in (1, _MANY))
    capacity = facts["memory.capacity"]
    if not (known(alone) and known(floor)) or capacity <= floor:
        return None
    gpus, replica = facts["cluster.gpus_per_node"], facts["world.model_parallel"]
    context, own = facts["parallel.context"], facts["cluster.nodes"]
    if not all(map(known, (gpus, replica, context, own))):
        return None
    ranks = -(-(alone - floor) // (capacity - floor))
    replicas = -(-ranks // context)
    fewest = max(-(-replicas * replica // gpus), own + 1)
    for nodes in range(fewest, fewest + replica):
        if nodes * gpus % replica == 0:
            total = _total(plan, facts, _with_nodes(facts, stage, nodes))
            return nodes if known(total) and total <= capacity else None
    return None


def _with_nodes(facts: Facts, stage: int, nodes: int) -> dict[str, Any]:
    data = nodes * facts["cluster.gpus_per_node"] // facts["world.model_parallel"]
    return {"shard.stage": stage, "cluster.nodes": nodes, "parallel.data": data, "shard.size": data}


def _total(plan: Plan, facts: Facts, given: dict[str, Any]) -> Any:
    return Facts(plan, facts.engine, given)["memory.states"]


RULE = Rule(Severity.ERROR, "plan", check, ("memory.states", "memory.capacity", "shard.group", "shard.stage"))

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
from planc.rules._numbers import batch_of, known, options, tensor_fits
from planc.rules._places import place, related
from planc.rules._repairs import Repair, fixes, helps, writing
from planc.rules.rule import Rule

_STEPS, _TRIED = 1024, 8  # numbers of nodes that are looked at, and those of which the memory is worked out
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
    # What fits with its activations first, where they are known; else at least the states do.
    repairs = tuple(_advice(plan, facts, in_gib, "memory.total")) or tuple(_advice(plan, facts, in_gib))
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


def _advice(plan: Plan, facts: Facts, in_gib: bool, measure: str = "memory.states") -> Iterator[Repair]:
    """Stages, numbers of nodes or tensor sizes with which the measure fits the card."""
    own = facts["shard.stage"]
    stages = _stages(facts)
    enough = next((stage for stage in stages if own < stage and _fits(facts, {"shard.stage": stage}, measure)), None)
    if enough is not None:
        yield _repair(plan, facts, [("shard.stage", enough)], {"shard.stage": enough}, in_gib)
    # More cards are an answer at the plan's own stage; at another one only where that stage alone is not enough.
    for stage in stages if enough is None else (own,):
        nodes = _nodes(plan, facts, stage, measure) if 0 < stage else None
        if nodes is not None:
            change = [("shard.stage", stage)] if stage != own else []
            cards = plural(nodes * facts["cluster.gpus_per_node"], "card")
            given = _with_nodes(facts, stage, nodes)
            yield _repair(plan, facts, [*change, ("cluster.nodes", nodes)], given, in_gib, f" ({cards})")
            break
    else:
        if enough is None:
            yield from _more_tensor_ranks(plan, facts, stages[-1], in_gib, measure)


def _repair(
    plan: Plan, facts: Facts, change: list[tuple[str, int]], given: dict[str, Any], in_gib: bool, cards: str = ""
) -> Repair:
    """Numbers in fields, and what a card would hold with them."""
    shown = [options(path.partition(".")[2], (number,))[0] for path, number in change]
    states = facts.changed(given)["memory.states"]
    help = f"{either(shown, 'and')}{cards} needs {size_text(states, in_gib)} a card"
    return Repair(help, writing(plan, *((path, count_text(number)) for path, number in change)))


def _stages(facts: Facts) -> tuple[int, ...]:
    """The stages that a plan may have, from its own on; DeepSpeed's pipeline engine takes 0 and 1 only (PLN109)."""
    highest = 1 if facts.engine.runtime == "deepspeed" and 1 < facts["parallel.pipeline"] else 3
    own = facts["shard.stage"]
    return tuple(range(own, max(own, highest) + 1))


def _more_tensor_ranks(plan: Plan, facts: Facts, stage: int, in_gib: bool, measure: str) -> Iterator[Repair]:
    """The smallest larger tensor size on which the measure fits, for the cards that there are."""
    suits, tensor = tensor_fits(plan, facts), facts["parallel.tensor"]
    for size in (tensor << power for power in range(1, 8)):
        data = facts["world.size"] // (size * facts["parallel.pipeline"] * facts["parallel.context"])
        if data and suits(size):
            given = {"shard.stage": stage, "parallel.tensor": size, "parallel.data": data, "shard.size": data}
            if _fits(facts, given, measure):
                change = [("shard.stage", stage)] if stage != facts["shard.stage"] else []
                yield _repair(plan, facts, [*change, ("parallel.tensor", size)], given, in_gib)
                return


def _nodes(plan: Plan, facts: Facts, stage: int, measure: str) -> int | None:
    """The fewest nodes, more than there are, on which the measure fits at a stage; None if no number is enough.

    What is shared shrinks as A + B / p, so two evaluations of the states give A and B, and with them a number below
    which there is no need to look; those that the batch or the groups of experts do not divide are passed over.
    """
    if plan.is_written("shard.size") or plan.is_written("parallel.data"):
        return None
    alone, floor = (
        facts.changed({"shard.stage": stage, "shard.group": ranks})["memory.states"] for ranks in (1, _MANY)
    )
    capacity = facts["memory.capacity"]
    if not (known(alone) and known(floor)) or capacity <= floor:
        return None
    gpus, replica = facts["cluster.gpus_per_node"], facts["world.model_parallel"]
    context, own = facts["parallel.context"], facts["cluster.nodes"]
    if not all(map(known, (gpus, replica, context, own))):
        return None
    ranks = -(-(alone - floor) // (capacity - floor))
    replicas = -(-ranks // context)
    fewest, batch = max(-(-replicas * replica // gpus), own + 1), batch_of(facts)
    at_fault = known(facts["parallel.data"]) and not batch.is_reached_by(facts["parallel.data"])
    tried = 0
    for nodes in range(fewest, fewest + _STEPS):
        data, left = divmod(nodes * gpus, replica)
        if left or not (at_fault or batch.is_reached_by(data)) or not _divides_experts(facts, nodes * gpus):
            continue
        if _fits(facts, _with_nodes(facts, stage, nodes), measure):
            return int(nodes)
        tried += 1
        if tried == _TRIED:
            return None
    return None


def _divides_experts(facts: Facts, world: int) -> bool:
    """Whether the groups of experts divide so many ranks, as far as they are known."""
    group = 1
    for axis in ("parallel.expert", "parallel.expert_tensor", "parallel.pipeline"):
        group *= facts[axis] if known(facts[axis]) else 1
    return group != 0 and world % group == 0


def _with_nodes(facts: Facts, stage: int, nodes: int) -> dict[str, Any]:
    data = nodes * facts["cluster.gpus_per_node"] // facts["world.model_parallel"]
    return {"shard.stage": stage, "cluster.nodes": nodes, "parallel.data": data, "shard.size": data}


def _fits(facts: Facts, given: dict[str, Any], measure: str) -> bool:
    """Whether the measure is known with other values of fields, and fits the card."""
    total, capacity = facts.changed(given)[measure], facts["memory.capacity"]
    return known(total) and bool(total <= capacity)


RULE = Rule(Severity.ERROR, "plan", check, ("memory.states", "memory.capacity", "shard.group", "shard.stage"))

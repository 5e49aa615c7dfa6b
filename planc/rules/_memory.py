"""What the rules about the whole memory of a card share: its parts in words, and changes with which it would fit."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from planc.diagnostics.amounts import count_text, either, size_text
from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.facts.arithmetic import product
from planc.facts.engine import engines
from planc.facts.facts import Facts
from planc.facts.memory import PARTS
from planc.plan.model import Plan
from planc.rules._numbers import known, tensor_fits
from planc.rules._places import place, related
from planc.rules._repairs import Repair, fixes, helps, writing

#: Changes that are named at most: the first that fit, the cheapest first.
_MOST_REPAIRS = 3

#: Bytes of a logit where a fused loss keeps no copy of it.
_LEAST_LOGIT_WIDTH = 2

#: Share of a prediction that is needed for certain: none of 1,348 layouts that fitted in a measured sweep needed less.
_CERTAIN = Fraction(9, 10)

_NAMES = {"working_set": "working set", "optimizer": "optimizer states", "transient": "logits and recomputation"}


def _largest_parts(facts: Facts, in_gib: bool) -> str:
    """The three largest parts of the fullest card's memory, in words."""
    parts = sorted(((facts[f"memory.{name}"], name) for name in PARTS), reverse=True)[:3]
    return ", ".join(f"{size_text(size, in_gib)} of {_NAMES.get(name, name)}" for size, name in parts if 0 < size)


def certain_peak(facts: Facts) -> Any:
    """Bytes that the fullest card needs however its layers are computed, less what the formulas err by; or Unknown.

    That is in fused kernels, with 16-bit logits alone, and with fp8 and fp4 with activations of one byte.
    """
    given = {"memory.logit_width": _LEAST_LOGIT_WIDTH}
    if facts["precision"] in ("fp8", "fp4"):
        given["memory.activation_width"] = 1
    least = facts.changed(given, facts.engine._replace(fused=True))["memory.peak"]
    return product(least, _CERTAIN) if known(least) else least


def is_certain(facts: Facts) -> bool:
    """Whether the card is too small however its layers are computed."""
    if facts["memory.peak"] <= facts["memory.capacity"]:
        return False  # what is certain is no more than what is predicted
    least = certain_peak(facts)
    return bool(known(least) and facts["memory.capacity"] < least)


def needs_most(plan: Plan, facts: Facts, path: str) -> bool:
    """Whether no other engine of the plan has a larger value of the fact, nor an earlier one the same."""
    before, own = True, facts[path]
    for engine in engines(plan):
        if engine == facts.engine:
            before = False
            continue
        other = Facts(plan, engine)[path]
        if known(other) and (own <= other if before else own < other):
            return False
    return True


def _repairs(plan: Plan, facts: Facts, in_gib: bool) -> Iterator[Repair]:
    """The first changes of the plan with which its fullest card would suffice, what costs least first."""
    found = 0
    for change, given in _changes(plan, facts):
        total = facts.changed(given)["memory.total"]
        if known(total) and total <= facts["memory.capacity"]:
            found += 1
            texts = [f"`{path.rpartition('.')[2]} = {text}`" for path, text in change]
            help = f"{either(texts, 'and')} needs {size_text(total, in_gib)} a card"
            yield Repair(help, writing(plan, *change))
            if found == _MOST_REPAIRS:
                return


def fault(plan: Plan, facts: Facts, message: str, in_gib: bool) -> Diagnostic:
    """The diagnostic of a card whose memory is too small, at its micro batch."""
    span = place(plan, "batch.micro", "batch", "model")
    stages = facts["parallel.pipeline"]
    stage = f" (stage {facts['memory.worst_stage']} of 0 to {stages - 1})" if 1 < stages else ""
    found = tuple(_repairs(plan, facts, in_gib))
    usable = size_text(facts["memory.capacity"], in_gib)
    card = f"`{plan['cluster.gpu'].value.word}` has {usable} that a process can use"
    return Diagnostic(
        message,
        Label(span, f"{_largest_parts(facts, in_gib)}{stage}"),
        related(plan, span, ("recompute", ""), ("shard.stage", ""), ("cluster.gpu", card)),
        help=helps(found) or ("no micro batch, recomputation, stage or tensor size of these cards is enough",),
        fixes=fixes(found),
        notes=(f"{facts.engine.convention}; `planc explain` shows every part",),
    )


def _changes(plan: Plan, facts: Facts) -> Iterator[tuple[list[tuple[str, str]], dict[str, Any]]]:
    """Changes to try: fields with their texts, and the values that the formulas then take."""
    tensor, pipeline, stage = facts["parallel.tensor"], facts["parallel.pipeline"], facts["shard.stage"]
    if facts["parallel.sequence"] is False and 1 < tensor and facts.engine.runtime != "deepspeed":
        yield [("parallel.sequence", "true")], {"parallel.sequence": True}
    highest = 1 if facts.engine.family in ("deepspeed", "megatron") and 1 < pipeline else 3
    for higher in range(stage + 1, highest + 1):
        yield [("shard.stage", str(higher))], {"shard.stage": higher}
    smaller = list(_smaller_micro_batches(plan, facts))
    for micro, given in smaller:
        yield [("batch.micro", str(micro))], given
    if facts["recompute"] != "full":
        full: dict[str, Any] = {"recompute": "full"}
        if facts["recompute"] == "none" and facts.engine.family == "megatron":
            yield [("recompute", "selective")], {"recompute": "selective"}
        yield [("recompute", "full")], full
        for micro, given in smaller:
            yield [("batch.micro", str(micro)), ("recompute", "full")], {**given, **full}
        if stage < highest:
            least, given = smaller[-1] if smaller else (None, {})
            beside = [("batch.micro", str(least))] if least is not None else []
            change = [("shard.stage", str(highest)), *beside, ("recompute", "full")]
            yield change, {**given, **full, "shard.stage": highest}
    fits = tensor_fits(plan, facts)
    domain = facts["cluster.domain"]
    for size in (tensor << power for power in range(1, 8)):
        replica = size * pipeline * facts["parallel.context"]
        if known(domain) and size <= domain and facts["world.size"] % replica == 0 and fits(size):
            yield [("parallel.tensor", count_text(size))], _with_tensor(facts, size, facts["world.size"] // replica)


def _smaller_micro_batches(plan: Plan, facts: Facts) -> Iterator[tuple[int, dict[str, Any]]]:
    """Smaller micro batches of the same global batch, the largest first, if the plan leaves accumulation to follow."""
    micro, passes = facts["batch.micro"], facts["batch.accumulation"]
    if plan.is_written("batch.accumulation") or not plan.is_written("batch.micro"):
        return
    size = micro // 2
    while 0 < size:
        if micro % size == 0:
            yield size, {"batch.micro": size, "batch.accumulation": passes * (micro // size)}
        size //= 2


def _with_tensor(facts: Facts, size: int, data: int) -> dict[str, Any]:
    """The values that follow from another tensor size on the same cards."""
    samples, micro = facts["batch.global"], facts["batch.micro"]
    passes = samples // (micro * data) if known(samples) and 0 < micro * data else 1
    return {"parallel.tensor": size, "parallel.data": data, "shard.size": data, "batch.accumulation": max(1, passes)}

"""The stated split of layers over stages does not add up.

Why: a stated split has to place every layer once. Layers that it leaves over, or stages that it leaves empty,
    are an error at start-up in Megatron; in code of one's own they are a model that is not the one in the
    plan.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 30  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      pipeline { layers = [7, 8, 8, 8] }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 30  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      pipeline { layers = [7, 8, 8, 7] }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: state as many stages as there are (times the chunks, if the schedule is interleaved), with layers that
    add up.

Source: Megatron-LM, TransformerConfig: decoder-first- and decoder-last-pipeline-num-layers.

Versions: all. That the middle stages share the rest evenly is Megatron's rule; DeepSpeed and torchtitan
    spread it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planc.diagnostics.amounts import count_text, either, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import chunks, known, nearest, options
from planc.rules._places import place, related, stands
from planc.rules.rule import Rule

_LISTED = 64  # stages up to which a whole split is written out


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A list of layers, or ends, that the layers and stages of the plan contradict."""
    stated = plan.value("pipeline.layers")
    if isinstance(stated, tuple):
        yield from _listed(plan, facts, stated)
        return
    ends = {
        path: plan.value(path)
        for path in ("pipeline.first_stage_layers", "pipeline.last_stage_layers")
        if stands(plan, path) and plan.value(path) is not None
    }
    if ends and all(known(layers) for layers in ends.values()):
        yield from _ends(plan, facts, ends)


def _listed(plan: Plan, facts: Facts, stated: tuple[Any, ...]) -> Iterator[Diagnostic]:
    layers, stages = facts["model.layers"], facts["parallel.pipeline"] * chunks(plan)
    if not all(isinstance(count, int) for count in stated):
        return
    span = place(plan, "pipeline.layers")
    involved = related(
        plan,
        span,
        ("parallel.pipeline", plural(stages, "stage")),
        ("pipeline.chunks", ""),
        ("model.layers", plural(layers, "layer")),
    )
    if len(stated) != stages:
        message = f"`layers` lists {plural(len(stated), 'stage')}, the pipeline has {count_text(stages)}"
        yield Diagnostic(message, Label(span, f"{plural(len(stated), 'entry')}"), involved, help=_even(layers, stages))
    elif sum(stated) != layers:
        total = sum(stated)
        message = f"stage layers add up to {count_text(total)}, the model has {count_text(layers)}"
        over = plural(abs(total - layers), "layer") + (" too many" if layers < total else " missing")
        yield Diagnostic(message, Label(span, over), involved, help=_even(layers, stages))


def _even(layers: int, stages: int) -> tuple[str, ...]:
    """The most even split, written out where it is short."""
    if _LISTED < stages:
        return ()
    short, longer = divmod(layers, stages)
    front = longer // 2  # the ends also hold the embedding and the loss, so the longer stages go to the middle
    start = (stages - longer) // 2 if front else stages - longer
    split = [short + (start <= stage < start + longer) for stage in range(stages)]
    return (f"the most even split is `layers = [{', '.join(count_text(count) for count in split)}]`",)


def _ends(plan: Plan, facts: Facts, ends: dict[str, int]) -> Iterator[Diagnostic]:
    layers, stages, per_rank = facts["model.layers"], facts["parallel.pipeline"], chunks(plan)
    strict = facts.engine.name in ("megatron", "generic")
    taken, middle = sum(ends.values()), stages - len(ends)
    rest = layers - taken
    path = next(reversed(ends))
    span = place(plan, path)
    fault = _fault(layers, taken, rest, middle, per_rank if strict else 1, strict)
    uneven = next((name for name, count in ends.items() if strict and count % per_rank != 0), None)
    if fault is None and uneven is not None:
        span = place(plan, uneven)
        fault = f"{plural(ends[uneven], 'layer')} do not divide into {plural(per_rank, 'chunk')}", "at one end"
    if fault is None and strict and 0 in ends.values():
        span = place(plan, next(name for name, count in ends.items() if count == 0))
        fault = "a stage of 0 layers stands at an end", "Megatron wants at least 1"
    if fault is None:
        return
    message, text = fault
    fits = nearest(
        ends[path],
        lambda count: _fits(layers - taken + ends[path] - count, middle, per_rank if strict else 1, strict, count),
    )
    yield Diagnostic(
        message,
        Label(span, text),
        related(
            plan,
            span,
            *((name, "") for name in ends),
            ("parallel.pipeline", plural(stages, "stage")),
            ("model.layers", plural(layers, "layer")),
        ),
        help=(f"use {either(options(path.rpartition('.')[2], fits))}",) if fits else (),
    )


def _fault(layers: int, taken: int, rest: int, middle: int, per_rank: int, strict: bool) -> tuple[str, str] | None:
    """Message and label of what is wrong with the layers that the ends leave to the middle stages."""
    text = f"{plural(layers, 'layer')} - {count_text(taken)} at the ends = {count_text(rest)}"
    if rest < 0:
        return f"the ends take {count_text(taken)} of {plural(layers, 'layer')}", text
    if middle <= 0:
        return (f"the ends take {count_text(taken)} of {plural(layers, 'layer')}", text) if rest else None
    if rest < middle:
        return f"the ends leave {plural(rest, 'layer')} for {plural(middle, 'other stage')}", text
    if strict and rest % (middle * per_rank) != 0:
        share = quotient_text(rest, middle * per_rank)
        unit = "chunk" if 1 < per_rank else "stage"
        return (
            f"the ends leave {plural(rest, 'layer')} for {plural(middle, 'other stage')}",
            f"{text}, {share} a {unit}",
        )
    return None


def _fits(rest: int, middle: int, per_rank: int, strict: bool, end: int) -> bool:
    if end % per_rank != 0 or rest < 0:
        return False
    if middle <= 0:
        return rest == 0
    return middle <= rest and (not strict or rest % (middle * per_rank) == 0)


RULE = Rule(Severity.ERROR, "plan", check, ("model.layers", "parallel.pipeline", "pipeline"))

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

Fix: state as many stages as there are (times the chunks, if the schedule is interleaved), with layers that add
    up. `--unsafe-fixes` makes the change where the help names only one.

Source: Megatron-LM, TransformerConfig: decoder-first- and decoder-last-pipeline-num-layers.

Versions: all. That the middle stages share the rest evenly is Megatron's rule; DeepSpeed and torchtitan
    spread it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planc.diagnostics.amounts import agreeing, count_text, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import chunks, known, nearest, options, use
from planc.rules._places import place, related, stands
from planc.rules._repairs import each_size, writing
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
        text = plural(len(stated), "entry")
    elif sum(stated) != layers:
        total = sum(stated)
        message = f"stage layers add up to {count_text(total)}, the model has {count_text(layers)}"
        text = plural(abs(total - layers), "layer") + (" too many" if layers < total else " missing")
    else:
        return
    even = _even(layers, stages)
    help = (f"the most even split is `layers = {even}`",) if even else ()
    fixes = writing(plan, ("pipeline.layers", even)) if even else ()
    yield Diagnostic(message, Label(span, text), involved, help=help, fixes=fixes)


def _even(layers: int, stages: int) -> str:
    """The most even split; empty where it is too long to be written out."""
    if _LISTED < stages:
        return ""
    short, longer = divmod(layers, stages)
    front = longer // 2  # the ends also hold the embedding and the loss, so the longer stages go to the middle
    start = (stages - longer) // 2 if front else stages - longer
    split = [short + (start <= stage < start + longer) for stage in range(stages)]
    return f"[{', '.join(count_text(count) for count in split)}]"


def _ends(plan: Plan, facts: Facts, ends: dict[str, int]) -> Iterator[Diagnostic]:
    layers, stages = facts["model.layers"], facts["parallel.pipeline"]
    if stages == 1 and facts.engine.runtime != "megatron":
        return  # there are no ends, and no other trainer reads their layers
    strict = facts.engine.runtime in ("megatron", "generic")
    per_rank = chunks(plan) if strict else 1
    taken, middle = sum(ends.values()), stages - len(ends)
    path = next(reversed(ends))
    fault = _fault(layers, taken, middle, per_rank, strict)
    if fault is None and strict:
        path, fault = _fault_at_one_end(ends, path, per_rank)
    if fault is None:
        return
    message, text = fault
    span = place(plan, path)
    others, even = taken - ends[path], max(1, layers // stages)

    def fits(end: int) -> bool:
        return end % per_rank == 0 and _fault(layers, others + end, middle, per_rank, strict) is None

    sizes = ((even,) if fits(even) else ()) or nearest(even, fits)
    names = [(name, plural(count, "layer")) for name, count in ends.items()]
    labels = (*names, ("parallel.pipeline", plural(stages, "stage")), ("model.layers", plural(layers, "layer")))
    yield Diagnostic(
        message,
        Label(span, text),
        related(plan, span, *labels),
        help=use(options(path.rpartition(".")[2], sizes)),
        fixes=each_size(plan, path, sizes),
    )


def _fault(layers: int, taken: int, middle: int, per_rank: int, strict: bool) -> tuple[str, str] | None:
    """Message and label of what is wrong with the layers that the ends leave to the middle stages."""
    rest = layers - taken
    text = f"{plural(layers, 'layer')} - {count_text(taken)} at the ends = {count_text(rest)}"
    if rest < 0 or (middle <= 0 and rest != 0):
        return f"the ends take {count_text(taken)} of {plural(layers, 'layer')}", text
    if middle <= 0:
        return None
    if rest < middle:
        return f"the ends leave {plural(rest, 'layer')} for {plural(middle, 'other stage')}", text
    if strict and rest % (middle * per_rank) != 0:
        share = f"{quotient_text(rest, middle * per_rank)} a {'chunk' if 1 < per_rank else 'stage'}"
        return f"the ends leave {plural(rest, 'layer')} for {plural(middle, 'other stage')}", f"{text}, {share}"
    return None


def _fault_at_one_end(ends: dict[str, int], path: str, per_rank: int) -> tuple[str, tuple[str, str] | None]:
    """Which end Megatron refuses for its own layers, and what is wrong with them."""
    for name, count in ends.items():
        if count == 0:
            return name, ("a stage of 0 layers stands at an end", "Megatron wants at least 1")
        if count % per_rank != 0:
            share = f"{count_text(count)} / {count_text(per_rank)} = {quotient_text(count, per_rank)} a chunk"
            message = f"{plural(count, 'layer')} {agreeing(count, 'do')} not divide into {plural(per_rank, 'chunk')}"
            return name, (message, share)
    return path, None


RULE = Rule(Severity.ERROR, "plan", check, ("model.layers", "parallel.pipeline", "pipeline"))

"""A layout as a plan of a few lines: what differs from the defaults, or from the plan that it is made of."""

from __future__ import annotations

from typing import NamedTuple

from planc.advice.layouts import AXES, Layout, Question, replicas
from planc.advice.trainers import Trainer
from planc.format.formatting import format_text


class Given(NamedTuple):
    """What was asked for, as it is written in a plan.

    opening: all up to the layout, from `use` on. batch: fields of the batch. closing: what follows the layout.
    is_derived: the plan is made of another, whose layout it takes back. launches, emits: it says what is started, and
    which targets are written.
    """

    opening: str
    batch: str
    closing: str
    is_derived: bool = False
    launches: bool = True
    emits: bool = True


def unsettled(given: Given, trainer: Trainer) -> str:
    """The plan without a layout: what the question is asked of."""
    return f"{given.opening}  batch {{ {given.batch} }}\n{given.closing}{_ends(given, trainer)}}}\n"


def written(given: Given, asked: Question, layout: Layout) -> str:
    """The plan with a layout, laid out in the one way."""
    lines = [given.opening]
    axes = _axes(asked, layout, given.is_derived)
    if axes:
        lines.append(f"  parallel {{ {axes} }}\n")
    if 1 < layout.pipeline or asked.plan.is_written("pipeline"):
        lines.append(f"  pipeline = {_schedule(layout)}\n")
    if 1 < layout.context and asked.trainer.context != "ring":
        lines.append(f"  context = {asked.trainer.context}\n")
    size = layout.shard or (replicas(asked, layout) if asked.plan.is_written("shard.size") else 0)
    lines.append(f"  shard {{ stage = {layout.stage}{f'  size = {size}' if size else ''} }}\n")
    batch = [given.batch, f"micro = {layout.micro}", _auto(asked, "batch.accumulation")]
    lines.append(f"  batch {{ {'  '.join(filter(None, batch))} }}\n")
    block = f" {{ method = block  layers = {layout.block} }}" if layout.block else ""
    lines.append(f"  recompute = {layout.recompute}{block}\n")
    text = f"{''.join(lines)}{given.closing}{_ends(given, asked.trainer)}}}\n"
    return format_text(text) or text


def _axes(asked: Question, layout: Layout, is_derived: bool) -> str:
    """The axes that differ from the defaults, or from those of the plan that this one is made of."""
    sizes: dict[str, object] = {name: getattr(layout, name) for name in AXES}
    sizes["sequence"] = asked.trainer.sequence and 1 < layout.tensor
    kept = {name: asked.plan.value(f"parallel.{name}") if is_derived else 1 for name in AXES}
    kept["sequence"] = asked.plan.value("parallel.sequence") if is_derived else False
    order = ("tensor", "sequence", "context", "pipeline", "expert")
    words = [f"{name} = {str(sizes[name]).lower()}" for name in order if sizes[name] != kept[name]]
    return "  ".join(filter(None, (*words, _auto(asked, "parallel.data"))))


def _auto(asked: Question, path: str) -> str:
    """A field that follows from the layout, taken back where the plan that this one is made of states it."""
    return f"{path.rpartition('.')[2]} = auto" if asked.plan.is_written(path) else ""


def _schedule(layout: Layout) -> str:
    settings = [f"chunks = {layout.chunks}"] if 1 < layout.chunks else []
    if layout.ends == -2:
        settings.append("embedding_as_layer = true")
    if layout.ends < 0:
        settings.append("loss_as_layer = true")
    if 0 < layout.ends:
        settings.append(f"last_stage_layers = {layout.ends}")
    kind = "interleaved" if 1 < layout.chunks else "1f1b"
    return f"{kind} {{ {'  '.join(settings)} }}" if settings else kind


def _ends(given: Given, trainer: Trainer) -> str:
    lines = f'  launch {{ script = "{trainer.script}" }}\n' if given.launches and trainer.script else ""
    return f"{lines}  emit = [{', '.join(trainer.emit)}]\n" if given.emits else lines

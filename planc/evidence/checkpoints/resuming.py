"""Whether a plan can go on from a checkpoint: the step is there, the model the same, and other ranks no obstacle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planc.diagnostics.amounts import count_text, either, plural
from planc.diagnostics.diagnostic import Diagnostic
from planc.diagnostics.text import visible
from planc.evidence.checkpoints import fitting
from planc.evidence.checkpoints.found import Found
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.reporting.checkpoint_faults import CUT_ANEW, OTHER_PARAMETERS, OTHER_RANKS, UNUSABLE_CHECKPOINT
from planc.rules._places import place, related
from planc.source import Span

#: Sizes that a format cannot be read with others of, from the most telling to the least.
_FIXED = {
    "deepspeed": ("tensor", "pipeline", "model_parallel", "sharing"),
    "megatron": ("tensor", "pipeline", "expert"),
}
_NOUNS = {
    "tensor": "tensor rank", "pipeline": "stage", "model_parallel": "model-parallel rank", "sharing": "sharing rank",
    "expert": "expert rank", "context": "context rank", "world": "rank",
}  # fmt: skip

#: Steps that a message lists.
_MOST_LISTED = 5


def faults(plan: Plan, facts: Facts, found: Sequence[Found], newest: Found | None, fault: str) -> Iterator[Diagnostic]:
    """What keeps a plan with a `resume` section from going on from one of these.

    newest: the one that is gone on from where the plan names no step; if there is none, `fault` says why.
    """
    span = place(plan, "resume.directory", "resume")
    step = plan.value("resume.step")
    if isinstance(step, int):
        span = place(plan, "resume.step", "resume")
        chosen = [each for each in found if each.step == step]
        known = sorted({each.step for each in found if each.step is not None})
        # What states no step may be of any.
        if not chosen and known and all(each.step is not None for each in found):
            there = either([count_text(each) for each in known[-_MOST_LISTED:]], "and")
            yield UNUSABLE_CHECKPOINT.at(
                span,
                f"there is no checkpoint of step {count_text(step)}",
                f"{'the last are' if _MOST_LISTED < len(known) else 'there are'} {there}",
                help=(f"use `step = {count_text(max(known))}`",),
            )
            return
    else:
        chosen = [newest] if newest is not None else []
        if newest is None:
            yield UNUSABLE_CHECKPOINT.at(span, "there is no checkpoint to go on from", fault)
    for each in chosen:
        yield from _of_one(plan, facts, each, span)


def _of_one(plan: Plan, facts: Facts, found: Found, span: Span) -> Iterator[Diagnostic]:
    where = f"`{visible(found.path)}`: " if found.path else ""
    for fault in (*found.faults, *_of_form(plan, facts, found)):
        yield UNUSABLE_CHECKPOINT.at(span, "the checkpoint cannot be read", f"{where}{fault}")
    if fitting.of_model(found, plan, facts):
        held, wanted = found.parameters or 0, fitting.counts(plan, facts)[0]
        yield OTHER_PARAMETERS.at(
            span,
            f"the checkpoint holds {plural(held, 'parameter')}, the model has {count_text(wanted)}",
            f"{where}{count_text(abs(wanted - held))} {'fewer' if held < wanted else 'more'}",
            related=related(plan, span, ("model", f"{count_text(wanted)} parameters")),
        )
    yield from _of_ranks(plan, facts, found, span, where)


def _of_form(plan: Plan, facts: Facts, found: Found) -> tuple[str, ...]:
    """Whether DeepSpeed is told which of its two forms it reads."""
    if facts.engine.runtime != "deepspeed" or not found.format.startswith("deepspeed"):
        return ()
    wants_universal = plan.value("checkpoint.format") == "universal"
    if found.format == "deepspeed-universal" and not wants_universal:
        return ("it is a universal checkpoint, which is read with `checkpoint { format = universal }` only",)
    if found.format == "deepspeed" and wants_universal:
        return ("it is no universal checkpoint, which `format = universal` asks for",)
    return ()


def _of_ranks(plan: Plan, facts: Facts, found: Found, span: Span, where: str) -> Iterator[Diagnostic]:
    """The first size that differs; of those that a format can be cut anew to, advice."""
    planned = fitting.sizes(plan, facts)
    sizes = {axis: size for axis, size in found.layout.items() if axis in _NOUNS and isinstance(planned.get(axis), int)}
    differing = [axis for axis, size in sizes.items() if size != planned[axis]]
    # Without ZeRO each rank reads the same file, however many there are.
    is_fixed = found.format != "deepspeed" or (0 < found.layout.get("stage", 1) and facts["shard.stage"] != 0)
    fatal = [axis for axis in _FIXED.get(found.format, ()) if axis in differing and is_fixed]
    if not differing:
        return
    axis = (fatal or differing)[0]
    kind = OTHER_RANKS if fatal else CUT_ANEW
    label = "cannot be cut anew" if fatal else "is cut anew when it is read"
    now = planned[axis]
    path = {"sharing": "parallel.data", "world": "cluster.nodes"}.get(axis, f"parallel.{axis}")
    yield kind.at(
        span,
        f"the checkpoint of {plural(sizes[axis], _NOUNS[axis])} is read by {count_text(now)}",
        f"{where}a checkpoint of format `{found.format}` {label}",
        related=related(plan, span, (path, count_text(now))),
        help=_help(found, sizes[axis], _NOUNS[axis]) if fatal else (),
    )


def _help(found: Found, size: int, noun: str) -> tuple[str, ...]:
    as_before = f"go on with {plural(size, noun)}"
    if found.format == "deepspeed":
        return (
            "convert it with `ds_to_universal.py`, and write `checkpoint { format = universal }`",
            f"or {as_before}",
        )
    return (as_before,)

"""The stages of a plan's pipeline side by side: layers, parameters, and what a card of each holds at its peak."""

from __future__ import annotations

from typing import Any, NamedTuple

from planc.diagnostics.amounts import number_text, parameters_text
from planc.explanation import plain, stage_of
from planc.facts.facts import STAGE, Facts
from planc.facts.memory import PARTS
from planc.plan.model import Unknown

#: Facts of a stage as they are given as data, the parts of its memory among them.
PATHS = tuple(dict.fromkeys((
    "stage.layers", "stage.moe_layers", "stage.in_flight", "stage.parameters", "stage.expert_parameters",
    *PARTS.values(), "stage.logits", "stage.peak", "stage.total", "stage.host", "stage.pass",
)))  # fmt: skip

#: Columns of memory, which add up to the last one, each of the parts that it sums.
COLUMNS: dict[str, tuple[str, ...]] = {
    "weights": ("weights",), "gradients": ("gradients",), "optimizer": ("optimizer",), "activations": ("activations",),
    "working": ("working_set", "buffers", "transient"), "reserved": ("context", "reserve"),
}  # fmt: skip

_MOST_STAGES = 16  # that are shown; of more those that may be the fullest or the slowest
_GIB = 2**30


class Stages(NamedTuple):
    """Views of stages in their order; whether they are all, and the fullest one."""

    views: tuple[Facts, ...]
    are_all: bool
    fullest: int


def stages_of(facts: Facts) -> Stages:
    """The stages that are shown: all of a short pipeline; of a long one those that differ from their neighbours."""
    count, judged = facts["parallel.pipeline"], facts.stages
    fullest = stage_of(facts)
    known = {} if isinstance(judged, Unknown) else {stage[STAGE]: stage for stage in judged}
    if isinstance(count, Unknown) or isinstance(judged, Unknown):
        return Stages((), False, fullest)
    indices = list(range(count)) if count <= _MOST_STAGES else sorted(known)
    if _MOST_STAGES < len(indices):
        half = _MOST_STAGES // 2
        indices = sorted({*indices[:half], fullest, *indices[1 - half :]})
    views = tuple(known.get(index) or facts.at_stage(index) for index in indices)
    return Stages(views, len(views) == count, fullest)


def stages_data(facts: Facts) -> dict[str, Any]:
    """The stages that are shown, each with its numbers in base units; what is not known is null."""
    found = stages_of(facts)
    shown = [
        {"stage": view[STAGE], "fullest": view[STAGE] == found.fullest}
        | {path.removeprefix("stage."): plain(view[path]) for path in PATHS}
        for view in found.views
    ]
    return {"complete": found.are_all, "stages": shown}


def stages_lines(facts: Facts, width: int) -> list[str]:
    """The table of stages in GiB, as wide as there is room; empty for one stage, or if nothing of them is known."""
    found = stages_of(facts)
    rows = [("stage", "layers", "params", *COLUMNS, "total"), *map(_cells, found.views)]
    if len(rows) < 3 or not any(cell for row in rows[1:] for cell in row[1:]):
        return []
    gap = "  "
    if width < 2 + sum(map(len, rows[0])) + 2 * len(rows[0]):
        rows, gap = [(*row[:2], *row[3:]) for row in rows], " "
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    marks = ["", *(" *" if view[STAGE] == found.fullest else "" for view in found.views)]
    lines = (gap.join(f"{cell:>{size}}" for cell, size in zip(row, widths, strict=True)) for row in rows)
    more = [] if found.are_all else ["the stages between are like their neighbours"]
    return [*(line + mark for line, mark in zip(lines, marks, strict=True)), *more]


def part_bytes(view: Facts, names: tuple[str, ...]) -> Any:
    """Bytes of some parts of a stage's memory, or Unknown."""
    found: Any = 0
    for name in names:
        found = found + view[PARTS[name]]
    return found


def gib_text(value: Any) -> str:
    """Bytes in GiB, as a table lines them up; empty if they are not known."""
    if isinstance(value, Unknown):
        return ""
    gib = value / _GIB
    return f"{float(gib):.1f}" if gib < 10**6 else number_text(gib)


def _cells(view: Facts) -> tuple[str, ...]:
    layers, parameters, experts = (
        view[path] for path in ("stage.layers", "stage.parameters", "stage.expert_parameters")
    )
    held = parameters + experts
    return (
        str(view[STAGE]),
        "" if isinstance(layers, Unknown) else number_text(layers),
        "" if isinstance(held, Unknown) else parameters_text(held),
        *(gib_text(part_bytes(view, names)) for names in COLUMNS.values()),
        gib_text(view["stage.total"]),
    )

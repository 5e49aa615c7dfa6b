"""The pipeline: layers per stage and the share of a step that stages stand idle."""

from __future__ import annotations

from typing import Any

from planc.facts.fact import Fact
from planc.plan.model import Unknown


def layers_per_stage(layers: Any, pipeline: Any, first: Any, last: Any, stated: Any) -> Any:
    """Layers of the longest stage.

    Formula: layers / pipeline, rounded up; with `first_stage_layers` or `last_stage_layers` the rest is shared by the
        other stages; with `pipeline.layers` the largest sum of a rank's chunks
    Source: Megatron-LM, decoder-first/last-pipeline-num-layers.
    Assumes: an uneven division gives one stage one layer more.
    """
    if stated is not None:
        return max(sum(stated[rank::pipeline]) for rank in range(pipeline))
    if first is None and last is None:
        return -(-layers // pipeline)
    ends = [end for end in (first, last) if end is not None]
    others = pipeline - len(ends)
    rest = -(-(layers - sum(ends)) // others) if 0 < others else 0
    return max(rest, *ends)


def bubble(stages: Any, micro_batches: Any, schedule: Any, chunks: Any) -> Any:
    """Share of the step that a stage stands idle.

    Formula: (s - 1) / (v m + s - 1), with s stages, m micro batches and v chunks per rank (1 unless interleaved)
    Source: Narayanan et al., Efficient Large-Scale Language Model Training (2021), section 2.2; there as a ratio to the
        ideal time, (s - 1) / (v m).
    Assumes: equal stages, communication hidden.
    """
    if schedule not in ("1f1b", "interleaved"):
        return Unknown(f"no idle share is known for the schedule `{schedule}`", ("pipeline",))
    virtual = chunks if schedule == "interleaved" else 1
    if isinstance(virtual, Unknown):
        return virtual
    return (stages - 1) / (virtual * micro_batches + stages - 1)


FACTS = (
    Fact(
        "pipeline.longest_stage",
        "layers",
        layers_per_stage,
        ("model.layers", "parallel.pipeline", "pipeline.first_stage_layers?", "pipeline.last_stage_layers?", "pipeline.layers?"),
    ),
    Fact("pipeline.bubble", "share", bubble, ("parallel.pipeline", "batch.accumulation", "pipeline", "pipeline.chunks?")),
)  # fmt: skip

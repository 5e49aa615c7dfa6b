"""The pipeline: layers per stage and the share of a step that stages stand idle."""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import divide, is_array, largest, rounded_up, where
from planc.facts.fact import Fact
from planc.plan.model import Unknown


def longest_stage(
    layers: Any, stages: Any, first: Any, last: Any, stated: Any, embedding: Any, loss: Any, layout: Any
) -> Any:
    """Layers of the longest stage.

    Formula: layers / pipeline, rounded up; with `first_stage_layers` or `last_stage_layers` the others share the rest;
        with `pipeline.layers` the largest sum of a rank's chunks; an embedding or loss that counts as a layer takes the
        place of one at its end
    Source: Megatron-LM, decoder-first/last-pipeline-num-layers, account-for-embedding/loss-in-pipeline-split.
    Assumes: an uneven division gives one stage one layer more.
    """
    if layout is not None:
        return Unknown("the layers of a `layout` string are not counted in this version", ("pipeline.layout",))
    if stated is not None:
        if is_array(stages):
            return Unknown("a stated split has one pipeline size", ("pipeline.layers",))
        return max((sum(stated[rank::stages]) for rank in range(min(stages, len(stated)))), default=0)
    ends = [end for end in (first, last) if end is not None]
    if ends:
        others = largest(stages - len(ends), 0)
        return largest(rounded_up(layers - sum(ends), others), max(ends))
    counted = int(embedding) + int(loss)
    share = rounded_up(layers + counted, stages)
    at_ends = share - min(int(embedding), int(loss))
    return where(stages == 1, layers, where(stages == 2, at_ends, share)) if counted else share


def bubble(stages: Any, micro_batches: Any, schedule: Any, chunks: Any) -> Any:
    """Share of the step that a stage stands idle.

    Formula: (s - 1) / (v m + s - 1), with s stages, m micro batches and v chunks per rank (1 unless interleaved)
    Source: Narayanan et al., Efficient Large-Scale Language Model Training (2021), section 2.2; there as a ratio to the
        ideal time, (s - 1) / (v m).
    Assumes: equal stages, communication hidden.
    """
    if schedule not in ("1f1b", "interleaved"):
        return Unknown(f"no idle share is derived for the schedule `{schedule}` in this version", ("pipeline",))
    if schedule == "interleaved" and chunks is None:
        return Unknown("`pipeline.chunks` is not set", ("pipeline.chunks",), unset=True)
    virtual = chunks if schedule == "interleaved" else 1
    return divide(stages - 1, virtual * micro_batches + stages - 1)


FACTS = (
    Fact("pipeline.longest_stage", "layers", longest_stage, (
        "model.layers", "parallel.pipeline", "pipeline.first_stage_layers?", "pipeline.last_stage_layers?", "pipeline.layers?",
        "pipeline.embedding_as_layer", "pipeline.loss_as_layer", "pipeline.layout?",
    )),
    Fact("pipeline.bubble", "share", bubble, ("parallel.pipeline", "batch.accumulation", "pipeline", "pipeline.chunks?")),
)  # fmt: skip

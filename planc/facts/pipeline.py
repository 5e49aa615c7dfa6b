"""The pipeline: layers per stage, the share of a step that stages stand idle, and the micro batches that a stage holds.

s is the number of stages, m the micro batches of a step, v the chunks of a rank (1 unless interleaved), g the micro batches
that take their turn in a chunk (s unless written), k those that a zero-bubble schedule holds. `tests/facts/simulation.py`
runs each schedule slot by slot; the formulas equal what it finds.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import divide, is_array, largest, real, rounded_up, smallest, where, whole
from planc.facts.fact import Fact
from planc.facts.layouts import chunks_of
from planc.plan.model import Unknown


def longest_stage(
    layers: Any, stages: Any, first: Any, last: Any, stated: Any, embedding: Any, loss: Any, layout: Any
) -> Any:
    """Layers of the longest stage.

    Formula: layers / pipeline, rounded up; with `first_stage_layers` or `last_stage_layers` the others share the rest;
        with `pipeline.layers` or `pipeline.layout` the largest sum of a rank's chunks; an embedding or loss that counts as a layer takes the
        place of one at its end
    Source: Megatron-LM, decoder-first/last-pipeline-num-layers, account-for-embedding/loss-in-pipeline-split.
    Assumes: an uneven division gives one stage one layer more.
    """
    if layout is not None:
        chunks = chunks_of(layout)
        if isinstance(chunks, str) or is_array(stages) or stages < 1:
            return Unknown("the layout string has no meaning for these stages", ("pipeline.layout",))
        held = (sum(chunk.count("t") for chunk in chunks[rank::stages]) for rank in range(min(stages, len(chunks))))
        return max(held, default=0)
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


def bubble(stages: Any, micro_batches: Any, schedule: Any, chunks: Any, limit: Any) -> Any:
    """Share of the step that a stage stands idle.

    Formula: (s - 1) / (v m + s - 1), with s stages, m micro batches and v chunks per rank (1 unless interleaved);
        zero-bubble: i / (3 m + i), with i = 2 s - 1 - min(k, m) and k = limit x s, at most 2 s - 1; dual: (s - 2) /
        (3 m + s - 2)
    Source: Narayanan et al., Efficient Large-Scale Language Model Training (2021), section 2.2; there as a ratio to the
        ideal time, (s - 1) / (v m). Qi et al., Zero Bubble Pipeline Parallelism (2023), table 2 (ZB-H1 holds k = s, ZB-H2
        k = 2 s - 1) and appendix B. DeepSeek-V3 (2024), table 2.
    Assumes: equal stages, communication hidden; zero-bubble and dual: the gradients of inputs and of weights each take as
        long as a forward pass, and a stage's optimizer step waits for no other stage.
    """
    missing = _unsuited(stages, micro_batches, schedule, chunks, limit)
    if missing is not None:
        return missing
    if schedule == "zero-bubble":
        idle = 2 * stages - 1 - _held(stages, micro_batches, limit)
        return divide(idle, 3 * micro_batches + idle)
    if schedule == "dual":
        return divide(stages - 2, _fits_dual(stages, micro_batches) * (3 * micro_batches + stages - 2))
    virtual = chunks if schedule == "interleaved" else 1
    return divide(stages - 1, virtual * micro_batches + stages - 1)


def first_in_flight(stages: Any, micro_batches: Any, schedule: Any, chunks: Any, group: Any, limit: Any) -> Any:
    """Micro batches of which the first stage holds the activations, at most.

    Formula: min(s, m); interleaved: min((v - 1) g + 2 s - 1, v m) / v, with g = group; zero-bubble: min(k, m) with
        k = limit x s, at most 2 s - 1; dual: s + 1
    Source: Narayanan et al. (2021), section 2.2; Megatron-LM, pipeline_parallel/schedules.py (passes before the first
        backward); Qi et al. (2023), section 2.3; DeepSeek-V3 (2024), table 2.
    Assumes: what zero-bubble keeps for the gradients of weights alone counts in full; with `dual` every rank holds two
        stages, and this is the sum of both.
    """
    return in_flight(0, stages, micro_batches, schedule, chunks, group, limit)


def last_in_flight(stages: Any, micro_batches: Any, schedule: Any, chunks: Any, group: Any, limit: Any) -> Any:
    """Micro batches of which the last stage holds the activations, at most.

    Formula: 1; interleaved: min((v - 1) g + 1, v m) / v, with g = group; zero-bubble and dual: as the first stage
    Source: as for the first stage.
    Assumes: as for the first stage; zero-bubble: all but one of them are kept for the gradients of weights alone.
    """
    return in_flight(stages - 1, stages, micro_batches, schedule, chunks, group, limit)


def in_flight(
    stage: Any, stages: Any, micro_batches: Any, schedule: Any, chunks: Any, group: Any, limit: Any
) -> Any:  # fmt: skip
    """Micro batches whose activations a stage, counted from 0, holds at most, in activations of a whole stage.

    Formula: min(s - stage, m); interleaved: min((v - 1) g + 2 (s - stage) - 1, v m) / v; else alike on all stages
    Source: as for the first stage.
    """
    missing = _unsuited(stages, micro_batches, schedule, chunks, limit)
    if missing is not None:
        return missing
    if schedule == "zero-bubble":
        return _held(stages, micro_batches, limit)
    if schedule == "dual":
        return divide(stages + 1, _fits_dual(stages, micro_batches) * 1)
    if schedule == "interleaved":
        ahead = (chunks - 1) * (stages if group is None else group) + 2 * (stages - stage) - 1
        return divide(smallest(ahead, chunks * micro_batches), chunks)
    return smallest(stages - stage, micro_batches)


def head_layers(embedding: Any, active: Any, layers: Any) -> Any:
    """Layers that cost as much as the output head.

    Formula: V h / (active parameters of all layers / layers)
    Source: two FLOPs a parameter and token, forward: Kaplan et al., Scaling Laws (2020), section 2.1.
    Assumes: matrix products alone; scores and values of the attention are left out, so for long sequences it is less.
    """
    return divide(embedding * layers, active)


def bubble_with_head(
    stages: Any, micro_batches: Any, schedule: Any, chunks: Any, layers: Any, longest: Any, head: Any
) -> Any:  # fmt: skip
    """Share of the step that stages stand idle on average, with the output head on the last one.

    Formula: 1 - m t / (s T), with c = layers / s + head on the last stage, t = layers + head on all of them, and the step
        T = m c + (t - c) / v
    Source: Narayanan et al. (2021), section 2.2: its schedules run slot by slot with a longer last stage.
    Assumes: every stage has as many layers; embedding and norms cost nothing, communication is hidden.
    """
    if schedule not in ("1f1b", "interleaved"):
        return Unknown(f"unlike stages have no formula with the schedule `{schedule}`", ("pipeline",))
    if schedule == "interleaved" and chunks is None:
        return _NO_CHUNKS
    even = longest * stages == layers
    if not is_array(even) and not even:
        return Unknown("unlike stages have a formula only where all have as many layers", ("pipeline",))
    if is_array(stages * micro_batches * longest):
        head = real(head)  # an array of fractions would be one of objects
    passes = micro_batches * (chunks if schedule == "interleaved" else 1)
    total, slowest = layers + head, longest + head
    step = passes * slowest + total - slowest  # v times T, which needs no division
    return divide(stages * step - passes * total, even * stages * step)


_NO_CHUNKS = Unknown("`pipeline.chunks` is not set", ("pipeline.chunks",), unset=True)


def _unsuited(stages: Any, micro_batches: Any, schedule: Any, chunks: Any, limit: Any) -> Unknown | None:
    """Why a schedule has no formula for these numbers; None where it has, and for arrays."""
    if schedule == "interleaved" and chunks is None:
        return _NO_CHUNKS
    if schedule == "zero-bubble" and limit is None:
        return Unknown("`pipeline.limit` is not set", ("pipeline.limit",), unset=True)
    if schedule == "zero-bubble" and not is_array(limit) and limit < 1:
        return Unknown("no schedule is derived that holds less than 1F1B does", ("pipeline.limit",))
    if schedule == "dual" and not is_array(fits := _fits_dual(stages, micro_batches)) and not fits:
        reason = "`dual` takes an even number of stages, and an even number of micro batches, twice as many at least"
        return Unknown(reason, ("parallel.pipeline", "batch.accumulation"))
    return None


def _held(stages: Any, micro_batches: Any, limit: Any) -> Any:
    """Micro batches that a stage of a zero-bubble schedule holds at most."""
    if not is_array(limit):
        limit = min(limit, 2)  # what is more changes nothing
        held = whole(limit.numerator * stages, limit.denominator)
    else:
        held = whole(limit * stages, 1)
    return smallest(smallest(held, 2 * stages - 1), micro_batches)


def _fits_dual(stages: Any, micro_batches: Any) -> Any:
    return (stages % 2 == 0) & (micro_batches % 2 == 0) & (2 * stages <= micro_batches)


_SCHEDULE = ("parallel.pipeline", "batch.accumulation", "pipeline", "pipeline.chunks?")

FACTS = (
    Fact("pipeline.longest_stage", "layers", longest_stage, (
        "model.layers", "parallel.pipeline", "pipeline.first_stage_layers?", "pipeline.last_stage_layers?", "pipeline.layers?",
        "pipeline.embedding_as_layer", "pipeline.loss_as_layer", "pipeline.layout?",
    )),
    Fact("pipeline.bubble", "share", bubble, (*_SCHEDULE, "pipeline.limit?")),
    Fact("pipeline.first_in_flight", "count", first_in_flight, (*_SCHEDULE, "pipeline.group?", "pipeline.limit?")),
    Fact("pipeline.last_in_flight", "count", last_in_flight, (*_SCHEDULE, "pipeline.group?", "pipeline.limit?")),
    Fact("pipeline.head_layers", "layers", head_layers, ("model.embedding_parameters", "model.active_layer_parameters", "model.layers")),
    Fact("pipeline.bubble_with_head", "share", bubble_with_head, (*_SCHEDULE, "model.layers", "pipeline.longest_stage", "pipeline.head_layers")),
)  # fmt: skip

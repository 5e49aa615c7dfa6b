"""The stages of the pipeline, one at a time: where a stage begins, its layers, what stands at its ends, what it holds.

Layers are laid out in slots, which an embedding or a loss that counts as a layer takes too. With several chunks a rank,
chunk c of stage i is the virtual stage c s + i of s v. s is the number of stages, v the chunks of a rank, L the layers.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from planc.facts.arithmetic import divide, is_array, largest, remainder, rounded_up, smallest, where, whole
from planc.facts.fact import Fact
from planc.facts.layouts import chunks_of
from planc.facts.pipeline import in_flight
from planc.plan.model import Unknown


def judged_stages(
    stages: Any, layers: Any, dense: Any, every: Any, chunks: Any, stated: Any, layout: Any, first: Any, embedding: Any, engine: Any,
    hidden: Any, ffn: Any, vocab: Any,
) -> Any:  # fmt: skip
    """Stages of which one is the fullest and one the slowest, counted from 0.

    Formula: the first and the last; the second where the first may have fewer layers; with experts those up to the first without
        leading dense layers, and as many more as `every`; with nanotron's walk the first three and that of the output layer; all of
        them with `pipeline.layers` or `pipeline.layout`
    Source: stages between the ends are alike, the earlier one holds no fewer micro batches, and the first the embedding too.
    """
    if stated is not None and not is_array(stages):
        return tuple(range(min(stages, len(stated)) or 1))  # an empty list is a fault of PLN108
    if layout is not None and not is_array(stages):
        return tuple(range(min(stages, _MOST_CHUNKS)))
    marks = [0, stages - 1]
    if engine == "nanotron" and all(given is not None for given in (layers, hidden, ffn, vocab)):
        head = _head_stage(stages, layers, hidden, ffn, vocab)
        marks += [1, 2, *((head,) if not isinstance(head, Unknown) else ())]
    elif engine == "nanotron" or first is not None or is_array(embedding) or embedding:
        marks.append(1)
    if dense is not None and layers is not None:
        virtual = stages * (1 if chunks is None else chunks)
        mark = rounded_up(dense, largest(whole(layers, virtual), 1)) + (1 if every is None else every)
        marks += range(1, min(int(mark.max() if is_array(mark) else mark), _MOST_MARKS) + 1)
    found = tuple(smallest(largest(mark, 0), stages - 1) for mark in marks)
    return found if any(map(is_array, found)) else tuple(sorted(set(found)))


_MOST_MARKS = 16  # each is evaluated


def has_embedding(stage: Any) -> Any:
    """Whether the stage holds the token embedding.

    Formula: stage = 0
    Source: Megatron-LM, GPTModel (pre_process).
    """
    return stage == 0


def has_head(
    stage: Any, stages: Any, layers: Any, layout: Any, engine: Any, hidden: Any, ffn: Any, vocab: Any
) -> Any:  # fmt: skip
    """Whether the stage holds the output layer.

    Formula: stage = s - 1; with `pipeline.layout` where `L` stands; nanotron: the stage in which its walk ends, see `stage.layers`
    Source: Megatron-LM, GPTModel (post_process); nanotron, helpers of its trainer: block_compute_costs.
    """
    if layout is not None:
        found = _counted(layout, stage, stages, "L")
        return found if isinstance(found, Unknown) else 0 < found
    if engine != "nanotron":
        return stage == stages - 1
    head = _head_stage(stages, layers, hidden, ffn, vocab)
    return head if isinstance(head, Unknown) else stage == head


def stage_layers(
    stage: Any, stages: Any, layers: Any, first: Any, last: Any, stated: Any, embedding: Any, loss: Any, layout: Any,
    chunks: Any, engine: Any, hidden: Any, ffn: Any, vocab: Any,
) -> Any:  # fmt: skip
    """Layers of the stage, those of all its chunks.

    Formula: L / s, what is left over one each to the first stages; with `first_stage_layers` or `last_stage_layers` the others
        share the rest so; with `pipeline.layers` the sum of its chunks; an embedding or loss that counts as a layer takes
        the place of one at its end; nanotron: from layer to layer, on to the next stage once the cost so far, 4 h^2 + 3 h f a
        layer and V h for the output, is over the stages' share
    Source: Megatron-LM, get_num_layers_to_build; torchtitan, pipeline_parallel.py; nanotron, block_compute_costs.
    Assumes: DeepSpeed splits evenly as well; by its method `parameters` ends may have fewer layers.
    """
    if stated is not None:
        if is_array(stages) or is_array(stage):
            return Unknown("a stated split has one pipeline size", ("pipeline.layers",))
        return sum(stated[stage::stages])
    found: Any = 0
    for begin, end in _spans(stage, stages, layers, first, last, embedding, loss, layout, chunks, engine, hidden, ffn, vocab):
        if isinstance(begin, Unknown):
            return begin
        found = found + (end - begin)
    return found


def stage_moe_layers(
    stage: Any, stages: Any, layers: Any, first: Any, last: Any, stated: Any, embedding: Any, loss: Any, layout: Any,
    chunks: Any, engine: Any, hidden: Any, ffn: Any, vocab: Any, count: Any, dense: Any, every: Any,
) -> Any:  # fmt: skip
    """Layers of the stage that have routed experts.

    Formula: of the layers before n, (n - dense_layers) // every have them; the difference over each chunk of the stage
    Source: as for `model.moe_layers` and `stage.layers`.
    """
    if count is None:
        return 0
    if dense is None or every is None:
        return Unknown("the experts are described in part only", ("model.experts",), unset=True)
    if stated is not None:
        if is_array(stages) or is_array(stage):
            return Unknown("a stated split has one pipeline size", ("pipeline.layers",))
        spans = [(sum(stated[:at]), sum(stated[: at + 1])) for at in range(stage, len(stated), stages)]
    else:
        spans = _spans(stage, stages, layers, first, last, embedding, loss, layout, chunks, engine, hidden, ffn, vocab)
    found: Any = 0
    for begin, end in spans:
        if isinstance(begin, Unknown):
            return begin
        found = found + whole(largest(end - dense, 0), every) - whole(largest(begin - dense, 0), every)
    return found


def stage_mtp_layers(stage: Any, stages: Any, layout: Any, has_head: Any, mtp: Any) -> Any:
    """Layers for multi-token prediction that the stage holds.

    Formula: all on the stage of the output layer; with `pipeline.layout` where `m` stands
    Source: Megatron-LM, mtp_on_this_rank.
    """
    return where(has_head, mtp, 0) if layout is None else _counted(layout, stage, stages, "m")


def _counted(layout: Any, stage: Any, stages: Any, letter: str) -> Any:
    """How many of a kind a layout string gives the stage."""
    if is_array(stages) or is_array(stage):
        return Unknown("a layout string has one pipeline size", ("pipeline.layout",))
    chunks = chunks_of(layout)
    if isinstance(chunks, str) or stages < 1 or len(chunks) % stages != 0:
        return Unknown("the layout string has no meaning for these stages", ("pipeline.layout",))
    return sum(chunk.count(letter) for chunk in chunks[stage::stages])


def _laid_out(layout: Any, stage: Any, stages: Any) -> list[tuple[Any, Any]]:
    """Layers [begin, end) of each chunk of a stage in a layout string, or a reason in place of the beginning."""
    counted = _counted(layout, stage, stages, "t")
    chunks = chunks_of(layout)
    if isinstance(counted, Unknown) or isinstance(chunks, str):
        return [(counted, 0)]
    ends = tuple(accumulate(chunk.count("t") for chunk in chunks))
    return [(ends[at] - chunks[at].count("t"), ends[at]) for at in range(stage, len(chunks), stages)]


def _spans(
    stage: Any, stages: Any, layers: Any, first: Any, last: Any, embedding: Any, loss: Any, layout: Any, chunks: Any,
    engine: Any, hidden: Any, ffn: Any, vocab: Any,
) -> list[tuple[Any, Any]]:  # fmt: skip
    """Layers [begin, end) of each chunk of a stage, or a reason in place of the beginning."""
    if layout is not None:
        return _laid_out(layout, stage, stages)
    if engine == "nanotron":
        bounds = [_walked(at, stages, layers, hidden, ffn, vocab) for at in (stage, stage + 1)]
        return [(bounds[0], bounds[1])] if not isinstance(bounds[1], Unknown) else [(bounds[1], 0)]
    if first is not None or last is not None:
        return [(_bound(stage, stages, layers, first, last), _bound(stage + 1, stages, layers, first, last))]
    if chunks is None:
        return [_slots(stage, stages, layers, embedding, loss, stages == 1)]
    spans = []
    for chunk in range(int(chunks.max()) if is_array(chunks) else min(chunks, _MOST_CHUNKS)):
        begin, end = _slots(chunk * stages + stage, stages * chunks, layers, embedding, loss, stages == 1)
        is_there = where(chunk < chunks, 1, 0)
        spans.append((begin * is_there, end * is_there))
    return spans


_MOST_CHUNKS = 10_000  # each is looked at


def _slots(virtual: Any, count: Any, layers: Any, embedding: Any, loss: Any, alone: Any) -> tuple[Any, Any]:
    """Layers [begin, end) of a virtual stage, where embedding and loss may take a slot each."""
    before = where(alone, 0, int(embedding))
    slots = layers + before + where(alone, 0, int(loss))
    share, over = whole(slots, count), remainder(slots, count)
    bounds = [at * share + smallest(at, over) - before for at in (virtual, virtual + 1)]
    return largest(bounds[0], 0), smallest(largest(bounds[1], 0), layers)


def _bound(at: Any, stages: Any, layers: Any, first: Any, last: Any) -> Any:
    """The layer at which a stage begins, where the ends are stated."""
    inner = stages - (first is not None) - (last is not None)
    rest = layers - (first or 0) - (last or 0)
    share, over = whole(largest(rest, 0), inner), remainder(largest(rest, 0), inner)
    passed = at - (first is not None)  # stages between the ends that lie before
    middle = largest(smallest(passed, inner), 0)
    begin = where(0 < at, first or 0, 0) + middle * share + smallest(middle, where(inner == 0, 0, over))
    return where((at == stages) | (stages == 1) & (0 < at), layers, where(stages == 1, 0, begin))


def _walk(stages: Any, layers: Any, hidden: Any, ffn: Any, vocab: Any) -> tuple[Any, Any]:
    """Cost of a layer in nanotron's walk, and the share of each stage."""
    cost = 4 * hidden * hidden + 3 * hidden * ffn
    return cost, divide(layers * cost + vocab * hidden, stages)


def _head_stage(stages: Any, layers: Any, hidden: Any, ffn: Any, vocab: Any) -> Any:
    """The stage in which nanotron's walk ends, which holds the output layer."""
    cost, share = _walk(stages, layers, hidden, ffn, vocab)
    if isinstance(share, Unknown):
        return share
    reached = where(cost <= share, rounded_up(layers * cost, share) - 1, layers)
    return largest(smallest(reached, stages - 1), 0)


def _walked(at: Any, stages: Any, layers: Any, hidden: Any, ffn: Any, vocab: Any) -> Any:
    """The layer at which the walk comes to a stage."""
    cost, share = _walk(stages, layers, hidden, ffn, vocab)
    if isinstance(share, Unknown):
        return share
    ahead = where(cost <= share, whole(at * share, cost) + 1, at)
    return where(at == 0, 0, where(at == stages, layers, smallest(ahead, layers)))


_SPLIT = (
    "stage.index", "parallel.pipeline", "model.layers", "pipeline.first_stage_layers?", "pipeline.last_stage_layers?",
    "pipeline.layers?", "pipeline.embedding_as_layer", "pipeline.loss_as_layer", "pipeline.layout?", "pipeline.chunks?",
    "engine.name", "model.hidden", "model.ffn", "model.vocab",
)  # fmt: skip

FACTS = (
    Fact("pipeline.judged_stages", "count", judged_stages, ("parallel.pipeline", "model.layers~", "model.experts.dense_layers?", "model.experts.every?", "pipeline.chunks?", "pipeline.layers?", "pipeline.layout?", "pipeline.first_stage_layers?", "pipeline.embedding_as_layer", "engine.name", "model.hidden~", "model.ffn~", "model.vocab~")),
    Fact("stage.has_embedding", "word", has_embedding, ("stage.index",)),
    Fact("stage.has_head", "word", has_head, ("stage.index", "parallel.pipeline", "model.layers", "pipeline.layout?", "engine.name", "model.hidden", "model.ffn", "model.vocab")),
    Fact("stage.mtp_layers", "layers", stage_mtp_layers, ("stage.index", "parallel.pipeline", "pipeline.layout?", "stage.has_head", "model.mtp_layers")),
    Fact("stage.layers", "layers", stage_layers, _SPLIT),
    Fact("stage.moe_layers", "layers", stage_moe_layers, (*_SPLIT, "model.experts.count?", "model.experts.dense_layers?", "model.experts.every?")),
    Fact("stage.in_flight", "count", in_flight, ("stage.index", "parallel.pipeline", "batch.accumulation", "pipeline", "pipeline.chunks?", "pipeline.group?", "pipeline.limit?")),
)  # fmt: skip

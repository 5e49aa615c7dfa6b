"""Layouts of one question, and what each costs: the facts of its plan with other sizes given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from planc.advice.trainers import Trainer
from planc.facts.engine import ENGINES, SIZED, Engine, engines
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown

#: Share of a card that is left free: predictions of memory err by some per cent.
MARGIN = 0.05

#: Share of a step that pipeline stages may stand idle; PLN203 warns of more.
IDLE = 0.2


#: Axes beside data, as `parallel` names them.
AXES = ("tensor", "context", "pipeline", "expert")


class Layout(NamedTuple):
    """Sizes of the axes and what goes with them; `shard` is the number of ranks that share states, 0 for all replicas.

    ends: layers of the last stage where the stages cannot be alike, or -2 and -1 where embedding and loss, or the loss
    alone, count as layers; 0 where all stages are alike.
    block: layers of each chunk that full recomputation is limited to; 0 where it is of all.
    """

    tensor: int = 1
    context: int = 1
    pipeline: int = 1
    chunks: int = 1
    expert: int = 1
    stage: int = 0
    shard: int = 0
    micro: int = 1
    recompute: str = "none"
    ends: int = 0
    block: int = 0


class Question(NamedTuple):
    """What is to be trained on what, for one trainer: a plan whose layout is not decided.

    capacity: bytes of a card that may be used, which leaves MARGIN of it free.
    given: fields that differ from the plan's.
    """

    plan: Plan
    trainer: Trainer
    cards: int
    domain: int
    layers: int
    heads: int
    kv_heads: int
    experts: int
    samples: int
    sequence_length: int
    capacity: Any
    given: tuple[tuple[str, Any], ...] = ()


class Trial(NamedTuple):
    """A layout with its facts. `total` and `seconds` are floats, or Unknown."""

    question: Question
    layout: Layout
    facts: Facts
    total: Any
    fits: bool

    @property
    def seconds(self) -> Any:
        """Time of a step, or Unknown."""
        value = self.facts["step.time"]
        return value if isinstance(value, Unknown) else float(value)


def question(plan: Plan, trainer: Trainer) -> Question | Unknown:
    """The question of a plan, or what it does not say."""
    facts = Facts(plan, engines(plan)[0])
    paths = (
        "world.size", "cluster.domain", "model.layers", "model.heads", "model.kv_heads", "batch.global",
        "batch.sequence_length", "memory.capacity",
    )  # fmt: skip
    for _, reason in facts.unknown(paths):
        return reason
    cards, domain, layers, heads, kv_heads, samples, length, capacity = (facts[path] for path in paths)
    experts = plan.find("model.experts.count")
    count = experts.value if experts is not None and isinstance(experts.value, int) else 0
    return Question(
        plan, trainer, cards, domain, layers, heads, kv_heads, count, samples, length, float(capacity) * (1 - MARGIN)
    )


def replicas(asked: Question, layout: Layout) -> int:
    """Data-parallel ranks of a layout."""
    return asked.cards // (layout.tensor * layout.context * layout.pipeline)


def accumulation(asked: Question, layout: Layout) -> int:
    """Micro batches of a replica and step."""
    return asked.samples // (layout.micro * replicas(asked, layout))


def is_possible(asked: Question, layout: Layout) -> bool:
    """Whether ranks, layers, heads, experts and samples divide, and the trainer has what the layout asks for."""
    trainer, split = asked.trainer, layout.tensor * layout.context * layout.pipeline
    if asked.cards % split or not _has(trainer, layout):
        return False
    data = asked.cards // split
    if asked.samples % (layout.micro * data):
        return False
    if 1 < layout.tensor and (
        asked.domain < layout.tensor or asked.heads % layout.tensor or asked.kv_heads % layout.tensor
    ):
        return False
    if asked.sequence_length % (2 * layout.context * layout.tensor if 1 < layout.context else layout.tensor):
        return False
    if 1 < layout.expert and (not asked.experts or asked.experts % layout.expert):
        return False
    if (asked.cards // layout.pipeline) % layout.expert or (layout.shard and data % layout.shard):
        return False
    return layout.pipeline == 1 or _fills(asked, layout)


def _has(trainer: Trainer, layout: Layout) -> bool:
    stages = trainer.stages if layout.pipeline == 1 else trainer.pipeline_stages
    return (
        layout.stage in stages
        and (layout.tensor == 1 or trainer.tensor)
        and (layout.context == 1 or (bool(trainer.context) and (trainer.name != "accelerate" or 2 <= layout.stage)))
        and (layout.expert == 1 or trainer.expert)
        and (layout.chunks == 1 or trainer.interleaved)
        and (not layout.shard or (trainer.hybrid and 2 <= layout.stage))
        and layout.recompute in trainer.recompute
        and (not layout.block or trainer.blocks)
    )


def _fills(asked: Question, layout: Layout) -> bool:
    """Whether each stage has layers, and the micro batches fill the pipeline."""
    passes = accumulation(asked, layout)
    if passes < layout.pipeline or (1 < layout.chunks and passes % layout.pipeline):
        return False
    waits = layout.pipeline - 1
    if IDLE < waits / (passes * layout.chunks + waits):
        return False
    return layout.pipeline * layout.chunks <= asked.layers


def with_ends(asked: Question, layout: Layout) -> Layout:
    """The layout with a split of its layers that the trainer takes, where stages cannot be alike."""
    slots = layout.pipeline * layout.chunks
    if layout.pipeline == 1 or asked.layers % slots == 0 or asked.trainer.name not in ("megatron",):
        return layout
    for extra in (2, 1):
        if (asked.layers + extra) % slots == 0:
            return layout._replace(ends=-extra)
    each = -(-asked.layers // layout.pipeline)
    last = asked.layers - each * (layout.pipeline - 1)
    return layout._replace(ends=last) if layout.chunks == 1 and 0 < last else layout


def layers_of_chunk(asked: Question, layout: Layout) -> int:
    """The most layers of a chunk of a stage."""
    return -(-(asked.layers - min(layout.ends, 0)) // (layout.pipeline * layout.chunks))


def settings(asked: Question, layout: Layout) -> Mapping[str, Any]:
    """The fields of a plan that a layout decides, with their values; None for what it leaves unset."""
    data, sharded = replicas(asked, layout), layout.shard or replicas(asked, layout)
    return {
        "parallel.tensor": layout.tensor,
        "parallel.sequence": asked.trainer.sequence and 1 < layout.tensor,
        "parallel.context": layout.context,
        "parallel.pipeline": layout.pipeline,
        "parallel.expert": layout.expert,
        "parallel.expert_tensor": 1,
        "parallel.data": data,
        "shard.stage": layout.stage,
        "shard.size": sharded,
        "batch.micro": layout.micro,
        "batch.accumulation": accumulation(asked, layout),
        "recompute": layout.recompute,
        "recompute.method": "block" if layout.block else None,
        "recompute.layers": layout.block or None,
        "recompute.modules": None,
        "pipeline": "interleaved" if 1 < layout.chunks else "1f1b",
        "pipeline.chunks": layout.chunks if 1 < layout.chunks else None,
        "pipeline.group": None,
        "pipeline.layers": None,
        "pipeline.first_stage_layers": None,
        "pipeline.last_stage_layers": layout.ends if 0 < layout.ends else None,
        "pipeline.embedding_as_layer": layout.ends == -2,
        "pipeline.loss_as_layer": layout.ends in (-2, -1),
        "pipeline.layout": None,
        "context": asked.trainer.context or "ring",
    }


def engine_of(asked: Question, layout: Layout) -> Engine:
    """The engine that trains a layout; accelerate has two."""
    if asked.trainer.name == "accelerate":
        return ENGINES["fsdp2" if 2 <= layout.stage else "deepspeed"]
    return SIZED if asked.trainer.name == "deepspeed" else ENGINES[asked.trainer.name]


def on_cards(asked: Question, cards: int, per_node: int) -> Question:
    """The question on another number of cards; the batch grows where it would not feed them."""
    domain = max(asked.domain, per_node)
    fields = (("cluster.nodes", -(-cards // per_node)), ("cluster.gpus_per_node", per_node), ("cluster.domain", domain))
    return asked._replace(cards=cards, domain=domain, samples=max(asked.samples, cards), given=fields)


def tried(asked: Question, layout: Layout, given: Mapping[str, Any] | None = None) -> Trial:
    """A layout with its facts; `given` are more fields that differ from the plan's."""
    fields = {**settings(asked, layout), **dict(asked.given), **(given or {})}
    facts = Facts(asked.plan, engine_of(asked, layout), fields)
    total = facts["memory.total"]
    known = not isinstance(total, Unknown)
    return Trial(asked, layout, facts, float(total) if known else total, known and float(total) <= asked.capacity)


def powers(most: int, least: int = 1) -> Iterator[int]:
    """Powers of two from `least` to `most`."""
    size = least
    while size <= most:
        yield size
        size *= 2

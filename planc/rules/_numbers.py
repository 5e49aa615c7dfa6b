"""Numbers that several rules need: sizes near a given one that fit, and how a plan would write them.

Every search is bounded, so that a plan with absurd numbers is judged as fast as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lcm
from typing import Any, NamedTuple

from planc.diagnostics.amounts import count_text, either, plural
from planc.facts.engine import engines
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.rules._variables import version

_STEPS = 1024  # candidates that a search looks at in either direction


def known(value: Any) -> bool:
    """Whether a value is there at all: neither unknown nor `none`."""
    return value is not None and not isinstance(value, Unknown)


def absent(plan: Plan, path: str) -> bool:
    """Whether nothing is written for a field; a faulty value is not nothing."""
    value = plan[path].value
    return value is None or (isinstance(value, Unknown) and value.unset)


def trained_only_by(plan: Plan, *names: str) -> bool:
    """Whether every engine that trains the plan is one of these."""
    return all(engine.runtime in names for engine in engines(plan))


def nearest(size: int, fits: Callable[[int], bool], least: int = 1) -> tuple[int, ...]:
    """The next smaller and the next larger size that fit, as far as there are any within reach."""
    below = (number for number in range(size - 1, max(least - 1, size - _STEPS), -1) if fits(number))
    above = (number for number in range(size + 1, size + _STEPS) if fits(number))
    return tuple(number for number in (next(below, None), next(above, None)) if number is not None)


def multiples(value: int, step: int) -> tuple[int, ...]:
    """The multiples of a step on either side of a value that is none; none below the step itself."""
    below = value // step * step
    return tuple(number for number in (below, below + step) if 0 < number)


def options(field: str, sizes: tuple[int, ...]) -> list[str]:
    """Sizes as a plan writes them: `tensor = 4` and `tensor = 8` in backticks."""
    return [f"`{field} = {count_text(size)}`" for size in sizes]


def use(values: Sequence[str]) -> tuple[str, ...]:
    """The help that names the values to use; none where there are none within reach."""
    return (f"use {either(values)}",) if values else ()


def tensor_fits(plan: Plan, facts: Facts) -> Callable[[int], bool]:
    """Whether a tensor size suits the world, the batch, the fast domain and the model, as far as they are known."""
    suits, fills = tensor_suits(plan, facts), _fills(facts, "parallel.pipeline", "parallel.context")
    return lambda size: fills(size) and suits(size)


def tensor_suits(plan: Plan, facts: Facts) -> Callable[[int], bool]:
    """Whether a tensor size suits the fast domain and the model."""
    world, domain = facts["world.size"], facts["cluster.domain"]
    heads, kv_heads, ffn = facts["model.heads"], facts["model.kv_heads"], facts["model.ffn"]
    latent, dense = plan.value("model.attention") == "mla", has_dense_layers(facts)
    fits_one_domain = known(domain) and known(world) and world <= domain

    def suits(size: int) -> bool:
        return (
            (fits_one_domain or _divides(size, domain))
            and _divides(size, heads)
            and (latent or _divides(size, kv_heads) or size % kv_heads == 0)
            and (not dense or _divides(size, ffn))
        )

    return suits


def pipeline_fits(plan: Plan, facts: Facts) -> Callable[[int], bool]:
    """Whether a pipeline size suits the world, the batch and, unless a split is stated, the layers."""
    layers, fills = facts["model.layers"], _fills(facts, "parallel.tensor", "parallel.context")
    per_rank, stated = chunks(plan), states_split(plan)
    slots = layers + counted_as_layers(plan) if known(layers) else layers
    return lambda size: fills(size) and (stated or _divides(size * per_rank, slots))


def context_fits(facts: Facts) -> Callable[[int], bool]:
    """Whether a context size suits the world, the batch and the sequence length."""
    length, fills = facts["batch.sequence_length"], _fills(facts, "parallel.tensor", "parallel.pipeline")
    return lambda size: fills(size) and _divides(sequence_pieces(facts, size), length)


class Batch(NamedTuple):
    """The global batch, and what of micro batch and passes is written; None for what is not."""

    samples: int | None
    micro: int | None
    passes: int | None

    def is_reached_by(self, data: int) -> bool:
        """Whether so many replicas reach the global batch, or it is not known."""
        if self.samples is None:
            return True
        step = data * (self.micro or 1) * (self.passes or 1)
        return self.samples == step if self.micro and self.passes else _divides(step, self.samples)

    def passes_of(self, data: int) -> int | None:
        """Micro batches per replica with so many replicas; None if no whole number follows."""
        if self.samples is None or data == 0 or not self.is_reached_by(data):
            return None
        return self.passes or (self.samples // (self.micro * data) if self.micro else None)


def batch_of(facts: Facts) -> Batch:
    """The batch as far as it is written."""
    samples = facts["batch.global"]
    return Batch(
        samples if known(samples) else None, _written(facts, "batch.micro"), _written(facts, "batch.accumulation")
    )


def is_reached(facts: Facts) -> bool:
    """Whether the replicas reach the global batch, as far as it is known; else that is the fault (PLN201)."""
    data = facts["parallel.data"]
    return not known(data) or batch_of(facts).is_reached_by(data)


def data_with(facts: Facts) -> Callable[[int], int | None]:
    """Replicas if each took so many ranks; None if the world has a rest then, or the plan states another number."""
    world, stated = facts["world.size"], _written(facts, "parallel.data")

    def data(replica: int) -> int | None:
        if not known(world) or replica == 0 or world % replica != 0:
            return None
        return None if stated and world != stated * replica else int(world // replica)

    return data


def _fills(facts: Facts, *others: str) -> Callable[[int], bool]:
    """Whether a size, beside the other axes, cuts the world into replicas that reach the batch.

    The batch is left out of it where it is at fault itself: then no size would help.
    """
    ranks, batch, replicas = _product(*(facts[path] for path in others)), batch_of(facts), data_with(facts)
    at_fault = known(facts["parallel.data"]) and not batch.is_reached_by(facts["parallel.data"])
    is_open = not known(facts["world.size"])

    def fills(size: int) -> bool:
        data = replicas(size * ranks)
        return is_open or (data is not None and (at_fault or batch.is_reached_by(data)))

    return fills


def _written(facts: Facts, path: str) -> int | None:
    value = facts[path] if facts.plan.is_written(path) else None
    return value if isinstance(value, int) else None


def sequence_pieces(facts: Facts, context: int) -> int:
    """Pieces into which the engine cuts a sequence.

    Context ranks of Megatron and PyTorch hold two pieces each, an early and a late one, so that a causal mask loads
    them alike; with sequence parallelism the tensor ranks cut what a context rank holds. torchtitan wants the product;
    before 0.3 with two pieces for one context rank too, whether there is sequence parallelism or not.
    """
    if facts.engine.name == "torchtitan" and _is_before_0_3(facts.plan):
        return 2 * context * int(facts["parallel.tensor"] if known(facts["parallel.tensor"]) else 1)
    tensor: int = (
        facts["parallel.tensor"] if facts["parallel.sequence"] is True and known(facts["parallel.tensor"]) else 1
    )
    paired = 2 * context if 1 < context else context
    if facts.engine.runtime == "fsdp2":
        return paired * tensor
    return lcm(paired, context * tensor) if facts.engine.runtime == "megatron" else context * tensor


def _is_before_0_3(plan: Plan) -> bool:
    """Whether the plan is for a torchtitan that reads TOML: it states such a version, or has such a file written."""
    stated = version(plan, "torchtitan")
    as_toml = any(
        choice.name == "torchtitan" and choice.options.find("config") and choice.options.value("config") == "toml"
        for choice in plan.targets
    )
    return stated < (0, 3) if stated is not None else as_toml


def divides_world(facts: Facts) -> bool:
    """Whether the tensor size divides the world, as far as both are known; else that is its fault (PLN101)."""
    tensor, world = facts["parallel.tensor"], facts["world.size"]
    return not (known(tensor) and known(world)) or _divides(tensor, world)


def heads_fit(plan: Plan, facts: Facts) -> bool:
    """Whether the tensor size suits the attention heads and KV heads, or they are not known."""
    tensor, heads, kv_heads = facts["parallel.tensor"], facts["model.heads"], facts["model.kv_heads"]
    if not known(tensor):
        return True
    if not _divides(tensor, heads):
        return False
    if plan.value("model.attention") == "mla" or not known(kv_heads):
        return True
    return bool(kv_heads % tensor == 0 or tensor % kv_heads == 0)


def has_dense_layers(facts: Facts) -> bool:
    """Whether some layer has an MLP that is no expert, so that `model.ffn` is used."""
    layers, moe_layers = facts["model.layers"], facts["model.moe_layers"]
    return not (known(layers) and known(moe_layers)) or bool(moe_layers < layers)


def chunks(plan: Plan) -> int:
    """Model chunks per rank: 1 unless the schedule is interleaved."""
    value = plan.value("pipeline.chunks") if plan.value("pipeline") == "interleaved" else 1
    return value if isinstance(value, int) else 1


def counted_as_layers(plan: Plan) -> int:
    """Slots of the split that the embedding and the loss take: 0, 1 or 2."""
    return sum(plan.value(f"pipeline.{end}_as_layer") is True for end in ("embedding", "loss"))


def states_split(plan: Plan) -> bool:
    """Whether the plan says how many layers a stage has."""
    return any(
        plan.find(f"pipeline.{name}") is not None and _states(plan.value(f"pipeline.{name}"))
        for name in ("first_stage_layers", "last_stage_layers", "layers", "layout")
    )


def world_agrees(facts: Facts) -> bool:
    """Whether the data-parallel size is that of the world, as far as both are known; else the fault lies there."""
    data, replicas, leftover = facts["parallel.data"], facts["world.replicas"], facts["world.leftover"]
    return not (known(data) and known(replicas)) or bool(leftover == 0 and data == replicas)


def cards_text(facts: Facts) -> str:
    """What the world is made of: `2 nodes x 8 GPUs = 16 ranks`, or the ranks alone where nothing else is known."""
    counts = ((facts["cluster.nodes"], "node"), (facts["cluster.gpus_per_node"], "GPU"))
    ranks = plural(facts["world.size"], "rank")
    if not all(known(count) for count, _ in counts):
        return ranks
    return f"{' x '.join(plural(count, noun) for count, noun in counts)} = {ranks}"


def in_the_manner_of(text: str, value: int) -> str:
    """A count written as the given text writes its own: `16Ki` beside `8Ki`, `4Mi tokens` beside `1Mi tokens`."""
    unit = " tokens" if "tokens" in text else ""
    for suffix, factor in (("Mi", 2**20), ("Ki", 2**10), ("M", 10**6), ("k", 10**3)):
        if suffix in text and value % factor == 0:
            return f"{count_text(value // factor)}{suffix}{unit}"
    return f"{count_text(value)}{unit}"


def _states(value: Any) -> bool:
    # A faulty split counts as stated: what it was meant to say cannot be judged.
    return value is not None and not (isinstance(value, Unknown) and value.unset)


def _divides(divisor: int, value: Any) -> bool:
    return not known(value) or (divisor != 0 and value % divisor == 0)


def _product(*sizes: Any) -> int:
    result = 1
    for size in sizes:
        result *= size if known(size) else 1
    return result

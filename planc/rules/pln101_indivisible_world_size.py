"""The model-parallel size does not divide the world size.

Why: one replica of the model takes tensor x pipeline x context ranks, and the job starts nodes x
    gpus_per_node ranks. Ranks that do not fill a replica have nothing to do: 64 ranks hold two replicas of 24
    and leave 16 over. No trainer starts so.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster eight { gpu = card  nodes = 8  gpus_per_node = 8 }
    model small { layers = 24  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = eight
      parallel { tensor = 8  pipeline = 3 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster eight { gpu = card  nodes = 8  gpus_per_node = 8 }
    model small { layers = 24  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = eight
      parallel { tensor = 8  pipeline = 2 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: choose sizes whose product divides the world, or a number of nodes that they divide; the help names the
    nearest. `--unsafe-fixes` makes the change where the help names only one.

Source: Megatron-LM, parallel_state.initialize_model_parallel; DeepSpeed, PipelineParallelGrid; accelerate,
    ParallelismConfig.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, either, plural
from planc.diagnostics.diagnostic import Diagnostic, Fix, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import batch_of, cards_text, context_fits, known, nearest, options, pipeline_fits, tensor_fits
from planc.rules._places import place, related, together
from planc.rules._repairs import each_size
from planc.rules.rule import Rule

_AXES = ("tensor", "pipeline", "context")


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """The world that is cut into replicas with a rest."""
    leftover = facts["world.leftover"]
    if leftover == 0:
        return
    world, replica = facts["world.size"], facts["world.model_parallel"]
    sizes = {axis: facts[f"parallel.{axis}"] for axis in _AXES}
    split = [axis for axis in _AXES if sizes[axis] != 1]
    product = " x ".join(count_text(sizes[axis]) for axis in split)
    if 1 < len(split):
        product += f" = {count_text(replica)}"
    paths = [f"parallel.{axis}" for axis in split]
    span = together(plan, *paths) if paths else place(plan, "parallel", "cluster.nodes")
    gpus = facts["cluster.gpus_per_node"]
    rest = f"and {plural(world, 'rank')} in all" if world < replica else f"{plural(leftover, 'rank')} left over"
    sizes_that_fit, nodes_that_fit = _sizes(plan, facts, split), _nodes(plan, facts)
    yield Diagnostic(
        f"model-parallel size {count_text(replica)} does not divide the world size {count_text(world)}",
        Label(span, f"{product} ranks per replica, {rest}"),
        related(
            plan,
            span,
            *((path, "") for path in paths),
            ("cluster.nodes", cards_text(facts)),
            ("cluster.gpus_per_node", f"{plural(gpus, 'GPU')} a node" if known(gpus) else ""),
        ),
        help=tuple(_advice(sizes_that_fit, nodes_that_fit)),
        fixes=tuple(_fixes(plan, sizes_that_fit, nodes_that_fit)),
    )


def _sizes(plan: Plan, facts: Facts, split: list[str]) -> dict[str, tuple[int, ...]]:
    """The nearest sizes that fit, by axis."""
    fits = {"tensor": tensor_fits(plan, facts), "pipeline": pipeline_fits(plan, facts), "context": context_fits(facts)}
    return {axis: nearest(facts[f"parallel.{axis}"], fits[axis]) for axis in split}


def _nodes(plan: Plan, facts: Facts) -> tuple[int, ...]:
    """The nearest numbers of nodes on which the layout leaves no rest; none beside a stated number of replicas."""
    gpus, replica, batch = facts["cluster.gpus_per_node"], facts["world.model_parallel"], batch_of(facts)

    def holds(count: int) -> bool:
        return count * gpus % replica == 0 and batch.is_reached_by(count * gpus // replica)

    nodes = facts["cluster.nodes"]  # unknown, as the cards are, where nothing but the size of the world is told
    if plan.is_written("parallel.data") or not known(nodes) or not known(gpus):
        return ()
    return nearest(nodes, holds)


def _advice(sizes: dict[str, tuple[int, ...]], nodes: tuple[int, ...]) -> Iterator[str]:
    choices = [choice for axis, fits in sizes.items() for choice in options(axis, fits)]
    if choices:
        yield f"the nearest sizes that fit are {either(choices, 'and')}" if 1 < len(choices) else f"{choices[0]} fits"
    if nodes:
        yield f"this layout fits {either(options('nodes', nodes))}"


def _fixes(plan: Plan, sizes: dict[str, tuple[int, ...]], nodes: tuple[int, ...]) -> Iterator[Fix]:
    for axis, fits in sizes.items():
        yield from each_size(plan, f"parallel.{axis}", fits)
    yield from each_size(plan, "cluster.nodes", nodes)


RULE = Rule(Severity.ERROR, "plan", check, ("world.size", "world.model_parallel", "world.leftover"))

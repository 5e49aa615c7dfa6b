"""The tensor-parallel size does not divide the width of the MLP.

Why: tensor parallelism gives each rank an equal part of the MLP's width: 11,000 columns on 16 ranks would be
    687.5 each. Megatron refuses to start. Experts are split by `expert_tensor` instead, so their width is
    held against that; but those that every token passes through are split by `tensor`, all as one.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 2730  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 4 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 2732  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 4 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: choose a tensor size that divides the width, or a width that it divides if the model is yours to choose.
    `--unsafe-fixes` makes the change where the help names only one.

Source: Megatron-LM, ColumnParallelLinear and RowParallelLinear divide the width by the tensor size and assert
    no rest.

Versions: all of Megatron. DeepSpeed's AutoTP splits the MLP nearly evenly and runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import (
    divides_world,
    has_dense_layers,
    heads_fit,
    known,
    multiples,
    nearest,
    options,
    tensor_fits,
    use,
)
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Widths that the ranks cannot share out; a tensor size that the heads refuse is the business of their rules."""
    if facts.engine.runtime == "deepspeed":
        return
    tensor, ffn = facts["parallel.tensor"], facts["model.ffn"]
    suits = heads_fit(plan, facts) and divides_world(facts)
    if has_dense_layers(facts) and ffn % tensor != 0 and suits:
        sizes = nearest(tensor, tensor_fits(plan, facts))
        yield _fault(plan, "parallel.tensor", "model.ffn", ("tensor size", tensor), ("FFN width", ffn), sizes)
    elif (shared := _shared_width(facts)) % tensor != 0 and suits:
        fits = tensor_fits(plan, facts)
        sizes = nearest(tensor, lambda size: shared % size == 0 and fits(size))
        width = ("shared experts' width", shared)
        yield _fault(plan, "parallel.tensor", "model.experts.shared_ffn", ("tensor size", tensor), width, sizes)
    expert_tensor, width_of_one = facts["parallel.expert_tensor"], facts["model.experts.ffn"]
    if known(expert_tensor) and known(width_of_one) and width_of_one % expert_tensor != 0:
        world = facts["world.size"] if known(facts["world.size"]) else expert_tensor
        sizes = nearest(expert_tensor, lambda size: width_of_one % size == 0 and world % size == 0)
        yield _fault(
            plan,
            "parallel.expert_tensor",
            "model.experts.ffn",
            ("expert-tensor size", expert_tensor),
            ("expert width", width_of_one),
            sizes,
        )


def _shared_width(facts: Facts) -> int:
    """Columns of all experts together that every token passes through; 0 where there are none, or one cannot know."""
    count, width = facts["model.experts.shared"], facts["model.experts.shared_ffn"]
    return count * width if isinstance(count, int) and isinstance(width, int) else 0


def _fault(
    plan: Plan, axis: str, dimension: str, ranks: tuple[str, int], width: tuple[str, int], sizes: tuple[int, ...]
) -> Diagnostic:
    span = place(plan, axis)
    share = quotient_text(width[1], ranks[1])
    is_sum = dimension == "model.experts.shared_ffn"  # of several experts, so that no width of one is named
    widths = () if is_sum else multiples(width[1], ranks[1])
    choices = options(axis.rpartition(".")[2], sizes) + options("ffn", widths)
    return Diagnostic(
        f"{ranks[0]} {count_text(ranks[1])} does not divide the {width[0]} {count_text(width[1])}",
        Label(span, f"{count_text(width[1])} columns / {count_text(ranks[1])} ranks = {share} a rank"),
        related(
            plan,
            span,
            (dimension, "" if is_sum else f"{count_text(width[1])} columns"),
            ("model.experts.shared" if is_sum else dimension, ""),
        ),
        help=use(choices),
        fixes=each_size(plan, axis, sizes) + each_size(plan, dimension, widths),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("parallel.tensor", "model.ffn"))

"""A matrix of an fp8 product has a side that its units cannot take.

Why: fp8 products are made of pieces of 16 elements, of 32 with MXFP8, and nothing is padded:
    TransformerEngine stops at the first layer whose rows or columns leave a rest. What counts is the part
    that one card holds: an FFN of 1368 over 8 tensor ranks is 171 columns on each.

Example:
    gpu card { memory = 80 GiB  bf16 = true  fp8 = true  compute_capability = 9.0 }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 1368  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 8 }
      emit     = [megatron]
      batch    { global = 64  micro = 1  sequence_length = 2Ki }
      precision = fp8
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true  fp8 = true  compute_capability = 9.0 }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 1408  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 8 }
      emit     = [megatron]
      batch    { global = 64  micro = 1  sequence_length = 2Ki }
      precision = fp8
    }

Fix: a width whose part of each tensor rank is a multiple of 16, or 32 with MXFP8; fewer tensor ranks; or
    bf16. For the sequence, a length whose tokens on a card are a multiple of 8.

Source: TransformerEngine, pytorch/utils.py, assert_dim_for_fp8_exec: last dimension by 16, the product of the
    others by 8; tensor/mxfp8_tensor.py: both by 32. TransformerEngine issues 1422 and 232.

Versions: Megatron and Megatron Bridge, which compute with TransformerEngine. Experts are not judged: their
    tokens are padded where the router is told so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.diagnostics.amounts import count_text, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import has_dense_layers, in_the_manner_of, known, multiples, use
from planc.rules._places import place, related
from planc.rules.rule import Rule

_PIECE, _BLOCK, _ROWS = 16, 32, 8


class _Side(NamedTuple):
    """A side of a matrix: the field, its value, by how many it is cut, and what a part has to be a multiple of."""

    path: str
    value: int
    parts: int
    step: int
    what: str


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """The first side with a rest; one that the ranks do not even divide is another rule's."""
    if facts.engine.name != "megatron" or facts["precision"] != "fp8":
        return
    for side in _sides(plan, facts):
        if side.value % side.parts != 0 or side.value // side.parts % side.step == 0:
            continue
        part, span = side.value // side.parts, place(plan, side.path, "model")
        text = plan[side.path].span.text
        fits = [in_the_manner_of(text, fit) for fit in multiples(side.value, side.step * side.parts)]
        name = side.path.rpartition(".")[2]
        yield Diagnostic(
            f"fp8 products of {plural(part, side.what)}, no multiple of {side.step}",
            Label(
                span,
                f"{count_text(side.value)} / {side.parts} is {quotient_text(part, side.step)} pieces of {side.step}",
            ),
            related(plan, span, ("parallel.tensor", ""), ("parallel.context", ""), ("precision", "")),
            help=use([f"`{name} = {fit}`" for fit in fits]),
        )
        return


def _sides(plan: Plan, facts: Facts) -> Iterator[_Side]:
    """Sides of the products of a layer on one card: columns, then rows."""
    tensor, hidden = facts["parallel.tensor"], facts["model.hidden"]
    columns = rows = _BLOCK if plan.find("precision.recipe") and plan.value("precision.recipe") == "mxfp8" else _PIECE
    if columns == _PIECE:
        rows = _ROWS
    yield _Side("model.hidden", hidden, 1, columns, "column")
    if has_dense_layers(facts):
        yield _Side("model.ffn", facts["model.ffn"], tensor, columns, "column")
    length, micro, context = facts["batch.sequence_length"], facts["batch.micro"], facts["parallel.context"]
    if known(length) and known(micro) and known(context):
        cut = context * (tensor if facts["parallel.sequence"] is True else 1)
        if micro % rows != 0:  # else any length will do
            yield _Side("batch.sequence_length", length, cut, rows, "row")


RULE = Rule(
    Severity.ERROR, "plan", check, ("precision", "model.hidden", "model.ffn", "parallel.tensor", "parallel.sequence")
)

"""The sequence length cannot be cut into the pieces that the ranks hold.

Why: context ranks hold equal parts of every sequence, and with sequence parallelism the tensor ranks cut
    those again. Megatron and PyTorch give each context rank two pieces, an early and a late one, so that a
    causal mask loads them alike: 4 context ranks want a multiple of 8.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { context = 4 }
      batch    { global = 64  micro = 1  sequence_length = 8190 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { context = 4 }
      batch    { global = 64  micro = 1  sequence_length = 8Ki }
      precision = bf16
    }

Fix: choose a sequence length that the pieces divide, or other sizes. `--unsafe-fixes` makes the change where
    the help names only one.

Source: Megatron-LM, arguments.py (a multiple of 2 x context-parallel-size); torchtitan,
    ParallelDims.seq_len_divisor; DeepSpeed, ulysses_sp.py.

Versions: all. Under DeepSpeed, and where no trainer is named, one piece a rank is enough. torchtitan before 0.3
    wants a multiple of 2 x tensor x context always, with one context rank and without sequence parallelism too.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, either, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import in_the_manner_of, multiples, sequence_pieces, use
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A length with a rest."""
    length, context, tensor = facts["batch.sequence_length"], facts["parallel.context"], facts["parallel.tensor"]
    pieces = sequence_pieces(facts, context)
    if length % pieces == 0:
        return
    span = place(plan, "batch.sequence_length")
    pairs = " with two pieces each" if facts.engine.runtime in ("megatron", "fsdp2") else ""
    by_tensor = facts["parallel.sequence"] or pieces == 2 * context * tensor
    parts = [plural(context, "context rank") + pairs] if 1 < context or pieces == 2 * tensor else []
    parts += [plural(tensor, "tensor rank")] if by_tensor and 1 < tensor else []
    text = plan["batch.sequence_length"].span.text
    lengths = [in_the_manner_of(text, fit) for fit in multiples(length, pieces)]
    yield Diagnostic(
        f"sequence length {count_text(length)} does not divide into {count_text(pieces)} pieces",
        Label(span, f"{quotient_text(length, pieces)} tokens a piece: {either(parts, 'and')}"),
        related(
            plan,
            span,
            ("parallel.context", plural(context, "rank")),
            ("parallel.sequence", ""),
            ("parallel.tensor", plural(tensor, "rank") if by_tensor else ""),
        ),
        help=use([f"`sequence_length = {fit}`" for fit in lengths]),
        fixes=tuple(fix for fit in lengths for fix in writing(plan, ("batch.sequence_length", fit))),
    )


RULE = Rule(
    Severity.ERROR, "plan", check, ("batch.sequence_length", "parallel.context", "parallel.tensor", "parallel.sequence")
)

"""Megatron pads the vocabulary to a multiple of the tensor ranks.

Why: the embedding is split over the tensor ranks in blocks of 128 rows, so its rows are rounded up to a multiple of
    128 x tensor: 151,669 tokens on 4 ranks become 152,064 rows. The checkpoint holds the padded rows. Exported for
    a program that expects the exact number, or loaded with another tensor size, the shapes differ unless the rows
    are cut off again.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 151_669 }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 4 }
      emit     = [megatron]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 152_064 }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 4 }
      emit     = [megatron]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: nothing, if whoever reads the checkpoint cuts the rows off, as Megatron-Bridge and the converters of
    Megatron-LM do when they are told the exact size; or give the model the padded number.

Source: Megatron-LM, vocab_utils.py (make-vocab-size-divisible-by, 128 by default);
    NVIDIA-NeMo/Megatron-Bridge#1331.

Versions: all of Megatron.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules.rule import Rule

_BLOCK = 128  # rows of a block, by default


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A vocabulary that is no multiple of the blocks of all tensor ranks."""
    vocab, tensor = facts["model.vocab"], facts["parallel.tensor"]
    step = _BLOCK * tensor
    if facts.engine.name != "megatron" or vocab % step == 0 or _is_stated(plan):
        return
    padded = -(-vocab // step) * step
    span = place(plan, "parallel.tensor", "model.vocab", "model")
    yield Diagnostic(
        f"{plural(vocab, 'token')} become {plural(padded, 'row')} of the embedding",
        Label(span, f"a multiple of {_BLOCK} x {plural(tensor, 'tensor rank')} = {count_text(step)}"),
        related(plan, span, ("model.vocab", f"{plural(padded - vocab, 'row')} of padding")),
        help=(f"an exact export cuts off the last {plural(padded - vocab, 'row')}",),
    )


def _is_stated(plan: Plan) -> bool:
    """Whether the only Megatron is Bridge's, which pads a tokenizer's vocabulary alone."""
    return plan.emits("megatron-bridge") and not plan.emits("megatron")


RULE = Rule(Severity.INFO, "plan", check, ("model.vocab", "parallel.tensor"))

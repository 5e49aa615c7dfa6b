"""The part of a head that is rotated by position has an odd size.

Why: rotary embeddings turn the columns of a head in pairs, each pair by an angle of its own. An odd size leaves one
    column without a partner: the angles are rounded up to one more than there are columns, and the first product
    of both fails.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      attention = mla { kv_lora_rank = 256  qk_nope_head_dim = 64  qk_rope_head_dim = 33  v_head_dim = 64 }
    }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      attention = mla { kv_lora_rank = 256  qk_nope_head_dim = 64  qk_rope_head_dim = 32  v_head_dim = 64 }
    }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use an even `qk_rope_head_dim`.

Source: megatron-core 0.16.1, rotary_pos_embedding.py (tried: MLASelfAttention is not built with 33); transformers
    5.23.0, DeepseekV3RotaryEmbedding.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import multiples, options, use
from planc.rules._places import place
from planc.rules._repairs import each_size
from planc.rules.rule import Rule

_SIZE = "model.attention.qk_rope_head_dim"


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """An odd number of rotated columns, where the plan says how many there are."""
    size = facts[_SIZE]
    if plan.value("model.attention") != "mla" or size % 2 == 0:
        return
    fits = multiples(size, 2)
    yield Diagnostic(
        f"{count_text(size)} rotated columns of a head make no pairs",
        Label(place(plan, _SIZE), f"{count_text(size // 2)} pairs, and 1 column left over"),
        help=use(options("qk_rope_head_dim", fits)),
        fixes=each_size(plan, _SIZE, fits),
    )


RULE = Rule(Severity.ERROR, "model", check, (_SIZE,))

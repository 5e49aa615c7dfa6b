"""Context ranks pass keys around a ring, and the attention has a sliding window.

Why: in a ring each context rank sees the keys of the others one part after another, and the kernels that add up the
    parts know full attention only. TransformerEngine refuses a window there at the first forward pass; its
    `all-gather` and `ulysses` exchanges take one.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      attention = sliding { window = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      parallel { context = 4 }
      context  = ring
      emit     = [megatron]
      batch    { global = 64  micro = 1  sequence_length = 8Ki }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      attention = sliding { window = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      parallel { context = 4 }
      context  = all-gather
      emit     = [megatron]
      batch    { global = 64  micro = 1  sequence_length = 8Ki }
      precision = bf16
    }

Fix: write `context = all-gather`, or `ulysses` where the context ranks divide the heads. `--unsafe-fixes` makes the
    change where `context` is written.

Source: TransformerEngine, attn_forward_func_with_cp; NVIDIA/Megatron-LM#5593 (an exchange for windows is asked
    for).

Versions: Megatron core up to 0.16.1 with TransformerEngine. Other trainers have kernels of their own and are not
    judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related, stands
from planc.rules._repairs import writing
from planc.rules.rule import Rule

_RINGS = ("ring", "hierarchical")  # p2p and a2a+p2p


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A window, and an exchange that knows full attention only."""
    context, exchange = facts["parallel.context"], facts["context"]
    if facts.engine.name != "megatron" or context == 1 or exchange not in _RINGS:
        return
    window = plan.value("model.attention.window") if plan.value("model.attention") == "sliding" else None
    if not isinstance(window, int):
        return
    span = place(plan, "context", "parallel.context")
    written = stands(plan, "context")
    yield Diagnostic(
        f"{count_text(context)} context ranks in a ring cannot keep a window of {count_text(window)}",
        Label(span, f"{'' if written else 'ring is the default: '}TransformerEngine refuses a window there"),
        related(plan, span, ("model.attention", f"a window of {plural(window, 'token')}"), ("parallel.context", "")),
        help=("use `context = all-gather`" if written else "add the field `context`, with the exchange `all-gather`",),
        fixes=writing(plan, ("context", "all-gather")),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("parallel.context", "context"))

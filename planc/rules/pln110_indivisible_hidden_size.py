"""The attention heads do not divide the hidden size, and no head size is written.

Why: a head is hidden / heads wide unless `head_dim` says otherwise: 5140 / 40 is 128.5, and half a column
    cannot be built.

Example:
    model odd { layers = 40  hidden = 5140  heads = 40  ffn = 20480  vocab = 32_000 }

Instead:
    model odd { layers = 40  hidden = 5120  heads = 40  ffn = 20480  vocab = 32_000 }

Fix: correct the hidden size or the heads, or write `head_dim` if the model projects to another width.
    `--unsafe-fixes` makes the change where the help names only one.

Source: Hugging Face, `head_dim = hidden_size // num_attention_heads`; Megatron-LM asserts that nothing is
    left over.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, either, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import known, multiples, nearest, options
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A hidden size that is no whole number of heads; latent attention has head sizes of its own."""
    hidden, heads = facts["model.hidden"], facts["model.heads"]
    if hidden % heads == 0 or plan.is_written("model.head_dim") or plan.value("model.attention") == "mla":
        return
    span, groups = place(plan, "model.hidden", "model.heads"), facts["model.kv_heads"]
    groups = groups if known(groups) and plan.is_written("model.kv_heads") else 1
    widths, counts = multiples(hidden, heads), nearest(heads, lambda size: hidden % size == 0 and size % groups == 0)
    choices = options("hidden", widths) + options("heads", counts)
    yield Diagnostic(
        f"{count_text(heads)} heads do not divide the hidden size {count_text(hidden)}",
        Label(
            span,
            f"{count_text(hidden)} / {count_text(heads)} heads = {quotient_text(hidden, heads)} columns a head",
        ),
        related(plan, span, ("model.heads", f"{count_text(heads)} heads")),
        help=(f"use {either(choices)}, or write `head_dim`",),
        fixes=each_size(plan, "model.hidden", widths) + each_size(plan, "model.heads", counts),
    )


RULE = Rule(Severity.ERROR, "model", check, ("model.hidden", "model.heads"))

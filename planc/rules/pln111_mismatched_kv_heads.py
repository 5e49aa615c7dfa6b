"""The attention heads are no multiple of the KV heads.

Why: grouped-query attention shares each KV head among an equal number of attention heads: 32 heads over 6 KV
    heads would be 5.33 each.

Example:
    model odd { layers = 30  hidden = 4096  heads = 32  kv_heads = 6  ffn = 11008  vocab = 32_000 }

Instead:
    model odd { layers = 30  hidden = 4096  heads = 32  kv_heads = 8  ffn = 11008  vocab = 32_000 }

Fix: correct the KV heads; 1 is multi-query attention, and leaving them out gives every head its own.
    `--unsafe-fixes` makes the change where the help names only one.

Source: Ainslie et al., GQA (2023), section 2.2; Hugging Face, num_key_value_groups.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import agreeing, count_text, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import known, nearest, options, use
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """KV heads that cannot be shared out evenly; latent attention has none."""
    heads, kv_heads = facts["model.heads"], facts["model.kv_heads"]
    if heads % kv_heads == 0 or plan.value("model.attention") == "mla":
        return
    hidden = facts["model.hidden"]
    if known(hidden) and hidden % heads != 0 and not plan.is_written("model.head_dim"):
        return  # the heads themselves are at fault (PLN110)
    span = place(plan, "model.kv_heads", "model.heads")
    sizes = nearest(kv_heads, lambda size: heads % size == 0)
    yield Diagnostic(
        f"{plural(heads, 'attention head')} {agreeing(heads, 'are')} no multiple of {plural(kv_heads, 'KV head')}",
        Label(
            span,
            f"{count_text(heads)} / {count_text(kv_heads)} = {quotient_text(heads, kv_heads)} heads for each",
        ),
        related(plan, span, ("model.heads", plural(heads, "head"))),
        help=use(options("kv_heads", sizes)),
        fixes=each_size(plan, "model.kv_heads", sizes),
    )


RULE = Rule(Severity.ERROR, "model", check, ("model.heads", "model.kv_heads"))

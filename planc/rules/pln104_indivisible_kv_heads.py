"""The KV heads are neither a multiple nor a divisor of the tensor-parallel size.

Why: with grouped-query attention each tensor rank holds whole KV heads, or several ranks hold a copy of one.
    6 KV heads on 4 ranks are neither: two ranks would need one and a half.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1536  heads = 24  kv_heads = 6  ffn = 4096  vocab = 32_000 }
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
    model small { layers = 8  hidden = 1536  heads = 24  kv_heads = 6  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 2 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: choose a tensor size that divides the KV heads, or is a multiple of them. `--unsafe-fixes` makes the change
    where the help names only one.

Source: Megatron-LM, TransformerConfig: num_query_groups must be a multiple or divisor of
    tensor_model_parallel_size.

Versions: megatron-core up to 0.15 takes multiples only, 0.16 divisors too (NVIDIA/Megatron-LM#2565).
    DeepSpeed's AutoTP splits unevenly and runs: see PLN112.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, either, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import nearest, options, tensor_fits
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """KV heads that the tensor ranks can neither share out nor copy evenly.

    Heads that the tensor size does not divide are PLN103's, and heads that are no multiple of the KV heads PLN111's.
    """
    tensor, heads, kv_heads = facts["parallel.tensor"], facts["model.heads"], facts["model.kv_heads"]
    if facts.engine.runtime == "deepspeed" or plan.value("model.attention") == "mla":
        return
    if kv_heads % tensor == 0 or tensor % kv_heads == 0 or heads % tensor != 0 or heads % kv_heads != 0:
        return
    span = place(plan, "parallel.tensor")
    sizes = nearest(tensor, tensor_fits(plan, facts))
    share = quotient_text(kv_heads, tensor)
    yield Diagnostic(
        f"{count_text(kv_heads)} KV heads are neither multiple nor divisor of tensor size {count_text(tensor)}",
        Label(span, f"{plural(kv_heads, 'KV head')} / {count_text(tensor)} ranks = {share} a rank"),
        related(plan, span, ("model.kv_heads", plural(kv_heads, "KV head"))),
        help=(f"use {either(options('tensor', sizes))}",) if sizes else (),
        fixes=each_size(plan, "parallel.tensor", sizes),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("parallel.tensor", "model.heads", "model.kv_heads"))

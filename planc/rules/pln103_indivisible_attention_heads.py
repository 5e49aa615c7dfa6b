"""The tensor-parallel size does not divide the attention heads.

Why: tensor parallelism gives each rank whole heads: 40 heads on 16 ranks would be 2.5 each. Megatron refuses
    to start; in PyTorch the local projection has no whole number of heads and the reshape fails.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1280  heads = 20  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 8 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1280  heads = 20  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { tensor = 4 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: choose a tensor size that divides the heads; the help names the nearest that suit the rest of the plan too.
    `--unsafe-fixes` makes the change where the help names only one.

Source: Megatron-LM, TransformerConfig: num_attention_heads must be a multiple of tensor_model_parallel_size.

Versions: all of Megatron and torchtitan. DeepSpeed's AutoTP splits unevenly and runs: see PLN112.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import divides_world, nearest, options, tensor_fits, use
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Heads that the tensor ranks cannot share out."""
    tensor, heads = facts["parallel.tensor"], facts["model.heads"]
    if facts.engine.runtime == "deepspeed" or heads % tensor == 0 or not divides_world(facts):
        return
    span = place(plan, "parallel.tensor")
    sizes = nearest(tensor, tensor_fits(plan, facts))
    yield Diagnostic(
        f"tensor size {count_text(tensor)} does not divide {plural(heads, 'attention head')}",
        Label(
            span,
            f"{plural(heads, 'head')} / {plural(tensor, 'rank')} = {quotient_text(heads, tensor)} a rank",
        ),
        related(plan, span, ("model.heads", plural(heads, "head"))),
        help=use(options("tensor", sizes)),
        fixes=each_size(plan, "parallel.tensor", sizes),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("parallel.tensor", "model.heads"))

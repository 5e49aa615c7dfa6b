"""The KV heads are neither a multiple nor a divisor of the tensor-parallel size.

Why: with grouped-query attention each tensor rank holds whole KV heads, or several ranks hold a copy of one.
    6 KV heads on 4 ranks are neither: two ranks would need one and a half. torchtitan and older Megatron cores make
    no copies, and want a multiple.

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
    tensor_model_parallel_size; torchtitan, models/common/decoder.py.

Versions: megatron-core up to 0.15 takes multiples only, 0.16 divisors too (NVIDIA/Megatron-LM#2565): it is held
    against an older one where `versions` states its version, as `megatron-core`. DeepSpeed's AutoTP splits unevenly
    and runs: see PLN112.
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
from planc.rules._variables import version
from planc.rules.rule import Rule

_SINCE = (0, 16)  # the first megatron-core that copies KV heads


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """KV heads that the tensor ranks can neither share out nor copy evenly.

    Heads that the tensor size does not divide are PLN103's, and heads that are no multiple of the KV heads PLN111's.
    """
    tensor, heads, kv_heads = facts["parallel.tensor"], facts["model.heads"], facts["model.kv_heads"]
    if facts.engine.runtime == "deepspeed" or plan.value("model.attention") == "mla" or not divides_world(facts):
        return
    copied = _copies(plan, facts) and tensor % kv_heads == 0
    if kv_heads % tensor == 0 or copied or heads % tensor != 0 or heads % kv_heads != 0:
        return
    span = place(plan, "parallel.tensor")
    fits, copies = tensor_fits(plan, facts), _copies(plan, facts)
    sizes = nearest(tensor, lambda size: fits(size) and (copies or kv_heads % size == 0))
    share = quotient_text(kv_heads, tensor)
    kind = "neither multiple nor divisor" if copies else "no multiple"
    yield Diagnostic(
        f"{plural(kv_heads, 'KV head')} {_are(kv_heads)} {kind} of tensor size {count_text(tensor)}",
        Label(span, f"{plural(kv_heads, 'KV head')} / {count_text(tensor)} ranks = {share} a rank"),
        related(plan, span, ("model.kv_heads", plural(kv_heads, "KV head"))),
        help=use(options("tensor", sizes)),
        fixes=each_size(plan, "parallel.tensor", sizes),
    )


def _copies(plan: Plan, facts: Facts) -> bool:
    """Whether the trainer gives several ranks a copy of one KV head, as far as the plan states its version."""
    core = version(plan, "megatron-core") if facts.engine.name == "megatron" else None
    return facts.engine.name != "torchtitan" and (core is None or _SINCE <= core)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


RULE = Rule(Severity.ERROR, "plan", check, ("parallel.tensor", "model.heads", "model.kv_heads"))

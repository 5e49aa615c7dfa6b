"""The KV heads do not share out evenly over DeepSpeed's tensor ranks.

Why: DeepSpeed's AutoTP shares attention by KV heads and takes what is left over into account: 8 KV heads on 3
    ranks become 3, 3 and 2, and beyond 8 ranks some hold no attention at all. The run works, at the pace of
    the fullest rank.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster two { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  kv_heads = 4  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = two
      parallel { tensor = 8 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      emit     = [deepspeed]
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster two { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  kv_heads = 4  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = two
      parallel { tensor = 4 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      emit     = [deepspeed]
    }

Fix: choose a tensor size that divides the KV heads. `--unsafe-fixes` makes the change where the help names only
    one.

Source: DeepSpeed 0.19.8, module_inject/tp_shard.py (get_shard_size) and the warning in runtime/engine.py.

Versions: DeepSpeed since AutoTP trains (0.16.4). Other trainers refuse most such sizes: see PLN103 and
    PLN104.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import divides_world, nearest, options, tensor_fits, trained_only_by, use
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Ranks that hold unlike shares of the attention; where others train the plan too, their rules have said so."""
    tensor, kv_heads = facts["parallel.tensor"], facts["model.kv_heads"]
    if not divides_world(facts):
        return
    neox = plan.emits("gpt-neox")  # whose own rule is stricter
    if neox or not trained_only_by(plan, "deepspeed") or kv_heads % tensor == 0 or facts["model.heads"] % kv_heads != 0:
        return
    fewer, fuller = divmod(kv_heads, tensor)
    span = place(plan, "parallel.tensor")
    fits = tensor_fits(plan, facts)
    sizes = nearest(tensor, lambda size: kv_heads % size == 0 and fits(size))
    most = plural(fewer + 1, "KV head")
    others = plural(fewer, "KV head") if fewer else "none"
    yield Diagnostic(
        f"DeepSpeed splits {plural(kv_heads, 'KV head')} unevenly over {plural(tensor, 'tensor rank')}",
        Label(span, f"{most} on {plural(fuller, 'rank')}, {others} on the other {count_text(tensor - fuller)}"),
        related(plan, span, ("model.kv_heads", plural(kv_heads, "KV head")), ("model.heads", "")),
        help=use(options("tensor", sizes)),
        fixes=each_size(plan, "parallel.tensor", sizes),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("parallel.tensor", "model.heads", "model.kv_heads"))

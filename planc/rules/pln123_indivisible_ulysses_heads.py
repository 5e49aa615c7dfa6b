"""The context ranks cannot share out the attention heads that they exchange.

Why: with `ulysses` each context rank gives away its part of the sequence and gets whole heads instead, so the ranks
    share out the heads: 40 heads on 16 ranks would be 2.5 each. Tensor ranks have divided the heads before. KV
    heads are shared out too; DeepSpeed copies them where there are more ranks than KV heads, TransformerEngine does
    not.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 2  gpus_per_node = 8 }
    model small { layers = 8  hidden = 5120  heads = 40  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { context = 16 }
      context  = ulysses
      shard    { stage = 3 }
      emit     = [deepspeed { trainer = hf }]
      batch    { global = 64  micro = 1  sequence_length = 8Ki }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 2  gpus_per_node = 8 }
    model small { layers = 8  hidden = 5120  heads = 40  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { context = 8 }
      context  = ulysses
      shard    { stage = 3 }
      emit     = [deepspeed { trainer = hf }]
      batch    { global = 64  micro = 1  sequence_length = 8Ki }
      precision = bf16
    }

Fix: use a context size that divides the heads of a tensor rank, or another exchange: `ring` and `all-gather` leave
    the heads whole. `--unsafe-fixes` makes the change where the help names only one.

Source: DeepSpeed 0.19.8, runtime/sequence_parallel/ulysses_sp.py (Hugging Face) and sequence/layer.py
    (DistributedAttention); TransformerEngine, context_parallel.py (a2a).

Versions: all. DeepSpeed's DistributedAttention gives the ranks unlike numbers of heads as long as each gets a KV head:
    a program of one's own is judged only where there are fewer. FSDP2 is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import context_fits, nearest, options, use
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Heads with a rest; a tensor size that does not divide them is PLN103's, unlike KV heads are PLN111's."""
    context, tensor, heads = facts["parallel.context"], facts["parallel.tensor"], facts["model.heads"]
    if context == 1 or facts["context"] != "ulysses" or heads % tensor != 0 or facts.engine.runtime == "fsdp2":
        return
    own = heads // tensor
    latent = plan.value("model.attention") == "mla"
    if not latent and (facts["model.kv_heads"] == 0 or heads % facts["model.kv_heads"] != 0):
        return
    own_kv = own if latent else max(1, facts["model.kv_heads"] // tensor)
    if context <= own_kv and _takes_unlike_shares(plan, facts):
        return
    copies = facts.engine.name != "megatron"  # only TransformerEngine is known to want a KV head for each rank

    def shared_out(size: int, count: int) -> bool:
        return count % size == 0 or (count != own and copies and size % count == 0)

    kinds = ((own, "head"), (own_kv, "KV head"))
    short = next((held for held in kinds if not shared_out(context, held[0])), None)
    if short is None:
        return
    span = place(plan, "parallel.context")
    fits = context_fits(facts)
    sizes = nearest(context, lambda size: shared_out(size, own) and shared_out(size, own_kv) and fits(size))
    count, kind = short
    among = " of a tensor rank" if 1 < tensor else ""
    yield Diagnostic(
        f"{plural(context, 'context rank')} cannot share out {plural(count, kind)}{among}",
        Label(span, f"{count_text(count)} / {count_text(context)} = {quotient_text(count, context)} a rank"),
        related(
            plan,
            span,
            ("model.kv_heads" if count != own else "model.heads", ""),
            ("parallel.tensor", plural(tensor, "rank") if 1 < tensor else ""),
            ("context", "exchanges sequences for heads"),
        ),
        help=use(options("context", sizes)),
        fixes=each_size(plan, "parallel.context", sizes),
    )


def _takes_unlike_shares(plan: Plan, facts: Facts) -> bool:
    """Whether the program may use DeepSpeed's DistributedAttention, as a Hugging Face trainer does not."""
    if plan.emits("accelerate", "transformers") or facts.engine.name == "megatron":
        return False
    choices = [choice.options for choice in plan.targets if choice.name == "deepspeed"]
    return not any("trainer" in options and options.value("trainer") == "hf" for options in choices)


RULE = Rule(
    Severity.ERROR, "plan", check, ("parallel.context", "context", "parallel.tensor", "model.heads", "model.kv_heads")
)

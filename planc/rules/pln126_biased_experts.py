"""The linear layers of experts have a bias where Megatron gives them none.

Why: the bias of a linear layer that is split over expert-tensor ranks would be added once on each of them: Megatron
    refuses it for more than one, and for experts that every token passes through it has no bias at all.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  bias = all
      experts { count = 16  top_k = 2  ffn = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      parallel { expert = 4  expert_tensor = 2 }
      emit     = [megatron]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  bias = all
      experts { count = 16  top_k = 2  ffn = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      parallel { expert = 4  expert_tensor = 1 }
      emit     = [megatron]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: leave the experts whole with `expert_tensor = 1`. Where there are shared experts, describe a model without the
    bias, or train it with another trainer. `--unsafe-fixes` makes the change where the help names only one.

Source: megatron-core 0.16.1, TransformerConfig and SharedExpertMLP.

Versions: Megatron core: split experts since 0.15; shared ones in all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import each_size, writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A bias on split, or on shared experts."""
    if facts.engine.name != "megatron" or facts["model.bias"] not in ("mlp", "all"):
        return
    split, shared = facts["parallel.expert_tensor"], facts["model.experts.shared"]
    if 0 < shared:
        span = place(plan, "model.bias")
        yield Diagnostic(
            f"{plural(shared, 'shared expert')} with a bias",
            Label(span, "Megatron's shared experts have none"),
            related(plan, span, ("model.experts", "")),
            help=("use `bias = none` if the model has none there",),
            fixes=writing(plan, ("model.bias", "none")),
        )
    elif 1 < split:
        span = place(plan, "parallel.expert_tensor")
        yield Diagnostic(
            f"experts with a bias are split over {plural(split, 'rank')}",
            Label(span, "Megatron adds a bias to whole experts only"),
            related(plan, span, ("model.bias", "")),
            help=("use `expert_tensor = 1`",),
            fixes=each_size(plan, "parallel.expert_tensor", (1,)),
        )


RULE = Rule(Severity.ERROR, "plan", check, ("model.bias", "parallel.expert_tensor", "model.experts.shared"))

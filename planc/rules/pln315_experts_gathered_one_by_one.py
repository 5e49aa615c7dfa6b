"""ZeRO 3 waits for experts that other ranks do not use.

Why: at stage 3 every rank takes part in gathering the weights of a module when one computes with it. Up to
    transformers 4 each expert is a module: a rank whose tokens go to experts 1 and 3 waits for one whose
    tokens go to 2 and 5, and the job hangs until NCCL gives up. A block that is declared a leaf is gathered
    whole.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "deepseek_v2"
      experts { count = 8  top_k = 2  ffn = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      versions { transformers = "4.57.1" }
      emit     = [deepspeed]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "deepseek_v2"
      experts { count = 8  top_k = 2  ffn = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      versions { transformers = "5.0.0" }
      emit     = [deepspeed]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: transformers 5, where the experts of a layer are one tensor; or `deepspeed.utils.set_z3_leaf_modules` in
    the program, and then allow the finding; or stage 2.

Source: DeepSpeed issue 4808 and pull requests 4966 and 7604; DeepSpeed 0.18.0,
    runtime/zero/leaf_module_config.py: leaves of Mixtral, Qwen2-MoE and Qwen3-MoE by default; transformers
    5.23, MixtralExperts and its like.

Versions: where `versions` states transformers below 5. For mixtral, qwen2_moe and qwen3_moe also DeepSpeed
    below 0.18.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._variables import version
from planc.rules.rule import Rule

_LEAVES_BY_DEFAULT = ("mixtral", "qwen2_moe", "qwen3_moe")
_ONE_TENSOR, _HAS_DEFAULTS = (5,), (0, 18)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Experts that are modules of their own, under ZeRO 3, without leaves by default."""
    if facts.engine.name != "deepspeed" or facts["shard.stage"] != 3:
        return
    models, engine = version(plan, "transformers"), version(plan, "deepspeed")
    if models is None or _ONE_TENSOR <= models:
        return
    if facts["model.family"] in _LEAVES_BY_DEFAULT and (engine is None or _HAS_DEFAULTS <= engine):
        return
    span = place(plan, "shard.stage", "shard")
    experts, chosen = facts["model.experts.count"], facts["model.experts.top_k"]
    yield Diagnostic(
        f"ZeRO 3 gathers {experts} experts of a layer one by one",
        Label(span, f"a rank that uses {chosen} of them waits for ranks that use others"),
        related(plan, span, ("versions", ""), ("model.experts", ""), ("model.family", "")),
        help=("use `stage = 2`, transformers 5, or make the block a leaf in the program",),
    )


RULE = Rule(
    Severity.WARNING, "plan", check, ("shard.stage", "model.experts.count", "model.experts.top_k", "model.family")
)

"""What the scripts that planc writes see to by themselves, so that no rule asks the plan for it."""

from __future__ import annotations

from planc.plan.model import Plan

#: Targets whose scripts set the environment that `planc targets` lists under `env`.
_SCRIPTS = (
    "accelerate", "env", "kubernetes", "megatron", "megatron-bridge", "nanotron", "ray-train", "skypilot",
    "slurm", "torchrun", "torchtitan", "torchx",
)  # fmt: skip


def sets_environment(plan: Plan) -> bool:
    """Whether an emitted script lets segments grow and keeps build caches on the node."""
    return plan.emits(*_SCRIPTS)

"""Whether the script of a launcher passes Megatron's flags on."""

from __future__ import annotations

from planc.facts.engine import engines
from planc.plan.model import Plan


def passes_flags(plan: Plan) -> bool:
    """Whether the program of the plan is Megatron's, and of no other trainer: launchers read `megatron.args`."""
    return plan.emits("megatron") and {engine.name for engine in engines(plan)} == {"megatron"}

"""What the rules about offloading share: who makes the optimizer that DeepSpeed keeps on the host."""

from __future__ import annotations

from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import absent


def is_left_to_the_program(plan: Plan, facts: Facts) -> bool:
    """Whether DeepSpeed offloads an optimizer that a loop of the program's own makes."""
    by_accelerate = plan.emits("accelerate", "transformers") or _is_run_by_trainer(plan)
    return _is_offloaded(plan, facts) and not by_accelerate and absent(plan, "optimizer.learning_rate")


def is_handed_on_by_accelerate(plan: Plan, facts: Facts) -> bool:
    """Whether accelerate hands DeepSpeed the optimizer that it offloads."""
    by_trainer = _is_run_by_trainer(plan) and absent(plan, "optimizer.learning_rate")
    return _is_offloaded(plan, facts) and (plan.emits("accelerate", "transformers") or by_trainer)


def _is_offloaded(plan: Plan, facts: Facts) -> bool:
    """Whether DeepSpeed offloads the optimizer; what it cannot offload is PLN932's."""
    on_disk = facts["offload.optimizer"] == "nvme"
    if facts.engine.name != "deepspeed" or (on_disk and absent(plan, "offload.path")):
        return False
    return bool((3 if on_disk else 1) <= facts["shard.stage"])


def _is_run_by_trainer(plan: Plan) -> bool:
    options = [choice.options for choice in plan.targets if choice.name == "deepspeed"]
    return any("trainer" in each and each.value("trainer") == "hf" for each in options)

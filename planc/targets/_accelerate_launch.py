"""What a script needs to call `accelerate launch`."""

from __future__ import annotations

from typing import Any

from planc.plan.model import Plan
from planc.targets._accelerate_obstacles import DDP, DEEPSPEED, FSDP2, obstacles
from planc.targets._launch import option, written


def chosen_backend(plan: Plan) -> str:
    """The backend whose file a script uses: the option of `accelerate`, else by stage and by what can say the plan.

    Without shards that is DDP, unless the plan emits `deepspeed` too; at stage 1 DeepSpeed; from stage 2 on FSDP2,
    unless the Hugging Face Trainer is to read DeepSpeed's file, which nobody would read under FSDP2.
    """
    chosen = option(plan, "accelerate", "backend")
    if chosen is not None:
        return str(chosen)
    stage = written(plan, "shard.stage")
    if stage == 1 or (stage == 0 and plan.emits("deepspeed")):
        return DEEPSPEED
    for_trainer = option(plan, "deepspeed", "trainer") == "hf"
    first = DDP if stage == 0 else DEEPSPEED if for_trainer and not obstacles(plan, DEEPSPEED) else FSDP2
    return DEEPSPEED if obstacles(plan, first) and not obstacles(plan, DEEPSPEED) else first


def accelerate_values(plan: Plan, env: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """What the templates need besides the values of every launch script; the environment is taken over and added to."""
    variables = dict(env)
    variables.setdefault("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", str(plan.value("batch.accumulation")))
    return {"env": tuple(variables.items()), "backend": chosen_backend(plan)}

"""What a script needs to call `accelerate launch`."""

from __future__ import annotations

from typing import Any

from planc.plan.model import Plan
from planc.targets._accelerate_config import DEEPSPEED, FSDP2, obstacles
from planc.targets._launch import option, written


def chosen_backend(plan: Plan) -> str:
    """The backend whose file a script uses: the option of `accelerate`, else FSDP2 where its file can say the plan."""
    chosen = option(plan, "accelerate", "backend")
    if chosen is not None:
        return str(chosen)
    if written(plan, "shard.stage") in (0, 1):
        return DEEPSPEED
    return DEEPSPEED if obstacles(plan, FSDP2) and not obstacles(plan, DEEPSPEED) else FSDP2


def accelerate_values(plan: Plan, env: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """What the templates need besides the values of every launch script; the environment is taken over and added to."""
    variables = dict(env)
    variables.setdefault("ACCELERATE_GRADIENT_ACCUMULATION_STEPS", str(plan.value("batch.accumulation")))
    return {"env": tuple(variables.items()), "backend": chosen_backend(plan)}

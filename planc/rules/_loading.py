"""Who runs the training loop, as far as rules ask for it."""

from __future__ import annotations

from planc.plan.model import Plan


def is_of_hugging_face(plan: Plan) -> bool:
    """Whether accelerate or the Hugging Face Trainer runs the plan, by whose names flags and loading go."""
    by_trainer = any(
        "trainer" in choice.options and choice.options.value("trainer") == "hf"
        for choice in plan.targets
        if choice.name == "deepspeed"
    )
    return by_trainer or plan.emits("accelerate", "transformers")

"""The script recomputes activations, and the plan says that nothing does.

Why: the flag makes the model compute each layer again in the backward pass: a third more work, and memory for
    one layer's activations in place of all. The plan counts neither, so its time, its memory and what it
    advises are those of another run. Under FSDP2 the weights are gathered once more too, which FSDP2's own
    recomputation would spare.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      emit     = [deepspeed]
      launch   { script = "train.py"  args = ["--gradient_checkpointing", "True"] }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      recompute = full
      emit     = [deepspeed]
      launch   { script = "train.py"  args = ["--gradient_checkpointing", "True"] }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: write `recompute = full`; with accelerate and FSDP2 remove the flag then.

Source: transformers 5.23, training_args.py, activation_checkpointing; accelerate issue 1732.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._arguments import recomputing_argument
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A flag that recomputes, beside a plan without recomputation."""
    argument = recomputing_argument(plan)
    if argument is None or facts["recompute"] != "none":
        return
    span = place(plan, "launch.args")
    by_file = plan.emits("accelerate") and facts.engine.runtime == "fsdp2"
    beside = f", and remove `{argument.flag}`" if by_file else ""
    yield Diagnostic(
        f"`{argument.flag}` recomputes what the plan counts as kept",
        Label(span, "a third more work, and less memory, than the plan says"),
        related(plan, span, ("recompute", "nothing is recomputed")),
        help=(f"add `recompute = full`{beside}",),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("launch.args", "recompute"))

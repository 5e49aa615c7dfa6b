"""The program has to make the one optimizer that can be offloaded.

Why: with offloading DeepSpeed takes from the program DeepSpeedCPUAdam or DeepSpeedCPULion and stops at any
    other: torch's AdamW and its own FusedAdam, which most programs make, among them. It makes the right one
    itself where ds_config.json names an optimizer, which it does where the plan writes `learning_rate`.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 2 }
      offload  { optimizer = cpu }
      emit     = [deepspeed]
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
      shard    { stage = 2 }
      offload  { optimizer = cpu }
      optimizer { learning_rate = 1e-4 }
      emit     = [deepspeed]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: write `learning_rate`. Where the program makes DeepSpeedCPUAdam, allow the finding: `# planc: allow
    offloaded-program-optimizer -- it makes DeepSpeedCPUAdam`.

Source: DeepSpeed 0.19.8, runtime/engine.py, _configure_optimizer; DeepSpeed issues 2971 and 7524,
    Megatron-DeepSpeed issue 298.

Versions: all, for `deepspeed` with its own loop. accelerate and the Hugging Face Trainer put DeepSpeed's Adam
    in place of the program's.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._offloading import is_left_to_the_program
from planc.rules._places import place, related
from planc.rules.rule import Rule

_CPU_FORM = {"adamw": "DeepSpeedCPUAdam", "lion": "DeepSpeedCPULion"}


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """An optimizer with a CPU form that the program makes, perhaps in its other form."""
    kind = facts["optimizer"]
    if kind not in _CPU_FORM or not is_left_to_the_program(plan, facts):
        return
    span = place(plan, "offload.optimizer")
    yield Diagnostic(
        f"offloaded `{kind}` is left to the program to make",
        Label(span, f"DeepSpeed stops unless it is {_CPU_FORM[kind]}"),
        related(plan, span, ("optimizer", "without `learning_rate` the file names no optimizer")),
        help=("write `learning_rate` in `optimizer`, so that DeepSpeed makes it",),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("offload.optimizer", "optimizer", "shard.stage"))

"""A variable of accelerate says something else than the plan.

Why: the program's `Accelerator` reads `ACCELERATE_GRADIENT_ACCUMULATION_STEPS`, which accelerate.sh sets unless
    `launch.env` does: then that number holds, and the batch is another. `accelerate launch` sets
    `ACCELERATE_MIXED_PRECISION` and `FSDP_VERSION` from the file, whatever stood there, so that those in
    `launch.env` do nothing.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      launch   { script = "train.py"  env { ACCELERATE_GRADIENT_ACCUMULATION_STEPS = "1" } }
      emit     = [accelerate]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      launch   { script = "train.py" }
      emit     = [accelerate]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: keep the field and remove the variable. `--unsafe-fixes` does.

Source: accelerate 1.15.0, accelerator.py (GradientAccumulationPlugin), and utils/launch.py.

Versions: accelerate 1.15.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import known
from planc.rules._places import related
from planc.rules._variables import variable_place, variables, without
from planc.rules.rule import Rule

_STEPS = "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Each variable whose value is not that of the field."""
    found = variables(plan)
    if not plan.emits("accelerate"):
        return
    for name, path, value, label in _said(plan, facts):
        text = found.get(name, value).strip().lower()
        if text == value:
            continue
        span = variable_place(plan, name)
        yield Diagnostic(
            f"`{name}` says {text or 'nothing'}, the plan {value}",
            Label(span, label),
            related(plan, span, (path, "")),
            help=("leave it out",),
            fixes=without(plan, name),
        )


def _said(plan: Plan, facts: Facts) -> Iterator[tuple[str, str, str, str]]:
    """Names of variables with the field that they stand for, its value in their words, and which of them holds."""
    steps, precision, gone = facts["batch.accumulation"], facts["precision"], "accelerate overwrites it"
    if known(steps):
        yield _STEPS, "batch.accumulation", str(steps), "this one holds"
    if known(precision):
        yield "ACCELERATE_MIXED_PRECISION", "precision", "no" if precision == "fp32" else str(precision), gone
    backend = next(choice.options.value("backend") for choice in plan.targets if choice.name == "accelerate")
    if plan.value("shard.stage") in (2, 3) and backend != "deepspeed":
        yield "FSDP_VERSION", "shard.stage", "1" if backend == "fsdp1" else "2", gone


RULE = Rule(Severity.WARNING, "plan", check, ("launch.env",))

"""The script is told to train in another precision than the plan.

Why: the plan's precision goes into the files of DeepSpeed and accelerate, and into every number that planc
    derives. The flag goes to the script, and wins where the script makes the trainer: the Hugging Face
    Trainer overrides accelerate with it, and stops where DeepSpeed's file says otherwise or where `--fp16`
    and `--bf16` are both on.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      emit     = [deepspeed]
      launch   { script = "train.py"  args = ["--fp16"] }
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
      emit     = [deepspeed]
      launch   { script = "train.py"  args = ["--bf16"] }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: remove the flag, or write the precision that is meant.

Source: transformers 5.23, training_args.py and integrations/deepspeed.py, trainer_config_process; DeepSpeed
    0.19.8, config.py: fp16 and bf16 exclude each other. LLaVA issue 1617.

Versions: all. Of fp8 and fp4 runs `--bf16` and `--fp16` name the dtype of the rest.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._arguments import Argument, arguments
from planc.rules._places import place, related
from planc.rules.rule import Rule

_SWITCHES = ("fp16", "bf16")
_WORDS = {"no": "fp32", "fp16": "fp16", "bf16": "bf16", "fp8": "fp8"}


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """The first flag that names another precision."""
    precision, named = facts["precision"], tuple(_named(arguments(plan)))
    both = 1 < len({other for _, other in named})
    for argument, other in named:
        if other == precision or (precision in ("fp8", "fp4") and other in _SWITCHES):
            continue
        span = place(plan, "launch.args")
        shown = f"{argument.flag} {argument.value}".strip()
        yield Diagnostic(
            f"the script is told `{shown}`, the plan says {precision}",
            Label(span, f"it would train in {other}, or stop"),
            related(plan, span, ("precision", "")),
            help=(f"remove `{argument.flag}`" + ("" if both else f", or use `precision = {other}`"),),
        )
        return


def _named(found: dict[str, Argument]) -> Iterator[tuple[Argument, str]]:
    """Flags with the precision that they name."""
    for name in _SWITCHES:
        if name in found and found[name].is_on:
            yield found[name], name
    argument = found.get("mixed_precision")
    if argument is not None and argument.value in _WORDS:
        yield argument, _WORDS[argument.value]


RULE = Rule(Severity.ERROR, "plan", check, ("launch.args", "precision"))

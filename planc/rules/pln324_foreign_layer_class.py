"""The model has no layer of the class that FSDP is told to wrap.

Why: FSDP wraps each module of a class, which it is told by name. The name has to be that of the model's own
    code, letter by letter: `LLaMADecoderLayer` was Llama's once, `LlamaDecoderLayer` is now. accelerate looks
    through the model and stops where it finds none.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      emit     = [accelerate { layer_class = "LLaMADecoderLayer" }]
      launch   { script = "train.py" }
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
      emit     = [accelerate { layer_class = "LlamaDecoderLayer" }]
      launch   { script = "train.py" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: the class that the help names, or no `layer_class`: it follows from the model's `family`.

Source: accelerate 1.15, utils/fsdp_utils.py, fsdp2_prepare_auto_wrap_policy; transformers 5.23,
    `_no_split_modules` of its models. stanford_alpaca issues 58 and 224, transformers issue 37672.

Versions: transformers 5.23. A class of your own, and one that planc does not know, is taken as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Severity
from planc.facts.facts import Facts
from planc.plan.families import LAYER_CLASSES, is_of_another
from planc.plan.model import Origin, Plan
from planc.rules._places import related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A class that another family has, or this one in other letters or with a slip."""
    own = LAYER_CLASSES.get(facts["model.family"])
    for choice in plan.targets:
        if choice.name != "accelerate" or own is None or "layer_class" not in choice.options:
            continue
        located = choice.options["layer_class"]
        names = located.value.split(",") if isinstance(located.value, str) else []
        wrong = next((name for each in names if is_of_another(name := each.strip(), own)), None)
        if wrong is None or located.origin is Origin.DEFAULTED:
            continue
        edit = Edit(located.span, f'"{own}"')
        yield Diagnostic(
            f"a {facts['model.family']} model has no `{wrong}`",
            Label(located.entry, f"its layer is {own}"),
            related(plan, located.entry, ("model.family", ""), ("model", "")),
            help=(f'use `layer_class = "{own}"`',),
            fixes=(Fix(f'write `layer_class = "{own}"`', (edit,), safe=False),) if len(names) == 1 else (),
        )


RULE = Rule(Severity.ERROR, "plan", check, ("model.family",))

"""The script spreads the model over cards that other ranks compute on.

Why: `device_map` places the layers of one process on all cards that it sees. In a distributed run each rank
    has one card, and ZeRO 3 or FSDP decides what lies on it: `from_pretrained` stops under ZeRO 3, and
    accelerate stops for any model that lies on several cards.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      emit     = [deepspeed { trainer = hf }]
      launch   { script = "train.py"  args = ["--device_map", "auto"] }
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
      emit     = [deepspeed { trainer = hf }]
      launch   { script = "train.py"  args = ["--model", "x"] }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: remove the flag: the ranks place the weights themselves.

Source: transformers 5.23, integrations/accelerate.py, check_and_set_device_map; accelerate 1.15,
    accelerator.py, verify_device_map. accelerate issue 2543, peft issue 306.

Versions: all. `none` and, where no ZeRO 3 is, a single device are no fault.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._arguments import arguments
from planc.rules._loading import is_of_hugging_face
from planc.rules._places import place, related
from planc.rules.rule import Rule

_SPREADS = ("auto", "balanced", "balanced_low_0", "sequential")


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A device map under ZeRO 3, or one over several cards in any run of several ranks."""
    argument = arguments(plan).get("device_map")
    if argument is None or not is_of_hugging_face(plan) or argument.value.lower() in ("", "none", "null"):
        return
    is_zero_3 = facts.engine.runtime == "deepspeed" and facts["shard.stage"] == 3
    if not is_zero_3 and (facts["world.size"] == 1 or argument.value not in _SPREADS):
        return
    span = place(plan, "launch.args")
    why = "ZeRO 3 takes no device map" if is_zero_3 else f"each of {facts['world.size']} ranks has one card"
    yield Diagnostic(
        f"`{argument.flag} {argument.value}` in a run that places weights itself",
        Label(span, why),
        related(plan, span, ("shard.stage", ""), ("cluster.gpus_per_node", "")),
        help=(f"remove `{argument.flag}`",),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("launch.args", "world.size", "shard.stage"))

"""The script is told to use tf32, which the card does not have.

Why: tf32 is a mode of the units for matrix products from compute capability 8.0 on. The Hugging Face Trainer
    asks the card, and stops at once where it has none.

Example:
    gpu card { memory = 32 GiB  fp16 = true  bf16 = false  tf32 = false }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      emit     = [deepspeed]
      launch   { script = "train.py"  args = ["--tf32", "True"] }
      batch    { global = 64  micro = 1 }
      precision = fp16
    }

Instead:
    gpu card { memory = 32 GiB  fp16 = true  bf16 = false  tf32 = false }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      emit     = [deepspeed]
      launch   { script = "train.py"  args = ["--tf32", "False"] }
      batch    { global = 64  micro = 1 }
      precision = fp16
    }

Fix: remove the flag.

Source: transformers 5.23, training_args.py, __post_init__; NVIDIA, Ampere architecture: tf32. FastChat issue
    1191.

Versions: all, where the card says `tf32 = false`; the cards of the catalogue say it.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan, Record
from planc.rules._arguments import arguments
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """tf32 switched on for a card that says that it lacks it."""
    argument = arguments(plan).get("tf32")
    if argument is None or not argument.is_on or plan.value("cluster.gpu.tf32") is not False:
        return
    card = plan["cluster.gpu"].value
    name = f"`{card.word}`" if isinstance(card, Record) and card.word else "the card"
    span = place(plan, "launch.args")
    yield Diagnostic(
        f"`{argument.flag}` on a card without tf32",
        Label(span, f"{name} has no tf32"),
        related(plan, span, ("cluster.gpu.tf32", ""), ("cluster.gpu", "")),
        help=(f"remove `{argument.flag}`",),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("launch.args", "cluster.gpu"))

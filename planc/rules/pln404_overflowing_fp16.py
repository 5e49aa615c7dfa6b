"""The model's family leaves the range of fp16.

Why: fp16 ends at 65,504. These families were trained in bf16, whose range is that of fp32, and learned
    activations beyond it: 800,000 was seen in Gemma 3. In fp16 they become infinite, the loss NaN, and the
    loss scale falls to its minimum, step after step. Loss scaling cannot help: it moves gradients, not
    activations.

Example:
    gpu card { memory = 80 GiB  bf16 = true  fp16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "gemma3_text" }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = fp16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true  fp16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "gemma3_text" }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: train in bf16, or in fp32 on a card without bf16. `--unsafe-fixes` makes the change.

Source: transformers issues 36822 and 39972 (Gemma 3), 14189 (T5); trl issue 3236; onnxruntime-genai,
    builder.py, which warns of Gemma 2, Gemma 3 and gpt-oss in fp16.

Versions: all. The model is known by its `family`: t5, mt5, umt5, gemma2, gemma3, gemma3_text, gemma4,
    gemma4_text and gpt_oss.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule

_FAMILIES = ("t5", "mt5", "umt5", "gemma2", "gemma3", "gemma3_text", "gemma4", "gemma4_text", "gpt_oss")


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """fp16 for a family whose activations pass its largest number."""
    family = facts["model.family"]
    if facts["precision"] != "fp16" or family not in _FAMILIES:
        return
    span = place(plan, "precision")
    better = "fp32" if plan.value("cluster.gpu.bf16") is False else "bf16"
    yield Diagnostic(
        f"fp16 ends at 65504, activations of {family} do not",
        Label(span, "beyond it they are infinite, and the loss is NaN"),
        related(plan, span, ("model.family", "trained in bf16"), ("model", "")),
        help=(f"use `precision = {better}`",),
        fixes=writing(plan, ("precision", better)),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("precision", "model.family"))

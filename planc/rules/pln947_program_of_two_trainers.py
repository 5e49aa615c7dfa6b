"""Two trainers are emitted, each of which wants a program of its own in `launch.script`.

Why: what planc writes for a trainer starts the program of `launch.script`, or is imported or read by it. The
    program of one trainer stops at the flags of another, or leaves its settings unread. Files for two trainers
    are two plans that have the rest in common.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "pretrain_gpt.py" }
      emit     = [megatron, torchtitan { module = "mine"  flavor = "small" }]
      batch    { global = 64  micro = 1  sequence_length = 1Ki }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "pretrain_gpt.py" }
      emit     = [megatron]
      batch    { global = 64  micro = 1  sequence_length = 1Ki }
      precision = bf16
    }
    plan other from run { launch { script = none }  emit = [torchtitan { module = "mine"  flavor = "small" }] }

Fix: leave one of them out, and write `plan other from run { ... }` for it.

Source: the pages of these targets, on what their scripts start and who reads their files.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import related
from planc.rules.rule import Rule

#: Trainers that come with the program, or whose file is for a program of their kind.
_OWN = ("megatron", "megatron-bridge", "torchtitan", "nanotron", "gpt-neox", "lightning", "transformers")


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """The first two trainers that cannot both be meant by the one program."""
    found = [choice for choice in plan.targets if choice.name in _OWN]
    if len(found) < 2:
        return
    first, second = found[:2]
    yield Diagnostic(
        f"`{first.name}` and `{second.name}` would start the same program",
        Label(second.span, f"beside `{first.name}`"),
        related(plan, second.span, ("launch.script", "a program of one of them")),
        help=(f"leave one out, and write `plan other from {plan.name} {{ ... }}` for it",),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("launch.script",))

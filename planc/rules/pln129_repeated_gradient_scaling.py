"""This DeepSpeed divides the gradients of a pipeline's earlier stages too often.

Why: gradients of several passes are averaged: the loss is divided by their number, once. DeepSpeed 0.18.3 moved the
    division into a hook on what a stage gives out, and hung it on every stage. Of 4 stages the last divides by 16
    passes, the one before it by 16 x 16, and so on: the first stages hardly learn, and the norm by which gradients
    are clipped is wrong. Nothing fails.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      shard    { stage = 1 }
      versions { deepspeed = "0.19.2" }
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
      parallel { pipeline = 4 }
      shard    { stage = 1 }
      versions { deepspeed = "0.19.3" }
      emit     = [deepspeed]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use DeepSpeed 0.19.3 or newer, or one before 0.18.3. `--unsafe-fixes` writes 0.19.3.

Source: deepspeedai/DeepSpeed#8152 and #8154; runtime/engine.py and runtime/pipe/engine.py of 0.18.2, 0.18.3, 0.19.2
    and 0.19.3.

Versions: DeepSpeed 0.18.3 to 0.19.2. Silent where the plan does not state the version. That older releases sum
    instead of average (#7773) is reported and not explained: compare the norm of two numbers of passes.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import related
from planc.rules._variables import text_place, version, with_text
from planc.rules.rule import Rule

_SINCE, _MENDED = (0, 18, 3), (0, 19, 3)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Several stages and passes under a release that scales at each stage."""
    stages, passes = facts["parallel.pipeline"], facts["batch.accumulation"]
    release = version(plan, "deepspeed")
    if facts.engine.name != "deepspeed" or stages == 1 or passes == 1 or release is None:
        return
    if release < _SINCE or _MENDED <= release:
        return
    span = text_place(plan, "versions", "deepspeed")
    yield Diagnostic(
        f"this release divides gradients of {plural(stages, 'stage')} more than once",
        Label(span, f"the first stage divides by {count_text(passes)} to the power of {count_text(stages)}"),
        related(
            plan,
            span,
            ("parallel.pipeline", plural(stages, "stage")),
            ("batch.accumulation", plural(passes, "pass")),
            ("batch.global", plural(passes, "pass") + " a step"),
        ),
        help=('use `deepspeed = "0.19.3"` or newer',),
        fixes=with_text(plan, "versions", "deepspeed", "0.19.3"),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("parallel.pipeline", "batch.accumulation"))

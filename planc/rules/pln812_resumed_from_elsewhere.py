"""The run goes on from a folder in which the named plan saves nothing.

Why: `saved_by` says which plan wrote the checkpoint, and that plan writes its checkpoints elsewhere. One of the
    two is not what was meant, and what planc compares of the layouts is of no use.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan before {
      model    = small
      cluster  = one
      shard    { stage = 2 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      checkpoint { every = 500 steps  directory = "/ckpt/before" }
      train    { duration = 20_000 steps }
    }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 2 }
      resume   { directory = "/ckpt/other"  saved_by = before }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan before {
      model    = small
      cluster  = one
      shard    { stage = 2 }
      batch    { global = 64  micro = 1 }
      precision = bf16
      checkpoint { every = 500 steps  directory = "/ckpt/before" }
      train    { duration = 20_000 steps }
    }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 2 }
      resume   { directory = "/ckpt/before/step_5000"  saved_by = before }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: correct the folder or the name of the plan; if the checkpoint was moved, narrow the plan: `saved_by =
    before { checkpoint { directory = "..." } }`.

Source: planc: docs/language.md, resume.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A folder neither that of the other plan's checkpoints nor inside it."""
    folder, saved = facts["resume.directory"], plan.value("resume.saved_by.checkpoint.directory")
    if not isinstance(saved, str) or f"{folder.rstrip('/')}/".startswith(f"{saved.rstrip('/')}/"):
        return
    span, name = place(plan, "resume.directory"), plan.value("resume.saved_by")
    yield Diagnostic(
        f"`{name}` does not save to `{folder}`",
        Label(span, f"it saves to `{saved}`"),
        related(plan, span, ("resume.saved_by", "")),
        help=(f'use `directory = "{saved}"`, or name the plan that wrote it',),
        fixes=writing(plan, ("resume.directory", f'"{saved}"')) if saved.isprintable() and '"' not in saved else (),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("resume.directory", "resume.saved_by"))

"""The record of the run will not say on which state of the data it was trained.

Why: weights can be traced to their data only by its version or its checksum. A name such as `corpus` stays the same
    when files are added or mended, so that a record with the name alone cannot tell two runs apart that saw other data.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      dataset  { name = "corpus" }
      evidence { metrics = ["loss"] }
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
      dataset  { name = "corpus"  version = "v3" }
      evidence { metrics = ["loss"] }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: state `dataset.version`, or the checksum in `dataset.digest`, which `planc attest --dataset DIR` prints.

Source: in-toto attestation, SLSA provenance v1: each dependency is named with its digest.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import absent
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Evidence that is asked for, and neither version nor digest of the data."""
    if absent(plan, "evidence") or not (absent(plan, "dataset.version") and absent(plan, "dataset.digest")):
        return
    span = place(plan, "evidence")
    yield Diagnostic(
        "the record will not hold the dataset's version",
        Label(span, "nothing says which state of the data was used"),
        related(plan, span, ("dataset.name", "stays when the data changes")),
        help=("add `version` or `digest` to `dataset`",),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("evidence",))

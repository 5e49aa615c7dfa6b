"""A stated version is older than another package takes.

Why: packages state with which versions of others they work. `pip` refuses the pair; where both are installed
    all the same, transformers does without PyTorch or stops at its import.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      versions { transformers = "5.23.0"  torch = "2.5.1" }
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
      versions { transformers = "5.23.0"  torch = "2.6" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use the version that the help names, or an older release of the other package.

Source: the metadata of transformers 5.23.0, accelerate 1.15.0, deepspeed 0.19.8, torch 2.13.0 and megatron-core
    0.16.1; transformers, dependency_versions_check.py and utils/import_utils.py.

Versions: the releases that are named; of older ones planc knows no requirements.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.evaluate import version_key
from planc.plan.model import Plan
from planc.rules._variables import text_place, texts, version, with_text
from planc.rules.rule import Rule

#: From which release on a package takes no older version of another, by what the packages say themselves.
_NEEDS: tuple[tuple[str, tuple[int, ...], str, str], ...] = (
    ("transformers", (5, 23), "torch", "2.6"),
    ("transformers", (5, 23), "accelerate", "1.1"),
    ("transformers", (5, 23), "python", "3.11"),
    ("accelerate", (1, 15), "torch", "2.0"),
    ("accelerate", (1, 15), "python", "3.10"),
    ("deepspeed", (0, 19, 8), "torch", "2.0"),
    ("megatron-core", (0, 16, 1), "torch", "2.6"),
    ("megatron-core", (0, 16, 1), "python", "3.10"),
    ("torch", (2, 13), "python", "3.10"),
)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """The first requirement that each package of the plan does not meet."""
    stated, reported = texts(plan, "versions"), set()
    for package, since, other, least in _NEEDS:
        own, found = version(plan, package), version(plan, other)
        if own is None or found is None or own < since or version_key(least) <= found or other in reported:
            continue
        reported.add(other)
        span = text_place(plan, "versions", other)
        yield Diagnostic(
            f"{package} {stated[package]} does not take {other} {stated[other]}",
            Label(span, f"from {least} on"),
            (Label(text_place(plan, "versions", package), ""),),
            help=(f'use `{other} = "{least}"` or later',),
            fixes=with_text(plan, "versions", other, least),
        )


RULE = Rule(Severity.ERROR, "plan", check, ("versions",))

"""Ranks are to share out experts, and the model has none.

Why: expert ranks have nothing to hold in a dense model: Megatron refuses to start, and others train as if
    they were not written. Nor is there an expert that `expert_tensor` could split: Megatron then makes groups of so
    many ranks all the same, and refuses to start if they do not divide the stage's.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { expert = 8 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      experts { count = 16  top_k = 2  ffn = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      parallel { expert = 8 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: leave `expert` and `expert_tensor` out, or describe the experts of the model. `--unsafe-fixes` writes 1 for
    them.

Source: Megatron-LM, TransformerConfig and initialize_model_parallel.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan, Record
from planc.rules._numbers import known
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """More than one rank for the experts, or for one of them, of a dense model."""
    model = plan["model"].value
    if not isinstance(model, Record) or model.fields["experts"].value is not None:
        return
    for name, what in (("expert", "expert rank"), ("expert_tensor", "expert-tensor rank")):
        ranks, path = facts[f"parallel.{name}"], f"parallel.{name}"
        if not known(ranks) or ranks == 1 or (name == "expert_tensor" and _are_groups(facts, ranks)):
            continue
        span = place(plan, path)
        yield Diagnostic(
            f"{plural(ranks, what)} for a model without experts",
            Label(span, "the model is dense"),
            related(plan, span, ("model", "has no `experts`")),
            help=(f"use `{name} = 1`, or leave it out",),
            fixes=writing(plan, (path, "1")),
        )


def _are_groups(facts: Facts, ranks: int) -> bool:
    """Whether groups of so many ranks, which nothing uses, keep no trainer from its start."""
    world, stages = facts["world.size"], facts["parallel.pipeline"]
    if facts.engine.name != "megatron" or not known(world) or not known(stages):
        return True
    return bool(world % (ranks * stages) == 0)


RULE = Rule(Severity.ERROR, "plan", check, ())

"""A stated version lacks what the plan asks accelerate for.

Why: accelerate asks for PyTorch 2.6 before it shards by FSDP2 or splits sequences, and for PyTorch 2.3 and
    transformers 4.52 before it splits layers; with less it raises when the run starts, after the job was
    queued.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      versions { torch = "2.5" }
      launch   { script = "train.py" }
      emit     = [accelerate { layer_class = "Block" }]
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
      versions { torch = "2.6" }
      launch   { script = "train.py" }
      emit     = [accelerate { layer_class = "Block" }]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use the version that the help names, or `accelerate { backend = deepspeed }` for a plan that only shards.

Source: accelerate 1.15.0, utils/constants.py, and utils/dataclasses.py: FullyShardedDataParallelPlugin,
    TorchContextParallelConfig, TorchTensorParallelConfig.

Versions: accelerate 1.15.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.evaluate import version_key
from planc.plan.model import Plan
from planc.rules._places import related
from planc.rules._variables import text_place, texts, version, with_text
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A version that accelerate refuses for FSDP2, context ranks or tensor ranks."""
    if not plan.emits("accelerate") or facts.engine.name != "fsdp2":
        return
    stated = texts(plan, "versions")
    for what, path, is_asked_for, package, least in (
        ("FSDP2", "shard.stage", True, "torch", "2.6"),
        ("tensor ranks", "parallel.tensor", 1 < facts["parallel.tensor"], "transformers", "4.52"),
    ):
        found = version(plan, package)
        if not is_asked_for or found is None or version_key(least) <= found:
            continue
        span = text_place(plan, "versions", package)
        yield Diagnostic(
            f"accelerate has no {what} with {package} {stated[package]}",
            Label(span, f"from {least} on"),
            related(plan, span, (path, what)),
            help=(f'use `{package} = "{least}"` or later',),
            fixes=with_text(plan, "versions", package, least),
        )


RULE = Rule(Severity.ERROR, "plan", check, ("versions",))

"""Little memory is left, and it falls to pieces.

Why: PyTorch keeps freed memory in segments of the sizes that were asked for. FSDP2 gathers and frees tensors
    of ever other sizes, and so do batches of changing length: segments fit less and less, and a step that
    fitted a thousand times runs out with gigabytes reserved and unused. Expandable segments grow in place.

Example:
    gpu card { memory = 20 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      emit     = [fsdp2]
      launch   { script = "train.py" }
      batch    { global = 64  micro = 8  sequence_length = 2Ki }
      precision = bf16
    }

Instead:
    gpu card { memory = 20 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      emit     = [fsdp2]
      launch   { script = "train.py"  env { PYTORCH_CUDA_ALLOC_CONF = "expandable_segments:True" } }
      batch    { global = 64  micro = 8  sequence_length = 2Ki }
      precision = bf16
    }

Fix: set `PYTORCH_CUDA_ALLOC_CONF` to `expandable_segments:True` in `launch.env`, or start the run by a script of
    planc's (`torchrun`, `accelerate`, `slurm`, `env`), which sets it. Later versions of PyTorch read
    `PYTORCH_ALLOC_CONF` too.

Source: PyTorch 2.13, c10/cuda/CUDAAllocatorConfig.h: both names, the older first; CUDA semantics, optimizing
    memory usage. NeMo-RL issue 919, trl issue 3436.

Versions: PyTorch 2.13, and as far back as it has the option.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from planc.diagnostics.amounts import percent_text, size_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._scripts import sets_environment
from planc.rules._variables import variables
from planc.rules.rule import Rule

_NAMES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
_FULL = Fraction(9, 10)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """FSDP2 on cards that are nearly full, with the allocator as it is by default."""
    total, capacity = facts["memory.total"], facts["memory.capacity"]
    if (
        facts.engine.runtime != "fsdp2"
        or not 0 < capacity
        or Fraction(total) < _FULL * Fraction(capacity)
        or any(name in variables(plan) for name in _NAMES)
        or sets_environment(plan)
    ):
        return
    in_gib = "iB" in plan["cluster.gpu.memory"].span.text
    span = place(plan, "batch.micro", "batch", "model")
    yield Diagnostic(
        f"{percent_text(Fraction(total) / Fraction(capacity))} of a card is used, and no segment may grow",
        Label(span, f"{size_text(total, in_gib)} of {size_text(capacity, in_gib)}"),
        related(plan, span, ("shard.stage", ""), ("cluster.gpu", "")),
        help=('add `PYTORCH_CUDA_ALLOC_CONF = "expandable_segments:True"` to `launch.env`',),
    )


RULE = Rule(Severity.INFO, "plan", check, ("memory.total", "memory.capacity"))

"""Loading the weights takes more memory than a node has.

Why: `from_pretrained` builds the model in the host's memory. Below stage 3 each rank of a node builds a whole
    one before it goes to its card: 8 ranks x 2 bytes x 31 billion parameters are 500 GB. At stage 3, and with
    FSDP as accelerate starts it, the first rank alone holds the whole model. A node that runs out of memory
    kills the process, without a trace of Python.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8  cpu_memory = 256 GiB }
    model small { layers = 48  hidden = 6144  heads = 48  ffn = 24_576  vocab = 128_256  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 2 }
      adapter  = lora { rank = 16 }
      emit     = [accelerate { backend = deepspeed }]
      launch   { script = "train.py" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8  cpu_memory = 256 GiB }
    model small { layers = 48  hidden = 6144  heads = 48  ffn = 24_576  vocab = 128_256  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      adapter  = lora { rank = 16 }
      emit     = [accelerate { backend = deepspeed }]
      launch   { script = "train.py" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: stage 3 or FSDP, or nodes with more memory. A program that loads otherwise, onto its card or shard by
    shard, may allow the finding.

Source: transformers 5.23, modeling_utils.py: at stage 3 only rank 0 reads values; accelerate 1.15,
    fsdp_cpu_ram_efficient_loading, on by default, and fsdp_utils.py, which widens what is trained to fp32.
    transformers issues 25107 and 43749.

Versions: transformers 5; earlier ones read the files on each rank at stage 3 too.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural, size_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._loading import is_of_hugging_face
from planc.rules._numbers import absent
from planc.rules._places import place, related
from planc.rules.rule import Rule

_PACKED = ("nf4", "fp8")  # quantized tensor by tensor, on the card


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Whole copies of the weights on a node over its memory."""
    adapts = not absent(plan, "adapter")
    if not is_of_hugging_face(plan) or (adapts and plan.value("adapter.base") in _PACKED):
        return
    parameters, memory = facts["model.total_parameters"], facts["cluster.cpu_memory"]
    by_one = facts.engine.runtime == "fsdp2" or facts["shard.stage"] == 3
    copies = 1 if by_one else facts["cluster.gpus_per_node"]
    is_widened = facts.engine.runtime == "fsdp2" and not adapts
    width = 4 if is_widened or facts["precision"] == "fp32" else 2
    needed = copies * width * parameters
    if needed <= memory:
        return
    in_gib = "iB" in plan["cluster.cpu_memory"].span.text
    span = place(plan, "shard.stage", "shard", "model")
    each = f"{plural(copies, 'rank')} hold the model each" if 1 < copies else "one rank holds the model"
    holders = "the first rank holds the model" if by_one else each
    helps = width * parameters <= memory and not by_one
    yield Diagnostic(
        f"loading takes {size_text(needed, in_gib)} of a node's {size_text(memory, in_gib)}",
        Label(span, f"{holders}, {width} bytes x {count_text(parameters)}"),
        related(plan, span, ("cluster.cpu_memory", ""), ("cluster.gpus_per_node", "")),
        help=(
            f"use `stage = 3`, where one rank holds {size_text(width * parameters, in_gib)}"
            if helps
            else "use nodes with more memory, or load each shard by itself",
        ),
    )


RULE = Rule(
    Severity.WARNING,
    "plan",
    check,
    ("cluster.cpu_memory", "model.total_parameters", "cluster.gpus_per_node", "shard.stage", "precision"),
)

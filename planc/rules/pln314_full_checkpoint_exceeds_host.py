"""One host cannot hold the checkpoint that it has to write.

Why: in the format `full` the first rank gathers all weights in its host's memory, and then all states of the
    optimizer: with FSDP 4 and 8 bytes of each parameter, one after the other. The host kills it at the first
    save, with all work until then.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8  cpu_memory = 200 GiB }
    model small { layers = 48  hidden = 6144  heads = 48  ffn = 24_576  vocab = 128_256  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      checkpoint { format = full }
      emit     = [accelerate]
      launch   { script = "train.py" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8  cpu_memory = 200 GiB }
    model small { layers = 48  hidden = 6144  heads = 48  ffn = 24_576  vocab = 128_256  family = "llama" }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      checkpoint { format = sharded }
      emit     = [accelerate]
      launch   { script = "train.py" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: `format = sharded`, in which each rank writes what it holds; `accelerate merge-weights` makes one file of
    it later. `--unsafe-fixes` makes the change.

Source: accelerate 1.15, utils/fsdp_utils.py, save_fsdp_model and save_fsdp_optimizer. transformers issues
    24057 and 26186.

Versions: accelerate with FSDP2. A host that cannot hold the weights either is PLN313.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, size_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import absent
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule

_OF_WEIGHTS = 4  # bytes of each, in fp32


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Optimizer states over the memory of a host that holds the weights: one that does not is PLN313's."""
    is_fsdp = plan.emits("accelerate", "transformers") and facts.engine.runtime == "fsdp2"
    if not is_fsdp or facts["checkpoint.format"] != "full" or not absent(plan, "adapter"):
        return
    width, memory = facts["memory.optimizer_width"], facts["cluster.cpu_memory"]
    needed = width * facts["model.total_parameters"]
    if needed <= memory or memory < _OF_WEIGHTS * facts["model.total_parameters"]:
        return
    in_gib = "iB" in plan["cluster.cpu_memory"].span.text
    span = place(plan, "checkpoint.format")
    yield Diagnostic(
        f"a full checkpoint takes {size_text(needed, in_gib)} of a node's {size_text(memory, in_gib)}",
        Label(span, f"rank 0 gathers {width} bytes x {count_text(facts['model.total_parameters'])} parameters"),
        related(plan, span, ("cluster.cpu_memory", ""), ("model", "")),
        help=("use `format = sharded`",),
        fixes=writing(plan, ("checkpoint.format", "sharded")),
    )


RULE = Rule(
    Severity.ERROR,
    "plan",
    check,
    ("checkpoint.format", "cluster.cpu_memory", "model.total_parameters", "memory.optimizer_width"),
)

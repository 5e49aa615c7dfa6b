"""The Hugging Face Trainer hangs when it is deterministic over nodes.

Why: for `full_determinism` the Trainer sets `CUDA_LAUNCH_BLOCKING`, under which collectives of several nodes
    have been seen to wait for each other for ever; where they do not, every kernel waits for the one before.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 2  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      train    { deterministic = true  seed = 1 }
      emit     = [deepspeed { trainer = hf }]
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
      train    { deterministic = true  seed = 1 }
      emit     = [deepspeed { trainer = hf }]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: a seed alone, which makes runs alike but for the order of sums. `--unsafe-fixes` turns determinism off.

Source: huggingface/transformers#22363; transformers 5.23, trainer_utils.py, enable_full_determinism.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Determinism by the Trainer, under DeepSpeed, on several nodes."""
    nodes = facts["cluster.nodes"]
    by_trainer = any(
        choice.name == "transformers" or (choice.name == "deepspeed" and choice.options.value("trainer") == "hf")
        for choice in plan.targets
    )
    if facts["train.deterministic"] is not True or not by_trainer or nodes < 2 or facts.engine.name != "deepspeed":
        return
    span = place(plan, "train.deterministic")
    yield Diagnostic(
        f"the Trainer's determinism hangs over {plural(nodes, 'node')}",
        Label(span, "it makes every kernel launch block"),
        related(plan, span, ("cluster.nodes", plural(nodes, "node"))),
        help=("use a seed alone: `deterministic = false`",),
        fixes=writing(plan, ("train.deterministic", "false")),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("train.deterministic", "cluster.nodes"))

"""torchtitan goes on with another number of replicas than saved its loaders.

Why: the checkpoint holds one state of the data loader for each replica, and torchtitan does not deal them out
    anew: it stops where their number differs. Weights and optimizer states are no obstacle.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan before {
      model    = small
      cluster  = one { nodes = 2 }
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
      resume   { directory = "/ckpt/before"  saved_by = before }
      emit     = [torchtitan { module = "my_models"  flavor = "small" }]
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
      resume   { directory = "/ckpt/before"  saved_by = before }
      emit     = [torchtitan { module = "my_models"  flavor = "small" }]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: leave the loader out (`--checkpoint.exclude_from_loading dataloader` among `launch.args`), and begin with
    data that was not read; or use as many replicas as before.

Source: pytorch/torchtitan#811 and #816: the number of replicas is compared.

Versions: torchtitan 0.2 and 0.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Another number of replicas, unless the loader is not loaded."""
    now, then = facts["parallel.data"], plan.value("resume.saved_by.parallel.data")
    if not plan.emits("torchtitan") or not isinstance(then, int) or now == then:
        return
    args = plan.value("launch.args")
    if isinstance(args, tuple) and any("exclude_from_loading" in str(text) for text in args):
        return
    span, nodes = place(plan, "resume.saved_by"), plan.value("cluster.nodes")
    fits = isinstance(nodes, int) and nodes * then % now == 0
    yield Diagnostic(
        f"loaders of {plural(then, 'replica')} are resumed by {count_text(now)}",
        Label(span, "one state for each replica"),
        related(plan, span, ("parallel.data", ""), ("cluster.nodes", "")),
        help=(
            "leave `dataloader` out of what is loaded, by `exclude_from_loading`",
            *((f"or go on with as many replicas: `nodes = {count_text(nodes * then // now)}`",) if fits else ()),
        ),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("resume.saved_by", "parallel.data"))

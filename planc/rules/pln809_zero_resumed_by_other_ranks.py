"""DeepSpeed goes on from a checkpoint of another number of ranks.

Why: a ZeRO checkpoint holds one file for each rank that shared the states. With more or fewer ranks DeepSpeed
    does not cut them anew: it stops, `Automatic adjustment of ZeRO's optimizer state partitioning with a new
    world size is not currently supported`. The same goes for tensor ranks and stages of a pipeline.

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
      emit     = [deepspeed]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
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
      checkpoint { format = universal }
      emit     = [deepspeed]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: convert the checkpoint with DeepSpeed's `ds_to_universal.py` and write `checkpoint { format = universal }`,
    or use as many ranks as before; the weights alone load in any case.

Source: deepspeed 0.19.8, runtime/engine.py, _load_zero_checkpoint; deepspeedai/DeepSpeed#3810.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules.rule import Rule

_AXES = (("parallel.tensor", "tensor rank"), ("parallel.pipeline", "stage"))


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Another number of ranks that share the states, or another model-parallel layout, than that which saved."""
    if facts.engine.runtime != "deepspeed" or plan.value("checkpoint.format") == "universal":
        return
    stages = facts["shard.stage"], plan.value("resume.saved_by.shard.stage")
    if not all(isinstance(stage, int) and 0 < stage for stage in stages):
        return
    now, then = _sharing(plan, ""), _sharing(plan, "resume.saved_by.")
    changed = [(now, then, "rank")] if now and then and now != then else []
    for path, noun in () if changed else _AXES:
        sizes = plan.value(path), plan.value(f"resume.saved_by.{path}")
        if all(isinstance(size, int) for size in sizes) and sizes[0] != sizes[1]:
            changed.append((*sizes, noun))
    for new, old, noun in changed[:1]:
        span = place(plan, "resume.saved_by")
        yield Diagnostic(
            f"a ZeRO checkpoint of {plural(old, noun)} is resumed by {count_text(new)}",
            Label(span, f"its states lie in {count_text(old)} parts"),
            related(plan, span, ("checkpoint.format", ""), ("parallel.tensor", ""), ("cluster.nodes", "")),
            help=("convert it, and write `format = universal` in `checkpoint`", *_as_before(plan, new, old, noun)),
        )


def _sharing(plan: Plan, before: str) -> int:
    """Ranks that share optimizer states: replicas and the ranks that split their sequences; 0 if not known."""
    data, context = plan.value(f"{before}parallel.data"), plan.value(f"{before}parallel.context")
    return data * context if isinstance(data, int) and isinstance(context, int) else 0


def _as_before(plan: Plan, new: int, old: int, noun: str) -> tuple[str, ...]:
    nodes = plan.value("cluster.nodes")
    fits = noun == "rank" and isinstance(nodes, int) and nodes * old % new == 0
    return (f"or go on with as many ranks: `nodes = {count_text(nodes * old // new)}`",) if fits else ()


RULE = Rule(Severity.ERROR, "plan", check, ("resume.saved_by", "shard.stage"))

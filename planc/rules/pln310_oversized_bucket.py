"""A large part of the card is a buffer for gradients.

Why: from stage 1 on DeepSpeed makes one buffer of `reduce_bucket_size` elements, whole, however small the
    model is: by its own default 500 million, 2 GB in fp32. On a card of 15 GiB that is an eighth of it, for
    fewer and larger reductions; it is why ZeRO 2 runs out of memory where plain data parallelism fitted. The
    file that planc writes has hidden^2 elements unless the plan says another number.

Example:
    gpu card { memory = 15 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 512  heads = 8  ffn = 2048  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 2  bucket = 500_000_000 }
      emit     = [deepspeed]
      batch    { global = 64  micro = 1  sequence_length = 1Ki }
      precision = bf16 { gradients = fp32 }
    }

Instead:
    gpu card { memory = 15 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 512  heads = 8  ffn = 2048  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 2 }
      emit     = [deepspeed]
      batch    { global = 64  micro = 1  sequence_length = 1Ki }
      precision = bf16 { gradients = fp32 }
    }

Fix: a bucket that the help names, a twentieth of the card, or none; `--unsafe-fixes` writes the number. Where
    the default counts because DeepSpeed runs by a file that planc does not write: emit `deepspeed`.

Source: DeepSpeed 0.19.8, runtime/zero/config.py, reduce_bucket_size, and stage_1_and_2.py, which makes the
    buffer; DeepSpeed issues 1302 and 2992.

Versions: all. With `overlap_comm` written in the program's own file there are two such buffers.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, size_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import known
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule

_MOST, _BETTER = 10, 20  # a tenth of the card is reported, a twentieth proposed


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A buffer above a tenth of the card; accelerate's files have no field for it."""
    if facts.engine.name != "deepspeed" or (plan.emits("accelerate") and not plan.is_written("shard.bucket")):
        return
    stages, capacity, width = facts.stages, facts["memory.capacity"], facts["memory.gradient_width"]
    if not isinstance(stages, tuple) or not stages or not known(stages[0]["stage.buffers"]):
        return
    buffer = stages[0]["stage.buffers"]
    if buffer * _MOST <= capacity:
        return
    in_gib = "iB" in plan["cluster.gpu.memory"].span.text
    span = place(plan, "shard.bucket", "shard.stage", "shard")
    better = _round(int(capacity // _BETTER // width))
    is_written = plan.is_written("shard.bucket")  # else the number is DeepSpeed's, whom planc writes no file
    yield Diagnostic(
        f"gradient buffer of {size_text(buffer, in_gib)} on a card of {size_text(capacity, in_gib)}",
        Label(span, f"{count_text(buffer // width)} elements of {width} bytes"),
        related(plan, span, ("cluster.gpu.memory", ""), ("precision.gradients", "")),
        help=(
            f"use `bucket = {count_text(better)}`, {size_text(better * width, in_gib)}"
            if is_written
            else "emit `deepspeed`, whose bucket follows from the model",
        ),
        fixes=writing(plan, ("shard.bucket", count_text(better))) if is_written else (),
    )


def _round(number: int) -> int:
    """The largest of 1, 2 or 5 times a power of ten that is no larger, and at least 1."""
    power: int = 10 ** (len(str(max(1, number))) - 1)
    return next(digit * power for digit in (5, 2, 1) if digit * power <= max(1, number))


RULE = Rule(
    Severity.WARNING, "plan", check, ("shard.stage", "parallel.data", "memory.gradient_width", "memory.capacity")
)

"""A batch size of the ramp cannot be trained, or the ramp misses the global batch.

Why: every size on the way takes whole micro batches on every replica, as the global batch does, and the
    last one is the global batch. Megatron asserts both; the first only when the run comes to that size.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1
                 ramp = linear { start = 12  increment = 8  over = 1M samples } }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1
                 ramp = linear { start = 16  increment = 8  over = 1M samples } }
      precision = bf16
    }

Fix: use sizes that are multiples of micro x replicas, and an increment that leads from the first to the global
    batch. A run with `resume` may have the smaller sizes behind it, and is not held to them. `--unsafe-fixes`
    makes the change where the help names only one.

Source: Megatron-LM, num_microbatches_calculator.py.

Versions: all; Megatron with `--decrease-batch-size-if-needed` rounds instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, either, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import known, multiples, nearest, options, use
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Sizes of the ramp that the replicas do not divide, or that do not end at the global batch."""
    if facts["batch.leftover"] != 0:
        return  # the global batch itself cannot be reached, which is PLN201's
    if facts["batch.ramp"] == "linear":
        yield from _linear(plan, facts)
    elif facts["batch.ramp"] == "stepped" and known(facts["batch.ramp.global"]):
        yield from _stepped(plan, facts)


def _linear(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    start, increment, last = (facts[path] for path in ("batch.ramp.start", "batch.ramp.increment", "batch.global"))
    if not (known(start) and known(increment)):
        return
    step = facts["batch.per_pass"]
    sizes = () if _is_past(plan) else (("start", start), ("increment", increment))
    indivisible = [(name, size) for name, size in sizes if size % step != 0]
    if last < start:
        span = place(plan, "batch.ramp.start")
        yield Diagnostic(
            f"the ramp starts at {count_text(start)}, above the global batch {count_text(last)}",
            Label(span, f"{count_text(last)} - {count_text(start)} is less than nothing"),
            related(plan, span, ("batch.global", plural(last, "sample"))),
            help=(f"use `start = {count_text(step)}`, one pass of all replicas",),
            fixes=each_size(plan, "batch.ramp.start", (step,)),
        )
        return
    if plan.emits("megatron") and (start == last or facts["batch.ramp.over"] == 0):
        yield _stands_still(plan, start == last)
        return
    for name, size in indivisible:
        span = place(plan, f"batch.ramp.{name}")
        fits = tuple(number for number in multiples(size, step) if number <= last)
        yield _indivisible(plan, facts, f"`{name}` of {plural(size, 'sample')}", size, f"batch.ramp.{name}", fits, name)
    if not indivisible and (last - start) % increment != 0:
        span = place(plan, "batch.ramp.increment")
        way = last - start
        fits = nearest(increment, lambda other: other % step == 0 and way % other == 0)
        yield Diagnostic(
            f"steps of {count_text(increment)} from {count_text(start)} miss {count_text(last)}",
            Label(span, f"{count_text(way)} / {count_text(increment)} = {quotient_text(way, increment)} steps"),
            related(plan, span, ("batch.global", ""), ("batch.ramp.start", "")),
            help=use(options("increment", fits)),
            fixes=each_size(plan, "batch.ramp.increment", fits),
        )


def _stands_still(plan: Plan, at_the_end: bool) -> Diagnostic:
    """Megatron divides the samples of the ramp by its steps, and what was trained by the samples of one step."""
    span = place(plan, "batch.ramp.start" if at_the_end else "batch.ramp.over")
    message = "the ramp has no step" if at_the_end else "the ramp is over after 0 samples"
    label = Label(span, "Megatron divides by 0")
    return Diagnostic(message, label, related(plan, span, ("batch.global", "")), help=("leave `ramp` out",))


def _stepped(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    sizes, last, step = facts["batch.ramp.global"], facts["batch.global"], facts["batch.per_pass"]
    wrong = None if _is_past(plan) else next((size for size in sizes if size % step != 0), None)
    if wrong is not None:
        yield _indivisible(plan, facts, f"size {count_text(wrong)}", wrong, "batch.ramp.global", (), "")
    elif sizes and sizes[-1] != last:
        span = place(plan, "batch.ramp.global")
        yield Diagnostic(
            f"the ramp ends at {count_text(sizes[-1])}, not at the global batch {count_text(last)}",
            Label(span, f"the last size is {count_text(sizes[-1])}"),
            related(plan, span, ("batch.global", plural(last, "sample"))),
            help=(f"end the list with {count_text(last)}",),
        )


def _is_past(plan: Plan) -> bool:
    """Whether the run goes on from a checkpoint: sizes that it has left behind need not suit the ranks of today."""
    return plan.value("resume") is not None


def _indivisible(
    plan: Plan, facts: Facts, what: str, size: int, path: str, fits: tuple[int, ...], name: str
) -> Diagnostic:
    step, data = facts["batch.per_pass"], facts["parallel.data"]
    span = place(plan, path)
    product = f"micro {count_text(facts['batch.micro'])} x {plural(data, 'replica')} = {count_text(step)}"
    return Diagnostic(
        f"{what} of the ramp is no multiple of {count_text(step)}",
        Label(span, f"{product}; {count_text(size)} / {count_text(step)} = {quotient_text(size, step)}"),
        related(plan, span, ("batch.micro", ""), ("parallel.data", "")),
        help=(f"use {either(options(name, fits))}",) if fits else (f"use multiples of {count_text(step)}",),
        fixes=each_size(plan, path, fits),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("batch.ramp", "batch.global", "batch.per_pass", "batch.leftover"))

"""Exchange that no computation hides takes most of the predicted step.

Why: while ranks wait for each other's parts the cards compute nothing. What is counted is what is left after all
    that overlaps, for each axis by its own link. Of 935 measured runs of 10 published tables the same formulas say
    more than half for 18, and those reached 11 % of the cards' peak in the median, the others 36 %.

Example:
    gpu card { memory = 80 GiB  bf16 = 989 TFLOPS  memory_bandwidth = 3.35 TB/s  link = 450 GB/s }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8  inter_node = 12.5 GB/s }
    model small { layers = 32  hidden = 4096  heads = 32  kv_heads = 8  ffn = 14336  vocab = 128_256 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      recompute = full
      batch    { global = 256  micro = 1  sequence_length = 4096 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = 989 TFLOPS  memory_bandwidth = 3.35 TB/s  link = 450 GB/s }
    cluster one { gpu = card  nodes = 4  gpus_per_node = 8  inter_node = 12.5 GB/s }
    model small { layers = 32  hidden = 4096  heads = 32  kv_heads = 8  ffn = 14336  vocab = 128_256 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      recompute = full
      batch    { global = 256  micro = 4  sequence_length = 4096 }
      precision = bf16
    }

Fix: exchange less, or over faster links: a larger micro batch, fewer ranks on the axis that the label names, a
    shard group inside the node. The help names changes that do by the same formulas; `planc explain` shows the
    numbers, and `planc advise` other layouts. `--unsafe-fixes` makes the change where the help names only one.

Source: the step of the cost model, whose errors docs/cost-model.md states.

Versions: all. Silent where a rate or bandwidth is not stated, and beside PLN501.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planc.diagnostics.amounts import count_text, percent_text, speed_text, time_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import context_fits, known, tensor_fits
from planc.rules._places import place, related
from planc.rules._repairs import Repair, fixes, helps, writing
from planc.rules.rule import Rule

#: Axes, what their ranks are called, and the fields that make them, the first that stands in the text being marked.
_AXES = {
    "tensor": ("tensor ranks", "parallel.tensor"),
    "context": ("context ranks", "parallel.context"),
    "expert": ("expert ranks", "parallel.expert"),
    "pipeline": ("stages", "parallel.pipeline"),
    "shard": ("gathering of shards", "shard.stage"),
    "data": ("reduction of gradients", "batch.global"),
}
_ONCE = ("data.time", "data.latency", "shard.time", "shard.latency", "pipeline.time")
_LEAST = 1.2  # what computation takes at least, in the time of its products at the cards' peak: 1.4 in measured runs
_MOST_REPAIRS = 3
_ROOM = 0.9  # share of the card's memory that a change may fill, so that nothing is said of its memory


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """More than half of the step; tensor groups across domains are PLN501's."""
    if _at_most(facts) <= _LEAST * facts["step.ideal"]:
        return
    exchange, step, straddling = facts["step.communication"], facts["step.time"], facts["parallel.straddling"]
    if not (known(exchange) and known(step)) or 2 * exchange <= step or (known(straddling) and straddling != 0):
        return
    axis = max(_AXES, key=lambda name: _exposed(facts, name))
    ranks, path = _AXES[axis]
    network = facts["cluster.inter_node"]
    span = place(plan, path, "shard.size", "cluster.nodes", "cluster")
    repairs = tuple(_repairs(plan, facts))
    yield Diagnostic(
        f"exchange that nothing hides takes {percent_text(exchange / step)} of the step",
        Label(span, f"{ranks}: {time_text(_exposed(facts, axis))} of {time_text(step)}"),
        related(
            plan,
            span,
            ("cluster.inter_node", speed_text(network) if known(network) else ""),
            ("batch.micro", ""),
            ("shard.size", ""),
        ),
        help=helps(repairs) or ("`planc advise` compares the layouts that this cluster has room for",),
        fixes=fixes(repairs),
    )


def _at_most(facts: Facts) -> float:
    """Seconds of all exchange in a step, hidden or not, which take a tenth of the time to work out; 0 if not known.

    A step takes what is not hidden of it and what is computed: below the least of that it is no half.
    """
    axes = [axis for axis in ("tensor", "context", "expert") if facts[f"parallel.{axis}"] != 1]
    once = [facts[f"communication.{kind}"] for kind in _ONCE]
    layer = [facts[f"layer.{axis}_time"] for axis in axes]
    layers, passes = facts["pipeline.longest_stage"], facts["batch.accumulation"]
    if not all(map(known, (*once, *layer, layers, passes))):
        return 0.0
    factor = facts["calibration.communication"] if known(facts["calibration.communication"]) else 1
    return float(sum(once) + sum(layer) * layers * passes) * max(1.0, float(factor))


def _exposed(facts: Facts, axis: str) -> float:
    seconds = facts[f"communication.{axis}.exposed"]
    return float(seconds) if known(seconds) else 0.0


def _repairs(plan: Plan, facts: Facts) -> Iterator[Repair]:
    """The first changes of one field after which exchange is no more than half, the card's memory suffices."""
    found = 0
    for path, value, given in _changes(plan, facts):
        other = facts.changed(given)
        exchange, step, needed = other["step.communication"], other["step.time"], other["memory.total"]
        if not (known(step) and known(needed)) or step < 2 * exchange or facts["memory.capacity"] * _ROOM < needed:
            continue
        text = f"`{path.rpartition('.')[2]} = {count_text(value)}`"
        effect = f"{percent_text(exchange / step)} of a step of {time_text(step)}"
        yield Repair(f"{text} makes it {effect}", writing(plan, (path, count_text(value))))
        found += 1
        if found == _MOST_REPAIRS:
            return


def _changes(plan: Plan, facts: Facts) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Changes to try: a field, its value, and what the formulas take then; only where the batch follows."""
    micro, passes, data = facts["batch.micro"], facts["batch.accumulation"], facts["parallel.data"]
    if plan.is_written("batch.accumulation") or plan.is_written("parallel.data"):
        return
    for factor in (2, 4, 8):
        if passes % factor == 0:
            given = {"batch.micro": micro * factor, "batch.accumulation": passes // factor}
            yield "batch.micro", micro * factor, given
    for path, fits in (("parallel.tensor", tensor_fits(plan, facts)), ("parallel.context", context_fits(facts))):
        for factor in (2, 4, 8):
            size = facts[path]
            if size % factor == 0 and passes % factor == 0 and fits(size // factor):
                shards = {"shard.size": data * factor} if facts["shard.size"] == data else {}
                given = {path: size // factor, "parallel.data": data * factor, "batch.accumulation": passes // factor}
                yield path, size // factor, {**given, **shards}
    near = facts["cluster.domain"] // (facts["parallel.tensor"] * facts["parallel.context"])
    sharing = facts.engine.runtime != "deepspeed" and 0 < facts["shard.stage"]
    if sharing and 1 < near < facts["shard.size"] and data % near == 0:
        yield "shard.size", near, {"shard.size": near}


RULE = Rule(
    Severity.WARNING,
    "plan",
    check,
    (
        "step.ideal",
        "communication.data.time",
        "communication.shard.time",
        "memory.capacity",
        "shard.size",
        "shard.stage",
        "cluster.domain",
    ),
)

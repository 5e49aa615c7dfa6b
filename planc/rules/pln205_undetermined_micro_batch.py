"""Neither the micro batch nor the accumulation is written, so neither follows.

Why: global = micro x accumulation x data has two open numbers. The larger micro batch is faster and takes
    more memory; DeepSpeed would take it all in one pass. planc does not choose.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 2 }
      precision = bf16
    }

Fix: write `micro` or `accumulation`; the help lists the pairs that fit. `--unsafe-fixes` makes the change where
    the help names only one.

Source: DeepSpeed, runtime/config.py (_set_batch_related_parameters).

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._batch import follows
from planc.rules._numbers import known, world_agrees
from planc.rules._pipelines import smallest_group
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule

_LISTED = 6  # pairs in the help
_LARGEST = 4096  # micro batches that are looked at


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A batch with two open numbers; one that no pair reaches is PLN201's."""
    samples, data = facts["batch.global"], facts["parallel.data"]
    is_open = all(follows(plan, path) and not known(plan.value(path)) for path in ("batch.micro", "batch.accumulation"))
    if not is_open or samples % data != 0 or not world_agrees(facts):
        return
    share = samples // data
    span = place(plan, "batch.global")
    divisors = (micro for micro in range(1, min(share, _LARGEST) + 1) if share % micro == 0)
    listed = tuple(islice((micro for micro in divisors if _fills(plan, facts, share // micro)), _LISTED))
    micros = tuple(micro for micro in listed if _fits(facts, micro, share // micro)) or listed
    pairs = [f"`micro = {count_text(micro)}` with {plural(share // micro, 'pass')}" for micro in micros]
    yield Diagnostic(
        f"global batch {count_text(samples)} leaves `micro` and `accumulation` open",
        Label(span, f"{count_text(samples)} / {plural(data, 'replica')} = micro x accumulation = {count_text(share)}"),
        related(plan, span, ("batch.micro", ""), ("batch.accumulation", "")),
        help=(f"what would work: {', '.join(pairs)}",) if pairs else (),
        fixes=each_size(plan, "batch.micro", micros),
    )


def _fills(plan: Plan, facts: Facts, passes: int) -> bool:
    """Whether so many passes fill the pipeline, as far as it is known (PLN202)."""
    stages, schedule = facts["parallel.pipeline"], facts["pipeline"]
    if not (known(stages) and known(schedule)) or (schedule == "interleaved" and facts.engine.runtime == "fsdp2"):
        return True
    return bool(stages <= smallest_group(plan, facts, stages, passes))


def _fits(facts: Facts, micro: int, passes: int) -> bool:
    """Whether a card holds such micro batches, as far as it is known (PLN304)."""
    changed = facts.changed({"batch.micro": micro, "batch.accumulation": passes})
    total, capacity = changed["memory.total"], changed["memory.capacity"]
    return not (known(total) and known(capacity)) or bool(total <= capacity)


RULE = Rule(Severity.ERROR, "plan", check, ("batch.global", "parallel.data"))

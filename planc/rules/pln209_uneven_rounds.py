"""The micro batches do not make rounds of one size in PyTorch's interleaved schedule.

Why: PyTorch takes m micro batches through s stages in m / s rounds, rounded down, and wants each round to have as
    many: 9 micro batches on 4 stages are 2 rounds of 4.5, and the schedule refuses to be made. 8 or 10 will do.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      pipeline = interleaved { chunks = 2 }
      emit     = [torchtitan { module = "my_models"  flavor = "small" }]
      batch    { global = 18  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      parallel { pipeline = 4 }
      pipeline = interleaved { chunks = 2 }
      emit     = [torchtitan { module = "my_models"  flavor = "small" }]
      batch    { global = 20  micro = 1 }
      precision = bf16
    }

Fix: use a global batch from which even rounds follow. `--unsafe-fixes` makes the change where the help names only
    one.

Source: PyTorch 2.13, distributed/pipelining/schedules.py (ScheduleInterleaved1F1B).

Versions: PyTorch: torchtitan and FSDP2. Megatron takes groups of micro batches instead: see PLN202.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._batch import global_text
from planc.rules._numbers import known, nearest, use, world_agrees
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Rounds with a rest."""
    stages, passes = facts["parallel.pipeline"], facts["batch.accumulation"]
    if facts.engine.runtime != "fsdp2" or facts["pipeline"] != "interleaved" or stages == 1:
        return
    if _is_even(passes, stages) or not world_agrees(facts):
        return
    rounds, per_pass = passes // stages, facts["batch.per_pass"]
    span = place(plan, "batch.accumulation", "batch.global")
    fits: tuple[int, ...] = ()
    if known(per_pass) and not plan.is_written("batch.accumulation"):
        fits = nearest(passes, lambda count: _is_even(count, stages))
    batches = [global_text(plan, facts, per_pass * count) for count in fits]
    yield Diagnostic(
        f"{plural(passes, 'micro batch')} on {plural(stages, 'stage')} make {plural(rounds, 'uneven round')}",
        Label(span, f"{count_text(passes)} / {count_text(rounds)} = {quotient_text(passes, rounds)} a round"),
        related(plan, span, ("parallel.pipeline", plural(stages, "stage")), ("batch.micro", ""), ("pipeline", "")),
        help=use([f"`global = {batch}`" for batch in batches]),
        fixes=tuple(fix for batch in batches for fix in writing(plan, ("batch.global", batch))),
    )


def _is_even(passes: int, stages: int) -> bool:
    return passes % max(1, passes // stages) == 0


RULE = Rule(Severity.ERROR, "plan", check, ("pipeline", "parallel.pipeline", "batch.accumulation"))

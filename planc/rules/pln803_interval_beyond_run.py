"""The run ends before its first checkpoint is due.

Why: checkpoints are written every `checkpoint.every`, and the run is shorter. A failure loses all of it; and
    trainers that save at intervals only leave nothing behind at all. Megatron-LM, torchtitan and the Trainer of
    Hugging Face save at the end, too: a run of theirs that is short, below an hour or 1000 steps, is left alone.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      train    { duration = 5000 steps }
      checkpoint { every = 10_000 steps }
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
      train    { duration = 5000 steps }
      checkpoint { every = 500 steps }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: save more often; the help names an interval that the run reaches several times. `--unsafe-fixes` writes it.

Source: Megatron-LM, --save-interval and training/training.py; torchtitan, components/checkpoint.py (`_should_save`);
    transformers 5.23, save_steps and `DefaultFlowCallback`.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural, time_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.quantities import amount_words
from planc.plan.units import STEPS, Amount
from planc.rules._numbers import known
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule

_DOUBT = 1.5  # a predicted run may take that much longer

#: Trainers that save when a run ends, whatever the interval.
_AT_THE_END = ("megatron", "torchtitan", "transformers")

#: What a failure may cost of such a run: a length in seconds, and where that is not known, in steps.
_SHORT_SECONDS, _SHORT_STEPS = 3600, 1000


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """An interval over the length of the run."""
    every, steps = facts["checkpoint.every"], facts["train.steps"]
    if plan.emits(*_AT_THE_END) and _is_short(facts):
        return
    if every.dimension == STEPS:
        if not known(steps) or every.value <= steps:
            return
        fits = f"{max(1, steps // 4)} steps"
    else:
        seconds = facts["train.time"]
        if not known(seconds) or every.value <= seconds * _DOUBT:
            return
        fits = f"{max(1, int(seconds / 240))} min"
    span = place(plan, "checkpoint.every")
    yield Diagnostic(
        f"the first checkpoint is due after {amount_words(every)}",
        Label(span, f"the run ends after {_length(facts, every)}"),
        related(plan, span, ("train.duration", amount_words(facts["train.duration"]))),
        help=(f"save more often, such as `every = {fits}`",),
        fixes=writing(plan, ("checkpoint.every", fits)),
    )


def _is_short(facts: Facts) -> bool:
    """Whether a run is one that may well be started over."""
    seconds, steps = facts["train.time"], facts["train.steps"]
    return seconds < _SHORT_SECONDS if known(seconds) else known(steps) and steps < _SHORT_STEPS


def _length(facts: Facts, every: Amount) -> str:
    """The length of the run as its intervals are written."""
    if every.dimension == STEPS:
        return plural(facts["train.steps"], "step")
    return f"about {time_text(facts['train.time'])}"


RULE = Rule(Severity.WARNING, "plan", check, ("checkpoint.every", "train.duration"))

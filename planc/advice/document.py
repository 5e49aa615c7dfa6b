"""The ladder as data; `schemas/advise.schema.json` describes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planc.advice.ladder import Ladder, Rung
from planc.advice.layouts import Question, Trial, accumulation, replicas
from planc.diagnostics.diagnostic import Diagnostic
from planc.plan.model import Unknown

VERSION = 1  # of the form of the JSON; a key that is removed or changes its meaning raises it, a new key does not


def document(
    asked: Question,
    assumed: Sequence[str],
    ladder: Ladder,
    chosen: Trial | None,
    plan: str,
    instead: Sequence[str],
    passed: Sequence[tuple[Trial, Sequence[Diagnostic]]],
) -> dict[str, Any]:
    """The question, its rungs, the advice with its plan and what it passed over, or what would do instead."""
    return {
        "version": VERSION,
        "question": {
            "model": asked.plan.value("model"),
            "gpu": asked.plan.value("cluster.gpu"),
            "cards": asked.cards,
            "domain": asked.domain,
            "samples": asked.samples,
            "sequence_length": asked.sequence_length,
            "precision": asked.plan.value("precision"),
            "assumed": list(assumed),
        },
        "rungs": [_rung(rung) for rung in ladder.rungs],
        "advice": None if chosen is None else _trial(chosen),
        "plan": plan,
        "instead": list(instead),
        "passed_over": [
            {"layout": _trial(trial), "faults": [{"code": each.code, "message": each.message} for each in faults]}
            for trial, faults in passed
        ],
    }


def _rung(rung: Rung) -> dict[str, Any]:
    return {
        "name": rung.name,
        "verdict": rung.verdict,
        "reason": rung.reason,
        "layouts": [_trial(trial) for trial in rung.trials],
    }


def _trial(trial: Trial) -> dict[str, Any]:
    asked, layout = trial.question, trial.layout
    numbers = {name: trial.facts[path] for name, path in _NUMBERS}
    return {
        "trainer": asked.trainer.name,
        "data": replicas(asked, layout),
        "tensor": layout.tensor,
        "context": layout.context,
        "pipeline": layout.pipeline,
        "chunks": layout.chunks,
        "expert": layout.expert,
        "stage": layout.stage,
        "shard_size": layout.shard or replicas(asked, layout),
        "micro": layout.micro,
        "accumulation": accumulation(asked, layout),
        "recompute": layout.recompute,
        "recompute_layers": layout.block or None,
        "fits": trial.fits,
        **{name: None if isinstance(value, Unknown) else float(value) for name, value in numbers.items()},
    }


#: Numbers of a layout, and the facts that they are.
_NUMBERS = (
    ("memory_bytes", "memory.total"), ("capacity_bytes", "memory.capacity"), ("step_seconds", "step.time"),
    ("exposed_seconds", "step.communication"), ("idle_seconds", "step.bubble"), ("mfu", "step.mfu"),
)  # fmt: skip

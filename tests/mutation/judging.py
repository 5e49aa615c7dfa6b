"""Mutants judged: what planc says of each, and what the consumers say of its files."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from planc.compiler import Analysis
from planc.plan.model import Plan, Unknown
from tests.compiling import analysed, errors
from tests.mutation.asked import Asked, questions
from tests.mutation.consumers import CONSUMERS
from tests.mutation.grid import Mutant, mutants, raw, with_value
from tests.mutation.plans import PLANS, Clean, text_of

Consumer = Callable[[Mapping[str, Any]], "str | None"]


class Verdict(NamedTuple):
    """One mutant: codes of planc's errors, its traceback if it failed, how many questions were asked, and what the
    consumers have against the files, each with its reason."""

    mutant: Mutant
    codes: tuple[str, ...]
    crash: str
    asked: int
    refusals: tuple[tuple[str, str], ...]


class Judge:
    """Asks each question once; `others` are consumers besides those that need only this process."""

    def __init__(self, others: Mapping[str, Consumer] | None = None) -> None:
        self._consumers = {**CONSUMERS, **(others or {})}
        self._answers: dict[str, str | None] = {}

    @property
    def num_answers(self) -> int:
        """Questions that differ, of all that were asked."""
        return len(self._answers)

    def judged(self, mutant: Mutant, clean: Plan) -> Verdict:
        """The verdict on a mutant of a clean plan."""
        try:
            analysis = analysed(text_of(mutant.clean, mutant.fields))
        except Exception:
            return Verdict(mutant, (), traceback.format_exc(), 0, ())
        codes = tuple(sorted({found.code for found in errors(analysis)}))
        known = [asked for asked in _asked(mutant, analysis, clean) if asked.consumer in self._consumers]
        answers = {(asked.consumer, self._answer(asked)) for asked in known}
        refusals = sorted((consumer, reason) for consumer, reason in answers if reason is not None)
        return Verdict(mutant, codes, "", len(known), tuple(refusals))

    def _answer(self, asked: Asked) -> str | None:
        key = f"{asked.consumer} {json.dumps(asked.about, sort_keys=True, default=str)}"
        if key not in self._answers:
            self._answers[key] = self._consumers[asked.consumer](asked.about)
        return self._answers[key]


def _asked(mutant: Mutant, analysis: Analysis, clean: Plan) -> Iterator[Asked]:
    """The questions about a mutant. Where planc has an error there are two readings of the change: all that follows
    from the field changes with it, or the field alone, as in files that are written by hand."""
    plan = analysis.plans[0] if analysis.plans else None
    if plan is not None:
        yield from questions(plan, mutant.clean.trainer)
    if errors(analysis) and mutant.value is not None:
        found = None if plan is None else plan.find(mutant.path)
        value = raw(mutant, clean) if found is None or isinstance(found.value, Unknown) else found.value
        if value is not None:
            changed = with_value(clean, mutant.path, value)
            assert isinstance(changed, Plan)
            yield from questions(changed, mutant.clean.trainer)


def plan_of(clean: Clean) -> Plan:
    """The resolved plan, which has no error."""
    analysis = analysed(text_of(clean))
    assert errors(analysis) == [], (clean.name, errors(analysis))
    return analysis.plans[0]


def verdicts(judge: Judge, share: int = 1, plans: Iterable[Clean] = PLANS) -> Iterator[Verdict]:
    """The verdicts on every mutant of the plans, or on each `share`-th of them, spread over plans and fields."""
    number = 0
    for clean in plans:
        plan = plan_of(clean)
        for mutant in mutants(clean, plan):
            number += 1
            if number % share == 0:
                yield judge.judged(mutant, plan)

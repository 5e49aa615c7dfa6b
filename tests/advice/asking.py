"""Questions without a command line."""

from __future__ import annotations

from planc.advice.asking import Asked, completed, first_guess
from planc.advice.layouts import Question, question
from planc.advice.trainers import TRAINERS
from planc.advice.writing import Given, unsettled
from planc.commands.files import Files
from planc.compiler import analyse
from planc.plan.model import Plan, Unknown
from planc.source import Source


def plan_of(text: str) -> Plan:
    """The plan of a text."""
    (plan,) = analyse((Source("asked.plan", text),), Files().load).plans
    return plan


def asked(
    model: str, card: str, cards: int, *trainers: str, sequence_length: str = "", global_batch: str = ""
) -> tuple[Given, list[Question]]:
    """A question, for each of the trainers."""
    wanted = Asked(model, card, cards, 8, sequence_length=sequence_length, global_batch=global_batch)
    given, _ = completed(wanted, plan_of(unsettled(first_guess(wanted), TRAINERS[trainers[0]])))
    found = []
    for name in trainers:
        one = question(plan_of(unsettled(given, TRAINERS[name])), TRAINERS[name])
        assert not isinstance(one, Unknown), one
        found.append(one)
    return given, found

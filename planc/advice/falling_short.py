"""Nothing fits: what the least is that would do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planc.advice.ladder import climb
from planc.advice.layouts import MARGIN, Question, Trial, on_cards, tried
from planc.advice.telling import layout_text
from planc.diagnostics.amounts import plural, size_text
from planc.plan.model import Unknown

#: Times as many cards as there are that are tried.
_MOST_TIMES = 4096

#: Share by which a card's need has to fall where the cards are doubled, or still more of them are not tried.
_PROGRESS = 0.001


def remedies(questions: Sequence[Question], least: Trial, cards: Mapping[str, Any]) -> Iterator[str]:
    """What would do instead, with its numbers: more cards, larger ones, lighter optimizer states, states on the host.

    `cards` are the usable bytes of the cards of the catalogue, by name.
    """
    yield f"the least that any layout needs is {size_text(least.total, True)} a card: {layout_text(least)}"
    found = False
    more = _more_cards(questions)
    if more is not None:
        found = True
        many = plural(more.question.cards, "card")
        yield f"{many} of this kind: {size_text(more.total, True)} a card with {layout_text(more)}"
    larger = sorted((bytes_, name) for name, bytes_ in cards.items() if least.total <= bytes_ * (1 - MARGIN))
    if larger:
        found = True
        yield f"a larger card: `{larger[0][1]}` has {size_text(larger[0][0], True)}"
    for words, given in _lighter(least):
        trial = tried(least.question, least.layout, given)
        if trial.fits:
            found = True
            host = trial.facts["memory.host"]
            beside = (
                "" if isinstance(host, Unknown) or not host else f", and {size_text(host, True)} of each node's memory"
            )
            yield f"{words}: {size_text(trial.total, True)} a card{beside}"
    if not found:
        yield "neither more cards, nor larger ones, nor lighter states would do"


def _more_cards(questions: Sequence[Question]) -> Trial | None:
    """The fewest cards on which something fits, by doubling."""
    times, need = 2, float("inf")
    while times <= _MOST_TIMES:
        cards = questions[0].cards * times
        more = [on_cards(asked, cards, min(cards, max(asked.domain, 8))) for asked in questions]
        ladder = climb(more)
        if ladder.ranking:
            return ladder.ranking[0]
        if ladder.least is not None:
            if need * (1 - _PROGRESS) <= ladder.least.total:
                return None
            need = ladder.least.total
        times *= 2
    return None


def _lighter(least: Trial) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "`optimizer = adamw-8bit`", {"optimizer": "adamw-8bit"}
    yield "`optimizer = sgd`, without momentum", {"optimizer": "sgd", "optimizer.momentum": None}
    if least.question.trainer.name in ("accelerate", "deepspeed"):
        both = {"shard.stage": 3, "offload.optimizer": "cpu", "offload.weights": "cpu"}
        yield "`shard { stage = 3 }` with `offload { optimizer = cpu  weights = cpu }`", both

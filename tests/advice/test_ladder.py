"""The ladder: its numbers are those of the plan that is written, and each rung is judged by what it says."""

from __future__ import annotations

import pytest

from planc.advice.ladder import GAIN, GAIN_OF_ANOTHER_TRAINER, climb, seconds_of
from planc.advice.layouts import MARGIN, Layout, is_possible, tried, with_ends
from planc.advice.trainers import TRAINERS
from planc.advice.writing import written
from planc.facts.engine import engines
from planc.facts.facts import Facts
from planc.plan.model import Unknown
from tests.advice.asking import asked, plan_of

#: Questions that between them use every axis, every trainer and every way to split layers that do not divide.
QUESTIONS = (
    ("llama-3.2-1b", "h100-sxm-80gb", 16, ("accelerate",), ""),
    ("llama-3-8b", "h100-sxm-80gb", 64, ("accelerate",), "32Ki"),
    ("llama-3-70b", "h100-sxm-80gb", 64, ("megatron",), ""),
    ("llama-3.1-405b", "h100-sxm-80gb", 4096, ("megatron",), ""),
    ("deepseek-v3", "h200-sxm-141gb", 512, ("megatron",), "4096"),
    ("mixtral-8x7b", "h100-sxm-80gb", 64, ("torchtitan",), ""),
    ("llama-2-13b", "a100-sxm-80gb", 32, ("deepspeed",), "4096"),
    ("llama-3-8b", "h100-sxm-80gb", 128, ("megatron",), "128Ki"),
)


@pytest.mark.parametrize(("model", "card", "cards", "trainers", "length"), QUESTIONS)
def test_what_is_promised_is_what_the_plan_gives(
    model: str, card: str, cards: int, trainers: tuple[str, ...], length: str
) -> None:
    given, questions = asked(model, card, cards, *trainers, sequence_length=length)
    ranking = climb(questions).ranking
    assert ranking
    for trial in ranking[:: max(1, len(ranking) // 12)]:
        plan = plan_of(written(given, trial.question, trial.layout))
        facts = Facts(plan, engines(plan)[0])
        assert float(facts["memory.total"]) == pytest.approx(trial.total), trial.layout
        assert float(facts["step.time"]) == pytest.approx(seconds_of(trial)), trial.layout
        assert facts["batch.accumulation"] == trial.facts["batch.accumulation"]


def test_the_questions_use_every_axis() -> None:
    used: set[str] = set()
    for model, card, cards, trainers, length in QUESTIONS:
        for trial in climb(asked(model, card, cards, *trainers, sequence_length=length)[1]).ranking:
            plain = Layout()
            used.update(name for name in Layout._fields if getattr(trial.layout, name) != getattr(plain, name))
            used.add(trial.question.trainer.name)
            used.add(f"ends {min(trial.layout.ends, 1)}")
    assert used >= {*Layout._fields, *TRAINERS, "ends -2", "ends -1", "ends 1"}


def test_what_fits_leaves_a_margin_and_comes_first() -> None:
    _, questions = asked("llama-3-8b", "h100-sxm-80gb", 8, "accelerate", "megatron")
    ladder = climb(questions)
    capacity = float(ladder.ranking[0].facts["memory.capacity"])
    assert all(trial.total <= capacity * (1 - MARGIN) for trial in ladder.ranking)
    rest = [seconds_of(trial) for trial in ladder.ranking[1:]]
    assert rest == sorted(rest)
    assert ladder.least is not None and ladder.least.total <= min(trial.total for trial in ladder.ranking)


def test_a_later_rung_has_to_be_faster_by_more_than_predictions_err() -> None:
    for cards in (8, 64):
        for trainers in (("accelerate", "megatron"), ("megatron",)):
            _, questions = asked("llama-3-8b", "h100-sxm-80gb", cards, *trainers)
            fits = False
            for rung in climb(questions).rungs:
                best = min((seconds_of(trial) for trial in rung.trials if trial.fits), default=float("inf"))
                if not rung.trials:
                    assert rung.verdict == "not tried" and rung.reason
                elif not fits:
                    assert rung.verdict == ("enough" if best < float("inf") else "not enough")
                    fits = best < float("inf")
                else:
                    assert rung.before is not None
                    gains = {trial.question.trainer == rung.before.question.trainer for trial in rung.trials}
                    least = min(GAIN if same else GAIN_OF_ANOTHER_TRAINER for same in gains)
                    assert (rung.verdict == "pays") <= (best < seconds_of(rung.before) * (1 - least))


@pytest.mark.parametrize(
    ("layout", "possible"),
    [
        (Layout(stage=1), True),
        (Layout(tensor=8, stage=1), True),
        (Layout(tensor=16, stage=1), False),  # beyond the domain
        (Layout(tensor=3, stage=1), False),
        (Layout(stage=3), False),  # Megatron's own
        (Layout(pipeline=2, stage=1), True),
        (Layout(pipeline=4, stage=1), False),  # idle for 3 / (8 + 3) of the step
        (Layout(pipeline=4, chunks=8, stage=1), True),
        (Layout(pipeline=64, stage=1), False),  # more stages than layers
        (Layout(pipeline=32, stage=1), False),  # idle for a third of the step
        (Layout(expert=2, stage=1), False),
        (Layout(micro=3, stage=1), False),
        (Layout(recompute="selective", stage=1), True),
    ],
)
def test_what_a_trainer_and_the_sizes_allow(layout: Layout, possible: bool) -> None:
    _, (question,) = asked("llama-3-8b", "h100-sxm-80gb", 64, "megatron", global_batch="128")
    assert is_possible(question, layout) == possible


def test_layers_that_do_not_divide() -> None:
    _, (large,) = asked("llama-3.1-405b", "h100-sxm-80gb", 4096, "megatron")
    assert with_ends(large, Layout(pipeline=16)).ends == -2  # 126 layers, embedding and loss are 128
    assert with_ends(large, Layout(pipeline=2)).ends == 0
    _, (deep,) = asked("deepseek-v3", "h100-sxm-80gb", 4096, "megatron")
    assert with_ends(deep, Layout(pipeline=2)).ends == -1  # 61 layers and the loss are 62
    assert with_ends(deep, Layout(pipeline=16)).ends == 1  # 15 stages of 4, and one of 1


def test_numbers_that_are_not_known_are_no_fit() -> None:
    _, (question,) = asked("llama-3-8b", "h100-sxm-80gb", 8, "accelerate")
    trial = tried(question, Layout(stage=3), {"model.vocab": Unknown("`vocab` is not set", ("model.vocab",))})
    assert isinstance(trial.total, Unknown)
    assert not trial.fits

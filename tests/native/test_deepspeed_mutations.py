"""A sample of mutants of good DeepSpeed files: what it refuses has an error, what planc alone reports has its harm.

`python -m tests.native.deepspeed_mutations` judges all of them, those of the corpus as well.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from planc.kinds import known_rules
from tests.consumers.running import needs
from tests.native.deepspeed_mutations import FILES, HARM, JUDGE, every_mutant, good_texts, mutants
from tests.native.mutating import Mutant, Verdict

#: One of so many mutants is judged; it divides no number of values of a key, so that all kinds of change come up.
SHARE = 7

#: Changes of which both have to say the same: a part of a file in place of another, and whether it is refused.
KNOWN = (
    ("zero2", '"stage": 2', '"stage": 7', True), ("zero2", '"train_batch_size": 64', '"train_batch_size": 48', True),
    ("zero2", '"stage": 2', '"stage": 2, "stage": 2', True), ("zero2", '"stage": 2', '"stage": 1', False),
    ("zero3", '"loss_scale_window": 1000', '"loss_scale_window": 0', True),
    ("zero3", '"loss_scale": 0', '"loss_scale": 128', False),
    ("zero3", '"train_micro_batch_size_per_gpu": 1,', "", True), ("zero3", '"stage": 3', '"stage": Infinity', True),
    ("zero3", '"sub_group_size": 1000000000', '"sub_group_size": 1e30', True),
    ("zero3", '"sub_group_size": 1000000000', '"sub_group_size": 1e9', False),
    ("watched", '"gradient_accumulation_steps": 1,', "", False), ("watched", '"stage": 1', '"stage": "1"', False),
)  # fmt: skip


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A consumer that keeps its warnings to itself, and looks for no card."""
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def sample() -> list[Verdict]:
    """The verdicts on a sample."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("DS_ACCELERATOR", "cpu")
        return list(JUDGE.verdicts(every_mutant(good_texts()), SHARE))


@pytest.mark.consumer
@needs("deepspeed")
def test_what_deepspeed_refuses_has_an_error(sample: list[Verdict]) -> None:
    assert [each.crash for each in sample if each.crash] == []
    assert not any(each.is_missed for each in sample), JUDGE.report(sample)
    assert 150 < sum(each.refusal is not None for each in sample) < len(sample) - 150


@pytest.mark.consumer
@needs("deepspeed")
def test_what_planc_alone_reports_does_harm_that_is_written_down(sample: list[Verdict]) -> None:
    alone = {code for each in sample if each.refusal is None for code, _ in each.errors}
    assert alone - set(HARM) == set(), JUDGE.report(sample)


@pytest.mark.consumer
@needs("deepspeed")
@pytest.mark.parametrize("name", FILES)
def test_a_good_file_is_taken_by_both(name: str) -> None:
    found = JUDGE.verdict(Mutant(name, "as it is", "", good_texts()[name]))
    assert (found.errors, found.crash, found.refusal) == ((), "", None)


@pytest.mark.consumer
@needs("deepspeed")
@pytest.mark.parametrize(("name", "part", "other", "is_refused"), KNOWN)
def test_a_change_of_which_both_say_the_same(name: str, part: str, other: str, is_refused: bool) -> None:
    text = good_texts()[name]
    assert text.count(part) == 1
    found = JUDGE.verdict(Mutant(name, "known", part, text.replace(part, other)))
    assert (found.refusal is not None) == is_refused
    if is_refused:
        assert found.errors


@pytest.mark.parametrize("name", FILES)
def test_mutants_of_all_kinds_are_json(name: str) -> None:
    found = list(mutants(name, good_texts()[name]))
    assert 800 < len(found)
    assert {"dropped", "misspelt", "doubled", "moved", "= null", "= -1"} <= {mutant.kind for mutant in found}
    for mutant in found:
        json.loads(mutant.text)
    assert len({mutant.text for mutant in found}) > 0.97 * len(found)


def test_harm_is_that_of_errors() -> None:
    known = known_rules()
    assert [code for code in HARM if code not in known or known[code][1].value != "error"] == []

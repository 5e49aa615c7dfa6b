"""A sample of mutants of good arguments of the Trainer: what it refuses is told, and errors have their harm.

`python -m tests.native.trainer_mutations` judges all of them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.consumers.running import needs
from tests.native.mutating import Mutant, Verdict
from tests.native.trainer_mutations import FILES, HARM, JUDGE, every_mutant, mutants

#: One of so many mutants is judged.
SHARE = 3

#: Changes of which both have to say the same, and whether they are refused.
KNOWN: tuple[tuple[dict[str, Any], bool], ...] = (
    ({"save_steps": 250}, True), ({"save_steps": 200}, False), ({"eval_strategy": "no"}, True),
    ({"eval_steps": None}, True), ({"eval_steps": None, "logging_steps": 50}, False),
    ({"save_steps": 0.2, "eval_steps": 0.1}, False), ({"save_steps": 0.2}, True),
    ({"save_strategy": "best"}, False), ({"logging_steps": 0}, True),
    ({"logging_steps": 0, "logging_strategy": "no"}, False), ({"logging_steps": 2.5}, True),
)  # fmt: skip

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.fixture(scope="module")
def sample() -> list[Verdict]:
    """The verdicts on a sample."""
    return list(JUDGE.verdicts(every_mutant(), SHARE))


@pytest.mark.consumer
@needs("transformers", "accelerate")
def test_what_the_trainer_refuses_is_told(sample: list[Verdict]) -> None:
    assert [each.crash for each in sample if each.crash] == []
    assert not any(each.is_missed for each in sample), JUDGE.report(sample)
    assert 80 < sum(each.refusal is not None for each in sample) < len(sample) - 80


@pytest.mark.consumer
@needs("transformers", "accelerate")
def test_what_planc_alone_reports_does_harm_that_is_written_down(sample: list[Verdict]) -> None:
    alone = {code for each in sample if each.refusal is None for code, _ in each.errors}
    assert alone - set(HARM) == set(), JUDGE.report(sample)


@pytest.mark.consumer
@needs("transformers", "accelerate")
@pytest.mark.parametrize("name", FILES)
def test_good_arguments_are_taken_by_both(name: str) -> None:
    found = JUDGE.verdict(Mutant(name, "as it is", "", json.dumps(FILES[name])))
    assert (found.errors, found.crash, found.refusal) == ((), "", None)


@pytest.mark.consumer
@needs("transformers", "accelerate")
@pytest.mark.parametrize(("changes", "is_refused"), KNOWN, ids=range(len(KNOWN)))
def test_a_change_of_which_both_say_the_same(changes: dict[str, Any], is_refused: bool) -> None:
    found = JUDGE.verdict(Mutant("saving", "known", "", json.dumps(FILES["saving"] | changes)))
    assert (found.refusal is not None, bool(found.errors)) == (is_refused, is_refused), found


@pytest.mark.parametrize("name", FILES)
def test_mutants_of_all_kinds_are_json(name: str) -> None:
    found = list(mutants(name, FILES[name]))
    assert 300 < len(found)
    assert {"dropped", "misspelt", "doubled", "= null", "= -1"} <= {mutant.kind for mutant in found}
    for mutant in found:
        json.loads(mutant.text)
    assert len({mutant.text for mutant in found}) > 0.97 * len(found)

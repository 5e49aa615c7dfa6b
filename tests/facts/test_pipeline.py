"""The pipeline's idle share and longest stage.

Narayanan et al., Efficient Large-Scale Language Model Training (2021), section 2.2, gives the idle time as a ratio to
the ideal time, (s - 1) / (v m); as a share of the step it is (s - 1) / (v m + s - 1).
"""

from fractions import Fraction

import pytest

from planc.diagnostics.amounts import percent_text
from planc.facts.pipeline import bubble, longest_stage
from planc.plan.model import Unknown
from tests.facts.given import facts_of


@pytest.mark.parametrize(
    ("stages", "micro_batches", "chunks", "share", "shown"),
    [
        (8, 8, None, Fraction(7, 15), "46.7 %"),
        (8, 64, None, Fraction(7, 71), "9.9 %"),
        (8, 4, None, Fraction(7, 11), "63.6 %"),  # deepspeedai/DeepSpeed#4164: 8 stages, 4 micro batches, 64 %
        (4, 32, 5, Fraction(3, 163), "1.8 %"),
        (8, 8, 2, Fraction(7, 23), "30.4 %"),
        (1, 1, None, 0, "0 %"),
    ],
)
def test_idle_share(stages, micro_batches, chunks, share, shown):
    facts = facts_of(
        parallel__pipeline=stages, batch__accumulation=micro_batches,
        pipeline="1f1b" if chunks is None else "interleaved", pipeline__chunks=chunks or 1,
    )  # fmt: skip
    assert facts["pipeline.bubble"] == share
    assert percent_text(facts["pipeline.bubble"]) == shown


def test_idle_share_of_other_schedules_is_not_guessed():
    assert isinstance(bubble(3, 8, "dual", None, None), Unknown)
    assert bubble(8, 8, "interleaved", None, None).unset
    assert isinstance(bubble(1, 0, "1f1b", None, None), Unknown)  # 0 / 0


def stage_of(layers, stages, *, first=None, last=None, stated=None, embedding=False, loss=False, layout=None):
    return longest_stage(layers, stages, first, last, stated, embedding, loss, layout)


def test_longest_stage():
    assert stage_of(80, 4) == 20
    assert stage_of(30, 4) == 8
    assert stage_of(30, 4, first=7, last=7) == 8  # 7 + 8 + 8 + 7
    assert stage_of(61, 4, last=13) == 16  # 16 + 16 + 16 + 13
    assert stage_of(61, 16, first=1) == 4  # 1 + 15 x 4
    assert stage_of(30, 2, first=16, last=14) == 16
    assert stage_of(80, 4, stated=(20, 22, 22, 16)) == 22
    assert stage_of(16, 2, stated=(3, 4, 4, 5)) == 9  # two chunks a rank: 3 + 4 and 4 + 5
    assert stage_of(70, 8, embedding=True, loss=True) == 9  # 72 slots, BLOOM's split: 8 at the ends, 9 between
    assert stage_of(70, 2, embedding=True, loss=True) == 35
    assert stage_of(71, 2, embedding=True) == 36
    assert stage_of(70, 1, embedding=True, loss=True) == 70
    assert stage_of(61, 16, layout="Et*3|(tt|)*29,m|L") == 5  # two parts a stage, the first of 3 and 2
    assert isinstance(stage_of(61, 16, layout="Et*3|x|L"), Unknown)


def test_longest_stage_survives_faulty_splits():
    assert stage_of(10, 2, stated=()) == 0
    assert stage_of(10, 1, first=4, last=6) == 6
    assert stage_of(10, 4, first=20) == 20

"""The batch against numbers worked out by hand: global = micro x passes x replicas, and what is left over."""

import pytest

from tests.facts.given import facts_of


@pytest.mark.parametrize(
    ("global_batch", "micro", "data", "per_pass", "passes", "left"),
    [
        (64, 1, 8, 8, 8, 0),
        (512, 1, 16, 16, 32, 0),  # LANGUAGE: 4Mi tokens of 8Ki are 512 samples, on 16 replicas
        (100, 4, 8, 32, 3, 4),  # verl-project/verl#1811: 100 is no multiple of 32
        (64, 4, 4, 16, 4, 0),
        (8, 4, 4, 16, 0, 8),  # a pass needs 16 samples, there are 8
    ],
)
def test_batch(global_batch, micro, data, per_pass, passes, left):
    facts = facts_of(batch__global=global_batch, batch__micro=micro, parallel__data=data)
    assert (facts["batch.per_pass"], facts["batch.passes"], facts["batch.leftover"]) == (per_pass, passes, left)
    assert micro * passes * data + left == global_batch


def test_tokens():
    assert facts_of(batch__global=512, batch__sequence_length=8192)["batch.tokens"] == 4 * 2**20


def test_nothing_raises_without_replicas():
    facts = facts_of(batch__global=64, batch__micro=1, parallel__data=0)
    assert (facts["batch.passes"], facts["batch.leftover"]) == (0, 64)

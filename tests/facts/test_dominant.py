"""What limits a step, and the neighbour that would help most."""

import pytest

from planc.compiler import plan_facts
from planc.facts.dominant import Change, Dominant, dominants, sentence
from planc.plan.model import Unknown
from tests.analysis import analysis_of

#: Sixteen cards, fast inside a node; a test changes what it is about.
BASE = """\
gpu card { memory = 80 GiB  bf16 = 400 TFLOPS  memory_bandwidth = 2 TB/s  link = 300 GB/s }
cluster two { gpu = card  nodes = 2  gpus_per_node = 8  inter_node = 25 GB/s }
model deep { layers = 32  hidden = 4096  heads = 32  ffn = 11_008  vocab = 32_000 }
plan run { model = deep  cluster = two  parallel { tensor = 2 }  shard { stage = 1 }
  batch { global = 256  micro = 1  sequence_length = 4Ki }  precision = bf16  recompute = full  emit = [megatron] }
"""


def facts_of(*changes):
    text = BASE
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    (plan,) = analysis_of(text).plans
    return plan_facts(plan)


def found_of(facts, given=None):
    (found,) = dominants((facts.changed(given or {}),), lambda fields, every: True)
    return found


def test_tensor_ranks_over_two_nodes_are_the_limit_and_halving_them_saves_what_it_is_said_to():
    plain = ("recompute = full", "recompute = none")
    facts, halved = facts_of(("tensor = 2", "tensor = 16"), plain), facts_of(("tensor = 2", "tensor = 8"), plain)
    found = found_of(facts)
    assert (found.limit, found.change.text) == ("tensor", "`parallel.tensor = 8`")
    assert found.change.saving == pytest.approx(1 - halved["step.time"] / facts["step.time"])
    assert found.above_ideal == pytest.approx(1 - facts["step.mfu"])


def test_a_pipeline_with_few_micro_batches_stands_idle():
    facts = facts_of(("tensor = 2", "pipeline = 16"), ("global = 256", "global = 16"), ("full", "none"))
    found = found_of(facts)
    assert found.limit == "bubble"
    assert found.change.text.startswith(("`pipeline", "`parallel.pipeline"))


def test_a_change_that_does_not_fit_is_none():
    facts = facts_of()
    free = found_of(facts)
    assert free.change is not None
    tight = found_of(facts, {"memory.capacity": 1})
    assert tight.change is None
    assert sentence(tight).endswith("no neighbouring layout that fits is faster")


def test_what_is_not_known_limits_nothing():
    for change in (("bf16 = 400 TFLOPS", "bf16 = true"), ("memory_bandwidth = 2 TB/s", "")):
        assert isinstance(found_of(facts_of(change)), Unknown)


def test_a_change_is_one_only_where_its_memory_is_known_and_leaves_a_part_free():
    facts = facts_of()
    change = found_of(facts).change
    assert change is not None
    needed = facts_of(("recompute = full", change.text.strip("`")))["memory.total"]
    assert found_of(facts, {"memory.capacity": needed / 0.96}).change != change
    assert found_of(facts, {"memory.capacity": needed / 0.94}).change == change
    assert found_of(facts, {"memory.capacity": Unknown("nobody knows")}).change is None


def test_a_change_has_to_fit_under_every_engine():
    facts = facts_of()
    small = facts.changed({"memory.capacity": 1})
    first, second = dominants((facts, small), lambda fields, every: True)
    assert first.change is None
    assert second.change is None


def test_a_change_that_is_not_allowed_gives_way_to_the_next_one():
    facts = facts_of()
    best = found_of(facts).change
    (found,) = dominants((facts,), lambda fields, every: list(fields) != ["recompute"])
    assert best.text.startswith("`recompute")
    assert found.change != best
    assert found.change is None or found.change.saving <= best.saving


def test_what_follows_is_named_where_it_is_written():
    facts = facts_of(("micro = 1", "micro = 1  accumulation = 32"), ("full", "none"), ("hidden = 4096", "hidden = 512"))
    assert found_of(facts).change.text == "`parallel.tensor = 1` with `batch.accumulation = 16`"


FOUND = Dominant("bubble", 0.6, 0.0, 0.5, Change("`batch.micro = 2`", 0.125))


def test_the_sentence():
    assert sentence(FOUND) == (
        "waiting for other pipeline stages takes most of the 50 % of the step beyond the ideal; "
        "`batch.micro = 2` would save 12 %"
    )
    smaller = FOUND._replace(share=0.4)
    assert sentence(smaller).startswith(
        "waiting for other pipeline stages takes the largest part of the 50 % of the step"
    )


@pytest.mark.parametrize(
    ("share", "head"),
    [(1.0, "exchange between tensor ranks takes most"), (0.6, "exchange, above all between tensor ranks, takes most")],
)
def test_exchange_is_named_with_its_largest_axis(share, head):
    assert sentence(FOUND._replace(limit="tensor", axis_share=share)).startswith(head)

"""The gradient all-reduce: 2 N b (p - 1) / p bytes per card and step (ring; ZeRO (2020), section 7)."""

from fractions import Fraction

import pytest

from planc.diagnostics.amounts import percent_text, size_text, time_text
from planc.facts.communication import all_reduce_bytes, data_link, exposed_share, transfer_seconds
from planc.plan.model import Unknown
from tests.facts.given import facts_of

GB = 10**9


def test_bytes_of_seven_billion_bf16_gradients():
    assert all_reduce_bytes(7 * 10**9, 2, 8, None) == Fraction(49, 2) * GB
    assert size_text(all_reduce_bytes(7 * 10**9, 2, 8, None)) == "24.5 GB"
    assert all_reduce_bytes(7 * 10**9, 2, 1, None) == 0
    # In the limit of many cards: 2 N b.
    assert size_text(all_reduce_bytes(7 * 10**9, 2, 10**9, None)) == "28 GB"
    assert 28 * GB - all_reduce_bytes(7 * 10**9, 2, 10**9, None) < 100


def test_time_and_share_of_the_step():
    seconds = transfer_seconds(28 * GB, 400 * GB)
    assert time_text(seconds) == "70 ms"
    assert percent_text(exposed_share(seconds, 0.2)) == "25.9 %"
    assert round(100 * exposed_share(seconds, 0.2)) == 26


def test_fp32_gradients_send_twice_as_much():
    facts = facts_of(parallel__parameters_per_rank=10**9, parallel__data=4, precision__gradients="fp32")
    assert facts["communication.data.bytes"] == 2 * 10**9 * 4 * 3 // 4


def test_context_ranks_reduce_too():
    facts = facts_of(parallel__parameters_per_rank=10**9, parallel__data=4, parallel__context=2)
    assert facts["communication.data.group"] == 8
    assert facts["communication.data.bytes"] == 2 * 10**9 * 2 * 7 // 8


@pytest.mark.parametrize(
    ("tensor", "group", "domain", "world", "link"),
    [
        (1, 8, 8, 8, "intra"),
        (8, 16, 8, 512, "inter"),
        (2, 4, 8, 32, "intra"),  # four stages of eight ranks, each in a node of its own
        (2, 3, 8, 24, "inter"),  # runs of 6 straddle nodes of 8
        (2, 3, 72, 24, "intra"),
        (1, 1, 8, 64, "intra"),
    ],
)
def test_link(tensor, group, domain, world, link):
    assert data_link(tensor, group, domain, world, 450 * GB, 50 * GB) == {"intra": 450 * GB, "inter": 50 * GB}[link]


def test_link_that_is_not_declared():
    assert data_link(1, 8, 8, 8, None, 50 * GB).missing == ("cluster.intra_node",)
    facts = facts_of(
        parallel__data=8, cluster__domain=8, cluster__nodes=1, cluster__gpus_per_node=8,
        parallel__parameters_per_rank=1,
    )  # fmt: skip
    assert isinstance(facts["communication.data.time"], Unknown)
    # A single replica sends nothing, whatever the link.
    facts = facts_of(
        parallel__data=1, cluster__domain=8, cluster__nodes=1, cluster__gpus_per_node=8,
        parallel__parameters_per_rank=1,
    )  # fmt: skip
    assert facts["communication.data.time"] == 0
    assert isinstance(transfer_seconds(1, 0), Unknown)
    assert isinstance(exposed_share(0, 0), Unknown)


def test_time_from_a_whole_plan():
    facts = facts_of(
        cluster__nodes=1, cluster__gpus_per_node=8, cluster__domain=8, cluster__intra_node=450 * GB,
        parallel__data=8, parallel__parameters_per_rank=7 * 10**9, step__without_communication=0.2,
    )  # fmt: skip
    assert facts["communication.data.time"] == pytest.approx(24.5 / 450)
    assert facts["communication.data.share"] == pytest.approx((24.5 / 450) / (24.5 / 450 + 0.2))


def test_what_an_adapter_sends_is_not_that_of_all_weights() -> None:
    sent = all_reduce_bytes(7 * 10**9, 2, 8, "lora")
    assert isinstance(sent, Unknown)
    assert sent.missing == ("adapter",)

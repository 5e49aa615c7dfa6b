"""Time of collectives: what the formulas say, and measured bus bandwidths (09a), by the factors of nccl-tests (09c)."""

import csv

import pytest

from planc.facts import constants
from planc.facts.collectives import Group, all_reduce_time, all_to_all_time, scatter_time
from tests.facts.given import table

GB = 1e9

#: Systems of the table by what their name begins with: ranks in a domain, links in GB/s, whether the switch adds up.
SYSTEMS = {
    "8xA100": (8, 300, 25, False), "8xH200": (8, 450, 50, True), "8xB200": (8, 900, 50, True),
    "32xB200": (8, 900, 50, True), "8xH100 nodes": (8, 450, 50, True),
}  # fmt: skip

#: The table's `algo` of rows on which the switch was left out.
_RINGS = ("Ring (NVLS off)", "Ring (default)", "Ring")


def test_a_ring_sends_almost_all_of_the_tensor_once():
    group = Group(8.0, 8.0, 100 * GB, 10 * GB, False)
    reached = 100 * GB * constants.RING_SHARE.value
    assert scatter_time(group, 80 * GB, 1.0) == pytest.approx(70 * GB / reached, rel=0.01)
    assert all_reduce_time(group, 80 * GB, 1.0) == pytest.approx(140 * GB / reached, rel=0.01)
    assert all_reduce_time(group, 0.0, 0.0) == 0


def test_small_messages_are_hops():
    group = Group(8.0, 8.0, 100 * GB, 10 * GB, False)
    assert all_reduce_time(group, 8.0, 1.0) == pytest.approx(14 * constants.HOP_TIME.value, rel=0.01)
    assert scatter_time(group, 8.0, 10.0) == pytest.approx(70 * constants.HOP_TIME.value, rel=0.01)


def test_a_group_that_fills_nodes_uses_all_of_their_ports():
    one, eight = (Group(64.0, members, 1000 * GB, 10 * GB, False) for members in (1.0, 8.0))
    assert scatter_time(eight, 100 * GB, 1.0) < scatter_time(one, 100 * GB, 1.0) / 6


def test_between_many_domains_a_tree_has_fewer_hops():
    group = Group(4096.0, 8.0, 400 * GB, 50 * GB, False)
    ring = 2 * scatter_time(group, 1e6, 1.0)
    assert all_reduce_time(group, 1e6, 1.0) < ring / 20


def test_a_switch_adds_up_for_more_than_four_ranks():
    plain, switch = (Group(8.0, 8.0, 100 * GB, 10 * GB, adds) for adds in (False, True))
    assert all_reduce_time(switch, 80 * GB, 1.0) < all_reduce_time(plain, 80 * GB, 1.0)
    assert scatter_time(switch, 80 * GB, 1.0) == scatter_time(plain, 80 * GB, 1.0)
    few = (Group(4.0, 4.0, 100 * GB, 10 * GB, adds) for adds in (False, True))
    assert len({all_reduce_time(group, 80 * GB, 1.0) for group in few}) == 1


def test_all_to_all_is_bound_by_each_rank_s_own_port():
    group = Group(16.0, 8.0, 400 * GB, 40 * GB, False)
    far = 16 * GB * 8 / 16 / (40 * GB * constants.SEND_SHARE.value)
    assert all_to_all_time(group, 16 * GB, 0.0) == pytest.approx(far)
    near = Group(8.0, 8.0, 400 * GB, None, False)
    assert all_to_all_time(near, 8 * GB, 0.0) == pytest.approx(7 * GB / (400 * GB * constants.RING_SHARE.value))


def measured():
    """Bytes, group, operation, and bus bandwidth in bytes per second, of the rows on known systems."""
    with table("09a_collectives.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            system = next((found for name, found in SYSTEMS.items() if row["system"].startswith(name)), None)
            if system and row["size_bytes"] and row["busbw_gbs"] and 0.5 < float(row["busbw_gbs"]):
                domain, intra, inter, switch = system
                ranks = float(row["ranks"])
                adds = switch and row["algo"] not in _RINGS
                group = Group(ranks, min(ranks, float(domain)), intra * GB, inter * GB, adds)
                yield float(row["size_bytes"]), group, row["op"], float(row["busbw_gbs"]) * GB


def error(size, group, operation, bus):
    n = group.ranks
    seconds = all_reduce_time(group, size, 1.0) if operation == "all_reduce" else scatter_time(group, size, 1.0)
    factor = (2 if operation == "all_reduce" else 1) * (n - 1) / n  # 09c
    return size * factor / seconds / bus - 1


def errors(chosen):
    return sorted(abs(error(*row)) for row in measured() if chosen(row[1], row[0]))


def test_measured_bandwidths_inside_a_node():
    """Messages from 64 MB on come within 10 % in the median; small ones, of which only the hops count, within 60 %."""
    large = errors(lambda group, size: group.ranks <= group.members and 6e7 < size)
    small = errors(lambda group, size: group.ranks <= group.members and size < 6e7)
    assert 30 < len(large) and 15 < len(small)
    assert large[len(large) // 2] < 0.10
    assert large[9 * len(large) // 10] < 0.30
    assert small[len(small) // 2] < 0.60


def test_measured_bandwidths_between_nodes():
    """Both clusters are of cards with eight ports of 400 Gbit/s a node; one is half as fast as the other."""
    found = errors(lambda group, size: group.members < group.ranks and 6e7 < size)
    assert 10 < len(found)
    assert found[len(found) // 2] < 0.50

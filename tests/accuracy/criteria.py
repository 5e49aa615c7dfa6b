"""What the cost model is held against: the tables, which of their rows, and how near it has to come."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.accuracy.case import FITS, MEMORY, RANK, TIME, Case
from tests.accuracy.readers.nemo import is_hopper, is_mixture


class Criterion(NamedTuple):
    """A comparison: of the rows of `tables` that are `chosen`, by one of MEMORY, TIME, FITS and RANK.

    target: what has to be reached: median and 90th percentile of the absolute relative errors, or their mean; the
        balanced accuracy; median and worst rank correlation; empty where the figures are only reported.
    is_mean: the mean stands in place of median and 90th percentile.
    """

    name: str
    kind: str
    tables: tuple[str, ...]
    target: tuple[float, ...]
    chosen: Callable[[Case], bool] = lambda case: True
    is_mean: bool = False


def _is_1_way(case: Case) -> bool:
    return case.given["parallel.tensor"] == 1


def _is_405b(case: Case) -> bool:
    return case.family == "llama-3.1-405b"


def _of(family: str) -> Callable[[Case], bool]:
    return lambda case: case.family == family


_NANOTRON = ("10a_ultrascale_configs",)

CRITERIA = (
    Criterion("13 Megatron tests", MEMORY, ("13_megatron_golden_memory",), (0.03, 0.12)),
    Criterion("13 between steps", MEMORY, ("13_megatron_golden_memory/allocated",), ()),
    Criterion("16 zero bubble", MEMORY, ("16_zero_bubble",), (0.05, 0.10)),
    Criterion("10a nanotron, nearer mode", MEMORY, _NANOTRON, (0.05, 0.15)),
    Criterion("10a nanotron, tensor = 1", MEMORY, _NANOTRON, (0.05, 0.15), _is_1_way),
    Criterion("11 BLOOM", MEMORY, ("11_bigscience_bloom_topologies",), (0.05, 0.18)),
    Criterion("05 torchtitan, no 405B", MEMORY, ("05_torchtitan",), (0.08, 0.20), lambda case: not _is_405b(case)),
    Criterion("10a out of memory", FITS, _NANOTRON, (0.92,)),
    Criterion("10a out of memory, 8B", FITS, _NANOTRON, (0.94,), _of("nanotron-8B")),
    Criterion("10a out of memory, 80B", FITS, _NANOTRON, (0.94,), _of("nanotron-80B")),
    Criterion("12 MosaicML FSDP", TIME, ("12_mosaic_fsdp",), (0.05, 0.15)),
    Criterion("03 Megatron 2021", TIME, ("03a_megatron_sc21_table1", "03b_megatron_sc21_table2"), (0.10, 0.25)),
    Criterion("11 BLOOM", TIME, ("11_bigscience_bloom_topologies",), (0.10, 0.25)),
    Criterion("16 zero bubble", TIME, ("16_zero_bubble",), (0.10, 0.25)),
    Criterion("06c recipes, pretraining", TIME, ("06c_dgxc_benchmarking",), (0.10, 0.20)),
    Criterion(
        "06a Bridge, dense Hopper", TIME, ("06a_nemo_bridge_perf",), (0.10, 0.15),
        lambda case: is_hopper(case) and not is_mixture(case),
    ),
    Criterion(
        "06a Bridge, dense Blackwell", TIME, ("06a_nemo_bridge_perf",), (),
        lambda case: not is_hopper(case) and not is_mixture(case),
    ),
    Criterion("06a Bridge, experts", TIME, ("06a_nemo_bridge_perf",), (), is_mixture),
    Criterion("10a nanotron, tensor <= 8", TIME, _NANOTRON, (0.10, 0.30)),
    Criterion("17 vTrain, several nodes", TIME, ("17_vtrain_multi",), (0.10,), is_mean=True),
    Criterion("17 vTrain, one node", TIME, ("17_vtrain_single",), (0.15,), is_mean=True),
    Criterion("14 InternEvo", TIME, ("14_internevo",), ()),
    Criterion("05 torchtitan", TIME, ("05_torchtitan",), ()),
    Criterion("10a order of layouts", RANK, _NANOTRON, (0.93, 0.75)),
)  # fmt: skip

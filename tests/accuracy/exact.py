"""The tables that the facts have to give to the last printed digit, each by the test that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from typing import Any, NamedTuple

from tests.accuracy.case import rows
from tests.facts.given import facts_of


class Exact(NamedTuple):
    """A table, and the function of a module that compares each of its cells and raises where one is off."""

    name: str
    table: str
    module: str
    function: str
    arguments: tuple[Any, ...] = ()


_FLOPS = "tests.facts.test_flops_tables"

EXACT = (
    Exact("07 parameters", "07_models", "tests.catalogue.test_catalogue", "test_every_model_of_the_table"),
    Exact("01a ZeRO memory", "01a_zero_table1", "tests.facts.test_memory", "test_every_cell_of_zero_table_1"),
    Exact("01b ZeRO largest models", "01b_zero_table2", __name__, "largest_models"),
    Exact("01c ZeRO volumes", "01c_zero_comm_volume", __name__, "volumes"),
    Exact("02a activations", "02a_activation_formulas", "tests.facts.test_activations", "test_formulas_of_table_02a"),
    Exact(
        "02d activations", "02d_korthikanti_activation_derived", "tests.facts.test_activations",
        "test_first_stage_of_table_02d",
    ),
    Exact(
        "02b MFU and HFU", "02b_korthikanti_iteration", _FLOPS, "test_korthikanti_mfu_and_hfu",
        ("iter_sp_selective_s", "mfu_pct"),
    ),
    Exact("03a FLOPs", "03a_megatron_sc21_table1", _FLOPS, "test_narayanan_rates"),
    Exact("06b FLOPs, pretraining", "06b_flops_per_token_oracle", _FLOPS, "test_nvidia_flops_of_pretraining"),
    Exact("06e FLOPs", "06e_flops_crosscheck", _FLOPS, "test_nvidia_crosscheck"),
    Exact("12 parameters, MFU, HFU", "12_mosaic_fsdp", _FLOPS, "test_mosaic_mfu_and_hfu"),
)  # fmt: skip


def judgements() -> Iterator[tuple[Exact, str]]:
    """Each table with what is wrong with it: the first cell that is off, or nothing."""
    for exact in EXACT:
        try:
            getattr(import_module(exact.module), exact.function)(*exact.arguments)
        except AssertionError as error:
            yield exact, str(error).partition("\n")[0] or "a cell is off"
        else:
            yield exact, ""


def largest_models() -> None:
    """ZeRO, table 2: a model of the printed size fills the card, at each stage and model-parallel size."""
    stages = {"baseline": 0, "os": 1, "os_g": 2, "os_g_p": 3}
    for row in rows("01b_zero_table2"):
        if row["kind"] != "theoretical_max":
            continue
        parameters = Fraction(row["max_params_B_formula"]) * 10**9 / int(row["mp"])
        facts = facts_of(
            "deepspeed", shard__stage=stages[row["stage"]], shard__size=int(row["dp"]), parallel__data=int(row["dp"]),
            stage__parameters=parameters, stage__expert_parameters=0,
        )  # fmt: skip
        filled = facts.at_stage(0)["stage.states"] / (int(row["gpu_mem_gb"]) * 10**9)
        assert abs(filled - 1) < Fraction(1, 1000), row["row_id"]


def volumes() -> None:
    """ZeRO, section 7: elements that a card sends in a step, in multiples of the parameters."""
    ranks, parameters = 64, 10**9
    for row in rows("01c_zero_comm_volume"):
        facts = facts_of(
            "deepspeed", shard__stage=int(row["stage"]), shard__size=ranks, parallel__data=ranks, batch__accumulation=1,
            stage__parameters=parameters, stage__expert_parameters=0, model__layers=10,
            cluster__nodes=8, cluster__gpus_per_node=8, cluster__domain=8,
        )  # fmt: skip
        sent = facts["communication.data.bytes"] + facts["communication.shard.bytes"]
        assert abs(sent / 2 / parameters - float(row["volume_in_psi"]) * (ranks - 1) / ranks) < 1e-9, row["row_id"]

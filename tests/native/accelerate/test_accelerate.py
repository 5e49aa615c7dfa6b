"""Configurations of accelerate: what they say of a plan, and those of the corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.diagnostics.diagnostic import Severity
from planc.native.kind import Recognised
from tests.native.judging import (
    cases,
    corpus,
    found_in,
    is_known_good,
    judged,
    plan_text,
    recognised,
    with_other_values,
)

HERE = Path(__file__).parent


def text_of(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def test_deepspeed_without_a_file_is_said() -> None:
    assert plan_text("a.yaml", text_of("ok_deepspeed.yaml")).split("\n") == [
        "cluster {", "nodes = 2", "gpus_per_node = 8", "}", "precision = bf16", "shard {", "stage = 3", "}",
        "batch {", "accumulation = 4", "}", "optimizer {", "clip = 1", "}",
        "offload {", "optimizer = cpu", "weights = cpu", "}",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "stage"),
    [
        ("fsdp_version: 2", "3"),
        ("fsdp_version: 2\n  fsdp_reshard_after_forward: false", "2"),
        ("fsdp_sharding_strategy: SHARD_GRAD_OP", "2"),
        ("fsdp_sharding_strategy: 1", "3"),
        ("fsdp_sharding_strategy: NO_SHARD", "0"),
    ],
)
def test_the_stage_of_fsdp_is_said(lines: str, stage: str) -> None:
    text = f"distributed_type: FSDP\nnum_machines: 1\nnum_processes: 8\nfsdp_config:\n  {lines}\n"
    assert f"stage = {stage}" in plan_text("a.yaml", text).split("\n")


def test_the_mesh_is_said() -> None:
    said = plan_text("a.yaml", text_of("ok_mesh.yaml")).split("\n")
    assert "tensor = 4" in said


def test_no_precision_is_left_to_the_program() -> None:
    assert "precision" not in plan_text("a.yaml", text_of("ok_machines.yaml"))


def test_a_mesh_that_no_number_of_replicas_fills_is_found_by_the_rules_of_plans() -> None:
    text = text_of("ok_mesh.yaml").replace("tp_size: 4", "tp_size: 3").replace("num_processes: 8", "num_processes: 6")
    assert [each.code for each in found_in("a.yaml", text)] == []
    text = text.replace("num_processes: 6", "num_processes: 8")
    assert sorted(each.code for each in found_in("a.yaml", text)) == ["PLN075", "PLN101"]


@pytest.mark.parametrize("name", cases(HERE, "ok_*.yaml"))
def test_no_value_stops_planc(name: str) -> None:
    for what, text in with_other_values("a.yaml", text_of(name)):
        try:
            found_in("a.yaml", text, "accelerate")
        except Exception as error:
            raise AssertionError(what) from error


def test_the_corpus_is_read_without_a_false_error() -> None:
    for row, text in corpus("accelerate"):
        file = recognised(row["file"], text)
        if isinstance(file, Recognised) and is_known_good(row):
            errors = [each for each in judged(row["file"], text).diagnostics if each.severity is Severity.ERROR]
            assert errors == [], row["file"]
        assert isinstance(file, Recognised) or "template" in row["file"], row["file"]


@pytest.mark.parametrize(
    ("strategy", "word"), [("", "all-gather"), ("\n  parallelism_config_cp_comm_strategy: alltoall", "ring")]
)
def test_how_ranks_of_a_sequence_exchange(strategy: str, word: str) -> None:
    text = (
        "distributed_type: FSDP\nnum_machines: 1\nnum_processes: 8\nfsdp_config: {fsdp_version: 2}\n"
        f"parallelism_config:\n  parallelism_config_dp_shard_size: 4\n  parallelism_config_cp_size: 2{strategy}\n"
    )
    assert f"context = {word}" in plan_text("accelerate.yaml", text).split("\n")

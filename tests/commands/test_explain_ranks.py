"""`planc explain --ranks`: where a rank sits and with whom it makes groups; which ranks may be asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from planc.resources import read_text
from tests.commands.cli import CLEAN, planc

#: 64 ranks: tensor 4 and context 2 innermost, then data 4 in shard groups of 2, then pipeline 2; experts over 8 ranks.
PLAN = """\
use "planc/gpus"
model moe { layers = 24  hidden = 4096  heads = 32  kv_heads = 8  ffn = 14336  vocab = 32_000
  experts { count = 8  top_k = 2  ffn = 14336 } }
plan run { model = moe  cluster { gpu = h100-sxm-80gb  nodes = 8  gpus_per_node = 8 }
  parallel { tensor = 4  context = 2  pipeline = 2  expert = 8 }  shard { stage = 1  size = 2 }
  batch { global = 64  micro = 1  sequence_length = 4Ki }  precision = bf16
}
"""


def asked(folder: Path, text: str, *arguments: str) -> Any:
    (folder / "a.plan").write_text(text)
    return planc("explain", "a.plan", *arguments, cwd=folder)


def data(folder: Path, text: str, *arguments: str) -> Any:
    document = json.loads(asked(folder, text, "--output-format", "json", *arguments).stdout)
    jsonschema.validate(document, json.loads(read_text("schemas/explain.schema.json")))
    return document["plans"][0]["ranks"]


def test_every_rank_has_its_node_and_its_groups(tmp_path: Path) -> None:
    outcome = asked(tmp_path, PLAN, "--ranks")
    assert outcome.returncode == 0
    lines = outcome.stdout.splitlines()
    assert lines[0] == "plan run (a.plan:4:6)"
    assert lines[2] == "generic: 64 ranks on 8 nodes of 8 cards"
    rows = {line.split()[0]: line.split()[1:] for line in lines[3:] if line.startswith("  ")}
    assert rows["tensor"] == ["16", "4", "1", "0-3"]
    assert rows["shard"] == ["16", "4", "2", "0-12/4"]
    assert rows["expert"] == ["8", "8", "1", "0-7"]
    assert rows["rank"] == [
        "node", "card", "tensor", "context", "data", "data+context", "shard", "replicate", "pipeline", "expert",
        "expert-data",
    ]  # fmt: skip
    assert rows["45"] == [
        "5", "5", "44-47", "41-45/4", "37-61/8", "33-61/4", "33-45/4", "45-61/16", "13-45/32", "40-47", "37-61/8",
    ]  # fmt: skip
    assert [rank for rank in range(64) if str(rank) not in rows] == []


def test_a_large_world_is_cut_short_and_its_ranks_may_be_chosen(tmp_path: Path) -> None:
    text = PLAN.replace("nodes = 8 ", "nodes = 1_000_000 ").replace("global = 64", "global = 500_000")
    short = asked(tmp_path, text, "--ranks").stdout
    assert "7999936 more ranks" in " ".join(short.split()) and "`--rank 64-127`" in short
    assert "\n    63  " in short and "\n    64  " not in short
    (one,) = data(tmp_path, text, "--rank", "7999999", "--rank", "0-1,0")
    assert [rank["rank"] for rank in one["ranks"]] == [7_999_999, 0, 1]
    assert one["ranks"][0]["node"] == 999_999 and one["left_out"] == 0
    assert one["ranks"][0]["groups"]["data"] == {"index": 15, "first": 4_000_007, "nodes": 500_000}
    (first,) = data(tmp_path, text, "--ranks")
    assert (len(first["ranks"]), first["left_out"]) == (1024, 7_998_976)
    kinds = {kind["name"]: (kind["size"], kind["count"], kind["steps"]) for kind in first["groups"]}
    assert kinds["data"] == (500_000, 16, [{"size": 500_000, "stride": 8}])


def test_a_group_that_straddles_nodes_is_seen(tmp_path: Path) -> None:
    text = CLEAN.replace("nodes = 1", "nodes = 3").replace("batch ", "parallel { tensor = 6 }  batch ")
    rows = asked(tmp_path, text, "--ranks").stdout.splitlines()
    assert next(row.split() for row in rows if row.startswith("  tensor ")) == ["tensor", "4", "6", "1-2", "0-5"]


def test_trainers_that_group_experts_differently_are_told_apart(tmp_path: Path) -> None:
    text = PLAN.replace("precision", "emit = [megatron, deepspeed, torchtitan]  precision")
    both = data(tmp_path, text, "--rank", "5")
    assert [found["engines"] for found in both] == [["megatron", "torchtitan"], ["deepspeed"]]
    assert [found["ranks"][0]["groups"]["expert"]["first"] for found in both] == [0, 1]


def test_one_rank_is_alone(tmp_path: Path) -> None:
    text = CLEAN.replace("gpus_per_node = 8", "gpus_per_node = 1")
    assert "no rank shares anything with another" in asked(tmp_path, text, "--ranks").stdout


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("tensor = 4", "tensor = 128"), "a replica takes 512 ranks, and the world has 64"),
        (("tensor = 4", "tensor = 12"), "replicas of 48 ranks leave 16 of 64 over"),
        (("size = 2", "size = 3"), "shard groups of 3 leave 1 of 4 replicas over"),
        (("expert = 8", "expert = 64"), "expert groups of 64 ranks leave 32 of a stage's 32 over"),
        (("tensor = 4", "tensr = 4"), "`parallel` has a fault"),
    ],
)
def test_a_broken_layout_says_why_it_makes_no_groups(tmp_path: Path, change: tuple[str, str], reason: str) -> None:
    outcome = asked(tmp_path, PLAN.replace(*change), "--ranks")
    assert outcome.returncode == 1
    assert f"no groups of ranks: {reason}" in outcome.stdout
    (found,) = data(tmp_path, PLAN.replace(*change), "--ranks")
    assert found["unknown"] == reason


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ("64", "planc: --rank 64: the plan `run` has the ranks 0 to 63"),
        ("5-2", "planc: --rank `5-2`: 5 is beyond 2"),
        ("0,x", "planc: --rank `0,x` is no list of ranks; write one such as `0-15,256`"),
        ("", "planc: --rank `` is no list of ranks; write one such as `0-15,256`"),
        ("9" * 30, f"planc: --rank `{'9' * 30}` is no list of ranks; write one such as `0-15,256`"),
        ("0-70000", "planc: --rank names 70001 ranks; at most 65536 are shown at once"),
    ],
)
def test_what_is_no_rank_is_refused(tmp_path: Path, ranks: str, message: str) -> None:
    outcome = asked(tmp_path, PLAN, f"--rank={ranks}")
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (2, "", message + "\n")


def test_ranks_and_numbers_are_not_asked_for_at_once_but_as_data(tmp_path: Path) -> None:
    for other in (["--all"], ["--why", "world.size"]):
        outcome = asked(tmp_path, PLAN, "--ranks", *other)
        assert (outcome.returncode, outcome.stdout) == (2, "")
        assert outcome.stderr.startswith("planc: --ranks shows no numbers")
        assert len(data(tmp_path, PLAN, "--ranks", *other)) == 1

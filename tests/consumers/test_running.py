"""Emitted files in use: tiny models train on gloo through them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiling import plan_of, written_out
from tests.consumers.running import PLANS, free_ports, needs, ran, ran_on_two_nodes

pytestmark = [pytest.mark.consumer, pytest.mark.slow]

TINY = PLANS / "tiny.plan"


@needs("torch")
def test_torchrun_trains_on_one_node(tmp_path: Path) -> None:
    folder = written_out(plan_of(TINY, "torchrun_one"), tmp_path)
    ranks = ran(folder / "torchrun.sh", "--more")
    assert [(rank["rank"], rank["local_rank"], rank["world"]) for rank in ranks] == [(0, 0, 2), (1, 1, 2)]
    assert all(rank["sharded"] and rank["falls"] for rank in ranks)
    assert sum(rank["local"] for rank in ranks) == ranks[0]["total"]
    assert ranks[0]["argv"] == ["train_fsdp2.py", "it's one argument", "--", "-x", "--more"]


@needs("torch")
def test_torchrun_trains_on_two_nodes(tmp_path: Path) -> None:
    folder = written_out(plan_of(TINY, "torchrun_two"), tmp_path)
    ranks = ran_on_two_nodes(folder / "torchrun.sh")
    assert sorted((rank["rank"], rank["local_rank"], rank["node"]) for rank in ranks) == [(0, 0, 0), (1, 0, 1)]
    assert all(rank["sharded"] and rank["world"] == 2 for rank in ranks)


@needs("torch")
def test_torchrun_starts_with_the_nodes_that_came(tmp_path: Path) -> None:
    folder = written_out(plan_of(TINY, "torchrun_elastic"), tmp_path)
    (port,) = free_ports(1)
    waits = "last_call_timeout=1"  # else half a minute for the other node
    ranks = ran(folder / "torchrun.sh", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), PET_RDZV_CONF=waits)
    assert [(rank["rank"], rank["world"], rank["node"]) for rank in ranks] == [(0, 2, 0), (1, 2, 0)]


@needs("deepspeed")
def test_deepspeed_trains_by_the_file_at_stage_1(tmp_path: Path) -> None:
    folder = written_out(plan_of(TINY, "zero1"), tmp_path)
    for rank in ran(folder / "torchrun.sh"):
        assert rank | {"rank": 0} == {
            "rank": 0, "world": 2, "stage": 1, "batch": 16, "micro": 4, "accumulation": 2, "dtype": "torch.bfloat16",
            "clipping": 1.0, "optimizer": "SGD", "scheduler": "WarmupCosineLR", "steps": 1, "finite": True,
        }  # fmt: skip


@needs("deepspeed")
def test_deepspeed_trains_by_the_file_at_stage_3(tmp_path: Path) -> None:
    folder = written_out(plan_of(TINY, "zero3"), tmp_path)
    for rank in ran(folder / "torchrun.sh"):
        assert rank | {"rank": 0} == {
            "rank": 0, "world": 2, "stage": 3, "batch": 16, "micro": 4, "accumulation": 2, "dtype": "torch.bfloat16",
            "clipping": 0.0, "optimizer": "AdamW", "scheduler": "NoneType", "steps": 1, "finite": True,
        }  # fmt: skip


@needs("accelerate")
def test_accelerate_shards_by_the_file_for_fsdp2(tmp_path: Path) -> None:
    """Every parameter is a DTensor: on a CPU accelerate would fall back to DDP without a word."""
    folder = written_out(plan_of(TINY, "accelerate_one"), tmp_path)
    ranks = ran(folder / "accelerate.sh")
    assert [rank["rank"] for rank in ranks] == [0, 1]
    for rank in ranks:
        assert rank["sharded"] and rank["finite"]
        assert rank["units"] == 3  # each Block, and the model
        assert (rank["type"], rank["precision"], rank["accumulation"]) == ("DistributedType.FSDP", "bf16", 2)


@needs("accelerate")
def test_accelerate_trains_copies_by_the_file_for_ddp(tmp_path: Path) -> None:
    folder = written_out(plan_of(TINY, "accelerate_copies"), tmp_path)
    ranks = ran(folder / "accelerate.sh")
    assert [(rank["rank"], rank["world"]) for rank in ranks] == [(0, 2), (1, 2)]
    for rank in ranks:
        assert (rank["wrapper"], rank["held"], rank["units"]) == ("DistributedDataParallel", 1, 0)
        assert (rank["precision"], rank["accumulation"], rank["finite"]) == ("bf16", 2, True)
    assert ranks[0]["weight"] == ranks[1]["weight"]  # each rank saw other samples, and their gradients were averaged


@needs("accelerate")
def test_accelerate_shards_by_the_file_for_fsdp1(tmp_path: Path) -> None:
    folder = written_out(plan_of(TINY, "accelerate_old"), tmp_path)
    ranks = ran(folder / "accelerate.sh")
    assert [(rank["rank"], rank["world"]) for rank in ranks] == [(0, 2), (1, 2)]
    for rank in ranks:
        assert rank["wrapper"] == "FullyShardedDataParallel"
        assert (rank["units"], rank["recomputed"]) == (3, 2)  # each Block, and the model; each Block
        assert (rank["type"], rank["precision"], rank["accumulation"]) == ("DistributedType.FSDP", "bf16", 2)
        assert (rank["sharded"], rank["finite"]) == (False, True)  # FSDP1 has no DTensors
    assert sum(rank["held"] for rank in ranks) == 1
    assert max(rank["held"] for rank in ranks) < 1


@needs("accelerate", "deepspeed")
def test_accelerate_trains_by_the_file_for_deepspeed(tmp_path: Path) -> None:
    folder = written_out(plan_of(TINY, "accelerate_one"), tmp_path)
    ranks = ran(folder / "accelerate.sh", PLANC_BACKEND="deepspeed")
    assert [rank["rank"] for rank in ranks] == [0, 1]
    for rank in ranks:
        assert (rank["type"], rank["stage"], rank["accumulation"]) == ("DistributedType.DEEPSPEED", 3, 2)
        assert (rank["batch"], rank["clipping"], rank["finite"]) == (16, float("inf"), True)


@needs("accelerate")
def test_accelerate_trains_on_two_nodes(tmp_path: Path) -> None:
    folder = written_out(plan_of(TINY, "accelerate_two"), tmp_path)
    ranks = ran_on_two_nodes(folder / "accelerate.sh")
    assert [(rank["rank"], rank["world"], rank["sharded"]) for rank in ranks] == [(0, 2, True), (1, 2, True)]

"""Buckets of DeepSpeed, against what the Hugging Face Trainer takes for `auto`, and DeepSpeed's defaults."""

from __future__ import annotations

from typing import Any

import pytest

from planc.facts.engine import SIZED, engines
from planc.facts.facts import Facts
from planc.plan.model import Unknown
from tests.analysis import analysis_of
from tests.facts.given import facts_of

#: Hidden size, and what transformers 5.23 fills in: hidden^2, int(0.9 * hidden * hidden), 10 * hidden.
FILLED_IN = (
    (2048, 4_194_304, 3_774_873, 20_480),
    (4096, 16_777_216, 15_099_494, 40_960),
    (5120, 26_214_400, 23_592_960, 51_200),
    (8192, 67_108_864, 60_397_977, 81_920),
)

PLAN = """\
gpu card { memory = 80 GiB  bf16 = true }
model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000  family = "llama" }
plan run {
  model = small
  cluster { gpu = card  nodes = 1  gpus_per_node = 8 }
  batch { global = 64  micro = 1 }
  precision = bf16
  launch { script = "train.py" }
  %s
}
"""


def sized(**given: Any) -> Facts:
    """Facts of DeepSpeed that runs by a file of planc's."""
    return facts_of(**given).changed({}, SIZED)


@pytest.mark.parametrize(("hidden", "reduced", "fetched", "kept"), FILLED_IN)
def test_sizes_are_those_of_auto(hidden: int, reduced: int, fetched: int, kept: int) -> None:
    facts = sized(model__hidden=hidden, shard__stage=3)
    assert facts["shard.reduce_bucket"] == reduced
    assert facts["shard.prefetch_bucket"] == fetched
    assert facts["shard.persistence_threshold"] == kept
    assert (reduced, fetched, kept) == (hidden * hidden, int(0.9 * hidden * hidden), 10 * hidden)


def test_stage_3_alone_fetches_ahead() -> None:
    facts = sized(model__hidden=4096, shard__stage=2)
    assert (facts["shard.prefetch_bucket"], facts["shard.persistence_threshold"]) == (0, 0)


def test_a_written_bucket_wins() -> None:
    assert sized(model__hidden=4096, shard__stage=1, shard__bucket=1000)["shard.reduce_bucket"] == 1000


def test_without_a_file_of_its_own_deepspeed_has_its_default() -> None:
    assert facts_of("deepspeed", shard__stage=1)["shard.reduce_bucket"] == 500_000_000
    assert facts_of("gpt-neox", shard__stage=1)["shard.reduce_bucket"] == 500_000_000
    assert facts_of("megatron", shard__stage=1, shard__bucket=1000)["shard.reduce_bucket"] == 0


def test_an_unknown_model_has_no_bucket() -> None:
    bucket = sized(shard__stage=1)["shard.reduce_bucket"]
    assert isinstance(bucket, Unknown) and bucket.missing == ("model.hidden",)


@pytest.mark.parametrize(
    ("rest", "bucket"),
    [
        ("shard { stage = 1 }  emit = [deepspeed]", 1024 * 1024),
        ("shard { stage = 1 }  emit = [deepspeed { trainer = hf }, transformers]", 1024 * 1024),
        ("shard { stage = 1 }  emit = [deepspeed-launcher]", 500_000_000),
        ("shard { stage = 1 }  emit = [accelerate]", 500_000_000),
        ("shard { stage = 1 }  emit = [accelerate, deepspeed]", 500_000_000),
        ("shard { stage = 1  bucket = 5000 }  emit = [deepspeed]", 5000),
    ],
)
def test_memory_counts_the_bucket_of_the_run(rest: str, bucket: int) -> None:
    """accelerate has no key for it, so a run that it starts has DeepSpeed's default whatever else is emitted."""
    plan = analysis_of(PLAN % rest).plans[0]
    (engine,) = engines(plan)
    facts = Facts(plan, engine)
    assert facts["shard.reduce_bucket"] == bucket
    assert facts["memory.buffers"] == 2 * bucket


def test_smaller_buckets_are_more_messages() -> None:
    given = {"communication.data.parameters": 1e9, "communication.data.expert_parameters": 0.0}
    times = {"communication.data.reductions": 4.0, "communication.data.group": 8, "pipeline.longest_stage": 8}
    facts = sized(model__hidden=4096, shard__stage=2).changed({**given, **times})
    assert facts["communication.data.messages"] == 4 * (60 + 2)  # a gather of weights is not cut by `reduce_bucket`
    assert facts.changed({"shard.bucket": 500_000_000})["communication.data.messages"] == 4 * (2 + 2)


def test_the_largest_piece_of_a_weight_is_that_of_the_embedding_or_of_all_experts() -> None:
    dense = sized(model__hidden=8192, model__ffn=28_672, model__vocab=128_256, shard__stage=3)
    assert dense["shard.largest_piece"] == -(-128_256 * 8192 // dense["shard.group"])
    wide = sized(model__hidden=8192, model__ffn=28_672, model__vocab=1000, shard__stage=3)
    assert wide["shard.largest_piece"] == -(-8192 * 28_672 // wide["shard.group"])

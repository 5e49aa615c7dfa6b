"""What a target leaves to the program: said in one piece of advice, never in silence."""

from __future__ import annotations

import pytest

from planc.diagnostics.diagnostic import Diagnostic, Severity
from tests.compiling import analysed

PLAN = """
gpu card { memory = 80 GiB  bf16 = true }
model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000  family = "llama" }
plan run {
  model = small
  cluster { gpu = card  nodes = 1  gpus_per_node = 8 }
  parallel { PARALLEL }
  shard { stage = 1 }
  batch { global = 64  accumulation = ACCUMULATION }
  precision = bf16
  recompute = full
  optimizer = adamw { weight_decay = 0.1  clip = 1.0 }
  schedule = cosine { warmup = 100 steps }
  train { duration = 10_000 steps  seed = 7 }
  checkpoint { every = 500 steps  directory = "out" }
  launch { script = "train.py" }
  emit = [TARGETS]
}
"""


def advice(target: str, *, parallel: str = "", accumulation: int = 8, optimizer: str = "") -> list[Diagnostic]:
    """The advice about a plan that emits one target."""
    text = PLAN.replace("TARGETS", target).replace("PARALLEL", parallel).replace("ACCUMULATION", str(accumulation))
    text = text.replace("weight_decay", f"{optimizer}  weight_decay")
    return [found for found in analysed(text).diagnostics if found.severity is Severity.INFO]


def left(found: list[Diagnostic]) -> list[str]:
    """The fields that the only piece of advice lists."""
    (one,) = found
    return one.notes[0].removeprefix("the program sets ").replace("`", "").split(", ")


def test_deepspeed_leaves_what_is_code_to_the_program() -> None:
    code = ["recompute", "train.seed", "checkpoint.every", "checkpoint.directory"]
    assert left(advice("deepspeed", optimizer="learning_rate = 1e-4")) == code


def test_deepspeed_leaves_an_optimizer_without_a_rate_to_the_program() -> None:
    assert {"optimizer", "optimizer.weight_decay"} <= set(left(advice("deepspeed")))
    assert "optimizer.clip" not in left(advice("deepspeed"))


def test_deepspeed_leaves_the_layout_of_a_pipeline_to_the_program() -> None:
    found = left(advice("deepspeed", parallel="pipeline = 2  tensor = 2", accumulation=32))
    assert {"parallel.tensor", "parallel.pipeline"} <= set(found)
    assert "parallel.tensor" not in left(advice("deepspeed", parallel="tensor = 2", accumulation=16))


def test_accelerate_leaves_the_optimizer_and_the_schedule_to_the_program() -> None:
    found = set(left(advice("accelerate", optimizer="learning_rate = 1e-4")))
    assert {
        "optimizer",
        "optimizer.learning_rate",
        "schedule",
        "schedule.warmup",
        "train.duration",
        "recompute",
    } <= found
    assert "optimizer.clip" not in found  # the file for DeepSpeed, the only one at stage 1, says it


@pytest.mark.parametrize("target", ["torchrun", "slurm"])
def test_a_launcher_leaves_nothing(target: str) -> None:
    """It says nothing about the training at all, so it has nothing to leave out."""
    assert advice(target) == []

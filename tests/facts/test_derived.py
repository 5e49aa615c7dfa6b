"""What policies may read of the facts: every number that says something about the plan, in its dimension."""

from __future__ import annotations

import re

import pytest

from planc.facts.engine import engines
from planc.facts.facts import FACTS, STAGED, Facts
from planc.plan.model import Unknown
from planc.plan.schema import APPROXIMATE, DERIVED
from planc.plan.units import (
    BYTES,
    ENERGY,
    FLOP,
    FLOP_PER_TOKEN,
    MONEY,
    PLAIN,
    RATE,
    STEPS,
    TIME,
    TOKEN_RATE,
    TOKENS,
    Amount,
)
from tests.analysis import analysis_of, analysis_of_file
from tests.shared import ROOT

DIMENSIONS = {
    "ranks": PLAIN, "count": PLAIN, "parameters": PLAIN, "samples": PLAIN, "layers": PLAIN, "share": PLAIN,
    "bytes": BYTES, "FLOP": FLOP, "FLOP/s": RATE, "tokens": TOKENS, "tokens/s": TOKEN_RATE, "s": TIME, "GPU s": TIME,
    "steps": STEPS, "J": ENERGY, "money": MONEY,
}  # fmt: skip

#: Facts that are steps on the way to a derived number, or say the same as a field: (pattern, why).
INNER = (
    (r"kernel\..*|layer\..*|stage\..*", "of one kernel, layer or stage"),
    (r".*_width|memory\.fused", "bytes of one number, or a word"),
    (r"memory\.layer_.*|memory\.recomputed|memory\.worst_stage", "of one layer, or which stage it is"),
    (r"communication\.\w+\.(bandwidth|latency|messages|reductions|gathers|group|\w*parameters)", "goes into others"),
    (r"communication\.overlapped|step\.limit", "a word"),
    (r"step\.(pass|passes|ideal|overhead|recompute|sends|taken)", "a part of another"),
    (r"step\.(flops_per_second_per_card|mfu_full_attention)", "MFU, counted otherwise"),
    (r"flops\.(attention|forward|mlp|output|projections|recomputed)", "a part of `flops.per_token`"),
    (r"flops\.(full_attention|hardware_per_token|per_token_full_attention|wide_peak)", "counted otherwise"),
    (r"model\.\w+_parameters|model\.moe_layers|parallel\.(\w*parameters\w*|padded_vocab)", "a part of the total"),
    (r"world\.(model_parallel|replicas)|shard\.(group|expert_group)", "a product or quotient of sizes"),
    (r"shard\.(reduce_bucket|prefetch_bucket|persistence_threshold|largest_piece)", "a setting of DeepSpeed alone"),
    (r"\w+\.leftover|parallel\.straddling", "a rest that PLN101, PLN114, PLN201 or PLN501 reports"),
    (r"batch\.(passes|per_pass)", "as `batch.accumulation`"),
    (r"pipeline\.(head_layers|judged_stages|longest_stage)", "a step on the way"),
    (r"checkpoint\.young_interval", "an estimate that `checkpoint.best_interval` betters"),
)  # fmt: skip

#: What LANGUAGE.md promises; hours of cards are a time, `train.gpu_time <= 5000 h`.
PROMISED = (
    "world.size", "shard.replicas", "parallel.expert_data", "batch.tokens", "model.active_parameters",
    *(f"memory.{name}" for name in (
        "weights", "gradients", "optimizer", "activations", "buffers", "total", "capacity", "free", "headroom", "host",
    )),
    *(f"communication.{axis}.{name}" for axis in ("data", "tensor", "pipeline", "context", "expert")
      for name in ("bytes", "time", "exposed")),
    "pipeline.bubble", "step.time", "step.flops", "step.mfu", "step.hfu", "step.tokens_per_second",
    "train.steps", "train.tokens", "train.time", "train.gpu_time", "train.cost", "train.energy",
    "checkpoint.size", "checkpoint.lost", "checkpoint.best_interval",
)  # fmt: skip

PRICED = """\
use "planc/gpus"
use "planc/models"
cluster hall {
  gpu = h100-sxm-80gb  nodes = 4  gpus_per_node = 8  inter_node = 50 GB/s  storage = 10 GB/s  cpu_memory = 1 TiB
  mtbf_per_gpu = 50_000 h  price_per_gpu = 2 USD/h  energy_price = 0.2 EUR/kWh
}
plan run {
  model      = llama-3-8b
  cluster    = hall
  parallel   { tensor = 2 }
  shard      { stage = 1 }
  batch      { global = 256  micro = 1  sequence_length = 4Ki }
  precision  = bf16
  recompute  = full
  train      { duration = 10_000 steps }
  checkpoint { every = 500 steps }
  emit       = [torchrun]
}
"""


#: What the examples may leave open: not each of them states prices, storage and how often a card fails.
UNPRICED = {path for path in DERIVED if path.startswith(("step.", "train.", "checkpoint.", "world.", "communication."))}


def test_what_the_language_promises_is_there() -> None:
    assert set(PROMISED) <= set(DERIVED)


def test_every_fact_can_be_read_or_is_a_step_on_the_way() -> None:
    inner = {path for path in FACTS if any(re.fullmatch(pattern, path) for pattern, _ in INNER)} - set(DERIVED)
    assert set(FACTS) - inner == set(DERIVED)
    assert not STAGED & set(DERIVED)


@pytest.mark.parametrize("path", DERIVED)
def test_dimension(path: str) -> None:
    dimension = DIMENSIONS[FACTS[path].unit]
    assert DERIVED[path] in ((dimension, FLOP_PER_TOKEN) if dimension == FLOP else (dimension,))


@pytest.mark.parametrize("name", ["priced", "finetune-8b", "pretrain-70b", "pretrain-h200"])
def test_what_is_rounded_is_known_to_be(name: str) -> None:
    priced = name == "priced"
    analysis = analysis_of(PRICED) if priced else analysis_of_file(ROOT / "examples" / f"{name}.plan")
    known = set()
    for plan in analysis.plans:
        for engine in engines(plan):
            facts = Facts(plan, engine)
            for path in DERIVED:
                value = facts[path].value if isinstance(facts[path], Amount) else facts[path]
                if not isinstance(value, Unknown):
                    known.add(path)
                    assert path in APPROXIMATE or not isinstance(value, float), path
    assert set(DERIVED) - known <= (set() if priced else UNPRICED)

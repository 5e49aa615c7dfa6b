"""Which engine trains a plan, and what each keeps and sends for a gradient where the plan does not say it."""

import pytest

from planc.facts.engine import engines
from planc.facts.facts import Facts
from tests.analysis import analysis_of

PLAN = """\
gpu card {{ memory = 80 GiB  bf16 = true }}
cluster one {{ gpu = card  nodes = 1  gpus_per_node = 8 }}
model small {{ layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }}
plan run {{
  model     = small
  cluster   = one
  shard     {{ stage = {stage} }}
  batch     {{ global = 64  micro = 1 }}
  precision = {precision}
  launch    {{ script = "train.py" }}
  emit      = [{emit}]
}}
"""


def plan_of(emit: str, *, stage: int = 1, precision: str = "bf16"):
    (plan,) = analysis_of(PLAN.format(emit=emit, stage=stage, precision=precision)).plans
    return plan


@pytest.mark.parametrize(
    ("emit", "stage", "names"),
    [
        ("deepspeed", 1, ["deepspeed"]),
        ("megatron, slurm", 1, ["megatron"]),
        ("torchtitan", 3, ["torchtitan"]),
        ("accelerate", 3, ["fsdp2"]),
        ("accelerate", 1, ["deepspeed"]),
        ("accelerate, deepspeed, torchrun", 3, ["fsdp2", "deepspeed"]),
        ("accelerate, deepspeed", 1, ["deepspeed"]),
        ("torchrun, slurm", 3, ["generic"]),
        ("", 3, ["generic"]),
    ],
)
def test_engines(emit, stage, names):
    assert [engine.name for engine in engines(plan_of(emit, stage=stage))] == names


@pytest.mark.parametrize(
    ("emit", "stage", "precision", "sent", "kept"),
    [
        ("deepspeed", 1, "bf16", 2, 2),  # DeepSpeed accumulates in the dtype of the model unless told otherwise
        ("megatron", 1, "bf16", 4, 4),  # Megatron's DDP accumulates and reduces in fp32
        ("torchtitan", 3, "bf16", 4, 4),  # mixed_precision_reduce is float32
        ("accelerate", 3, "bf16", 2, 4),  # accelerate reduces in 16 bits; FSDP2 keeps the dtype of its shards
        ("torchrun", 1, "bf16", 2, 2),  # no trainer: 16 bits, and said so
        ("megatron", 1, "bf16 { gradients = bf16 }", 2, 2),
        ("deepspeed", 1, "bf16 { gradients = fp32 }", 4, 4),
        ("deepspeed", 1, "fp32", 4, 4),
    ],
)
def test_gradients_by_trainer(emit, stage, precision, sent, kept):
    plan = plan_of(emit, stage=stage, precision=precision)
    facts = Facts(plan, engines(plan)[0])
    assert (facts["memory.gradient_width"], facts["memory.resident_gradient_width"]) == (sent, kept)


def test_trainers_that_accumulate_differently_leave_it_unknown():
    plan = plan_of("megatron, deepspeed")
    for engine in engines(plan):
        assert Facts(plan, engine).unknown(("memory.gradients", "memory.total", "communication.data.bytes"))

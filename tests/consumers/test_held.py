"""Bytes of the model states that two processes hold, trained for real on gloo: those of the facts, and padding."""

from __future__ import annotations

import json
from math import ceil, prod
from pathlib import Path
from typing import Any

import pytest

from planc.facts.facts import Facts
from tests.compiling import analysed, errors, facts_of
from tests.consumers.running import needs, ran

pytestmark = [pytest.mark.consumer, pytest.mark.slow]

RANKS = 2
#: torchtitan knows models by a name; of these sizes it has none.
OWN_MODEL = 'torchtitan { module = "mine.models"  flavor = "small" }'
EVEN = {"hidden": 32, "layers": 2, "heads": 4, "kv_heads": 2, "ffn": 48, "vocab": 64}
UNEVEN = {"hidden": 15, "layers": 1, "heads": 3, "kv_heads": 1, "ffn": 7, "vocab": 67}
STAGES = (1, 2, 3)


def facts(sizes: dict[str, int], stage: int, target: str, gradients: str = "") -> Facts:
    """The facts of a plan for a model of these sizes on two cards of one node."""
    model = "  ".join(f"{name} = {size}" for name, size in sizes.items())
    analysis = analysed(
        f"""
        use "planc/gpus"
        model small {{ {model} }}
        plan run {{
          model = small
          cluster {{ gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = {RANKS} }}
          shard {{ stage = {stage} }}
          batch {{ global = 4  micro = 1  sequence_length = 8 }}
          precision = bf16 {{ {f"gradients = {gradients}" if gradients else ""} }}
          emit = [{target}]
        }}
        """
    )
    assert errors(analysis) == [], errors(analysis)
    return facts_of(analysis.plans[0])


def launched(program: str, cases: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """What the ranks reported of each case; one launch for all, which is most of the time."""
    found = ran(Path("torchrun"), "--standalone", f"--nproc-per-node={RANKS}", program, json.dumps(cases))
    return [[rank for rank in found if rank["case"] == number] for number in range(len(cases))]


@needs("torch")
def test_fsdp2_holds_what_the_facts_say_and_rounds_the_rows_of_each_tensor_up() -> None:
    """The last rank has the fewer rows, and as much memory under its weights and gradients as the others."""
    even, (first, last) = launched("held_fsdp2.py", [EVEN, UNEVEN])
    expected = facts(EVEN, 3, OWN_MODEL)
    for rank in even:
        for part in ("weights", "gradients", "optimizer"):
            assert rank[part]["bytes"] == rank[part]["kept"] == expected[f"memory.{part}"], (rank["rank"], part)
    expected = facts(UNEVEN, 3, OWN_MODEL)
    padded = 4 * sum(ceil(rows / RANKS) * prod(rest) for rows, *rest in first["shapes"])
    assert expected["memory.weights"] < padded
    for part in ("weights", "gradients"):
        assert first[part]["bytes"] == first[part]["kept"] == last[part]["kept"] == padded
        assert first[part]["bytes"] + last[part]["bytes"] == RANKS * expected[f"memory.{part}"]
    assert first["optimizer"]["bytes"] == 2 * padded
    assert first["optimizer"]["bytes"] + last["optimizer"]["bytes"] == RANKS * expected["memory.optimizer"]


@pytest.fixture(scope="module")
def zero() -> list[list[dict[str, Any]]]:
    """What two ranks hold under each stage of ZeRO: of the even sizes, of the uneven ones, and with fp32 gradients."""
    jobs = ((EVEN, "bf16"), (UNEVEN, "bf16"), (EVEN, "fp32"))
    cases = [sizes | {"stage": stage, "gradients": dtype} for sizes, dtype in jobs for stage in STAGES]
    return launched("held_deepspeed.py", cases)


@needs("deepspeed")
@pytest.mark.parametrize("stage", STAGES)
def test_zero_holds_what_the_facts_say(stage: int, zero: list[list[dict[str, Any]]]) -> None:
    expected = facts(EVEN, stage, "deepspeed")
    for rank in zero[STAGES.index(stage)]:
        assert (rank["weights"], rank["optimizer"]) == (expected["memory.weights"], expected["memory.optimizer"])
        assert rank["reduced" if stage == 2 else "gradients"] == expected["memory.gradients"]
        assert rank["reduced"] == expected["parallel.parameters_per_rank"] * 2 / RANKS


@needs("deepspeed")
@pytest.mark.parametrize("stage", STAGES)
def test_zero_pads_what_the_ranks_do_not_divide(stage: int, zero: list[list[dict[str, Any]]]) -> None:
    """Stages 1 and 2 round all elements up to a multiple of twice the ranks, stage 3 those of each tensor.

    Between micro batches stage 2 keeps whole tensors, also those of which it has a part only.
    """
    expected = facts(UNEVEN, stage, "deepspeed")
    ranks = zero[len(STAGES) + STAGES.index(stage)]
    counts = [prod(shape) for shape in ranks[0]["shapes"]]
    assert sum(counts) == expected["parallel.parameters_per_rank"]
    rounded = ceil(sum(counts) / (2 * RANKS)) * 2 * RANKS
    part = sum(ceil(count / RANKS) for count in counts) if stage == 3 else rounded // RANKS
    assert expected["memory.optimizer"] < 12 * part
    for rank in ranks:
        assert rank["weights"] == 2 * (part if stage == 3 else rounded)
        assert rank["optimizer"] == 12 * part
    if stage == 2:
        assert [rank["gradients"] for rank in ranks] == [2 * touched(counts, index, part) for index in range(RANKS)]


@needs("deepspeed")
@pytest.mark.parametrize("stage", STAGES)
def test_zero_with_fp32_gradients_holds_what_the_facts_say(stage: int, zero: list[list[dict[str, Any]]]) -> None:
    """At stage 1 the 16-bit gradients of the backward pass stand beside the accumulated ones, until they are added."""
    expected = facts(EVEN, stage, "deepspeed", "fp32")
    passing = 2 * expected["parallel.parameters_per_rank"] if stage == 1 else 0
    for rank in zero[2 * len(STAGES) + STAGES.index(stage)]:
        assert (rank["weights"], rank["optimizer"]) == (expected["memory.weights"], expected["memory.optimizer"])
        assert rank["reduced" if stage == 2 else "gradients"] == expected["memory.gradients"] + passing


def touched(counts: list[int], index: int, part: int) -> int:
    """Elements of the tensors of which a rank's part of all elements holds any."""
    found, start = 0, 0
    for count in counts:
        if start < (index + 1) * part and index * part < start + count:
            found += count
        start += count
    return found

"""What is said of a run that cannot go on with fewer nodes: which target cannot, and which numbers would work."""

from __future__ import annotations

import pytest

from tests.compiling import analysed


def said(emit: str, total: int, nodes: int = 8, least: int = 4) -> list[tuple[str, tuple[str, ...]]]:
    """Message and help of each fault of a plan that may start with fewer nodes."""
    text = f"""\
gpu card {{ memory = 80 GiB  bf16 = true }}
model small {{ layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }}
plan run {{
  model = small
  cluster {{ gpu = card  nodes = {nodes}  gpus_per_node = 8 }}
  batch {{ global = {total}  micro = 1 }}
  precision = bf16
  launch {{ script = "train.py"  min_nodes = {least} }}
  emit = [{emit}]
}}
"""
    return [(found.message, found.help) for found in analysed(text).diagnostics if found.code == "PLN904"]


def test_the_numbers_that_help_do_help() -> None:
    ((message, help),) = said("torchrun", 448)
    assert message == "on 5 nodes no accumulation reaches 448 samples"
    assert help == (
        "write `global = 6720` in `batch`, which 4 to 8 nodes divide",
        "write `min_nodes = 7`, from which on 448 samples are whole steps",
    )
    assert said("torchrun", 6720) == []
    assert said("torchrun", 448, least=7) == []


def test_a_batch_beyond_all_measure_is_no_help() -> None:
    ((_, help),) = said("torchrun", 8 * 64, nodes=64, least=2)
    assert help == ()


@pytest.mark.parametrize(
    ("emit", "named"),
    [
        ("kubernetes, torchrun", "`kubernetes`"),
        ("torchrun, env, slurm", "`slurm`"),
        ("slurm, accelerate, torchrun", "`slurm` and `accelerate`"),
    ],
)
def test_who_cannot_is_named_once(emit: str, named: str) -> None:
    assert said(emit, 6720) == [
        (f"{named} cannot go on with fewer nodes", ("emit `torchrun` alone, or remove `min_nodes`",))
    ]

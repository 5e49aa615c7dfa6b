"""A target that starts a program says which one is missing, unless a trainer refuses the target with it or without."""

from __future__ import annotations

import pytest

from planc.targets import known_targets, load_target, target_names
from tests.compiling import analysed

MISSING = "PLN901"


def said(emit: str, code: str) -> list[tuple[str, tuple[str, ...]]]:
    """Message and help of each fault of a code, for a plan without a program."""
    text = f"""\
gpu card {{ memory = 80 GiB  bf16 = true }}
model small {{ layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000  family = "llama" }}
plan run {{
  model = small
  cluster {{ gpu = card  nodes = 1  gpus_per_node = 8 }}
  batch {{ global = 64  micro = 1  sequence_length = 2Ki }}
  precision = bf16
  emit = [{emit}]
}}
"""
    return [(found.message, found.help) for found in analysed(text).diagnostics if found.code == code]


@pytest.mark.parametrize("name", [name for name in target_names() if not load_target(name).engines])
def test_a_launcher_names_a_program(name: str) -> None:
    expected = [] if name == "env" else [(f"`{name}` is emitted without `launch.script`", HELP)]
    assert said(name, MISSING) == expected


HELP = ('write `launch { script = "train.py" }`',)


@pytest.mark.parametrize(
    ("emit", "script"),
    [
        ("slurm, megatron", "pretrain_gpt.py"),
        ("nanotron", "run_train.py"),
        ("gpt-neox", "train.py"),
        ("megatron-bridge", "scripts/training/run_recipe.py"),
        ("accelerate", "train.py"),
    ],
)
def test_the_program_is_that_of_the_trainer(emit: str, script: str) -> None:
    assert [help for _, help in said(emit, MISSING)] == [(f'write `launch {{ script = "{script}" }}`',)]


@pytest.mark.parametrize(
    ("trainer", "code"),
    [("torchtitan", "PLN974"), ("gpt-neox", "PLN984"), ("nanotron", "PLN978"), ("megatron-bridge", "PLN968")],
)
@pytest.mark.parametrize("starter", ["slurm", "torchrun", "ray-train"])
def test_a_starter_that_is_refused_anyway_is_asked_for_no_program(trainer: str, code: str, starter: str) -> None:
    emit = f"{starter}, {trainer}"
    assert [message for message, _ in said(emit, MISSING) if f"`{starter}`" in message] == []
    assert [message for message, _ in said(emit, code) if f"`{starter}` starts the program without" in message] != []


def test_no_other_name_of_a_target_is_the_name_of_one() -> None:
    aliases = known_targets().aliases()
    assert aliases["pytorch"] == ("fsdp2", "torchrun")
    assert [alias for alias in aliases if alias in target_names()] == []


def test_a_launcher_that_starts_no_ranks_of_a_node_is_refused() -> None:
    ((message, _),) = said("torchrun, torchx { scheduler = local_cwd  launcher = slurm }", "PLN996")
    assert message == "`slurm` does not start the ranks of a node"

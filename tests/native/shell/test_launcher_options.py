"""What is said of an option of a launcher: its places, what it was meant to be, and the edit that mends it."""

from __future__ import annotations

import pytest

from planc.diagnostics.diagnostic import Diagnostic
from tests.native.judging import found_in


def only(text: str) -> Diagnostic:
    """The one thing that is wrong in a script of these lines."""
    (found,) = found_in("a.sh", f"#!/bin/bash\n{text}\n")
    return found


def mended(text: str) -> str:
    """The lines, with the one fix of what is wrong in them."""
    found = only(text)
    (fix,) = found.fixes
    (edit,) = fix.edits
    whole = edit.span.source.text
    return f"{whole[: edit.span.start]}{edit.text}{whole[edit.span.end :]}".partition("\n")[2].rstrip("\n")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("accelerate launch --num_procesess 4 a.py", "accelerate launch --num_processes 4 a.py"),
        ("accelerate launch --num-procesess=4 a.py", "accelerate launch --num-processes=4 a.py"),
        ("accelerate launch --mixed_precison bf16 a.py", "accelerate launch --mixed_precision bf16 a.py"),
        ("torchrun --nprocs-per-node=8 a.py", "torchrun --nproc-per-node=8 a.py"),
        ("deepspeed --num_gpsu 8 a.py", "deepspeed --num_gpus 8 a.py"),
        ("A='--nproc_per_nod=8 --nnode_s 1'\ntorchrun $A a.py", "A='--nproc_per_nod=8 --nnodes 1'\ntorchrun $A a.py"),
    ],
)
def test_a_misspelt_option_is_renamed_and_keeps_its_value(text: str, meant: str) -> None:
    assert mended(text) == meant


def test_a_beginning_of_several_names_lists_them() -> None:
    found = only("torchrun --standalone --mo 1 a.py")
    assert found.help == ("did you mean `--module` or `--monitor-interval`?",)
    assert found.fixes == ()


def test_an_option_of_the_program_before_it_is_told_where_it_belongs() -> None:
    found = only("torchrun --standalone --learning-rate 1e-4 a.py")
    assert (found.code, found.help) == ("PLN062", ("what the program gets stands behind it",))


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("CUDA_VISIBLE_DEVICES=0 torchrun --nproc_per_node=2 a.py", ["--nproc_per_node=2", "CUDA_VISIBLE_DEVICES=0"]),
        ("accelerate launch --use_fsdp --use_deepspeed a.py", ["--use_deepspeed", "--use_fsdp"]),
        ("deepspeed --num_gpus 2 --include=localhost:0 a.py", ["--include=localhost:0", "--num_gpus"]),
        ("deepspeed a.py &\ndeepspeed b.py", ["deepspeed", "deepspeed"]),
    ],
)
def test_both_places_are_shown(text: str, places: list[str]) -> None:
    found = only(text)
    assert [label.span.text for label in (found.primary, *found.related)] == places

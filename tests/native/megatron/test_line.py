"""Megatron's own parser against planc over command lines: what it refuses, planc refuses, and nothing else."""

from __future__ import annotations

import contextlib
import io
import shlex
from pathlib import Path

import pytest

from planc.diagnostics.diagnostic import Severity
from tests.commands.cli import planc
from tests.native.judging import found_in, plan_text

#: A command line that starts: each flag with its values.
LINE = (
    ("--num-layers", "24"), ("--hidden-size", "1024"), ("--num-attention-heads", "16"), ("--seq-length", "2048"),
    ("--max-position-embeddings", "2048"), ("--micro-batch-size", "2"), ("--global-batch-size", "64"),
    ("--train-iters", "100"), ("--lr", "1e-4"), ("--min-lr", "1e-5"), ("--lr-decay-style", "cosine"), ("--bf16",),
    ("--swiglu",), ("--normalization", "RMSNorm"), ("--tensor-model-parallel-size", "1"), ("--data-path", "a", "b"),
    ("--recompute-granularity", "selective"), ("--recompute-modules", "core_attn"), ("--timing-log-level", "1"),
    ("--clip-grad", "1.0"), ("--split", "99,1,0"), ("--profile-ranks", "0", "1"),
)  # fmt: skip

#: What takes the place of a flag's values.
VALUES: tuple[tuple[str, ...], ...] = (
    (), ("two",), ("1e6",), ("64.0",), ("7",), ("-1",), ("0.5",), ("true",), ("1_000",), ("full",), ("",), ("1", "2"),
    ("x", "y", "z"), ("1e999",), ("nan",), (" 8 ",), ("+3",),
)  # fmt: skip

#: Codes of what planc knows of words on a command line; the others are of what they mean beside each other.
_OF_WORDS = ("PLN062", "PLN063", "PLN066")


def _script(flags: tuple[tuple[str, ...], ...]) -> str:
    words = shlex.join([word for flag in flags for word in flag])
    return f"#!/bin/bash\ntorchrun --standalone --nproc_per_node 8 pretrain_gpt.py {words}\n"


def _is_taken(flags: tuple[tuple[str, ...], ...]) -> bool:
    from tests.consumers.megatron_parser import parsed

    with contextlib.redirect_stderr(io.StringIO()):
        try:
            parsed([word for flag in flags for word in flag])
        except SystemExit:
            return False
    return True


def _errors(flags: tuple[tuple[str, ...], ...]) -> list[str]:
    found = found_in("train.sh", _script(flags))
    return [each.message for each in found if each.severity is Severity.ERROR and each.code in _OF_WORDS]


def _changed() -> list[tuple[tuple[str, ...], ...]]:
    """The line with each flag's values changed, as words of their own and behind a `=`, and its name misspelt."""
    found = []
    for at, (name, *_) in enumerate(LINE):
        others = [(name, *values) for values in VALUES]
        others += [(f"{name}={values[0]}", *values[1:]) for values in VALUES if values]
        others += [(name.replace("-", "_").replace("__", "--"), *LINE[at][1:]), (name[:-1], *LINE[at][1:])]
        found += [(*LINE[:at], other, *LINE[at + 1 :]) for other in others]
    return found


def _has_no_size(line: tuple[tuple[str, ...], ...]) -> bool:
    """Whether a flag is no number that anything can be counted with: `float` takes it, and the run is of no use."""
    return any(word.endswith(("nan", "1e999")) for flag in line for word in flag)


@pytest.mark.consumer
def test_what_the_parser_refuses_planc_refuses_and_nothing_else() -> None:
    pytest.importorskip("megatron.core", reason="megatron-core is not installed")
    assert _is_taken(LINE)
    assert _errors(LINE) == []
    counts = {True: 0, False: 0}
    wrong = []
    for line in _changed():
        taken = _is_taken(line)
        counts[taken] += 1
        if taken != (_errors(line) == []) and not _has_no_size(line):
            wrong.append((taken, next(flag for flag in line if flag not in LINE), _errors(line)))
    assert wrong == []
    assert min(counts.values()) > 200, counts


def test_what_only_the_run_knows_has_no_default() -> None:
    line = tuple(flag for flag in LINE if flag[0] not in ("--tensor-model-parallel-size", "--lr"))
    said = plan_text("a.sh", _script(line)[:-1] + " --lr 1e-4 --tensor-model-parallel-size $TP\n").split("\n")
    assert not any(text.startswith("tensor =") for text in said)
    assert "learning_rate = 0.0001" in said
    assert "tensor = 1" in plan_text("a.sh", _script(line)).split("\n")


def test_a_batch_that_grows_has_three_numbers() -> None:
    line = (*(flag for flag in LINE if flag[0] != "--train-iters"), ("--rampup-batch-size", "16", "16", "1000"))
    said = plan_text("a.sh", _script((*line, ("--train-samples", "100000")))).split("\n")
    assert ["start = 16", "increment = 16", "over = 1000 samples"] == [
        text for text in said if text.startswith(("start ", "increment ", "over "))
    ]


def test_a_file_of_flags_takes_the_place_of_the_flags() -> None:
    assert "micro = 2" not in plan_text("a.sh", _script((*LINE, ("--yaml-cfg", "model.yaml"))))


def test_a_file_of_words_is_read_as_a_command_line(tmp_path: Path) -> None:
    words = [word for flag in LINE for word in (("=".join(flag),) if len(flag) == 2 else flag)]
    text = "\n".join(["# Flags, a word a line.", *words, ""])
    assert found_in("megatron.args", text) == ()
    assert {"layers = 24", "micro = 2", "learning_rate = 0.0001", 'path = "a b"'} <= set(
        plan_text("megatron.args", text).split("\n")
    )
    (found,) = found_in("megatron.args", text.replace("--lr=", "--learning-rat="))
    assert (found.code, found.primary.span.text) == ("PLN062", "--learning-rat")
    (found,) = found_in("megatron.args", text.replace("--num-layers=24", "--num-layers=3e1"))
    assert (found.code, found.primary.span.text, found.primary.span.line) == ("PLN063", "3e1", 2)
    (tmp_path / "other.args").write_text("--verbose\n--color=never\n", encoding="utf-8")
    assert planc("lint", ".", cwd=tmp_path).stdout == "No plan files or configurations of other tools were read.\n"


def test_a_flag_of_another_release_is_no_beginning_of_a_longer_one() -> None:
    (found,) = found_in("a.sh", _script((*LINE, ("--overlap-p2p-communication",))))
    assert (found.code, found.severity.value) == ("PLN062", "warning")
    (found,) = found_in("a.sh", _script((*LINE, ("--save-int", "10"))))
    assert found.help == ("did you mean `--save-interval`?",)

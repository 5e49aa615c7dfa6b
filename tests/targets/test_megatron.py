"""Megatron's flags on their way from the plan to the program: every script passes each line as one word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiling import analysed, file_of, written_out
from tests.targets.stubs import Outcome, Stubs
from tests.targets.test_scripts import HOSTILE, literal, plan, text_of

LAUNCH = 'script = "pretrain_gpt.py"  args = ["--mock-data", "a b"]'
SCRIPTS = {"megatron.sh": "megatron", "torchrun.sh": "megatron, torchrun", "job.sbatch": "megatron, slurm"}


@pytest.fixture
def stubs(tmp_path: Path) -> Stubs:
    return Stubs(tmp_path / "stubs")


def called(stubs: Stubs, script: Path, cwd: Path) -> Outcome:
    """The outcome of a script that the caller gives one more word."""
    if script.name == "job.sbatch":
        return stubs.submit(script, "--more", cwd=cwd, nodes=1)
    return stubs.run(script, "--more", cwd=cwd)


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_line_is_a_word(script: str, stubs: Stubs, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    texts = [text.replace("MARK", str(mark)) for text in HOSTILE if "\n" not in text]
    for data, saved, resumed in zip(texts[::3], texts[1::3], texts[2::3], strict=False):
        paths = f"""dataset {{ path = {literal(data)} }}  resume {{ directory = {literal(resumed)} }}
            checkpoint {{ every = 9 steps  directory = {literal(saved)} }}"""
        compiled = plan(SCRIPTS[script], LAUNCH, rest=paths)
        outcome = called(stubs, written_out(compiled, tmp_path / "out") / script, tmp_path)
        assert outcome.status == 0, outcome.stderr
        (call,) = outcome.of("torchrun")
        words = call.argv[call.argv.index("pretrain_gpt.py") + 1 :]
        lines = file_of(compiled, "megatron.args").split("\n")
        assert words == [*(line for line in lines if line and not line.startswith("#")), "--mock-data", "a b", "--more"]
        assert {f"--data-path={data}", f"--save={saved}", f"--load={resumed}"} <= set(words)
    assert not mark.exists()


@pytest.mark.parametrize("script", SCRIPTS)
def test_nothing_starts_without_the_flags(script: str, stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan(SCRIPTS[script], LAUNCH), tmp_path / "out")
    (folder / "megatron.args").unlink()
    outcome = called(stubs, folder / script, tmp_path)
    assert (outcome.status, outcome.calls) == (2, outcome.of("scontrol"))
    assert "megatron.args: compile the target megatron too" in outcome.stderr


def test_the_program_of_several_trainers_is_not_given_the_flags() -> None:
    text = text_of("megatron, deepspeed, torchrun", LAUNCH)
    compiled = analysed(text.replace("precision = bf16", "precision = bf16 { gradients = fp32 }")).plans[0]
    assert "megatron.args" in file_of(compiled, "megatron.sh")
    assert "megatron.args" not in file_of(compiled, "torchrun.sh")


def test_a_plan_without_a_program_has_the_flags_alone(tmp_path: Path) -> None:
    folder = written_out(plan("megatron", ""), tmp_path)
    assert sorted(path.name for path in folder.iterdir()) == ["megatron.args"]

"""deepspeed.sh, run with a stand-in for DeepSpeed's launcher: how it is called, and when it is not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.compiling import file_of, written_out
from tests.targets.stubs import Stubs
from tests.targets.test_scripts import plan

HOSTS = 'deepspeed-launcher { hosts = ["n1", "n2"] }'
EACH = 'deepspeed-launcher { hosts = ["n1", "n2"]  ssh = false }'


@pytest.fixture
def stubs(tmp_path: Path) -> Stubs:
    stubs = Stubs(tmp_path / "stubs")
    shutil.copy(stubs.programs / "torchrun", stubs.programs / "deepspeed")
    return stubs


def test_on_one_node_no_host_file_of_the_machine_is_read(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("deepspeed-launcher", 'script = "t.py"  args = ["x"]'), tmp_path)
    (call,) = stubs.run(folder / "deepspeed.sh", "more", cwd=tmp_path, MASTER_PORT="4242").of("deepspeed")
    assert call.argv == [
        "--hostfile", "/dev/null", "--num_nodes", "1", "--num_gpus", "8", "--master_port", "4242", "--no_local_rank",
        "--", "t.py", "x", "more",
    ]  # fmt: skip


def test_hosts_have_a_line_each(tmp_path: Path) -> None:
    compiled = plan(HOSTS, 'script = "t.py"', nodes=2)
    assert file_of(compiled, "hostfile") == "n1 slots=8\nn2 slots=8\n"


def test_over_ssh_the_master_is_the_first_host_unless_the_caller_says_otherwise(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan(HOSTS, 'script = "t.py"', nodes=2), tmp_path)
    for caller, master in (("", "n1"), ("10.0.0.7", "10.0.0.7")):
        outcome = stubs.run(folder / "deepspeed.sh", cwd=tmp_path, MASTER_ADDR=caller)
        (call,) = outcome.of("deepspeed")
        assert call.argv[call.argv.index("--hostfile") + 1] == str(folder / "hostfile")
        assert call.argv[call.argv.index("--master_addr") + 1] == master
        assert "--no_ssh" not in call.argv
        assert f"master {master}:29500" in outcome.stdout


def test_on_each_node_a_rank_is_needed(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan(EACH, 'script = "t.py"', nodes=2), tmp_path)
    lost = stubs.run(folder / "deepspeed.sh", cwd=tmp_path)
    assert (lost.status, lost.calls) == (2, [])
    assert "NODE_RANK" in lost.stderr
    (call,) = stubs.run(folder / "deepspeed.sh", cwd=tmp_path, NODE_RANK="1").of("deepspeed")
    assert call.argv[call.argv.index("--no_ssh") + 1 :][:2] == ["--node_rank", "1"]


@pytest.mark.parametrize(("cards", "status"), [("0,1,2,3,4,5,6,7", 0), ("4,5,6,7", 2), ("", 2)])
def test_cards_that_the_launcher_would_ignore_stop_the_start(
    cards: str, status: int, stubs: Stubs, tmp_path: Path
) -> None:
    folder = written_out(plan("deepspeed-launcher", 'script = "t.py"'), tmp_path)
    outcome = stubs.run(folder / "deepspeed.sh", cwd=tmp_path, CUDA_VISIBLE_DEVICES=cards)
    assert outcome.status == status
    assert len(outcome.calls) == (1 if status == 0 else 0)
    assert ("CUDA_VISIBLE_DEVICES" in outcome.stderr) == (status == 2)


def test_a_first_argument_of_two_dashes_is_refused(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("deepspeed-launcher", 'script = "t.py"'), tmp_path)
    outcome = stubs.run(folder / "deepspeed.sh", "--", "x", cwd=tmp_path)
    assert (outcome.status, outcome.calls) == (2, [])


def test_the_program_is_given_its_rank_on_demand(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("deepspeed-launcher { local_rank = true }", 'script = "t.py"'), tmp_path)
    (call,) = stubs.run(folder / "deepspeed.sh", "x", cwd=tmp_path).of("deepspeed")
    assert call.argv[-3:] == ["--", "t.py", "x"]
    assert "--no_local_rank" not in call.argv


@pytest.mark.parametrize("value", ["two\nlines", " padded", "padded "])
def test_a_variable_of_the_caller_that_ssh_would_change_stops_the_start(
    value: str, stubs: Stubs, tmp_path: Path
) -> None:
    folder = written_out(plan(HOSTS, 'script = "t.py"  env { A = "plan" }', nodes=2), tmp_path)
    outcome = stubs.run(folder / "deepspeed.sh", cwd=tmp_path, A=value, TMPDIR=str(tmp_path))
    assert (outcome.status, outcome.calls) == (2, [])
    assert "cannot set A" in outcome.stderr
    assert list(tmp_path.glob("tmp.*")) == []  # the file of variables is gone


def test_a_folder_that_deepspeed_would_not_find_again_stops_the_start(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan(HOSTS, 'script = "t.py"', nodes=2), tmp_path)
    (tmp_path / "my runs").mkdir()
    outcome = stubs.run(folder / "deepspeed.sh", cwd=tmp_path / "my runs")
    assert (outcome.status, outcome.calls) == (2, [])
    assert "my runs" in outcome.stderr


def test_commands_are_shown_on_demand(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("deepspeed-launcher", 'script = "t.py"'), tmp_path)
    assert "+ exec deepspeed" in stubs.run(folder / "deepspeed.sh", cwd=tmp_path, PLANC_TRACE="1").stderr
    assert stubs.run(folder / "deepspeed.sh", cwd=tmp_path).stderr == ""

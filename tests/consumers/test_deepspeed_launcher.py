"""deepspeed.sh and its host file, read and run by DeepSpeed's own launcher."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from planc.plan.model import Plan
from tests.compiling import plan_of, written_out
from tests.consumers.emitted import plans_that_write
from tests.consumers.running import PLANS, PROGRAMS, environment, free_ports, needs, ran, ran_on_two_nodes
from tests.targets.stubs import Stubs

pytestmark = [pytest.mark.consumer, needs("deepspeed")]

LAUNCHER = PLANS / "launcher.plan"

#: pdsh, as DeepSpeed calls it: it puts the number and the name of the node into the words, and hands them to ssh, which
#: joins them by blanks for the shell of the node; that one has nothing of the caller's environment.
PDSH = """\
import os, re, subprocess, sys
words = sys.argv[1:]
assert words[:4] == ["-S", "-f", "1024", "-w"] and os.environ["PDSH_RCMD_TYPE"] == "ssh", words
hosts, command, runs = words[4].split(","), words[5:], []
kept = {name: os.environ[name] for name in ("PATH", "HOME", "DS_ACCELERATOR")}
for number, host in enumerate(hosts):
    given = {"%": "%", "n": str(number), "h": host}
    text = " ".join(re.sub("%([%nh])", lambda match: given[match[1]], word) for word in command)
    runs.append(subprocess.Popen(["bash", "-c", text], env=kept, cwd="/"))
sys.exit(max(run.wait() for run in runs))
"""


@pytest.mark.parametrize("plan", plans_that_write("deepspeed.sh"))
def test_the_launcher_understands_the_script(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    from deepspeed.launcher.runner import (
        apply_num_nodes_and_gpus,
        fetch_hostfile,
        parse_args,
        parse_inclusion_exclusion,
    )

    folder = written_out(plan, tmp_path / "out")
    script = folder / "deepspeed.sh"
    if plan.value("launch.venv"):
        script.write_text(script.read_text().replace("source -- ", "true "))
    (tmp_path / "modules").write_text("module() { :; }\n")
    stubs = Stubs(tmp_path / "stubs")
    (stubs.programs / "deepspeed").write_text((stubs.programs / "torchrun").read_text())
    (stubs.programs / "deepspeed").chmod(0o755)
    outcome = stubs.run(script, cwd=tmp_path, NODE_RANK="1", BASH_ENV=str(tmp_path / "modules"))
    assert outcome.status == 0, outcome.stderr
    (call,) = outcome.of("deepspeed")
    args = parse_args(call.argv)
    nodes, gpus = plan.value("cluster.nodes"), plan.value("cluster.gpus_per_node")
    hosts = fetch_hostfile(args.hostfile)
    assert (hosts is None) == (nodes == 1)  # else it would take the host file that a cloud may have put on the machine
    found = parse_inclusion_exclusion(hosts or {"localhost": gpus}, args.include, args.exclude)
    found = apply_num_nodes_and_gpus(found, args.num_nodes, args.num_gpus)
    assert [len(cards) for cards in found.values()] == [gpus] * nodes
    options = next(choice for choice in plan.targets if choice.name == "deepspeed-launcher").options
    assert args.no_local_rank == (not options.value("local_rank"))
    if 1 < nodes:
        assert (tuple(found), args.master_addr) == (options.value("hosts"), options.value("hosts")[0])
        assert (args.no_ssh, args.node_rank) == ((False, -1) if options.value("ssh") else (True, 1))
    if nodes == 1 or not options.value("ssh"):
        written = plan.value("launch.args") or ()
        assert (args.user_script, tuple(args.user_args[: len(written)])) == (plan.value("launch.script"), written)


@pytest.mark.slow
def test_text_arrives_on_one_node_as_it_is_written(tmp_path: Path) -> None:
    plan = plan_of(LAUNCHER, "launched_on_one")
    (port,) = free_ports(1)
    ranks = ran(written_out(plan, tmp_path) / "deepspeed.sh", "--", "$(more)", MASTER_PORT=str(port))
    assert [(rank["rank"], rank["local_rank"], rank["world"]) for rank in ranks] == [(0, 0, 2), (1, 1, 2)]
    for rank in ranks:
        own = ["report_launch.py", f"--local_rank={rank['local_rank']}"]
        assert rank["argv"] == [*own, *plan.value("launch.args"), "--", "$(more)"]
        assert rank["env"]["HARD"] == plan.value("launch.env")["HARD"]


@pytest.mark.slow
def test_deepspeed_trains_on_two_nodes(tmp_path: Path) -> None:
    folder = written_out(plan_of(LAUNCHER, "launched_on_each"), tmp_path)
    ranks = ran_on_two_nodes(folder / "deepspeed.sh")
    assert [(rank["rank"], rank["world"], rank["stage"]) for rank in ranks] == [(0, 2, 1), (1, 2, 1)]
    assert all((rank["batch"], rank["micro"], rank["finite"]) == (16, 4, True) for rank in ranks)


@pytest.mark.slow
def test_text_arrives_over_ssh_as_it_is_written(tmp_path: Path) -> None:
    """Through DeepSpeed's launcher on this machine, the shells of both nodes, and its launcher there."""
    plan = plan_of(LAUNCHER, "launched_over_ssh")
    programs, home = tmp_path / "programs", tmp_path / "home"
    programs.mkdir()
    home.mkdir()
    (home / ".deepspeed_env").write_text("SITE=of the caller")
    for name, body in (("pdsh", PDSH), ("ssh", "")):
        (programs / name).write_text(f"#!{sys.executable} -IS\n{body}")
        (programs / name).chmod(0o755)
    path = f"{programs}:{environment()['PATH']}"
    folder = written_out(plan, tmp_path)
    ranks = ran(folder / "deepspeed.sh", "$(more)", "of 'mine'", PATH=path, HOME=str(home), SIMPLE="of the caller")
    assert [(rank["rank"], rank["local_rank"], rank["world"]) for rank in ranks] == [
        (0, 0, 4), (1, 1, 4), (2, 0, 4), (3, 1, 4),
    ]  # fmt: skip
    for rank in ranks:
        assert rank["argv"] == ["report_launch.py", *plan.value("launch.args"), "$(more)", "of 'mine'"]
        assert rank["env"] == {
            "SIMPLE": "of the caller", "HARD": plan.value("launch.env")["HARD"], "EMPTY": "", "SITE": "of the caller",
            "MASTER_ADDR": "n1", "CUDA_VISIBLE_DEVICES": "0,1", "OMP_NUM_THREADS": "1",
        }  # fmt: skip
    assert not (PROGRAMS / "mark").exists()

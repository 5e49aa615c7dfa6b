"""The calls of torchrun that the emitted scripts make, read by torchrun's own parser."""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.plan.model import Plan
from tests.compiling import file_of, files_of, written_out
from tests.consumers.emitted import plans_that_write
from tests.consumers.running import needs
from tests.targets.stubs import Stubs
from tests.targets.test_scripts import plan

pytestmark = [pytest.mark.consumer, needs("torch")]


def checked(argv: list[str], plan: Plan) -> None:
    """Fails unless torchrun understands the arguments as the plan means them."""
    from torch.distributed.run import config_from_args, get_args_parser

    args = get_args_parser().parse_args(argv)
    config, command, command_args = config_from_args(args)
    nodes = plan.value("cluster.nodes")
    assert (config.min_nodes, config.max_nodes) == (plan.find("launch.min_nodes").value or nodes, nodes)
    assert config.nproc_per_node == plan.value("cluster.gpus_per_node")
    assert config.max_restarts == plan.value("launch.restarts")
    written = plan.value("launch.args") or ()
    assert args.training_script == plan.value("launch.script")
    begin = args.training_script_args.index(written[0]) if written else 0  # behind the flags of a trainer
    assert tuple(args.training_script_args[begin : begin + len(written)]) == written
    assert str(command).endswith("python") or "python" in str(command)
    assert command_args[-len(args.training_script_args) - 1] == plan.value("launch.script")
    if nodes == 1:
        assert args.standalone
    else:
        assert (config.rdzv_backend, config.rdzv_endpoint.partition(":")[0]) == ("c10d", "n1")
        assert config.run_id not in ("", "none")


@pytest.mark.parametrize("plan", plans_that_write("torchrun.sh"))
def test_torchrun_understands_the_script(plan: Plan, tmp_path: Path) -> None:
    folder = written_out(plan, tmp_path / "out")
    environment = {"MASTER_ADDR": "n1", "BASH_ENV": str(tmp_path / "modules")}
    (tmp_path / "modules").write_text("module() { :; }\n")
    script = folder / "torchrun.sh"
    if plan.value("launch.venv"):
        script.write_text(script.read_text().replace("source -- ", "true "))
    (call,) = Stubs(tmp_path / "stubs").run(script, cwd=tmp_path, **environment).of("torchrun")
    checked(call.argv, plan)


def torchrun_jobs() -> list[object]:
    """The plans whose job starts torchrun."""
    return [case for case in plans_that_write("job.sbatch") if "exec torchrun" in file_of(case.values[0], "job.sbatch")]


@pytest.mark.parametrize("plan", torchrun_jobs())
def test_torchrun_understands_the_job(plan: Plan, tmp_path: Path) -> None:
    folder = written_out(plan, tmp_path / "out")
    job = folder / "job.sbatch"
    job.write_text(job.read_text().replace("source -- ", "true "))
    nodes = plan.value("cluster.nodes")
    calls = Stubs(tmp_path / "stubs").submit(job, cwd=tmp_path, nodes=nodes).of("torchrun")
    assert len(calls) == nodes
    assert {file.path for file in files_of(plan)} >= {"job.sbatch"}
    checked(calls[0].argv, plan)


@pytest.mark.parametrize("targets", ["torchrun", "slurm"])
def test_torchrun_leaves_two_dashes_to_the_program(targets: str, tmp_path: Path) -> None:
    from torch.distributed.run import get_args_parser

    folder = written_out(plan(targets, 'script = "t.py"  args = ["--", "-x", "--"]'), tmp_path / "out")
    stubs = Stubs(tmp_path / "stubs")
    if targets == "slurm":
        outcome = stubs.submit(folder / "job.sbatch", cwd=tmp_path, nodes=1)
    else:
        outcome = stubs.run(folder / "torchrun.sh", cwd=tmp_path)
    (call,) = outcome.of("torchrun")
    args = get_args_parser().parse_args(call.argv)
    assert (args.training_script, args.training_script_args) == ("t.py", ["--", "-x", "--"])

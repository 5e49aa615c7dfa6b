"""Emitted jobs, handed to a Slurm of emulated nodes."""

from __future__ import annotations

import sys
import sysconfig
import time
from pathlib import Path

import pytest

from planc.plan.model import Plan
from tests.compiling import analysed, errors, file_of, plan_of, written_out
from tests.consumers.emitted import plans_that_write, put
from tests.consumers.running import PLANS, PROGRAMS, needs, reports
from tests.consumers.slurm_cluster import Cluster

pytestmark = pytest.mark.consumer

#: In place of torchrun: prints how it was called, as the ranks of the test's programs do.
STUB = f"""\
#!{sys.executable} -IS
import json, os, sys
known = {{key: os.environ.get(key) for key in ("OMP_NUM_THREADS", "TEXT")}}
node = int(os.environ["SLURM_NODEID"])
print(json.dumps({{"rank": node, "argv": sys.argv[1:], "cwd": os.getcwd(), **known}}), flush=True)
sys.exit(int(os.environ.get("STUB_STATUS", "0")) if node == 1 else 0)
"""

#: In place of accelerate, which takes a port in use for a fault: here both nodes are one machine, and either listens.
MASTER_FIRST = f"""\
#!/bin/bash
if [[ ${{SLURM_NODEID}} != 0 ]]; then
  until (exec 3<> "/dev/tcp/${{MASTER_ADDR}}/${{MASTER_PORT}}") 2> /dev/null; do sleep 0.2; done
fi
exec {sysconfig.get_path("scripts")}/accelerate "$@"
"""


@pytest.mark.parametrize("plan", plans_that_write("job.sbatch"))
def test_sbatch_takes_the_job(plan: Plan, slurm: Cluster, tmp_path: Path) -> None:
    answer = slurm.test_only(put(file_of(plan, "job.sbatch"), tmp_path / "job.sbatch"))
    assert answer.returncode == 0, answer.stderr


def test_this_slurm_refuses_what_it_does_not_have(slurm: Cluster, tmp_path: Path) -> None:
    text = file_of(plan_of(PLANS / "tiny.plan", "job_torchrun"), "job.sbatch")
    unknown = ("#SBATCH --nodes=1000", "#SBATCH --constraint=tape", "#SBATCH --no-such-option=1")
    for line in (*unknown, "#SBATCH --account", "#SBATCH --requeue=1"):
        answer = slurm.test_only(put(text.replace("set -euo", f"{line}\nset -euo"), tmp_path / "job.sbatch"))
        assert answer.returncode != 0, line


@needs("torch")
@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_a_job_trains_on_two_nodes(launcher: str, slurm: Cluster, tmp_path: Path) -> None:
    folder = written_out(plan_of(PLANS / "tiny.plan", f"job_{launcher}"), tmp_path / "out put")
    put((PROGRAMS / "train_fsdp2.py").read_text(), tmp_path / "train_fsdp2.py")
    state, output = slurm.run(folder / "job.sbatch", "--more", cwd=tmp_path)
    assert state == "COMPLETED", output
    ranks = reports(output)
    assert [(rank["rank"], rank["local_rank"]) for rank in ranks] == [(0, 0), (1, 1), (2, 0), (3, 1)]
    assert {rank["node"] for rank in ranks[:2]} != {rank["node"] for rank in ranks[2:]}
    assert all(rank["world"] == 4 and rank["sharded"] and rank["falls"] for rank in ranks)
    assert ranks[0]["argv"] == ["train_fsdp2.py", "it's one argument", "--more"]
    assert "planc: master 127.0.0." in output


@needs("accelerate")
@pytest.mark.slow
def test_a_job_trains_by_the_file_of_accelerate(slurm: Cluster, tmp_path: Path) -> None:
    folder = written_out(plan_of(PLANS / "tiny.plan", "job_accelerate"), tmp_path / "out put")
    put((PROGRAMS / "train_accelerate.py").read_text(), tmp_path / "train_accelerate.py")
    put(MASTER_FIRST, tmp_path / "accelerate")
    path = f"{tmp_path}:{slurm.environment['PATH']}"
    state, output = slurm.run(folder / "job.sbatch", cwd=tmp_path, PATH=path)
    assert state == "COMPLETED", output
    ranks = reports(output)
    assert [(rank["rank"], rank["world"], rank["sharded"]) for rank in ranks] == [(0, 2, True), (1, 2, True)]


@needs("torch")
@pytest.mark.slow
def test_the_signal_reaches_those_who_ask_for_it_and_the_job_goes_on_later(slurm: Cluster, tmp_path: Path) -> None:
    """Neither torchrun nor the ranks without a handler end on it; all ranks end by themselves once it is saved."""
    folder = written_out(plan_of(PLANS / "tiny.plan", "job_signal"), tmp_path / "out")
    put((PROGRAMS / "save_on_signal.py").read_text(), tmp_path / "save_on_signal.py")
    number = slurm.submit(folder / "job.sbatch", cwd=tmp_path)
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("ready-0-*"))) < 4 and time.monotonic() < deadline:
        time.sleep(0.2)
    slurm.signal_shell(number, "USR1")
    state, output = slurm.ended(number, tmp_path)
    assert state == "COMPLETED", output
    before, after = ([rank for rank in reports(output) if rank["restarts"] == restarts] for restarts in (0, 1))
    assert [(rank["rank"], rank["saved"]) for rank in before] == [(rank, True) for rank in range(4)]
    assert {rank["rank"] for rank in before if rank["signals"]} <= {0, 1}
    assert [rank["rank"] for rank in after] == [0, 1, 2, 3]
    assert "SIGUSR1" not in output.replace("USR1 for the program", "")
    assert f"job {number} goes back into the queue" in output
    assert f"job {number}, started again 1 times" in output


def job(launch: str, emit: str = 'slurm, deepspeed { config_flag = ["--deepspeed_config"] }', cores: str = "") -> Plan:
    """A plan of two nodes with this `launch`."""
    analysis = analysed(f"""
    gpu card {{ memory = 80 GiB  bf16 = true }}
    model small {{ layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }}
    plan stubbed {{
      model = small
      cluster {{ gpu = card  nodes = 2  gpus_per_node = 4  {cores} }}
      batch {{ global = 64  micro = 1 }}
      precision = bf16
      launch {{ {launch} }}
      emit = [{emit}]
    }}
    """)
    assert errors(analysis) == []
    return analysis.plans[0]


def test_text_and_files_arrive_through_a_real_job(slurm: Cluster, tmp_path: Path) -> None:
    """Submitted from another folder than the job's, as a copy of which Slurm runs it."""
    text = "a b'; touch /tmp/x; $(id) `id`\\n\\t \\\\ ! %s \u00fc"
    compiled = job(f'script = "t.py"  args = ["{text}", "--", ""]  env {{ TEXT = "{text}" }}', cores="cpu_cores = 16")
    folder = written_out(compiled, tmp_path / "a b's")
    put(STUB, tmp_path / "torchrun")
    path = f"{tmp_path}:{slurm.environment['PATH']}"
    state, output = slurm.run(folder / "job.sbatch", "more", cwd=tmp_path, PATH=path, OMP_NUM_THREADS="3")
    assert state == "COMPLETED", output
    written = text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")
    for report in reports(output):
        at = report["argv"].index("t.py")
        assert report["argv"][at + 1 :] == [
            written,
            "--",
            "",
            "--deepspeed_config",
            str(folder / "ds_config.json"),
            "more",
        ]
        assert (report["TEXT"], report["OMP_NUM_THREADS"], report["cwd"]) == (written, "3", str(tmp_path))
    assert len(reports(output)) == 2


def test_a_job_fails_where_one_of_its_nodes_does(slurm: Cluster, tmp_path: Path) -> None:
    folder = written_out(job('script = "t.py"', "slurm"), tmp_path)
    put(STUB, tmp_path / "torchrun")
    path = f"{tmp_path}:{slurm.environment['PATH']}"
    state, output = slurm.run(folder / "job.sbatch", cwd=tmp_path, PATH=path, STUB_STATUS="7")
    assert state == "FAILED", output

"""Emitted components of TorchX: its parser, the requests of its schedulers, and their nodes, run here.

Neither Docker, Slurm nor Kubernetes is asked: the request that TorchX makes for each is read, and its command started
as the scheduler would, with what it does to text. On this machine TorchX itself starts the nodes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from planc.plan.model import Plan
from tests.compiling import analysed, errors, file_of, written_out
from tests.consumers.emitted import plans_that_write
from tests.consumers.running import PROGRAMS, environment, free_ports, needs, reports
from tests.targets.stubs import Call, Stubs
from tests.targets.test_scripts import HOSTILE, literal

pytestmark = [pytest.mark.consumer, needs("torchx")]

PLANS = plans_that_write("torchx_job.py")

#: What a plan has to say for a scheduler.
LAUNCH = {
    "local_cwd": "",
    "slurm": 'slurm { partition = "gpu"  constraint = "a&b" }',
    "local_docker": 'container { image = "train:1"  mounts = ["/data:/data:ro", "/out"] }',
    "kubernetes": 'kubernetes { image = "train:1"  queue = "llm" }',
}


def job_of(plan: Plan, folder: Path, *arguments: str) -> Any:
    """The job that TorchX makes of the plan's component; what its linter says would be raised."""
    from torchx.specs import materialize_appdef
    from torchx.specs.finder import get_component

    component = get_component(f"{written_out(plan, folder)}/torchx_job.py:job")
    return materialize_appdef(component.fn, ["--", *arguments])


@pytest.mark.parametrize("plan", PLANS)
def test_the_parser_takes_every_component(plan: Plan, tmp_path: Path) -> None:
    job = job_of(plan, tmp_path, "--more")
    (role,) = job.roles
    nodes, gpus = plan.value("cluster.nodes"), plan.value("cluster.gpus_per_node")
    assert (job.name, role.num_replicas, role.resource.gpu, role.max_retries) == (plan.name, nodes, gpus, 0)
    assert role.args[:1] + role.args[2:] == [
        "-c", "planc", "${replica_id}", "${rank0_env}", "${app_id}", "--more",
    ]  # fmt: skip
    assert len(role.args[1]) < 128 * 1024, "longer than Linux lets an argument be"


def plan(scheduler: str, launch: str, nodes: int = 1) -> Plan:
    """A plan whose nodes have a rank each."""
    analysis = analysed(f"""
    gpu cpu {{ memory = 8 GiB  bf16 = true }}
    model tiny {{ layers = 2  hidden = 16  heads = 2  ffn = 64  vocab = 128 }}
    plan job {{
      model = tiny
      cluster {{ gpu = cpu  nodes = {nodes}  gpus_per_node = 1  cpu_cores = 4  cpu_memory = 8 GiB }}
      shard {{ stage = 2 }}
      batch {{ global = 16  micro = 4 }}
      precision = bf16
      launch {{ {launch}  {LAUNCH[scheduler]} }}
      emit = [torchx {{ scheduler = {scheduler} }}]
    }}
    """)
    assert errors(analysis) == []
    return analysis.plans[0]


def settings_of(plan: Plan, scheduler: Any) -> Any:
    """The settings that the plan's script passes, as TorchX reads them."""
    found = re.search(r"--scheduler_args=(\S+)", file_of(plan, "torchx.sh"))
    options = scheduler.run_opts()
    text = "" if found is None else found[1].strip("'")
    return options.resolve(options.cfg_from_str(text))


def request_of(plan: Plan, scheduler: str, folder: Path, *arguments: str) -> Any:
    """What TorchX would hand to the scheduler."""
    from torchx.schedulers import get_scheduler_factories

    made = get_scheduler_factories()[scheduler]("planc")
    return made.submit_dryrun(job_of(plan, folder, *arguments), settings_of(plan, made)).request


def ran(command: list[str], stubs: Stubs, cwd: Path, **variables: str) -> Call:
    """The call of torchrun that a node's command makes."""
    caller = stubs.programs.parent / "caller.json"
    caller.write_text(json.dumps(command))
    script = stubs.programs.parent / "caller"
    script.write_text(
        f"#!/usr/bin/python3\nimport json, os\nwords = json.load(open({str(caller)!r}))\nos.execvp(words[0], words)\n"
    )
    script.chmod(0o755)
    outcome = stubs.run(script, cwd=cwd, TMPDIR=str(cwd), **variables)
    assert outcome.status == 0, outcome.stderr
    (call,) = outcome.of("torchrun")
    return call


def commands(scheduler: str, request: Any) -> list[list[str]]:
    """The commands of the nodes, with what the scheduler makes of their text."""
    if scheduler == "local_cwd":
        return [replica.args for role in request.role_params.values() for replica in role]
    if scheduler == "local_docker":
        return [container.command for container in request.containers]
    if scheduler == "kubernetes":
        pods = [task["template"].spec for task in request.resource["spec"]["tasks"]]
        return [[re.sub(r"\$\$", "$", word) for word in pod.containers[0].command] for pod in pods]
    batch = request.materialize()
    srun = "srun() { python3 - \"$@\" << 'END'\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\nEND\n}\n"
    variables = {"PATH": os.environ["PATH"], "SLURM_JOB_ID": "42"}
    run = subprocess.run(["bash"], input=srun + batch, env=variables, capture_output=True, text=True, check=True)
    words = json.loads(run.stdout.splitlines()[0])
    groups: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            groups.append([])
        else:
            groups[-1].append(word)
    return [
        [word for word in group if not word.startswith(("--output", "--error", "--wait", "--kill", "--export"))]
        for group in groups
    ]


SCHEDULERS = [
    "local_cwd",
    "slurm",
    pytest.param("local_docker", marks=needs("docker")),
    pytest.param("kubernetes", marks=needs("kubernetes")),
]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_text_arrives_as_it_is_written(scheduler: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    texts = [text.replace("MARK", str(mark)) for text in HOSTILE]
    texts += ["$$ $(HOME) $${HOME}", "${replica_id} $replica_id ${img_root}", "a,b=c;d"]
    variables = "  ".join(f"V{number} = {literal(text)}" for number, text in enumerate(texts))
    arguments = ", ".join(literal(text) for text in texts)
    found = plan(scheduler, f'script = "t.py"  args = [{arguments}]  env {{ {variables} }}')
    ((*command,),) = commands(scheduler, request_of(found, scheduler, tmp_path / "out", "--more", "a $(b) $c"))
    call = ran(command, Stubs(tmp_path / "stubs"), tmp_path)
    assert call.argv[call.argv.index("t.py") + 1 :] == [*texts, "--more", "a $(b) $c"]
    assert [call.env[f"V{number}"] for number in range(len(texts))] == texts
    assert call.cwd == str(tmp_path)
    assert not mark.exists()


@pytest.mark.parametrize("scheduler", ["slurm", pytest.param("kubernetes", marks=needs("kubernetes"))])
def test_each_node_learns_which_it_is(scheduler: str, tmp_path: Path) -> None:
    request = request_of(plan(scheduler, 'script = "t.py"', nodes=2), scheduler, tmp_path / "out")
    first, second = commands(scheduler, request)
    assert [command[-3] for command in (first, second)] == ["0", "1"]
    names = {"slurm": ["SLURM_JOB_NODELIST_HET_GROUP_0"] * 2, "kubernetes": ["TORCHX_RANK0_HOST", "VC_NODE_0_HOSTS"]}
    assert [command[-2] for command in (first, second)] == names[scheduler]
    assert first[-1] == second[-1]
    (port,) = free_ports(1)
    given = {second[-2]: "127.0.0.1", "MASTER_PORT": str(port), "SLURM_JOB_ID": "43"}
    stubs = Stubs(tmp_path / "stubs")
    here = ran(first, stubs, tmp_path, **{**given, first[-2]: "localhost"})
    assert (here.env["MASTER_ADDR"], here.env["NODE_RANK"]) == ("127.0.0.1", "0")
    listening = subprocess.Popen(
        ["python3", "-m", "http.server", str(port), "--bind", "127.0.0.1"], stderr=subprocess.DEVNULL
    )
    try:
        there = ran(second, stubs, tmp_path, **given)
    finally:
        listening.terminate()
        listening.wait()
    assert (there.env["MASTER_ADDR"], there.env["NODE_RANK"]) == ("127.0.0.1", "1")
    for call in (here, there):  # of one number, which Slurm's own would not be
        assert f"--rdzv-id={first[-1]}" in call.argv
        assert f"--rdzv-endpoint=127.0.0.1:{port}" in call.argv


def test_slurm_is_asked_for_what_the_plan_says(tmp_path: Path) -> None:
    found = plan("slurm", 'script = "t.py"  walltime = 90.5 min', nodes=2)
    batch = request_of(found, "slurm", tmp_path).materialize()
    lines = [line for line in batch.splitlines() if line.startswith("#SBATCH --")]
    for line in lines:
        asked = set(line.split()[1:])
        assert {
            "--partition=gpu",
            "--constraint=a&b",
            "--time=90:30",
            "--gpus-per-task=1",
            "--ntasks-per-node=1",
        } <= asked
        assert "--cpus-per-task=4" in asked
        assert not any(word.startswith("--mem") for word in asked)
    assert len(lines) == 2


@needs("docker")
def test_docker_is_asked_for_what_the_plan_says(tmp_path: Path) -> None:
    (container,) = request_of(plan("local_docker", 'script = "t.py"'), "local_docker", tmp_path).containers
    assert container.image == "train:1"
    asked = container.kwargs
    assert (asked["shm_size"], asked["mem_limit"], asked["nano_cpus"]) == ("8192m", "8192m", 4 * 10**9)
    assert [(mount["Source"], mount["Target"], mount["ReadOnly"]) for mount in asked["mounts"]] == [
        ("/data", "/data", True), ("/out", "/out", False),
    ]  # fmt: skip
    assert [device["Count"] for device in asked["device_requests"]] == [1]


@needs("kubernetes")
def test_pods_are_asked_for_what_the_plan_says(tmp_path: Path) -> None:
    request = request_of(plan("kubernetes", 'script = "t.py"', nodes=2), "kubernetes", tmp_path)
    spec = request.resource["spec"]
    assert (spec["queue"], [task["name"] for task in spec["tasks"]]) == ("llm", ["node-0", "node-1"])
    for task in spec["tasks"]:
        (container,) = task["template"].spec.containers
        assert container.image == "train:1"
        assert container.resources.limits == {"nvidia.com/gpu": "1"}
        assert [mount.mount_path for mount in container.volume_mounts] == ["/dev/shm"]


@needs("torch")
@pytest.mark.skipif(shutil.which("torchx", path=sysconfig.get_path("scripts")) is None, reason="not installed: torchx")
def test_nodes_train_together(tmp_path: Path) -> None:
    """A job for nodes of Slurm, which TorchX starts on this machine."""
    (port,) = free_ports(1)
    launch = f'script = "train_fsdp2.py"  args = ["$(id)", "it\'s"]  env {{ MASTER_PORT = "{port}" }}'
    folder = written_out(plan("slurm", launch, nodes=2), tmp_path / "out")
    script = folder / "torchx.sh"
    text = script.read_text()
    assert "--scheduler=slurm" in text
    script.write_text(
        re.sub(r"--scheduler_args=\S+", f"--scheduler_args=log_dir={tmp_path}/logs", text).replace(
            "=slurm", "=local_cwd"
        )
    )
    variables = environment(TMPDIR=str(tmp_path))
    run = subprocess.run(
        [script, "--more"], cwd=PROGRAMS, env=variables, capture_output=True, text=True, timeout=180, check=False
    )
    outputs = "\n".join(path.read_text() for path in sorted((tmp_path / "logs").rglob("stdout.log")))
    assert run.returncode == 0, run.stderr[-2000:] + outputs[-2000:]
    ranks = reports(outputs)
    assert [(rank["rank"], rank["world"], rank["node"]) for rank in ranks] == [(0, 2, 0), (1, 2, 1)]
    assert all(rank["sharded"] and rank["falls"] for rank in ranks)
    assert ranks[0]["argv"] == ["train_fsdp2.py", "$(id)", "it's", "--more"]

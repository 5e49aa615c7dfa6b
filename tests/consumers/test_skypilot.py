"""Emitted tasks of SkyPilot: its loader, the script that it makes of a task, and machines, run here.

No cloud could be had. SkyPilot starts `run` in an interactive bash behind lines of its own; the machines are started so
here, each with an address of loopback and the variables that SkyPilot gives to it.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from planc.plan.model import Plan
from tests.compiling import ROOT, analysed, errors, file_of
from tests.consumers.emitted import plans_that_write
from tests.consumers.running import PROGRAMS, environment, free_ports, needs, reports
from tests.targets.stubs import Stubs
from tests.targets.test_scripts import HOSTILE, literal

pytestmark = pytest.mark.consumer

PLANS = plans_that_write("skypilot.yaml")

#: What SkyPilot would fetch: names of cards, and an offer of the only cloud and place that a plan of the tests names.
CATALOGS = {
    "common/accelerators.csv": "AcceleratorName,Clouds\n"
    + "".join(f"{name},\"['AWS', 'RunPod']\"\n" for name in ("A100", "A100-80GB", "H100", "L4", "MI300X")),
    "aws/vms.csv": "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region,"
    "AvailabilityZone,GpuInfo,Arch\n"
    'p5.48xlarge,H100,8.0,192.0,2048.0,98.3,30.0,us-east-1,us-east-1a,"{}",x86_64\n',
}

LOADER = """\
import json, sys
import sky
for text in json.load(sys.stdin):
    task = sky.Task.from_yaml_str(text)
    task.validate()
    (resources,) = task.resources
    print("TASK " + json.dumps({
        "name": task.name, "nodes": task.num_nodes, "cards": resources.accelerators, "cpus": resources.cpus,
        "memory": resources.memory, "image": resources.extract_docker_image(), "spot": resources.use_spot,
        "envs": task.envs, "run": task.run, "setup": task.setup, "volumes": task.volumes,
        "buckets": {path: [store.source, store.mode.value] for path, store in task.storage_mounts.items()},
    }))
"""

SCRIPT = """\
import json, sys
from sky.backends.task_codegen import UNSET_RAY_ENV_VARS, TaskCodeGen
from sky.skylet.log_lib import make_task_bash_script
run, variables = json.load(sys.stdin)
prefix = " && ".join(f"unset {name}" for name in UNSET_RAY_ENV_VARS)
print("SCRIPT " + json.dumps(make_task_bash_script(TaskCodeGen.build_task_bash_script(run, prefix), variables)))
"""

KEYS = """\
import json
from sky.utils import schemas
found = [schemas.get_task_schema(), schemas.get_resources_schema(), schemas.get_storage_schema()]
print("KEYS " + json.dumps([sorted(schema["properties"]) for schema in found]))
"""


def asked(program: str, given: Any, home: Path) -> list[Any]:
    """What a program that imports SkyPilot prints, in a process with a home of its own."""
    for name, text in CATALOGS.items():
        path = home / ".sky" / "catalogs" / "v8" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (home / "code").mkdir(exist_ok=True)
    variables = environment(HOME=str(home))
    run = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(given),
        env=variables,
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    lines = [line.partition(" ") for line in run.stdout.splitlines()]
    return [json.loads(text) for word, _, text in lines if word in ("TASK", "SCRIPT", "KEYS")]


@needs("sky")
def test_the_loader_takes_every_task(tmp_path: Path) -> None:
    texts = [file_of(parameter.values[0], "skypilot.yaml") for parameter in PLANS]
    tasks = asked(LOADER, texts, tmp_path)
    assert len(tasks) == len(texts)
    for text, task in zip(texts, tasks, strict=True):
        said = yaml.safe_load(text)
        resources = said["resources"]
        assert (task["name"], task["nodes"], task["run"]) == (said["name"], said["num_nodes"], said["run"])
        assert task["cards"] == resources["accelerators"]
        assert (task["cpus"], task["memory"]) == (resources.get("cpus"), resources.get("memory"))
        assert task["image"] == resources.get("image_id", "").removeprefix("docker:") or task["image"] is None
        assert task["spot"] == resources.get("use_spot", False)
        assert task["envs"] == said.get("envs", {})
        assert task["setup"] == said.get("setup")
        assert task["buckets"] == {
            path: [mount["source"], mount["mode"]] for path, mount in said.get("file_mounts", {}).items()
        }
        assert task["volumes"] == said.get("volumes", {})


@needs("sky")
def test_the_schema_has_keys_of_skypilot_alone(tmp_path: Path) -> None:
    """A release without one of them shows up here."""
    ours = json.loads((ROOT / "schemas/skypilot.schema.json").read_text(encoding="utf-8"))["properties"]
    ((task, resources, storage),) = asked(KEYS, None, tmp_path)
    assert ours.keys() <= set(task)
    assert ours["resources"]["properties"].keys() <= set(resources)
    assert ours["file_mounts"]["additionalProperties"]["properties"].keys() <= set(storage)


def plan(launch: str, nodes: int = 2, gpus: int = 1) -> Plan:
    """A plan of machines with a rank each, which run a program of the tests."""
    analysis = analysed(f"""
    gpu cpu {{ memory = 8 GiB  bf16 = true }}
    model tiny {{ layers = 2  hidden = 16  heads = 2  ffn = 64  vocab = 128 }}
    plan machines {{
      model = tiny
      cluster {{ gpu = cpu  nodes = {nodes}  gpus_per_node = {gpus} }}
      shard {{ stage = 2 }}
      batch {{ global = 16  micro = 4 }}
      precision = bf16
      launch {{ {launch} }}
      emit = [skypilot {{ accelerator = "CPU" }}]
    }}
    """)
    assert errors(analysis) == []
    return analysis.plans[0]


def given(node: int, nodes: int, gpus: int = 1) -> dict[str, str]:
    """What SkyPilot 0.14.1 gives to a node (task_codegen.py), and Ray with it."""
    addresses = "\n".join(f"127.0.0.{number + 1}" for number in range(nodes))
    return {
        "SKYPILOT_NODE_IPS": addresses, "SKYPILOT_NUM_NODES": str(nodes), "SKYPILOT_NUM_GPUS_PER_NODE": str(gpus),
        "SKYPILOT_NODE_RANK": str(node), "SKYPILOT_INTERNAL_JOB_ID": "1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip


@needs("sky")
def test_text_arrives_through_the_script_that_skypilot_makes(tmp_path: Path) -> None:
    """It exports the variables of the task and then holds `run`, for an interactive bash, which expands a `!`."""
    mark = tmp_path / "mark"
    texts = [text.replace("MARK", str(mark)) for text in HOSTILE] + ["a!! !x !$ #!/bin/bash", "\n!!\n'!!"]
    variables = "  ".join(f"V{number} = {literal(text)}" for number, text in enumerate(texts))
    arguments = ", ".join(literal(text) for text in texts)
    said = yaml.safe_load(
        file_of(plan(f'script = "t.py"  args = [{arguments}]  env {{ {variables} }}', 1), "skypilot.yaml")
    )
    (script,) = asked(SCRIPT, [said["run"], said["envs"] | given(0, 1)], tmp_path)
    stubs = Stubs(tmp_path / "stubs")
    path = tmp_path / "sky_app"
    path.write_text(f"{script}exit ${{__skypilot_user_exit_code}}\n", encoding="utf-8")
    caller = tmp_path / "caller"
    caller.write_text(f'#!/bin/bash\nexec setsid -w /bin/bash -i "{path}" < /dev/null\n')
    caller.chmod(0o755)
    (tmp_path / "sky_workdir").mkdir()
    outcome = stubs.run(caller, cwd=tmp_path, HOME=str(tmp_path))
    assert outcome.status == 0, outcome.stderr
    (call,) = outcome.of("torchrun")
    assert call.argv[call.argv.index("t.py") + 1 :] == texts
    assert [call.env[f"V{number}"] for number in range(len(texts))] == texts
    assert (call.cwd, call.env["OMP_NUM_THREADS"]) == (str(tmp_path / "sky_workdir"), "12")
    assert not mark.exists()


def started(run: str, folder: Path, **variables: str) -> subprocess.Popen[str]:
    """A machine that runs the commands of a task as SkyPilot does."""
    path = folder / f"sky_app_{variables['SKYPILOT_NODE_RANK']}"
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    path.write_text(
        f"#!/bin/bash\ncd {shlex.quote(str(PROGRAMS))}\n{exports}unset RAY_RAYLET_PID; {run}", encoding="utf-8"
    )
    return subprocess.Popen(
        ["/bin/bash", "-i", str(path)],
        env=environment(TMPDIR=str(folder)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # an interactive shell would stop in the background of a terminal
    )


@needs("torch")
def test_machines_train_together(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    launch = f'script = "train_fsdp2.py"  args = ["now!!", "$(id)"]  env {{ MASTER_PORT = "{port}" }}  walltime = 1 h'
    said = yaml.safe_load(file_of(plan(launch), "skypilot.yaml"))
    second = started(said["run"], tmp_path, **said["envs"], **given(1, 2))
    time.sleep(1)  # the master is the last to start
    runs = [started(said["run"], tmp_path, **said["envs"], **given(0, 2)), second]
    try:
        outputs = [run.communicate(timeout=180)[0] for run in runs]
    finally:
        for run in runs:
            if run.poll() is None:
                run.terminate()
                run.communicate(timeout=60)
    assert [run.returncode for run in runs] == [0, 0], "\n".join(outputs)
    ranks = reports("\n".join(outputs))
    assert [(rank["rank"], rank["world"], rank["node"]) for rank in ranks] == [(0, 2, 0), (1, 2, 1)]
    assert all(rank["sharded"] and rank["falls"] for rank in ranks)
    assert ranks[0]["argv"] == ["train_fsdp2.py", "now!!", "$(id)"]
    assert [name for name in os.listdir(tmp_path) if name.startswith("tmp.")] == [], "the files are taken away"

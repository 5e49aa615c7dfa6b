"""SkyPilot: `skypilot.yaml`, a task that asks for machines of a cloud and starts the ranks of each.

The task asks for `cluster.nodes` machines with the plan's cards, copies the folder from which it is launched, and runs
the script of a launcher. That script and the files of the plan's trainers stand in `run`, byte for byte, so that what
was checked is what runs. SkyPilot starts `run` in an interactive bash, where a `!` means an earlier command, but for
one in a here-document, as all text of the plan is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planc.diagnostics.diagnostic import Diagnostic
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.schema import COUNT0, FLAG, SIZE, TEXT, Field, Type
from planc.targets._carried import WAIT, carried, launcher_of, needs_script, port_of, seconds, unpacking
from planc.targets._faults import CONTAINER, LAUNCH_FAULTS, MISSING_SCRIPT, MODULE_NAME
from planc.targets._kubernetes_text import documents
from planc.targets._launch import check_launch, written
from planc.targets._shell import render
from planc.targets._skypilot_check import TARGET_NAME, accelerator_of, check_task, mounts, setting
from planc.targets._skypilot_faults import BARE_MACHINE, LOST_CHECKPOINTS, UNSAID
from planc.targets.target import EmittedFile, Start, Target

_TEXTS = Type("list", item=TEXT)
_GIB = 2**30

#: What launch scripts cannot do and SkyPilot can, or what has a fault of its own here.
_OTHERWISE = (CONTAINER.code, MODULE_NAME.code)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What a task of SkyPilot cannot do for the plan."""
    yield from check_task(plan, facts)
    otherwise = _OTHERWISE if needs_script(plan, TARGET_NAME) else (*_OTHERWISE, MISSING_SCRIPT.code)
    yield from (found for found in check_launch(plan, TARGET_NAME) if found.code not in otherwise)


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`skypilot.yaml`."""
    workdir = setting(plan, "workdir")
    task: dict[str, Any] = {
        "name": plan.name,
        "num_nodes": facts["cluster.nodes"],
        "resources": _resources(plan, facts),
        "workdir": "." if workdir is None else workdir,
    }
    buckets, volumes = mounts(plan, "buckets"), mounts(plan, "volumes")
    if buckets:
        task["file_mounts"] = {folder: {"source": source, "mode": "MOUNT_CACHED"} for source, folder in buckets}
    if volumes:
        task["volumes"] = {folder: name for name, folder in volumes}
    variables = written(plan, "launch.env")
    if variables:
        task["envs"] = dict(variables)
    if setting(plan, "setup"):
        task["setup"] = f"{setting(plan, 'setup')}\n"
    task["run"] = _run(plan, facts)
    return (EmittedFile("skypilot.yaml", documents([task])),)


def _resources(plan: Plan, facts: Facts) -> dict[str, Any]:
    """What is asked of every machine."""
    found: dict[str, Any] = {"accelerators": {accelerator_of(plan): facts["cluster.gpus_per_node"]}}
    cores, memory = written(plan, "cluster.cpu_cores"), written(plan, "cluster.cpu_memory")
    if cores is not None:
        found["cpus"] = f"{cores}+"
    if memory is not None and _GIB <= memory:
        found["memory"] = f"{int(memory // _GIB)}+"
    image, size, recover = written(plan, "launch.container.image"), setting(plan, "disk_size"), setting(plan, "recover")
    if setting(plan, "infra"):
        found["infra"] = setting(plan, "infra")
    if image is not None:
        found["image_id"] = f"docker:{image}"
    if setting(plan, "spot"):
        found["use_spot"] = True
    if size is not None:
        found["disk_size"] = int(size // _GIB)
    if setting(plan, "network"):
        found["network_tier"] = setting(plan, "network")
    if recover is not None:
        found["job_recovery"] = {"max_restarts_on_errors": recover}
    return found


def _run(plan: Plan, facts: Facts) -> str:
    """The commands of every machine."""
    found, nodes = carried(plan, facts, launcher_of(plan, TARGET_NAME)), facts["cluster.nodes"]
    values = {"script": found.script, "modules": found.has_modules, "several": 1 < nodes, "num_nodes": nodes}
    values |= {"gpus_per_node": facts["cluster.gpus_per_node"], "wait": WAIT}
    values |= {"port": str(port_of(plan)), "limit": seconds(written(plan, "launch.walltime"))}
    files = {**found.files, "node.sh": render("skypilot/node.sh.j2", values)}
    return (
        f"{unpacking(files)}"
        'bash "${planc_files}/node.sh"\n'
        "planc_status=$?\n"
        'rm -r -- "${planc_files}"\n'
        '(exit "${planc_status}")\n'
    )


TARGET = Target(
    summary="skypilot.yaml: a task of machines in a cloud",
    proved="SkyPilot 0.14.1: its loader and the script that it makes of the task; two nodes train on gloo",
    check=check,
    emit=emit,
    options=(
        Field("infra", TEXT, None, "where the machines are, as in `aws/us-east-1`; by default where they are cheapest"),
        Field("accelerator", TEXT, None, "what SkyPilot calls the card; by default known for cards of the catalogue"),
        Field("spot", FLAG, None, "machines that may be taken away"),
        Field("recover", COUNT0, None, "how often `sky jobs launch` starts all nodes anew after the program failed"),
        Field("network", Type("word", words=("best", "standard")), None, "`best`: the fast network between machines"),
        Field("disk_size", SIZE, None, "disk of a machine"),
        Field("workdir", TEXT, None, "folder that is copied to the machines; by default where `sky` is called"),
        Field("setup", TEXT, None, "commands that prepare a machine, as in `pip install -r requirements.txt`"),
        Field("buckets", _TEXTS, None, 'buckets and where they are mounted, as in `["s3://runs:/checkpoints"]`'),
        Field("volumes", _TEXTS, None, 'volumes of SkyPilot and where they are mounted, as in `["data:/data"]`'),
        Field(
            "launcher",
            Type("target"),
            None,
            "what starts a node's ranks; by default the trainer that has a script of its own, accelerate where the "
            "plan emits it and not torchrun, else torchrun",
        ),
    ),
    faults=(
        UNSAID,
        LOST_CHECKPOINTS,
        BARE_MACHINE,
        *(fault for fault in LAUNCH_FAULTS if fault.code not in _OTHERWISE),
    ),
    aliases=("sky",),
    start=Start(containers=True),
)

"""TorchX: `torchx_job.py`, a component that carries the job, and `torchx.sh`, which hands it to a scheduler.

The builtin component `dist.ddp` calls torchrun with a program and no more: no restarts, no flags of a trainer, and no
text with a comma in a variable. So the job is a component of its own, which starts the script of a launcher on every
node; that script and the files of the plan's trainers stand in it, byte for byte. TorchX replaces `$NAME` in whatever
it hands on, and Kubernetes `$(NAME)`: the component doubles every `$`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planc.diagnostics.diagnostic import Diagnostic
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.schema import TEXT, Field, Type
from planc.targets._carried import WAIT, carried, launcher_of, needs_script, port_of, seconds, unpacking
from planc.targets._faults import CONTAINER, LAUNCH_FAULTS, MISSING_SCRIPT, MODULE_NAME
from planc.targets._launch import check_launch, written
from planc.targets._python import Code, render_python
from planc.targets._shell import HEADER, render
from planc.targets._torchx_check import (
    CWD,
    DOCKER,
    KUBERNETES,
    SCHEDULERS,
    SLURM,
    SLURM_KEYS,
    TARGET_NAME,
    check_job,
    image_path,
    mount_parts,
    setting,
)
from planc.targets._torchx_faults import LOST_CHECKPOINTS, UNSAID
from planc.targets.target import EmittedFile, Start, Target

#: What launch scripts cannot do and TorchX can, or what has a fault of its own here.
_OTHERWISE = (CONTAINER.code,)

_UNKNOWN = -1  # of a resource: TorchX asks for none


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What a job of TorchX cannot do for the plan."""
    yield from check_job(plan)
    otherwise = _OTHERWISE if needs_script(plan, TARGET_NAME) else (*_OTHERWISE, MISSING_SCRIPT.code)
    if setting(plan, "scheduler") in (DOCKER, KUBERNETES):
        otherwise = (*otherwise, MODULE_NAME.code)
    yield from (found for found in check_launch(plan, TARGET_NAME) if found.code not in otherwise)


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`torchx.sh` and `torchx_job.py`."""
    scheduler = setting(plan, "scheduler")
    workspace = scheduler == DOCKER or setting(plan, "image_repo") is not None
    values = {"scheduler": scheduler, "settings": _settings(plan, scheduler), "workspace": workspace}
    return (
        EmittedFile("torchx.sh", render("torchx/torchx.sh.j2", values), executable=True),
        EmittedFile("torchx_job.py", render_python("torchx/torchx_job.py.jinja", _job(plan, facts, scheduler))),
    )


def _settings(plan: Plan, scheduler: str) -> str:
    """What the scheduler is told besides the job, as TorchX reads it."""
    found: dict[str, str] = {}
    if scheduler == SLURM:
        given: dict[str, str] = written(plan, "launch.slurm") or {}
        found = {key: given[key] for key in SLURM_KEYS if key in given}
        limit = seconds(written(plan, "launch.walltime"))
        if limit is not None:
            found["time"] = f"{limit // 60}:{limit % 60:02}"  # minutes and seconds
    elif scheduler == KUBERNETES:
        for name in ("queue", "namespace"):
            if written(plan, f"launch.kubernetes.{name}") is not None:
                found[name] = written(plan, f"launch.kubernetes.{name}")
    if setting(plan, "image_repo") is not None:
        found["image_repo"] = setting(plan, "image_repo")
    return ",".join(f"{name}={value}" for name, value in found.items())


def _job(plan: Plan, facts: Facts, scheduler: str) -> dict[str, Any]:
    """What the component is filled with."""
    contained = scheduler in (DOCKER, KUBERNETES)
    port, cores = port_of(plan), written(plan, "cluster.cpu_cores")
    return {
        "header": Code(HEADER),
        "name": plan.name,
        "image": written(plan, image_path(plan)) if contained else ".",
        "num_nodes": facts["cluster.nodes"],
        "cpu": _UNKNOWN if cores is None or scheduler == KUBERNETES else cores,
        "gpu": facts["cluster.gpus_per_node"],
        "memory": _memory(plan, scheduler),
        "ports": Code(f'{{"c10d": {port}}}' if 1 < facts["cluster.nodes"] else "{}"),
        "mounts": _mounts(plan) if contained else [],
        "lines": tuple(_script(plan, facts, scheduler).splitlines(keepends=True)),
        "readers": Code("TorchX and Kubernetes leave" if scheduler == KUBERNETES else "TorchX leaves"),
        "dollar": "$$$$" if scheduler == KUBERNETES else "$$",
    }


def _memory(plan: Plan, scheduler: str) -> int:
    """Memory of a container in MiB; no other scheduler is asked for what is in the node.

    The system of a node keeps some for itself: Slurm refuses a job that asks for all of it, and a pod stays pending.
    """
    memory = written(plan, "cluster.cpu_memory")
    return _UNKNOWN if memory is None or scheduler != DOCKER else int(memory // 2**20)


def _mounts(plan: Plan) -> list[str]:
    found: list[str] = []
    for mount in written(plan, "launch.container.mounts") or ():
        source, folder, mode = mount_parts(mount)
        found += ["type=bind", f"src={source}", f"dst={folder}", *(["readonly"] if mode == "ro" else [])]
    return found


def _script(plan: Plan, facts: Facts, scheduler: str) -> str:
    """What bash runs on every node."""
    found, nodes = carried(plan, facts, launcher_of(plan, TARGET_NAME)), facts["cluster.nodes"]
    limit = None if scheduler == SLURM else seconds(written(plan, "launch.walltime"))  # Slurm has a limit of its own
    values = {"script": found.script, "modules": found.has_modules, "several": 1 < nodes, "wait": WAIT, "limit": limit}
    files = {**found.files, "node.sh": render("torchx/node.sh.j2", {**values, "port": str(port_of(plan))})}
    return f'{unpacking(files)}exec bash "${{planc_files}}/node.sh" "$@"\n'


TARGET = Target(
    summary="torchx.sh and torchx_job.py: a job of TorchX on Kubernetes, Slurm, Docker or this machine",
    proved="TorchX 0.7.0: its component parser and the requests of its schedulers; two nodes train on gloo",
    check=check,
    emit=emit,
    options=(
        Field(
            "scheduler",
            Type("word", words=SCHEDULERS),
            None,
            f"what starts the job, as in `{CWD}`; there is no default",
        ),
        Field("image_repo", TEXT, None, "repository to which the image with the current folder in it is pushed"),
        Field(
            "launcher",
            Type("target"),
            None,
            "what starts a node's ranks; by default the trainer that has a script of its own, accelerate where the "
            "plan emits it and not torchrun, else torchrun",
        ),
    ),
    faults=(UNSAID, LOST_CHECKPOINTS, *(fault for fault in LAUNCH_FAULTS if fault.code not in _OTHERWISE)),
    start=Start(containers=True),
)

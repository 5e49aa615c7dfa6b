"""ray-train: `ray_train.py`, a module with the plan's TorchTrainer, and `ray_job.sh`, which sends the program to Ray.

Ray starts a worker a card, joins them in torch's process group and calls a function in each; the program hands that
function to the module. What other targets of the plan write for the program travels with it: modules by Ray, and data
as Python in `ray_train.py`, since no folder of the sender is there on the nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from planc.diagnostics.diagnostic import Diagnostic
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.schema import Field, Type
from planc.targets import emitted_targets, load_target
from planc.targets._environment import Variable, environment
from planc.targets._faults import LAUNCH_FAULTS, MODULE_NAME, VENV
from planc.targets._launch import check_launch, launch_values, option, written
from planc.targets._left import check_left
from planc.targets._python import Code, literal, render_python
from planc.targets._ray_train_obstacles import LEFT, UNSAID, check_cluster, check_program
from planc.targets._shell import HEADER, render
from planc.targets.target import EmittedFile, Start, Target

_NAME = "ray-train"

#: Data that a program reads, by the target that writes it: the file, and what the module calls its content.
_DATA = {
    "deepspeed": ("ds_config.json", "DS_CONFIG"),
    "transformers": ("training_args.json", "TRAINING_ARGS"),
}

#: As a node with such a card calls it (ray/util/accelerators/accelerators.py).
ACCELERATORS = (
    "A100", "A100-40G", "A100-80G", "A10G", "B200", "B300", "GB200", "GB300", "H100", "H20", "H200", "K80", "L4",
    "L40S", "P100", "P4", "RTX-PRO-6000", "T4", "V100", "AMD-Instinct-MI100", "AMD-Instinct-MI210",
    "AMD-Instinct-MI250X", "AMD-Instinct-MI250X-MI250", "AMD-Instinct-MI300A", "AMD-Instinct-MI300X-HF",
    "AMD-Instinct-MI300X-OAM", "AMD-Instinct-MI308X", "AMD-Instinct-MI325X-OAM", "AMD-Instinct-MI350X-OAM",
    "AMD-Instinct-MI355X-OAM",
)  # fmt: skip

#: What launch scripts do and Ray does not, and which has a fault of its own here.
_OTHERWISE = (MODULE_NAME.code, VENV.code)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What Ray Train cannot do for the plan."""
    yield from (found for found in check_launch(plan, _NAME) if found.code not in _OTHERWISE)
    yield from check_cluster(plan)
    yield from check_program(plan)
    if not any(each.trains for _, each in emitted_targets(plan)):  # which say themselves what they leave
        yield from check_left(plan, _NAME, LEFT, ("checkpoint.directory", "checkpoint.keep"))


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`ray_train.py` and `ray_job.sh`."""
    variables = _variables(plan, facts)
    module = render_python("ray-train/ray_train.py.jinja", {
        "header": Code(HEADER),
        "name": plan.name,
        "nodes": facts["cluster.nodes"],
        "gpus_per_node": facts["cluster.gpus_per_node"],
        "world": facts["world.size"],
        "env": tuple((variable.name, variable.value, Code(variable.reason)) for variable in variables),
        "others": {variable.name: (variable.other,) for variable in variables if variable.other},
        "threads": any(variable.name == "OMP_NUM_THREADS" for variable in variables),
        "files": _data(plan, facts),
        **_run(plan, facts),
    })  # fmt: skip
    names = [name for variable in variables for name in (variable.name, variable.other) if name]
    values = launch_values(plan, facts)
    values.update(names=names, modules=_modules(plan, facts), flags=(), trainer=False)
    job = render("ray-train/ray_job.sh.j2", values)
    return (EmittedFile("ray_train.py", module), EmittedFile("ray_job.sh", job, executable=True))


def _run(plan: Plan, facts: Facts) -> dict[str, Any]:
    """What stands in the configs of Ray."""
    timeout = float(plan.value("launch.timeout"))
    placement = "PACK"  # as few nodes as are free
    if facts["cluster.nodes"] == 1:
        placement = "STRICT_PACK"
    elif facts["cluster.gpus_per_node"] == 1:
        placement = "STRICT_SPREAD"
    return {
        "placement": placement,
        "accelerator": option(plan, _NAME, "accelerator"),
        "storage": written(plan, "checkpoint.directory"),
        "keep": written(plan, "checkpoint.keep"),
        "restarts": plan.value("launch.restarts"),
        "timeout": timeout if timeout % 1 else int(timeout),
        "backend": "cpu:gloo,cuda:nccl" if _sums_on_the_host(plan) else "nccl",
    }


def _sums_on_the_host(plan: Plan) -> bool:
    """Whether ranks exchange tensors of the host's memory, which NCCL does not."""
    on_host = any(written(plan, f"offload.{what}") is not None for what in ("optimizer", "weights"))
    return on_host or bool(written(plan, "checkpoint.async"))


def _variables(plan: Plan, facts: Facts) -> tuple[Variable, ...]:
    """The environment of all launch scripts, and the threads that these work out."""
    found = environment(plan, facts)
    threads = launch_values(plan, facts)["threads"]
    if threads is None or any(variable.name == "OMP_NUM_THREADS" for variable in found):
        return found
    reason = "PyTorch: the cores of a node by its workers; Ray would give each of them one thread."
    return (*found, Variable("OMP_NUM_THREADS", str(threads), reason))


def _modules(plan: Plan, facts: Facts) -> tuple[str, ...]:
    """Names of the modules that Ray sends to the workers."""
    emitted = load_target("fsdp2").emit(plan, facts) if plan.emits("fsdp2") else ()
    return ("ray_train", *(file.path.removesuffix(".py") for file in emitted))


def _data(plan: Plan, facts: Facts) -> tuple[tuple[Code, Mapping[str, Code]], ...]:
    """The data that other targets write for the program: each file, and its content by name."""
    found = []
    for target, (path, name) in _DATA.items():
        if plan.emits(target):
            text = next(file.text for file in load_target(target).emit(plan, facts) if file.path == path)
            found.append((Code(path), {"name": Code(name), "value": Code(literal(json.loads(text)))}))
    return tuple(found)


TARGET = Target(
    summary="ray_train.py, a module with the plan's TorchTrainer, and ray_job.sh, which sends the program to a cluster",
    proved="ray 2.60.0: its own classes, workers on gloo, and a job that its server ran",
    check=check,
    emit=emit,
    options=(
        Field(
            "accelerator",
            Type("word", words=ACCELERATORS),
            None,
            "the kind of card that Ray's nodes have to have, as Ray calls it; by default any",
        ),
    ),
    faults=(UNSAID, LEFT, *(fault for fault in LAUNCH_FAULTS if fault.code not in _OTHERWISE)),
    aliases=("ray",),
    start=Start(bare=True),
    timeout=True,
)

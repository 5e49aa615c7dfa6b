"""What a plan may say that no job of TorchX can: the kinds of fault of the target."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Severity
from planc.targets._faults import example, fault

_CHECKPOINTS = 'checkpoint { every = 500 steps  directory = "/checkpoints" }  '
_DOCKER = 'container { image = "train:1" }'
_MOUNTED = 'container { image = "train:1"  mounts = ["/scratch/one:/checkpoints"] }'


def _plan(options: str, launch: str = "", before: str = "") -> str:
    chosen = f"torchx {{ {options} }}" if options else "torchx"
    rest = f'{before}emit = [{chosen}]  launch {{ script = "train.py"  {launch} }}'
    return example(rest).replace("gpus_per_node = 8 }", "gpus_per_node = 8  cpu_memory = 1 TiB }")


UNSAID = fault(
    "PLN996",
    "unsayable-in-torchx",
    "A part of the plan has no place, or another meaning, in a job of TorchX.",
    why="what a job of TorchX can say depends on its scheduler: pods and containers need an image and load no modules, "
    "jobs of Slurm and of this machine start none; Kubernetes wants a queue of Volcano, and Slurm is handed six "
    "options. Docker gives a container without a limit of memory 64 MiB of `/dev/shm`, and, like this machine, starts "
    "all nodes with the same cards. TorchX splits its settings at `,`, `;` and `=`, and gives each node its rank.",
    example=_plan(""),
    instead=_plan("scheduler = local_cwd"),
    fix="do as the help says, or leave the field to a target that has it: fields may be set in one plan of two that "
    "share a template.",
    source="torchx/specs/api.py, torchx/specs/finder.py and torchx/schedulers.",
    versions="TorchX 0.7.0.",
)

LOST_CHECKPOINTS = fault(
    "PLN920",
    "checkpoints-end-with-the-container",
    "Checkpoints are saved to, or read from, a folder of the container itself.",
    why="a container's own files are gone with it, whether the run is done or a node has failed.",
    example=_plan("scheduler = local_docker", _DOCKER, _CHECKPOINTS),
    instead=_plan("scheduler = local_docker", _MOUNTED, _CHECKPOINTS),
    fix='mount a folder there: `launch { container { mounts = ["/outside:/checkpoints"] } }`.',
    source="torchx/schedulers/docker_scheduler.py and kubernetes_scheduler.py.",
    versions="TorchX 0.7.0.",
    severity=Severity.WARNING,
)

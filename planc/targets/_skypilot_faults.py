"""What a plan may say that no task of SkyPilot can: the kinds of fault of the target."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Severity
from planc.targets._faults import example, fault

_CHECKPOINTS = 'checkpoint { every = 500 steps  directory = "/checkpoints" }  '
_CARD = 'accelerator = "H100"'
_READY = f'{_CARD}  setup = "pip install torch"'


def _plan(options: str = _READY, launch: str = "", before: str = "") -> str:
    chosen = f"skypilot {{ {options} }}" if options else "skypilot"
    return example(f'{before}emit = [{chosen}]  launch {{ script = "train.py"  {launch} }}')


UNSAID = fault(
    "PLN994",
    "unsayable-in-skypilot",
    "A part of the plan has no place, or another meaning, in a task of SkyPilot.",
    why="the task would ask for other machines, or run without what the plan says. SkyPilot lists cards by its own "
    "names, and one that the plan describes itself has none; it gives each node its rank and addresses; its machines "
    "have no environment modules and mount no folder of a host; and one script starts the ranks of a node. In paths it "
    "replaces `$NAME`.",
    example=_plan('setup = "pip install torch"'),
    instead=_plan(),
    fix="do as the help says, or leave the field to a target that has it: fields may be set in one plan of two that "
    "share a template.",
    source="sky/task.py, sky/resources.py, sky/backends/task_codegen.py; its list of accelerators, catalogs/v8.",
    versions="SkyPilot 0.14.1.",
)

LOST_CHECKPOINTS = fault(
    "PLN995",
    "checkpoints-end-with-the-machine",
    "Checkpoints are saved to, or read from, a folder of the machine itself.",
    why="the disk of a machine is gone when it is taken down or, as a spot instance, taken away: what a managed job "
    "would go on from is lost with what it was saved from. Nodes do not see each other's disks either.",
    example=_plan(before=_CHECKPOINTS),
    instead=_plan(f'{_READY}  buckets = ["s3://runs/one:/checkpoints"]', before=_CHECKPOINTS),
    fix='mount a bucket there: `emit = [skypilot { buckets = ["s3://BUCKET:/checkpoints"] }]`, or a volume with '
    "`volumes`.",
    source="SkyPilot, cloud buckets and volumes.",
    versions="SkyPilot 0.14.1.",
    severity=Severity.WARNING,
)

BARE_MACHINE = fault(
    "PLN928",
    "nothing-installs-torch",
    "The machines of a cloud start without torch, and nothing installs it.",
    why="SkyPilot's own images have Python and the driver; `run` then ends with `torchrun: command not found`, on "
    "machines that are paid for from the start.",
    example=_plan(_CARD),
    instead=_plan(),
    fix="write what is to be installed in `setup`, or name an image in `launch.container`.",
    source="SkyPilot, tasks: setup and image_id.",
    versions="SkyPilot 0.14.1.",
    severity=Severity.WARNING,
)

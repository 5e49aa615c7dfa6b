"""The faults of a Slurm job."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Severity
from planc.targets._faults import example, fault

_LAUNCH = 'launch { script = "train.py"'
_SAVED = "checkpoint { every = 500 steps }"
_IN_FOLDER = 'checkpoint { every = 500 steps  directory = "ckpt" }'
_EMIT = f"emit = [slurm]  {_LAUNCH} }}"

UNSAFE_TEXT = fault(
    "PLN911",
    "unsafe-slurm-text",
    "A text cannot stand in an `#SBATCH` line.",
    why="nothing is quoted or expanded in these lines: sbatch splits them at blanks, takes `#` for a comment "
    "and `$USER` for itself, and a line break would end the comment and start a command.",
    example=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ account = "$USER" }} }}'),
    instead=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ account = "llm" }} }}'),
    fix="write the text out in letters, digits and `_ . , : @ % + = / & | * ! ( ) [ ] ~ ^ -`; options are "
    "named as sbatch names them, without `--`.",
    source="sbatch(1); tried with Slurm 22.05.",
)

OWNED_OPTION = fault(
    "PLN912",
    "slurm-option-of-the-plan",
    "`launch.slurm` sets an option that follows from the plan.",
    why="two places would say how many nodes, cards or minutes the job has, and the batch and the shards "
    "follow from one of them only; with `--gpus-per-task` each rank would also see its own card as number "
    "0.",
    example=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ nodes = "4" }} }}'),
    instead=example(_EMIT, nodes=4, batch="global = 64  micro = 1"),
    fix="set the field that the help names.",
    source="sbatch(1).",
)

LOG_FOLDER = fault(
    "PLN913",
    "unmade-log-folder",
    "The output of the job goes to a folder that nobody makes.",
    why="Slurm opens the file before the job's first line runs; where the folder is missing the job ends at "
    "once and leaves no line behind.",
    example=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ output = "logs/%j.out" }} }}'),
    instead=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ output = "%x-%j.out" }} }}'),
    fix="name a file in the folder from which the job is submitted, or make the folder before and suppress this.",
    source="sbatch(1), --output; tried with Slurm 22.05.",
    severity=Severity.WARNING,
)

LAUNCHER = fault(
    "PLN914",
    "launcher-without-files",
    "The job is to be started by accelerate, and the plan does not emit accelerate's files.",
    why="`accelerate launch` reads the layout from a YAML file; without it one process a card would train by itself.",
    example=example('emit = [slurm { launcher = accelerate }]  launch { script = "train.py" }'),
    instead=example(
        'emit = [slurm { launcher = accelerate }, accelerate]  shard { stage = 3 }  launch { script = "train.py" }'
    ),
    fix="emit `accelerate` too, or leave the launcher to planc.",
    source="accelerate/commands/launch.py.",
)


OTHER_CARDS = fault(
    "PLN915",
    "cards-beside-ranks",
    "`gres` asks for another number of cards than a node starts ranks.",
    why="`gres` stands in place of `--gpus-per-node`. With fewer cards than ranks some ranks find none and stop; cards "
    "beyond the ranks are paid for and idle.",
    example=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ gres = "gpu:4" }} }}'),
    instead=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ gres = "gpu:8" }} }}'),
    fix="ask for `gpus_per_node` cards, or correct that field; without `gres` the job asks for as many as it needs.",
    source="sbatch(1), --gres.",
)


LATE_SIGNAL = fault(
    "PLN909",
    "signal-too-late-to-save",
    "The signal before the walltime leaves less time than a save takes.",
    why="the program begins to save when the signal comes, and Slurm ends it at the walltime, in the middle of a file.",
    example=example(f'{_SAVED}  emit = [slurm]  {_LAUNCH}  walltime = 4 h  slurm {{ signal = "B:USR1@2" }} }}').replace(
        "gpus_per_node = 8", "gpus_per_node = 8  storage = 100 MB/s"
    ),
    instead=example(
        f'{_SAVED}  emit = [slurm]  {_LAUNCH}  walltime = 4 h  slurm {{ signal = "B:USR1@120" }} }}'
    ).replace("gpus_per_node = 8", "gpus_per_node = 8  storage = 100 MB/s"),
    fix="let the signal come earlier; `planc explain` shows the time of a save.",
    source="sbatch(1), --signal.",
    severity=Severity.WARNING,
)

REQUEUED = fault(
    "PLN910",
    "requeued-from-the-start",
    "The job goes back into the queue, and nothing is saved that it could go on from.",
    why="a job with `requeue` starts again after a failed node, after preemption, and after the signal before its "
    "walltime. Without checkpoints each time at step 0: it may never end.",
    example=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ requeue = "" }} }}'),
    instead=example(f'{_SAVED}  emit = [slurm]  {_LAUNCH}  slurm {{ requeue = "" }} }}'),
    fix="add a `checkpoint` section, and a program that goes on from the last one; or leave `requeue` out.",
    source="sbatch(1), --requeue.",
    severity=Severity.WARNING,
)

RUNTIME = fault(
    "PLN916",
    "unwritten-container-runtime",
    "The job is to run in a container, and not by a runtime that this target writes.",
    why="pyxis takes the image as an option of `srun`, apptainer as a command; neither starts an image of the other's "
    "form, and docker needs rights that a job does not have.",
    example=example(f'emit = [slurm]  {_LAUNCH}  container {{ image = "trainer.sqsh" }} }}'),
    instead=example(f'emit = [slurm]  {_LAUNCH}  container {{ image = "trainer.sqsh"  runtime = enroot }} }}'),
    fix="write `runtime = enroot` where the cluster has pyxis, or `runtime = apptainer`.",
    source="NVIDIA/pyxis of 2025 (0619349), args.c; apptainer exec(1) 1.4.",
    versions="planc 0.1.",
)

MOUNT = fault(
    "PLN917",
    "unusable-mount",
    "A text of `launch.container` says something else where the container is started.",
    why="mounts are one option, split at commas and colons, and pyxis hands them to enroot in a line that is split at "
    "blanks. Nothing is expanded, so `~` and `$HOME` stay as they are, and an image that begins with `-` is an option.",
    example=example(
        f'emit = [slurm]  {_LAUNCH}  container {{ image = "x.sif"  runtime = apptainer  mounts = ["~/data"] }} }}'
    ),
    instead=example(
        f'emit = [slurm]  {_LAUNCH}  container {{ image = "x.sif"  runtime = apptainer  mounts = ["/data"] }} }}'
    ),
    fix='write whole paths: `"/data"`, `"/data:/mnt"` or `"/data:/mnt:ro"`; for a folder with commas, colons or blanks '
    "in its name, a link without.",
    source="NVIDIA/pyxis of 2025 (0619349), args.c, parse_mount_option; apptainer exec(1) 1.4, --bind.",
)

ARRAY = fault(
    "PLN918",
    "array-in-one-folder",
    "The jobs of an array save into the same folder at the same time.",
    why="each job of the array runs this plan as it is. They overwrite each other's checkpoints, and whoever goes on "
    "from the last one goes on from another job's.",
    example=example(f'{_IN_FOLDER}  emit = [slurm]  {_LAUNCH}  slurm {{ array = "0-3" }} }}'),
    instead=example(f'{_IN_FOLDER}  emit = [slurm]  {_LAUNCH}  slurm {{ array = "0-3%1" }} }}'),
    fix="run them one after another (`%1`), so that each goes on where the one before stopped, or let the program add "
    "`SLURM_ARRAY_TASK_ID` to the folder and suppress this.",
    source="sbatch(1), --array.",
    severity=Severity.WARNING,
)

RESTARTS = fault(
    "PLN919",
    "restarts-without-an-agent",
    "srun starts the ranks, and does not start a failed one again.",
    why="`launch.restarts` is the number of times that torchrun's agent starts a node's ranks again; without an agent "
    "the first failure ends the job.",
    example=example(f"emit = [slurm {{ launcher = srun }}]  {_LAUNCH}  restarts = 3 }}"),
    instead=example(f"emit = [slurm {{ launcher = torchrun }}]  {_LAUNCH}  restarts = 3 }}"),
    fix='use torchrun, or remove `restarts`; `slurm { requeue = "" }` starts the whole job again after a failed node.',
    source="srun(1), --kill-on-bad-exit.",
)

OPTION_VALUE = fault(
    "PLN929",
    "slurm-option-without-its-value",
    "An option of sbatch lacks the value that it needs, or has one that it does not take.",
    why="an option with an empty text becomes a bare `--partition`, for which sbatch takes the next line as the value "
    "(or refuses the job, if it is the last); it refuses a value for an option that is a flag.",
    example=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ partition = "" }} }}'),
    instead=example(f'emit = [slurm]  {_LAUNCH}  slurm {{ partition = "gpu"  requeue = "" }} }}  {_SAVED}'),
    fix='write the value, or leave the option out; flags such as `requeue` and `hold` are written as `requeue = ""`.',
    source="sbatch of Slurm 22.05.8, asked for each of its options with and without a value.",
    versions="Slurm 22.05.",
)

#: What a job reports besides what every launch script reports.
SLURM_FAULTS = (
    UNSAFE_TEXT, OWNED_OPTION, LOG_FOLDER, LAUNCHER, OTHER_CARDS, LATE_SIGNAL, REQUEUED, RUNTIME, MOUNT, ARRAY,
    RESTARTS, OPTION_VALUE,
)  # fmt: skip

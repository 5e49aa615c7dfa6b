"""How a target's fault gets its page, and the faults that more than one target reports."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Fault, Severity

_GPU = "gpu card { memory = 80 GiB  bf16 = true  fp16 = true }"
_MODEL = 'model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000  family = "llama" }'


def example(
    rest: str, *, nodes: int = 1, gpus: int = 8, precision: str = "bf16", batch: str = "global = 64  accumulation = 8"
) -> str:
    """A complete plan for a page, with `rest` in it: what is emitted, and the fields that the page is about."""
    return f"""\
    {_GPU}
    {_MODEL}
    plan run {{
      model = small
      cluster {{ gpu = card  nodes = {nodes}  gpus_per_node = {gpus} }}
      batch {{ {batch} }}
      precision = {precision}
      {rest}
    }}
"""


def fault(
    code: str,
    name: str,
    first: str,
    *,
    why: str,
    example: str,
    instead: str,
    fix: str,
    source: str,
    versions: str = "all.",
    severity: Severity = Severity.ERROR,
) -> Fault:
    """A kind of fault whose page has the parts that every page has."""
    page = (
        f"{first}\n\n{_wrapped(f'Why: {why}')}\n\nExample:\n{example}\nInstead:\n{instead}\n"
        f"{_wrapped(f'Fix: {fix}')}\n\nSource: {source}\n\nVersions: {versions}\n"
    )
    return Fault(code, name, severity, page)


def _wrapped(text: str) -> str:
    """The text in lines of at most 120 characters; `textwrap` would cost every start several milliseconds."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and 120 < len(lines[-1]) + 1 + len(word):
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return "\n".join(lines)


_SCRIPT = 'launch { script = "train.py" }'

MISSING_SCRIPT = fault(
    "PLN901",
    "missing-launch-script",
    "A launcher is emitted, and nothing says what it starts.",
    why="torchrun, accelerate and Slurm start a program; without `launch.script` there is none.",
    example=example("emit = [torchrun]"),
    instead=example(f"emit = [torchrun]  {_SCRIPT}"),
    fix='write `launch { script = "..." }`; its path is relative to the folder from which the launch script is called.',
    source="torchrun, accelerate launch: the training script is a required argument.",
)

UNSETTABLE_VARIABLE = fault(
    "PLN902",
    "unsettable-variable",
    "`launch.env` names a variable that no script can set for the program.",
    why="a name that is no identifier cannot be exported by a shell; the shell or torchrun sets some names "
    "itself, so a value from the plan would be dropped without a word.",
    example=example('emit = [torchrun]  launch { script = "train.py"  env { LOCAL_RANK = "0" } }'),
    instead=example('emit = [torchrun]  launch { script = "train.py"  env { NCCL_DEBUG = "INFO" } }'),
    fix="correct the name, or leave the variable to its owner.",
    source="bash(1), Shell Variables; torch.distributed.run, Environment Variables.",
)

CONTAINER = fault(
    "PLN903",
    "unwritten-container",
    "`launch.container` is written, and the launch script starts no container.",
    why="the run would start in whatever environment the node has, not in the image that the plan names.",
    example=example('emit = [torchrun]  launch { script = "train.py"  container { image = "trainer.sqsh" } }'),
    instead=example('emit = [torchrun]  launch { script = "train.py"  venv = "/opt/trainer" }'),
    fix="emit `slurm` or `kubernetes`, which start it; or call the launch script inside the container and remove the "
    "section.",
    source="templates of torchrun and accelerate.",
    versions="planc 0.1.",
)

ELASTIC = fault(
    "PLN904",
    "unwritten-elasticity",
    "`launch.min_nodes` is written, and with fewer nodes the run would not be what the plan says.",
    why="files of trainers and jobs of Slurm are for all nodes of the plan: their batch, shards and schedule. torchrun "
    "alone can start with fewer, where each rank holds the whole model, a replica lies on one node, and the program "
    "reaches the global batch by more accumulation steps.",
    example=example(
        'emit = [torchrun]  launch { script = "train.py"  min_nodes = 1 }  shard { stage = 3 }',
        nodes=2,
        batch="global = 64  micro = 1",
    ),
    instead=example(
        'emit = [torchrun]  launch { script = "train.py"  min_nodes = 1 }  shard { stage = 0 }',
        nodes=2,
        batch="global = 64  micro = 1",
    ),
    fix="remove `min_nodes`, or what the label names; `restarts` restarts the workers after a failure with all nodes.",
    source="templates of the launch scripts; torch.distributed.run, Elastic.",
    versions="planc 0.1; torch 2.13.",
)

TIMEOUT = fault(
    "PLN905",
    "uncarried-timeout",
    "`launch.timeout` is written, and no emitted file carries it.",
    why="neither torchrun nor accelerate has an option for the timeout of collectives: it is an argument of "
    "`torch.distributed.init_process_group`, so the run would wait for torch's own ten minutes.",
    example=example('emit = [torchrun]  launch { script = "train.py"  timeout = 30 min }'),
    instead=example('emit = [torchrun, deepspeed]  launch { script = "train.py"  timeout = 30 min }'),
    fix="pass the timeout in the script (accelerate: `InitProcessGroupKwargs`) and remove the field, or emit "
    "a trainer that takes it: DeepSpeed reads `DEEPSPEED_TIMEOUT`, which the launch scripts export.",
    source="the parsers of torch.distributed.run and accelerate.commands.launch; torch.distributed.constants.",
    versions="torch 2.13, accelerate 1.15.",
    severity=Severity.WARNING,
)

MODULE_NAME = fault(
    "PLN906",
    "unloadable-module",
    "`launch.modules` names something that `module load` would take for an option.",
    why="the name is passed to `module load` as it stands; one that begins with `-` changes what the command does.",
    example=example('emit = [torchrun]  launch { script = "train.py"  modules = ["--force"] }'),
    instead=example('emit = [torchrun]  launch { script = "train.py"  modules = ["cuda/12.8"] }'),
    fix="write names of modules only.",
    source="module(1); Lmod, module load.",
)

VENV = fault(
    "PLN908",
    "unusable-venv",
    "`launch.venv` is no path that the launch script could activate.",
    why="text from a plan is quoted in scripts, so `~` stays a `~` there; and an empty path activates `/bin/activate`. "
    "Either fails only when the job runs.",
    example=example('emit = [torchrun]  launch { script = "train.py"  venv = "~/venvs/train" }'),
    instead=example('emit = [torchrun]  launch { script = "train.py"  venv = "/home/me/venvs/train" }'),
    fix="write the path out, or relative to the folder from which the script is started.",
    source="bash(1), Tilde Expansion.",
)

UNLIKE_NODES = fault(
    "PLN907",
    "unwritten-unlike-nodes",
    "The plan runs on groups of unlike nodes, for which no target writes files in this version.",
    why="one job of Slurm or torchrun asks for one kind of node, and batch sizes and shards are the same for every "
    "rank; for unlike nodes there would have to be several jobs, or a host file, and the slowest card sets the pace.",
    example=example("emit = [deepspeed]").replace(
        "cluster { gpu = card  nodes = 1  gpus_per_node = 8 }", "cluster = both"
    )
    + """\
    gpu other { memory = 40 GiB  bf16 = true }
    cluster large { gpu = card  nodes = 1  gpus_per_node = 4 }
    cluster small { gpu = other  nodes = 1  gpus_per_node = 4 }
    cluster both { groups = [large, small] }
""",
    instead=example("emit = [deepspeed]"),
    fix="write a plan for each group, or a cluster of the nodes that are alike.",
    source="torch.distributed.run, --nproc-per-node; DeepSpeed, train_batch_size.",
    versions="planc 0.1.",
)

#: What every launch script reports.
LAUNCH_FAULTS = (
    UNLIKE_NODES, MISSING_SCRIPT, UNSETTABLE_VARIABLE, CONTAINER, ELASTIC, TIMEOUT, MODULE_NAME, VENV,
)  # fmt: skip

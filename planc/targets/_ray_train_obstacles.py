"""What Ray Train does not do for a plan, or does in another way than it says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.plan.model import Plan
from planc.targets._cards import another_card
from planc.targets._faults import example, fault
from planc.targets._launch import choice_of, key_span, option, written

_VERSIONS = "ray 2.60.0, Train V2."
_SCRIPT = 'launch { script = "train.py" }'

UNSAID = fault(
    "PLN999",
    "unsaid-by-ray-train",
    "The plan asks for something that Ray Train does not do, or does in another way.",
    why="Ray starts workers in the Python of its nodes, sets some of their variables itself, replaces `$NAME` and "
    "`${NAME}` in the others, and runs the program in a copy of its folder that is deleted later. Either is found out "
    "when the run has started, or when its checkpoints are looked for.",
    example=example(f'checkpoint {{ directory = "out" }}  emit = [ray-train]  {_SCRIPT}'),
    instead=example(f'checkpoint {{ directory = "/shared/out" }}  emit = [ray-train]  {_SCRIPT}'),
    fix="do as the help says, or emit another launcher.",
    source="ray/_private/utils.py, update_envs; ray/train/torch/config.py; train/v2/_internal/execution/storage.py.",
    versions=_VERSIONS,
)

LEFT = fault(
    "PLN967",
    "left-to-ray-program",
    "Some written fields have no place in ray_train.py; the program, or who sends it, has to follow them.",
    why="Ray Train starts workers and keeps checkpoints; what they train is code of the program, and no job of Ray "
    "ends by the clock. The plan still checks and counts with these fields; nothing makes the run obey them.",
    example=example(f"emit = [ray-train]  {_SCRIPT}"),
    instead=example(f"emit = [ray-train, deepspeed]  {_SCRIPT}"),
    fix="emit the trainer too, whose file says them; or nothing, if the program does as the plan says.",
    source="ray/train/v2/api/config.py.",
    versions=_VERSIONS,
    severity=Severity.INFO,
)

#: Set by Ray for every worker, whatever stood there before, beside its own `RAY_...`.
_OF_RAY = frozenset((
    "ACCELERATE_TORCH_DEVICE", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "MASTER_ADDR", "MASTER_PORT",
    "PYTHONPATH",
))  # fmt: skip

#: What Ray takes for the name of a variable inside a value (os.path.expandvars).
_EXPANDED = re.compile(r"\$(\w|\{)")
_REPLACED = "by a variable of that name, or by nothing"

#: A folder of the nodes, or an address that pyarrow reads; `~` is expanded where the program is started.
_PLACE = re.compile(r"[/~].*|[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+", re.DOTALL)

#: Trainers whose settings come by a launcher of their own, or that Ray has strategies of its own for.
_OF_OTHER_LAUNCHERS = {
    "accelerate": "they come by `accelerate launch`",
    "lightning": "its Trainer takes Ray's strategies there",
}


def check_cluster(plan: Plan) -> Iterator[Diagnostic]:
    """What Ray cannot do with the cluster and the environment of the plan."""
    vendor = written(plan, "cluster.gpu.vendor")
    if vendor in ("intel", "google"):
        span = plan["cluster.gpu"].span
        yield UNSAID.at(span, f"Ray Train has no torch for cards of {vendor}", "its workers use `torch.cuda`")
    accelerator = option(plan, "ray-train", "accelerator")
    choice = choice_of(plan, "ray-train")
    if choice is not None and accelerator is not None and another_card(plan, accelerator):
        message = f"`{accelerator}` is asked for, the plan is for `{another_card(plan, accelerator)}`"
        help = ("write the card into `cluster`",)
        yield UNSAID.at(choice.options["accelerator"].span, message, "checked for another card", help=help)
    for name in ("venv", "modules"):
        if written(plan, f"launch.{name}"):
            help = ("start Ray's nodes in it, and leave the field out",)
            span = plan[f"launch.{name}"].span
            yield UNSAID.at(span, f"Ray's workers start without `launch.{name}`", "in the Python of a node", help=help)
    if written(plan, "launch.walltime") is not None:
        span = plan["launch.walltime"].span
        yield LEFT.at(span, "Ray ends no job after `launch.walltime`", "left to who sends it")


def check_program(plan: Plan) -> Iterator[Diagnostic]:
    """What the program would be given in another way than the plan says, or not at all."""
    yield from _check_variables(plan)
    directory = written(plan, "checkpoint.directory")
    if directory is not None and not _PLACE.fullmatch(directory):
        label = "relative to a copy of the program that Ray deletes"
        if "://" in directory:
            label = "an address has no blank, quote or other such sign"
        help = ('write a whole path that all nodes share, or an address such as "s3://bucket/runs"',)
        span = plan["checkpoint.directory"].span
        yield UNSAID.at(span, "Ray keeps no checkpoints in such a folder", label, help=help)
    elif directory is not None and "://" in directory and plan.emits("transformers"):
        span, help = plan["checkpoint.directory"].span, ("write a whole path that all nodes share",)
        yield UNSAID.at(span, "the Trainer keeps its checkpoints in folders only", "an address", help=help)
    for choice in plan.targets:
        if choice.name in _OF_OTHER_LAUNCHERS:
            help = (f"emit `{choice.name}` in another plan",)
            message = f"Ray starts the program without the settings of `{choice.name}`"
            yield UNSAID.at(choice.span, message, _OF_OTHER_LAUNCHERS[choice.name], help=help)
    for target, name, content in (
        ("deepspeed", "config_flag", "DS_CONFIG"), ("transformers", "pass_path", "TRAINING_ARGS"),
    ):  # fmt: skip
        emitted = choice_of(plan, target)
        if emitted is not None and emitted.options.is_written(name) and written(emitted.options, name):
            help = (f"remove it; the program finds the content as `{content}` in ray_train.py",)
            span = emitted.options[name].span
            yield UNSAID.at(span, "on Ray's nodes no path leads to the compiled files", "not passed", help=help)


def _check_variables(plan: Plan) -> Iterator[Diagnostic]:
    own: dict[str, str] = written(plan, "launch.env") or {}
    for name, value in own.items():
        span = key_span(plan, "launch.env", name)
        if name.startswith("RAY_"):
            help = ("export it before `ray start`, or in the program before it imports Ray",)
            yield UNSAID.at(span, f"workers get `{name}` too late", "read before there are any", help=help)
        elif name in _OF_RAY:
            yield UNSAID.at(span, f"workers do not get `{name}`", "Ray sets it itself", help=("remove it",))
        elif _EXPANDED.search(value):
            yield UNSAID.at(span, f"Ray replaces what follows `$` in `{name}`", _REPLACED)
    choice = choice_of(plan, "env")
    for name in ("data_cache", "build_cache") if choice is not None else ():
        if choice is not None and _EXPANDED.search(written(choice.options, name) or ""):
            yield UNSAID.at(choice.options[name].span, f"Ray replaces what follows `$` in `{name}`", _REPLACED)
    for card in written(plan, "cluster.nics.names") or ():
        if _EXPANDED.search(card):
            span = plan["cluster.nics.names"].span
            yield UNSAID.at(span, "Ray replaces what follows `$` in `NCCL_IB_HCA`", _REPLACED)

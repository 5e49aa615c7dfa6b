"""Megatron-LM: `megatron.args`, the flags of `pretrain_gpt.py`, and `megatron.sh`, which starts it with torchrun.

Megatron reads flags: its `--yaml-cfg` takes a file that says all of them, in groups of its own, and is experimental. A
line of the file is a word of the command line, so no shell has to split or unquote it. Its flags come before those of
`launch.args` and of the caller, of which the last one holds: a flag of the file in `launch.args` is a fault. The script
is written where `launch.script` names the program.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Fault
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.schema import FLAG, Field
from planc.targets._faults import LAUNCH_FAULTS
from planc.targets._launch import (
    bare_starter,
    check_launch,
    check_nodes,
    choice_of,
    is_unset,
    key_span,
    launch_values,
    option,
    starting_path,
    written,
)
from planc.targets._left import check_left
from planc.targets._megatron_faults import FAULTS, LAYOUT, LEFT, MODEL, PRECISION, RUN, STATES
from planc.targets._megatron_flags import Flag, flags
from planc.targets._megatron_lengths import obstacles
from planc.targets._megatron_obstacles import core_obstacles
from planc.targets._megatron_versions import KEY, too_old
from planc.targets._shell import HEADER, render
from planc.targets.target import EmittedFile, Start, Target

#: Flags of which Megatron asks for one, and the field that says it, if there is one.
_NEEDED = (
    (("lr",), "optimizer.learning_rate"), (("train-iters", "train-samples"), "train.duration"),
    (("seq-length",), "batch.sequence_length"), (("tokenizer-type",), None),
    (("data-path", "mock-data", "train-data-path", "data-args-path", "per-split-data-args-path"), "dataset.path"),
)  # fmt: skip

#: The base of rotary positions, which Megatron takes for 10000 unless it is told.
_BASE = "rotary-base"

#: After how many minutes Megatron saves and ends by itself.
_END = "exit-duration-in-mins"

_KINDS = {"layout": LAYOUT, "states": STATES, "precision": PRECISION, "model": MODEL, "run": RUN}

#: Fields of the training that need no flag: another flag follows from them, or Megatron does so always.
_FOLLOWED = {
    "parallel.data", "parallel.sequence", "parallel.expert", "parallel.expert_tensor", "context", "pipeline",
    "pipeline.chunks", "pipeline.embedding_as_layer", "pipeline.loss_as_layer", "shard", "shard.size", "shard.stage",
    "batch.accumulation", "batch.ramp", "precision", "precision.gradients", "precision.master", "precision.loss_scale",
    "precision.weights", "recompute", "optimizer", "optimizer.states", "train.deterministic", "train.compile",
    "adapter", "dataset.drop_last", "dataset.packed", "offload.optimizer", "offload.weights", "offload.activations",
}  # fmt: skip


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What Megatron-LM cannot do for the plan."""
    yield from check_nodes(plan, "megatron") if is_unset(plan, "launch.script") else check_launch(plan, "megatron")
    overlaps = bool(option(plan, "megatron", "overlap")) or written(plan, "shard.bucket") is not None
    for obstacle in core_obstacles(plan, facts, overlaps):
        yield _at(plan, _KINDS[obstacle.kind], obstacle.path, obstacle.message, obstacle.help)
    yield from _check_run(plan, facts)
    found = tuple(flag for part in flags(plan, facts).values() for flag in part)
    yield from _check_words(plan, found)
    for late in too_old(plan, found):
        yield RUN.at(key_span(plan, "versions", KEY), late.message, help=(late.help,))
    yield from _check_needed(plan, found)
    said = {flag.path for flag in found} | {obstacle.path for obstacle in obstacles(plan, facts)} | _FOLLOWED
    if "log.directory" in said and tuple(written(plan, "log.to") or ()) == ("tensorboard",):
        said.add("log.to")
    yield from check_left(plan, "megatron", LEFT, said)


def _check_run(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    for obstacle in obstacles(plan, facts):
        yield _at(plan, RUN, obstacle.path, obstacle.message, obstacle.help)
    starter = bare_starter(plan, "torchrun", "slurm", "accelerate")  # they pass the flags, or start another trainer
    if starter is not None and not plan.emits("deepspeed"):
        message = f"`{starter}` starts the program without megatron.args"
        yield _at(plan, RUN, starting_path(plan), message, f"call megatron.sh, and leave `{starter}` out")
    if written(plan, "adapter") is not None:
        yield _at(plan, RUN, "adapter", "`pretrain_gpt.py` trains no adapters", "emit another trainer")
    if written(plan, "checkpoint.async") and written(plan, "checkpoint.format") == "full":
        yield _at(plan, RUN, "checkpoint.async", "Megatron saves shards asynchronously, no full checkpoint",
                  "write `format = sharded`")  # fmt: skip
    has = {name: not is_unset(plan, f"checkpoint.{name}") for name in ("every", "directory")}
    for first, second in (("every", "directory"), ("directory", "every")):
        if has[first] and not has[second]:
            message = f"Megatron saves with a directory and an interval, no `{second}`"
            yield _at(plan, RUN, f"checkpoint.{first}", message, f"write `checkpoint {{ {second} = ... }}`")


def _check_words(plan: Plan, found: tuple[Flag, ...]) -> Iterator[Diagnostic]:
    for flag in found:
        if flag.name != "load" and any("\n" in word for word in flag.words()):
            yield _at(plan, RUN, flag.path, f"a line of `megatron.args` holds no line break: `--{flag.name}`",
                      "write it in one line")  # fmt: skip
    given = _given(plan)
    for flag in found:
        if flag.name in given and given[flag.name] != flag.words()[0].partition("=")[2]:
            yield _at(plan, RUN, "launch.args", f"`--{flag.name}` says other than `{flag.path}`",
                      f"remove it; `megatron.args` has `{flag.words()[0]}`")  # fmt: skip


def _check_needed(plan: Plan, found: tuple[Flag, ...]) -> Iterator[Diagnostic]:
    choice, has = choice_of(plan, "megatron"), {*_given(plan), *(flag.name for flag in found)}
    needed = [
        f"`--{names[0]}`"
        for names, path in _NEEDED
        if has.isdisjoint(names) and (path is None or is_unset(plan, path))  # a field may have a fault of its own
    ]
    if "use-pytorch-profiler" in has and "tensorboard-dir" not in has:
        needed.append("`--tensorboard-dir`, where the trace of the profile goes")
    if written(plan, "model.positions") == "rope" and _BASE not in has:
        needed.append(f"`--{_BASE}` (10000 unless it is stated)")
    if plan.emits("slurm") and "requeue" in (written(plan, "launch.slurm") or {}) and _END not in has:
        needed.append(f"`--{_END}`, less than the walltime, as Megatron takes no signal before it")
    if choice is None or not needed:
        return
    count = "1 flag" if len(needed) == 1 else f"{len(needed)} flags"
    notes = ("add them to `launch.args`, or pass them to the script: " + ", ".join(needed),)
    yield LEFT.at(choice.span, f"Megatron-LM needs {count} that no field says", "not in `megatron.args`", notes=notes)


def _given(plan: Plan) -> dict[str, str]:
    """The flags in the plan's own arguments with what is joined to them or stands behind, as the program reads them."""
    words = [word for word in written(plan, "launch.args") or () if isinstance(word, str)]
    found = {}
    for at, word in enumerate(words):
        name, joined, value = word.partition("=")
        if not joined and at + 1 < len(words) and not words[at + 1].startswith("-"):
            value = words[at + 1]
        if name.startswith("--"):
            found[name[2:]] = value
    return found


def _at(plan: Plan, kind: Fault, path: str, message: str, help: str) -> Diagnostic:
    return kind.at(plan[path].span, message, help=(help,))


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`megatron.args`, and `megatron.sh` where there is a program to start."""
    lines = [f"# {HEADER}", "# A line is a word of the command line; the scripts beside this file pass over these."]
    for part, found in flags(plan, facts).items():
        words = [word for flag in found for word in flag.words()]
        lines += [f"# {part}", *words] if words else []
    file = EmittedFile("megatron.args", "\n".join(lines) + "\n")
    if is_unset(plan, "launch.script"):
        return (file,)
    values = {**launch_values(plan, facts), "flags": (), "megatron": True, "job_name": plan.name}
    return (file, EmittedFile("megatron.sh", render("megatron/megatron.sh.j2", values), executable=True))


TARGET = Target(
    summary="megatron.args and megatron.sh: the flags of Megatron-LM's pretrain_gpt.py, and torchrun to start it",
    proved="megatron-core 0.16.1: TransformerConfig, parallel_state and the first layers; flags of Megatron-LM 0.16",
    check=check,
    emit=emit,
    engines=("megatron",),
    options=(
        Field("overlap", FLAG, False, "reduce gradients and gather weights beside the passes, which is not predicted"),
    ),
    faults=(*FAULTS, *LAUNCH_FAULTS),
    gradients="fp32",
    aliases=("mcore", "megatron-lm"),
    start=Start(own=True, program="pretrain_gpt.py", node=True),
    timeout=True,
)

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
    launch_values,
    option,
    written,
)
from planc.targets._left import check_left
from planc.targets._megatron_faults import FAULTS, LAYOUT, LEFT, MODEL, PRECISION, RUN, STATES
from planc.targets._megatron_flags import FSDP, OPTIMIZERS, Flag, fact, flags, needs_precision_aware
from planc.targets._megatron_lengths import obstacles
from planc.targets._shell import HEADER, render
from planc.targets.target import EmittedFile, Target

_NEEDED = (
    ("lr",), ("train-iters", "train-samples"), ("seq-length",), ("tokenizer-type",),
    ("data-path", "mock-data", "train-data-path", "data-args-path", "per-split-data-args-path"),
)  # fmt: skip

_NOT_BUILT = (
    ("model.positions", ("alibi",), "Megatron has no `alibi` positions", "use `rope` or `learned`"),
    ("model.bias", ("attention", "mlp"), "Megatron has biases of all linear layers, or of `qkv`", "use `qkv` or `all`"),
    ("model.norms", (1, 3, 4), "Megatron's layers have two norms", "write `norms = 2`"),
    ("model.embedding_norm", (True,), "Megatron has no norm after the embedding", "remove it"),
    ("model.output_bias", (True,), "Megatron's output layer has no bias", "remove it"),
    ("model.attention.qk_norm", ("full",), "Megatron's norms of queries and keys are over each head", "use `head`"),
)  # fmt: skip

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
    yield from _check_layout(plan)
    yield from _check_states(plan, facts)
    yield from _check_precision(plan)
    yield from _check_optimizer(plan)
    for path, refused, message, help in _NOT_BUILT:
        if written(plan, path) in refused:
            yield _at(plan, MODEL, path, message, help)
    yield from _check_run(plan, facts)
    found = tuple(flag for part in flags(plan, facts).values() for flag in part)
    yield from _check_words(plan, found)
    yield from _check_needed(plan, found)
    said = {flag.path for flag in found} | _FOLLOWED
    if "log.directory" in said and tuple(written(plan, "log.to")) == ("tensorboard",):
        said.add("log.to")
    yield from check_left(plan, "megatron", LEFT, said)


def _check_layout(plan: Plan) -> Iterator[Diagnostic]:
    pipeline, context = written(plan, "pipeline"), written(plan, "parallel.context") or 1
    if pipeline in ("zero-bubble", "dual"):
        yield _at(plan, LAYOUT, "pipeline", f"Megatron has no `{pipeline}` pipeline", "use `1f1b` or `interleaved`")
    if 1 < context and written(plan, "context") == "hierarchical":
        message = "no field has the two sizes of a hierarchical exchange"
        yield _at(plan, LAYOUT, "context", message, "use `ring`, `ulysses` or `all-gather`")


def _check_states(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    stage = fact(facts, "shard.stage")
    if written(plan, "shard.secondary_size") is not None:
        yield _at(plan, STATES, "shard.secondary_size", "Megatron keeps no secondary shard of the weights", "remove it")
    if written(plan, "shard.bucket") is not None and stage in FSDP:
        yield _at(plan, STATES, "shard.bucket", "Megatron's FSDP has no buckets of stated size", "remove it")
    if written(plan, "offload.optimizer") == "nvme":
        yield _at(plan, STATES, "offload.optimizer", "Megatron offloads to the host only", "write `optimizer = cpu`")
    if written(plan, "offload.weights") is not None:
        yield _at(plan, STATES, "offload.weights", "Megatron offloads no weights", "remove it")
    if written(plan, "offload.activations"):
        message = "Megatron offloads activations by module, which no field names"
        yield _at(plan, STATES, "offload.activations", message, "use `recompute`")
    if stage == 0 and written(plan, "offload.optimizer") == "cpu":
        message = "Megatron offloads states that are shared, from stage 1 on"
        yield _at(plan, STATES, "offload.optimizer", message, "write `shard { stage = 1 }`")
    shared = stage is not None and 1 <= stage
    if written(plan, "optimizer") == "muon" and (shared or _overlaps(plan)):
        message = "Megatron's Muon takes neither shared states nor overlap"
        yield _at(plan, STATES, "optimizer", message, "write `shard { stage = 0 }` without a bucket, or use `adamw`")
    if stage in FSDP and written(plan, "checkpoint.format") == "full":
        yield _at(plan, STATES, "checkpoint.format", "Megatron's FSDP saves shards only", "write `format = sharded`")


def _overlaps(plan: Plan) -> bool:
    return bool(option(plan, "megatron", "overlap")) or written(plan, "shard.bucket") is not None


def _check_precision(plan: Plan) -> Iterator[Diagnostic]:
    precision, gradients = written(plan, "precision"), written(plan, "precision.gradients")
    own = {"bf16": "bf16", "fp8": "bf16", "fp4": "bf16", "fp16": "fp16", "fp32": "fp32"}.get(precision or "")
    if own is not None and gradients not in (None, "fp32", own):
        yield _at(plan, PRECISION, "precision.gradients", f"Megatron keeps no {gradients} gradients beside {precision}",
                  "write `gradients = fp32`")  # fmt: skip
    if written(plan, "precision.recipe") == "rowwise":
        message = "Megatron has no `rowwise` recipe"
        yield _at(plan, PRECISION, "precision.recipe", message, "use `tensorwise`, `blockwise`, `delayed` or `mxfp8`")
    if precision == "fp4" and written(plan, "precision.weights") == "fp8":
        message = "Megatron gathers no fp8 weights in fp4 training"
        yield _at(plan, PRECISION, "precision.weights", message, "write `weights = bf16`")
    master = written(plan, "precision.master")
    if master not in (None, "fp32", "fp16"):
        yield _at(plan, PRECISION, "precision.master", f"Megatron keeps no {master} master weights",
                  "write `master = fp32` or `master = fp16`")  # fmt: skip


def _check_optimizer(plan: Plan) -> Iterator[Diagnostic]:
    kind = written(plan, "optimizer")
    if kind is not None and kind not in OPTIMIZERS:
        yield _at(plan, PRECISION, "optimizer", f"Megatron has no `{kind}` optimizer", "use `adamw`, `sgd` or `muon`")
        return
    takes = OPTIMIZERS[kind][1] if kind else {}
    for name in ("betas", "epsilon", "momentum"):
        if kind and written(plan, f"optimizer.{name}") is not None and name not in takes:
            message = f"Megatron's `{kind}` takes no `{name}`"
            yield _at(plan, PRECISION, f"optimizer.{name}", message, "remove it")
    if kind in ("sgd", "muon") and needs_precision_aware(plan):
        path = "offload.optimizer" if written(plan, "offload.optimizer") == "cpu" else "optimizer.states"
        path = path if written(plan, path) not in (None, "fp32") else "precision.master"
        message = f"Megatron's `{kind}` keeps fp32 states on the card"
        yield _at(plan, PRECISION, path, message, "use `adamw`, or leave it out")


def _check_run(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    for obstacle in obstacles(plan, facts):
        yield _at(plan, RUN, obstacle.path, obstacle.message, obstacle.help)
    timeout = written(plan, "launch.timeout")
    if timeout is not None and timeout % 60 != 0:
        yield _at(plan, RUN, "launch.timeout", "the timeout is no whole number of minutes", "write `... min`")
    starter = bare_starter(plan, "torchrun", "slurm", "accelerate")  # they pass the flags, or start another trainer
    if starter is not None and not plan.emits("deepspeed"):
        message = f"`{starter}` starts the program without megatron.args"
        yield _at(plan, RUN, "launch.script", message, f"call megatron.sh, and leave `{starter}` out")
    if written(plan, "train.compile"):
        yield _at(plan, RUN, "train.compile", "Megatron has no `torch.compile` of the model", "remove it")
    if written(plan, "adapter") is not None:
        yield _at(plan, RUN, "adapter", "`pretrain_gpt.py` trains no adapters", "emit another trainer")
    if written(plan, "dataset.drop_last") is False:
        yield _at(plan, RUN, "dataset.drop_last", "Megatron drops an odd last batch", "remove it")
    if written(plan, "checkpoint.format") in ("universal", "safetensors"):
        message = f"Megatron saves no `{written(plan, 'checkpoint.format')}` checkpoints"
        yield _at(plan, RUN, "checkpoint.format", message, "write `format = sharded`")
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
    needed = [f"`--{names[0]}`" for names in _NEEDED if has.isdisjoint(names)]
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
)

"""gpt-neox's YAML: one file, or several that it lays over each other. `-` and `_` are one in its keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planc.diagnostics.diagnostic import Diagnostic
from planc.native import faults
from planc.native.keys import Reader, check
from planc.native.kind import OF_THE_PROGRAM, Content, Kind, Options
from planc.native.kinds._deepspeed_checks import check as deepspeed_settings
from planc.native.kinds._gpt_neox_checks import check as settings
from planc.native.kinds._gpt_neox_model import say_model
from planc.native.kinds.deepspeed import say as say_deepspeed
from planc.native.saying import Sayer, is_on, whole
from planc.native.tables import Key, Table, load_table
from planc.native.tree import Entry, Map, Scalar, Tree
from planc.targets._gpt_neox_config import PRECISIONS

#: Keys that no other tool's files have, and those that its smaller files are made of.
_SURE = frozenset((
    "pipe_parallel_size", "model_parallel_size", "gpt_j_residual", "no_weight_tying", "pos_emb", "checkpoint_factor",
    "output_layer_parallelism", "scaled_upper_triang_masked_softmax_fusion", "bias_gelu_fusion", "rotary_pct",
    "checkpoint_num_layers", "synchronize_each_layer", "keep_last_n_checkpoints", "make_vocab_size_divisible_by",
))  # fmt: skip
_LIKELY = frozenset((
    "vocab_file", "merge_file", "data_path", "train_data_paths", "checkpoint_activations", "tokenizer_type", "hostfile",
    "checkpoint_validation_with_forward_pass", "lr_decay_iters", "train_iters", "lr_decay_style", "use_wandb",
    "data_impl",
))  # fmt: skip

#: What no file says is not known: another one may be laid over it. Of schedules of a pipeline gpt-neox has one, and no
#: ranks of contexts and experts.
_WITHHELD = (
    "model", "parallel.tensor", "parallel.pipeline", "parallel.sequence",
    *(name for name in OF_THE_PROGRAM if name not in ("parallel", "pipeline", "context", "expert")),
)  # fmt: skip

#: Objects that go to DeepSpeed, which alone reads them; and what gpt-neox's files write in them beside its keys.
_HANDED_ON = ("zero_optimization", "fp16", "bf16", "comms_logger")
_OWN: dict[str, dict[str, Key]] = {"fp16": {"fp16": {"types": ["bool"]}, "type": {"types": ["string"]}}}

_WORDS = {native: word for word, native in PRECISIONS.items()}
_COURSES = ("constant", "linear", "cosine")


def recognise(tree: Tree) -> int:
    """How sure it is that a tree is a file of gpt-neox."""
    root = tree.root
    if root is None or root.find("MODEL_ARGS") is not None or root.find("base_model") is not None:
        return 0
    names = {name.replace("-", "_") for name in root.names()}
    sure, likely = len(names & _SURE), len(names & _LIKELY)
    known = len(names & set(load_table("gpt-neox").keys))
    if known < 3 or known < 0.6 * len(names):
        return 0
    return min(88 + 3 * sure, 99) if 1 < sure else 70 if sure + likely > 2 else 0


def joins(trees: Sequence[Tree], outright: bool) -> bool:
    """Whether files are parts of one run: one of them at most has the model, and of files that were only found in one
    folder no two have a key in common.
    """
    names = [{name.replace("-", "_") for name in tree.root.names()} for tree in trees if tree.root is not None]
    if 1 < sum("num_layers" in each for each in names):
        return False
    return outright or sum(map(len, names)) == len(set().union(*names))


def read(tree: Tree, options: Options) -> Content:
    """What the file says, with its keys checked."""
    sayer = Sayer()
    if tree.root is None:
        return sayer.content()
    sayer.report(*check(tree.root, Reader(load_table("gpt-neox"), alike=True)))
    root = _plain(tree.root)
    sayer.report(*check(root, Reader(_of_deepspeed(), version=options.version("deepspeed"))))
    sayer.report(*_overwritten(root))
    sayer.report(*deepspeed_settings(root, None), *settings(root))
    say_deepspeed(root, sayer)
    _precision(root, sayer)
    _layout(root, sayer)
    say_model(root, sayer)
    _recompute(root, sayer)
    _optimizer(root, sayer)
    _run(root, sayer)
    _records(root, sayer)
    return sayer.content()


def _plain(root: Map) -> Map:
    """The file with its keys as gpt-neox turns them."""
    return root._replace(
        entries=tuple(
            entry._replace(key=entry.key._replace(value=entry.name.replace("-", "_"))) for entry in root.entries
        )
    )


def _of_deepspeed() -> Table:
    """The keys of the objects that are handed on to DeepSpeed as they are."""
    table = load_table("deepspeed")
    rows = {name: table.keys[name] for name in _HANDED_ON if name in table.keys}
    for name, own in _OWN.items():
        rows[name] = {**rows[name], "keys": {**rows[name]["keys"], **own}}
    return table._replace(keys=rows, unknown="open")


def _overwritten(root: Map) -> Iterator[Diagnostic]:
    """Keys that gpt-neox sets itself, whatever stands there."""
    rows = load_table("gpt-neox").keys
    for entry in root.entries:
        source = rows.get(entry.name, {}).get("set_from")
        if source is not None and isinstance(entry.value, Scalar) and entry.value.value is not None:
            is_key = source.partition(".")[0] in rows
            message = f"gpt-neox sets `{entry.name}` by itself"
            label = f"from `{source}`" if is_key else f"from {source}"
            help = (f"write `{source}`" if is_key else "remove it",)
            yield faults.INERT_KEY.at(entry.key.span, message, label, help=help)


def _precision(root: Map, sayer: Sayer) -> None:
    """The word of its own key, if DeepSpeed's do not say it already."""
    precision = root.find("precision")
    word = _WORDS.get(str(root.value("precision")).lower())
    if word is not None and not any(is_on(root, name, "enabled") for name in ("fp16", "bf16")):
        sayer.say("precision", precision, word)
    gradients = root.find("data_types", "grad_accum_dtype")
    kept = root.value("data_types", "grad_accum_dtype")
    if kept in ("fp32", "bf16", "fp16"):
        sayer.say("precision.gradients", gradients, kept)


def _layout(root: Map, sayer: Sayer) -> None:
    """Ranks that split a layer, stages (0 and 1 are none), and the cards of the job."""
    _count(sayer, "parallel.tensor", root.find("model_parallel_size"))
    stages = root.find("pipe_parallel_size")
    number = whole(stages)
    if number is not None and 0 <= number:
        sayer.say("parallel.pipeline", stages, str(max(1, number)))
    sequence = root.find("sequence_parallel")
    if isinstance(root.value("sequence_parallel"), bool):
        sayer.say("parallel.sequence", sequence)
    _count(sayer, "cluster.nodes", root.find("num_nodes"))
    _count(sayer, "cluster.gpus_per_node", root.find("num_gpus"))
    hostfile = root.value("hostfile")
    found = root.find("hostfile")
    if found is not None and isinstance(hostfile, str) and hostfile not in ("", "None") and hostfile[0] != "/":
        sayer.refer(hostfile, found.value.span, "hostfile")


def _count(sayer: Sayer, path: str, entry: Entry | None) -> None:
    """A number of at least 1: less stands for "all that there are"."""
    number = whole(entry)
    if number is not None and 0 < number:
        sayer.say(path, entry)


def _recompute(root: Map, sayer: Sayer) -> None:
    entry, is_set = root.find("checkpoint_activations"), root.value("checkpoint_activations")
    if isinstance(is_set, bool):
        sayer.say("recompute", entry, "full" if is_set else "none")
    if is_set is True:
        _count(sayer, "recompute.layers", root.find("checkpoint_num_layers"))
        if is_on(root, "checkpoint_in_cpu"):
            sayer.say("offload.activations", root.find("checkpoint_in_cpu"))


def _optimizer(root: Map, sayer: Sayer) -> None:
    """What stands beside DeepSpeed's part: the kind that DeepSpeed does not name, and the decay of the weights."""
    kind = root.value("optimizer", "type")
    if isinstance(kind, str) and kind.lower() in ("cpu_adam", "cpu_torch_adam"):
        sayer.say("optimizer", root.find("optimizer", "type"), "adamw")
        for path, key in (("learning_rate", "lr"), ("epsilon", "eps")):
            sayer.say(f"optimizer.{path}", _numeric(root.find("optimizer", "params", key)))
    if root.find("optimizer", "params", "weight_decay") is None:
        sayer.say("optimizer.weight_decay", _numeric(root.find("weight_decay")))


def _run(root: Map, sayer: Sayer) -> None:
    """The length of the run, the course of the rate, data and checkpoints."""
    for path, key, unit in (
        ("train.duration", "train_iters", "steps"), ("train.duration", "train_epochs", "epochs"),
        ("schedule.total", "lr_decay_iters", "steps"), ("schedule.warmup", "warmup", ""),
        ("train.seed", "seed", ""), ("dataset.workers", "num_workers", ""),
        ("checkpoint.keep", "keep_last_n_checkpoints", ""),
    ):  # fmt: skip
        sayer.say(path, _numeric(root.find(key)), unit=unit)
    course = root.value("lr_decay_style")
    if isinstance(course, str) and course.lower() in _COURSES:
        sayer.say("schedule", root.find("lr_decay_style"), course.lower())
        if course.lower() != "constant":
            sayer.say("schedule.minimum", _numeric(root.find("min_lr")))
    for path, key in (
        ("dataset.path", "data_path"), ("checkpoint.directory", "save"), ("resume.directory", "load"),
    ):  # fmt: skip
        if isinstance(root.value(key), str):
            sayer.say(path, root.find(key))
    if root.value("checkpoint_scale") in (None, "linear"):
        sayer.say("checkpoint.every", _numeric(root.find("checkpoint_factor")), unit="steps")
    packing = root.value("pack_impl")
    if isinstance(packing, str):
        sayer.say("dataset.packed", root.find("pack_impl"), "false" if packing == "unpacked" else "true")


def _records(root: Map, sayer: Sayer) -> None:
    """Log lines, who receives them, and a window of steps that is traced."""
    sayer.say("log.every", _numeric(root.find("log_interval")), unit="steps")
    directory = root.find("tensorboard_dir") or root.find("log_dir")
    if directory is not None and isinstance(getattr(directory.value, "value", None), str):
        sayer.say("log.directory", directory)
    if is_on(root, "use_wandb"):
        receivers = "[wandb, tensorboard]" if root.find("tensorboard_dir") is not None else "[wandb]"
        sayer.say("log.to", root.find("use_wandb"), receivers)
    elif root.find("tensorboard_dir") is not None:
        sayer.say("log.to", root.find("tensorboard_dir"), "[tensorboard]")
    start, stop = whole(root.find("profile_step_start")), whole(root.find("profile_step_stop"))
    if is_on(root, "profile") and start is not None and stop is not None and start < stop:
        sayer.say("profile.start", root.find("profile_step_start"), unit="steps")
        sayer.say("profile.length", root.find("profile_step_stop"), f"{stop - start} steps")


def _numeric(entry: Entry | None) -> Entry | None:
    """An entry, if its value is a number."""
    value = getattr(entry.value, "value", None) if entry is not None else None
    return entry if isinstance(value, (int, float)) and not isinstance(value, bool) else None


KIND = Kind(
    "gpt-neox",
    "a configuration of gpt-neox",
    ("yaml", "json"),
    tuple(form for name in sorted(_SURE | _LIKELY) for form in (name, name.replace("_", "-"))),
    recognise,
    read,
    targets=("gpt-neox",),
    withheld=_WITHHELD,
    joins=joins,
)

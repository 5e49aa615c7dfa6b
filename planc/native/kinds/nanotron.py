"""nanotron's YAML file, which run_train.py reads."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.native import faults
from planc.native.keys import Reader, check
from planc.native.kind import Content, Kind, Options
from planc.native.saying import Sayer, is_on, number, quoted, whole
from planc.native.tables import load_table
from planc.native.tree import Entry, Map, Scalar, Seq, Tree

_SECTIONS = (
    "general", "parallelism", "model", "tokenizer", "checkpoints", "logging", "tokens", "optimizer", "data_stages",
    "lighteval", "profiler",
)  # fmt: skip
_MARKS = ("batch_accumulation_per_replica", "pp_engine", "data_stages", "model_config", "tp_mode")

#: What the program decides where the file says nothing.
_WITHHELD = (
    "pipeline", "optimizer", "schedule", "train", "dataset", "checkpoint", "resume", "launch", "log", "precision",
    "expert", "context",
)  # fmt: skip

_AXES = (("dp", "parallel.data"), ("pp", "parallel.pipeline"), ("tp", "parallel.tensor"),
         ("context_parallel_size", "parallel.context"))  # fmt: skip
_DTYPES = {"bfloat16": "bf16", "float32": "fp32"}

#: Sizes of its Llama, and of its Qwen2 without experts, which is one with other norms.
_MODEL = (
    ("num_hidden_layers", "layers"), ("hidden_size", "hidden"), ("num_attention_heads", "heads"),
    ("num_key_value_heads", "kv_heads"), ("intermediate_size", "ffn"), ("vocab_size", "vocab"),
    ("max_position_embeddings", "max_sequence_length"), ("tie_word_embeddings", "tied"),
)  # fmt: skip

#: Keys of the optimizer that stand in `optimizer_factory` now; a file that has them is of a release before.
_FLAT = ("adam_beta1", "adam_beta2", "adam_eps", "torch_adam_is_fused")


def recognise(tree: Tree) -> int:
    """How sure it is that a tree is a configuration of nanotron."""
    root = tree.root
    if root is None or root.map("parallelism") is None:
        return 0
    sections = sum(root.find(name) is not None for name in _SECTIONS)
    is_told = any(root.find("parallelism", name) is not None for name in ("dp", "tp", "pp"))
    model = root.find("model", "model_config") is not None
    return min(50 + 5 * sections, 95) if is_told and (model or root.map("tokens") is not None) else 0


def read(tree: Tree, options: Options) -> Content:
    """What the file says, with its keys checked."""
    root = tree.root
    sayer = Sayer()
    if root is None:
        return sayer.content()
    sayer.report(*_keys(root), *_check_heads(root), *_check_optimizer(root), *_check_stages(root))
    _layout(root, sayer)
    _batch(root, sayer)
    _model(root, sayer)
    _optimizer(root, sayer)
    _schedule(root, sayer)
    _run(root, sayer)
    return sayer.content()


def _keys(root: Map) -> Iterator[Diagnostic]:
    """Faults of keys; what an older release had elsewhere is not missing as well."""
    optimizer = root.map("optimizer")
    is_old = optimizer is not None and any(optimizer.find(name) is not None for name in _FLAT)
    for found in check(root, Reader(load_table("nanotron"))):
        if not (is_old and found.code == faults.MISSING_KEY.code and "`optimizer_factory`" in found.message):
            yield found


def _check_heads(root: Map) -> Iterator[Diagnostic]:
    """KV heads that the tensor ranks cannot share; heads are the rules' matter."""
    entry, tensor = root.find("model", "model_config", "num_key_value_heads"), root.find("parallelism", "tp")
    heads, ranks = whole(entry), whole(tensor)
    if entry is None or tensor is None or heads is None or ranks is None or not 0 < heads < ranks:
        return
    message = f"{heads} KV heads for {ranks} tensor ranks"
    help = (f"write `tp: {heads}`, or fewer",)
    related = (Label(entry.value.span, "nanotron gives no rank a copy of them"),)
    yield faults.WRONG_VALUE.at(tensor.value.span, message, "the trainer stops", related=related, help=help)


def _check_optimizer(root: Map) -> Iterator[Diagnostic]:
    stage = root.find("optimizer", "zero_stage")
    value = whole(stage)
    if stage is not None and value is not None and not 0 <= value <= 1:
        kept = 1 if 1 < value else 0
        message = f"`zero_stage: {value}` works as {kept}"
        label = "gradients and weights are not shared" if 1 < value else "nothing is shared"
        yield faults.INERT_KEY.at(stage.value.span, message, label, help=(f"write `zero_stage: {kept}`",))
    schedule = root.map("optimizer", "learning_rate_scheduler")
    if schedule is not None and schedule.value("lr_warmup_style") is None:
        style = schedule.find("lr_warmup_style")
        place = schedule.find("lr_warmup_steps") or schedule.find("learning_rate")
        at = style or place
        if at is not None and (style is None or isinstance(style.value, Scalar)):
            help = ("write `lr_warmup_style: linear`, or `constant`",)
            message = "the learning rate lacks `lr_warmup_style`"
            yield faults.MISSING_KEY.at(at.key.span, message, "nanotron refuses none at all", help=help)


def _stages(root: Map) -> list[Map]:
    found = root.find("data_stages")
    items = found.value.items if found is not None and isinstance(found.value, Seq) else ()
    return [item for item in items if isinstance(item, Map)]


def _check_stages(root: Map) -> Iterator[Diagnostic]:
    entry, stages = root.find("data_stages"), _stages(root)
    if entry is None or not stages:
        return
    starts = [whole(stage.find("start_training_step")) for stage in stages]
    if 1 not in starts and None not in starts:
        first = min(range(len(stages)), key=lambda index: starts[index] or 0)
        at = stages[first].find("start_training_step")
        if at is not None:
            message = f"the first stage of the data starts at step {starts[first]}"
            help = ("write `start_training_step: 1`",)
            yield faults.WRONG_VALUE.at(at.value.span, message, "one has to start at step 1", help=help)
    for key in ("start_training_step", "name"):
        yield from _check_unlike(stages, key)
    for stage in stages:
        yield from _check_weights(stage)
        yield from _check_tokens(root, stage)


def _check_unlike(stages: list[Map], key: str) -> Iterator[Diagnostic]:
    first: dict[object, Entry] = {}
    for stage in stages:
        entry, value = stage.find(key), stage.value(key)
        if entry is None or value is None:
            continue
        other = first.setdefault(value, entry)
        if other is not entry:
            related = (Label(other.value.span, "the first one"),)
            message = f"two stages of the data have the {'name' if key == 'name' else 'start'} `{str(value)[:40]}`"
            yield faults.CONFLICTING_SETTINGS.at(entry.value.span, message, "the trainer stops", related=related)


def _check_weights(stage: Map) -> Iterator[Diagnostic]:
    folders, weights = (stage.find("data", "dataset", name) for name in ("dataset_folder", "dataset_weights"))
    if folders is None or weights is None or not isinstance(folders.value, Seq) or not isinstance(weights.value, Seq):
        return
    counts = len(folders.value.items), len(weights.value.items)
    if counts[0] != counts[1]:
        message = f"{counts[1]} weights for {counts[0]} folders of data"
        related = (Label(folders.key.span, f"{counts[0]} folders"),)
        yield faults.CONFLICTING_SETTINGS.at(weights.key.span, message, "the trainer stops", related=related)


def _check_tokens(root: Map, stage: Map) -> Iterator[Diagnostic]:
    """The model and its tokenizer against those of the tokens in a folder."""
    if stage.find("data", "dataset", "dataset_folder") is None:
        return
    pairs = (
        (root.find("model", "model_config", "vocab_size"), "vocab_size"),
        (root.find("tokenizer", "tokenizer_name_or_path"), "tokenizer_name"),
    )
    for own, key in pairs:
        other = stage.find("data", "dataset", key)
        if own is None or other is None or not (isinstance(own.value, Scalar) and isinstance(other.value, Scalar)):
            continue
        values = own.value.value, other.value.value
        if None not in values and -1 not in values and values[0] != values[1]:
            what = "entries of the vocabulary" if key == "vocab_size" else "as the tokenizer"
            message = f"the data has {str(values[1])[:60]} {what}, the model {str(values[0])[:60]}"
            related = (Label(own.value.span, f"{str(values[0])[:60]} here"),)
            help = (f"write {either([f'`{own.name}: {values[1]}`'])}, or use other data",)
            yield faults.CONFLICTING_SETTINGS.at(
                other.value.span, message, "the trainer stops", related=related, help=help
            )


def _layout(root: Map, sayer: Sayer) -> None:
    parallelism = root.map("parallelism")
    if parallelism is None:
        return
    experts = whole(parallelism.find("expert_parallel_size")) or 1
    for key, path in _AXES:
        if key != "dp" or experts == 1:  # its ranks of experts are beside the replicas, not among them
            sayer.say(path, parallelism.find(key))
    mode, tensor = parallelism.value("tp_mode"), whole(parallelism.find("tp"))
    if isinstance(mode, str) and tensor is not None and 1 < tensor:
        text = "true" if mode.upper() == "REDUCE_SCATTER" else "false"
        sayer.say("parallel.sequence", parallelism.find("tp_mode"), text)
    recomputed = parallelism.find("recompute_layer")
    if recomputed is not None and isinstance(parallelism.value("recompute_layer"), bool):
        sayer.say("recompute", recomputed, "full" if is_on(parallelism, "recompute_layer") else "none")
    if str(parallelism.value("pp_engine")).lower() == "1f1b" and 1 < (whole(parallelism.find("pp")) or 1):
        sayer.say("pipeline", parallelism.find("pp_engine"), "1f1b")
    stage = root.find("optimizer", "zero_stage")
    if whole(stage) is not None:
        sayer.say("shard.stage", stage, str(min(max(whole(stage) or 0, 0), 1)))


def _batch(root: Map, sayer: Sayer) -> None:
    sayer.say("batch.micro", root.find("tokens", "micro_batch_size"))
    sayer.say("batch.accumulation", root.find("tokens", "batch_accumulation_per_replica"))
    sayer.say("batch.sequence_length", root.find("tokens", "sequence_length"))
    dtype, exact = root.find("model", "dtype"), root.find("optimizer", "accumulate_grad_in_fp32")
    word = _DTYPES.get(str(root.value("model", "dtype")))
    if word is None:
        return
    sayer.say("precision", dtype, word)
    if word == "bf16" and isinstance(root.value("optimizer", "accumulate_grad_in_fp32"), bool):
        kept = "fp32" if is_on(root, "optimizer", "accumulate_grad_in_fp32") else "bf16"
        sayer.say("precision.gradients", exact, kept)
        sayer.say("precision.master", exact, kept)


def _model(root: Map, sayer: Sayer) -> None:
    """The sizes of the models that are Llamas but for details; others have parts that no key here tells."""
    model = root.map("model", "model_config")
    if model is None or not (is_on(model, "is_llama_config") or is_on(model, "is_qwen2_config")):
        return
    if isinstance(model.find("moe_config"), Entry) and model.map("moe_config") is not None:
        return
    for key, name in _MODEL:
        sayer.say(f"model.{name}", model.find(key))
    family = "llama" if is_on(model, "is_llama_config") else "qwen2"
    sayer.say("model.family", model.find(f"is_{family}_config"), quoted(family))


def _optimizer(root: Map, sayer: Sayer) -> None:
    optimizer = root.map("optimizer")
    if optimizer is None:
        return
    factory = optimizer.map("optimizer_factory") or optimizer
    name = factory.find("name")
    kind = str(factory.value("name") or "adamw").lower()
    if kind not in ("adamw", "sgd"):
        return
    if name is not None:
        sayer.say("optimizer", name, kind)
    elif factory is optimizer and factory.find("adam_beta1") is not None:
        sayer.say("optimizer", factory.find("adam_beta1"), "adamw")
    sayer.say("optimizer.learning_rate", _number(optimizer, "learning_rate_scheduler", "learning_rate"))
    sayer.say("optimizer.weight_decay", _number(optimizer, "weight_decay"))
    sayer.say("optimizer.clip", _number(optimizer, "clip_grad"))
    if kind == "adamw":
        sayer.say("optimizer.epsilon", _number(factory, "adam_eps"))
        betas = [factory.value(name) for name in ("adam_beta1", "adam_beta2")]
        texts = [number(float(beta)) for beta in betas if isinstance(beta, float)]
        if len(texts) == 2 and None not in texts:
            sayer.say("optimizer.betas", factory.find("adam_beta1"), f"[{texts[0]}, {texts[1]}]")
            sayer.use(factory.find("adam_beta2"))


def _number(node: Map, *path: str) -> Entry | None:
    """The entry at a path, where its value is a number."""
    value = node.value(*path)
    return node.find(*path) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _schedule(root: Map, sayer: Sayer) -> None:
    """A rate that stays at its peak before it falls is that of `wsd`, whatever the curve of the fall."""
    scheduler = root.map("optimizer", "learning_rate_scheduler")
    if scheduler is None:
        return
    style = scheduler.value("lr_decay_style") or "linear"
    at = scheduler.find("lr_decay_style")
    warmup = whole(scheduler.find("lr_warmup_steps")) or 0
    start, length = whole(scheduler.find("lr_decay_starting_step")), scheduler.find("lr_decay_steps")
    waits = start is not None and warmup < start
    word = "wsd" if waits else style if style in ("linear", "cosine") else None
    if word is None or at is None or warmup < 0:
        return
    sayer.say("schedule", at, str(word))
    if waits:
        sayer.use(scheduler.find("lr_decay_starting_step"))
    sayer.say("schedule.warmup", scheduler.find("lr_warmup_steps"), unit="steps")
    steps, run = whole(length), root.find("tokens", "train_steps")
    if run is not None and (whole(run) or 0) < warmup:
        sayer.say("schedule.total", run, unit="steps")  # the fall would come after it
    elif length is not None and steps is not None and 0 < steps:
        sayer.say("schedule.total", length, f"{(warmup if start is None else start) + steps} steps")
    sayer.say("schedule.minimum", _number(scheduler, "min_decay_lr"))


def _run(root: Map, sayer: Sayer) -> None:
    """Length, data, checkpoints and the log."""
    sayer.say("train.duration", root.find("tokens", "train_steps"), unit="steps")
    sayer.say("train.seed", root.find("general", "seed"))
    stages = _stages(root)
    if len(stages) == 1:
        sayer.say("dataset.workers", stages[0].find("data", "num_loading_workers"))
    sayer.say("checkpoint.directory", root.find("checkpoints", "checkpoints_path"))
    sayer.say("checkpoint.every", root.find("checkpoints", "checkpoint_interval"), unit="steps")
    sayer.say("log.every", root.find("logging", "iteration_step_info_interval"), unit="steps")


KIND = Kind(
    "nanotron",
    "a nanotron configuration",
    ("yaml",),
    _MARKS,
    recognise,
    read,
    targets=("nanotron",),
    withheld=_WITHHELD,
)

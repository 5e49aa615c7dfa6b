"""DeepSpeed's configuration: a JSON file, or the same in YAML."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.native.keys import Reader, check
from planc.native.kind import Content, Kind, Options
from planc.native.kinds._deepspeed_checks import check as settings
from planc.native.saying import Sayer, is_on, numbers, whole
from planc.native.tables import load_table
from planc.native.tree import Entry, Map, Scalar, Tree

#: Keys that no other tool's files have, and those that others have as well.
_SURE = (
    "zero_optimization", "train_micro_batch_size_per_gpu", "zero_allow_untested_optimizer", "steps_per_print",
    "wall_clock_breakdown", "prescale_gradients", "zero_force_ds_cpu_optimizer",
)  # fmt: skip
_LIKELY = (
    "train_batch_size", "gradient_accumulation_steps", "gradient_clipping", "fp16", "bf16", "optimizer", "scheduler",
    "activation_checkpointing", "flops_profiler", "aio", "tensor_parallel", "compile", "autotuning",
)  # fmt: skip

#: Keys as people write them who know those of other tools, by what they are here.
_MEANT = {
    "zero_stage": "zero_optimization.stage", "stage": "zero_optimization.stage",
    "offload_optimizer_device": "zero_optimization.offload_optimizer.device",
    "offload_param_device": "zero_optimization.offload_param.device",
    "offload_optimizer_nvme_path": "zero_optimization.offload_optimizer.nvme_path",
    "offload_param_nvme_path": "zero_optimization.offload_param.nvme_path",
    "zero_optimization.offload_optimizer_device": "zero_optimization.offload_optimizer.device",
    "zero_optimization.offload_param_device": "zero_optimization.offload_param.device",
    "zero3_save_16bit_model": "zero_optimization.stage3_gather_16bit_weights_on_model_save",
    "optimizer.params.learning_rate": "optimizer.params.lr", "optimizer.lr": "optimizer.params.lr",
    "optimizer.params.epsilon": "optimizer.params.eps", "optimizer.name": "optimizer.type",
    "scheduler.params.warmup_steps": "scheduler.params.warmup_num_steps",
    "scheduler.params.total_steps": "scheduler.params.total_num_steps",
    "max_grad_norm": "gradient_clipping", "clip_grad": "gradient_clipping", "grad_clip": "gradient_clipping",
    "micro_batch_size": "train_micro_batch_size_per_gpu", "global_batch_size": "train_batch_size",
    "per_device_train_batch_size": "train_micro_batch_size_per_gpu",
    "bf16_enabled": "bf16.enabled", "fp16_enabled": "fp16.enabled",
}  # fmt: skip

#: Its optimizers, as the language calls them.
_OPTIMIZERS = {
    "adam": "adamw", "adamw": "adamw", "fusedadam": "adamw", "cpuadam": "adamw", "lion": "lion", "muon": "muon",
    "sgd": "sgd",
}  # fmt: skip

#: Elements of a bucket where the file says nothing.
_BUCKET = "500000000"

#: What the program decides where the file says nothing.
_WITHHELD = ("recompute", "optimizer", "schedule", "pipeline", "train", "dataset", "checkpoint", "launch.timeout")

#: Who resolves `auto`, by who reads the file; where nobody says, it is not known that nobody does.
_RESOLVERS = {
    None: ("hf", "accelerate"), "hf": ("hf", "accelerate"), "accelerate": ("accelerate",), "deepspeed": (),
}  # fmt: skip


def recognise(tree: Tree) -> int:
    """How sure it is that a tree is a DeepSpeed configuration."""
    root = tree.root
    if root is None:
        return 0
    names = set(root.names())
    sure, likely = len(names.intersection(_SURE)), len(names.intersection(_LIKELY))
    if "model_type" in names or "architectures" in names:
        return 0
    if sure:
        return min(60 + 10 * sure + 2 * likely, 95)
    if likely < 2 or any(root.map(name) is None for name in names.intersection(("fp16", "bf16"))):
        return 0  # there they are sections, in other tools' files flags
    known = len(names.intersection(load_table("deepspeed").keys))
    return 50 if len(names) <= 2 * known else 0


def read(tree: Tree, options: Options) -> Content:
    """What the file says, with its keys checked."""
    root = tree.root
    sayer = Sayer()
    if root is None:
        return sayer.content()
    version, stops = options.version("deepspeed"), options.trainer in ("hf", "accelerate")
    reader = Reader(
        load_table("deepspeed"), _RESOLVERS[options.trainer], version=version, auto_stops=stops, meant=_MEANT
    )
    norm = root.find("optimizer", "params", "max_grad_norm")  # of which the settings tell more
    known = _keys(root, reader, options)
    sayer.report(*(found for found in known if norm is None or found.primary.span != norm.key.span))
    sayer.report(*settings(root, options.trainer))
    say(root, sayer)
    if options.trainer in (None, "deepspeed"):
        _assume_accumulation(root, sayer)
        if root.find("gradient_clipping") is None and version is None:  # earlier releases do not clip
            sayer.assume("optimizer.clip", "1", root.span._replace(end=root.span.start + 1), "gradient_clipping")
    return sayer.content()


def _keys(root: Map, reader: Reader, options: Options) -> Iterator[Diagnostic]:
    """What is wrong with the keys; an `auto` that the Trainer fills in is no sure fault where it may be the reader."""
    sure = set(check(root, reader._replace(resolvers=_RESOLVERS["hf"]))) if options.likely else None
    for found in check(root, reader):
        yield found if sure is None or found in sure else found._replace(severity=Severity.WARNING)


def reader_of(resolvers: tuple[str, ...], version: str | None, auto_stops: bool = False) -> Reader:
    """How the keys of a DeepSpeed configuration are judged, wherever it stands."""
    return Reader(load_table("deepspeed"), resolvers, version=version, auto_stops=auto_stops, meant=_MEANT)


def _assume_accumulation(root: Map, sayer: Sayer) -> None:
    """Of a batch that one number gives alone, DeepSpeed takes a single pass: it has no other way to split it."""
    sizes = [root.find(name) for name in ("train_batch_size", "train_micro_batch_size_per_gpu")]
    given = [entry for entry in sizes if entry is not None and not _is_null(entry)]
    passes = root.find("gradient_accumulation_steps")
    if len(given) == 1 and whole(given[0]) is not None and (passes is None or _is_null(passes)):
        sayer.assume("batch.accumulation", "1", given[0].span, "gradient_accumulation_steps")


def _is_null(entry: Entry) -> bool:
    return isinstance(entry.value, Scalar) and entry.value.value is None


def say(root: Map, sayer: Sayer) -> None:
    """What a DeepSpeed configuration says, wherever it stands."""
    _batch(root, sayer)
    _precision(root, sayer)
    _zero(root, sayer)
    _optimizer(root, sayer)
    _number(sayer, "optimizer.clip", root.find("gradient_clipping"))
    _number(sayer, "parallel.tensor", root.find("tensor_parallel", "autotp_size"))


def _number(sayer: Sayer, path: str, entry: Entry | None) -> None:
    """A number, where it is one: `auto` is left to who resolves it."""
    if entry is not None and isinstance(getattr(entry.value, "value", None), (int, float)):
        sayer.say(path, entry)


def _batch(root: Map, sayer: Sayer) -> None:
    _number(sayer, "batch.global", root.find("train_batch_size"))
    _number(sayer, "batch.micro", root.find("train_micro_batch_size_per_gpu"))
    _number(sayer, "batch.accumulation", root.find("gradient_accumulation_steps"))


def _precision(root: Map, sayer: Sayer) -> None:
    for word, names in (("bf16", ("bf16", "bfloat16")), ("fp16", ("fp16",))):
        for name in names:
            if is_on(root, name, "enabled"):
                sayer.say("precision", root.find(name, "enabled"), word)
                scale = root.find("fp16", "loss_scale")
                if word == "fp16" and root.value("fp16", "loss_scale"):
                    _number(sayer, "precision.loss_scale", scale)
                _gradients(root, sayer)
                _kept(root, name, word, sayer)
                return


def _kept(root: Map, name: str, word: str, sayer: Sayer) -> None:
    """Weights and moments that are kept in the dtype of training, not in fp32."""
    entry = root.find(name, f"{word}_master_weights_and_grads")
    if is_on(root, name, f"{word}_master_weights_and_grads"):
        sayer.say("precision.master", entry, word)
    if word == "bf16" and is_on(root, name, "bf16_optimizer_states"):
        sayer.say("optimizer.states", root.find(name, "bf16_optimizer_states"), word)


def _gradients(root: Map, sayer: Sayer) -> None:
    """The dtype of gradients, where they are reduced in the one in which they are added up; else no field says it."""
    reduced, summed = root.value("communication_data_type"), root.value("data_types", "grad_accum_dtype")
    if reduced is None and summed is None:
        return
    if reduced == summed and reduced in ("fp32", "bf16", "fp16"):
        sayer.say("precision.gradients", root.find("communication_data_type"), reduced)
    else:
        sayer.withhold("precision.gradients")


def _zero(root: Map, sayer: Sayer) -> None:
    zero = root.map("zero_optimization")
    if zero is None:
        return
    stage = zero.value("stage")
    _number(sayer, "shard.stage", zero.find("stage"))
    if stage != 0 and zero.find("stage") is not None:  # without shards nothing is reduced in buckets of this size
        _bucket(zero, sayer)
    if stage == 3:
        _number(sayer, "shard.secondary_size", zero.find("zero_hpz_partition_size"))
    if is_on(zero, "cpu_offload"):  # of old releases; DeepSpeed still takes it
        sayer.say("offload.optimizer", zero.find("cpu_offload"), "cpu")
    for key, path in (("offload_optimizer", "offload.optimizer"), ("offload_param", "offload.weights")):
        device = zero.value(key, "device")
        if device in ("cpu", "nvme") and (key == "offload_optimizer" or stage == 3):
            sayer.say(path, zero.find(key, "device"), device)
            if device == "nvme":
                sayer.say("offload.path", zero.find(key, "nvme_path"))


def _bucket(zero: Map, sayer: Sayer) -> None:
    """Elements that are reduced at once; DeepSpeed's default does not depend on the model, as planc's does."""
    entry = zero.find("reduce_bucket_size")
    if entry is None:
        place = zero.span._replace(end=min(zero.span.end, zero.span.start + 1))
        sayer.assume("shard.bucket", _BUCKET, place, "reduce_bucket_size")
    _number(sayer, "shard.bucket", entry)


def _optimizer(root: Map, sayer: Sayer) -> None:
    kind = root.value("optimizer", "type")
    word = _OPTIMIZERS.get(kind.lower()) if isinstance(kind, str) else None
    if word is None:
        return
    sayer.say("optimizer", root.find("optimizer", "type"), word)
    rate = root.find("optimizer", "params", "lr")
    _number(sayer, "optimizer.learning_rate", rate)
    if rate is None or not isinstance(getattr(rate.value, "value", None), (int, float)):
        sayer.withhold("optimizer.learning_rate")  # DeepSpeed makes the optimizer all the same
    _number(sayer, "optimizer.weight_decay", root.find("optimizer", "params", "weight_decay"))
    if word in ("adamw", "lion"):
        betas = root.find("optimizer", "params", "betas")
        sayer.say("optimizer.betas", betas if numbers(betas) is not None else None, numbers(betas))
    if word == "adamw":
        _number(sayer, "optimizer.epsilon", root.find("optimizer", "params", "eps"))


KIND = Kind(
    "deepspeed",
    "a DeepSpeed configuration",
    ("json", "yaml"),
    (*_SURE, *_LIKELY),
    recognise,
    read,
    targets=("deepspeed",),
    withheld=_WITHHELD,
)

"""torchtitan's TOML file, which its trainer reads before 0.3; older releases had its settings in other sections."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic
from planc.native import faults
from planc.native.keys import Reader, check, folded
from planc.native.kind import Content, Kind, Options
from planc.native.kinds import _torchtitan_faults as trainer
from planc.native.kinds import _torchtitan_flavors as flavors
from planc.native.saying import Sayer, number, whole
from planc.native.tables import load_table
from planc.native.tree import Entry, Map, Tree
from planc.source import Span
from planc.targets._torchtitan_models import FLAVORS

#: Sections of which other tools' files have some, and those that tell torchtitan's.
_SECTIONS = (
    "job", "profiling", "metrics", "model", "optimizer", "lr_scheduler", "training", "parallelism", "checkpoint",
    "activation_checkpoint", "compile", "comm", "validation", "float8", "experimental", "quantize", "debug",
)  # fmt: skip
_MARKS = ("dump_folder", "local_batch_size", "data_parallel_shard_degree", "tensor_parallel_degree", "flavor")

#: What the program decides, or a default that is not the language's, where the file says nothing.
_WITHHELD = (
    "recompute", "pipeline", "optimizer", "schedule", "train", "dataset", "checkpoint", "resume", "launch", "log",
    "precision", "expert",
)  # fmt: skip

_SCHEDULES = {"1f1b": "1f1b", "interleaved1f1b": "interleaved"}
_CONTEXTS = {"allgather": "all-gather", "alltoall": "ring"}


def recognise(tree: Tree) -> int:
    """How sure it is that a tree is a configuration of torchtitan."""
    root = tree.root
    if root is None:
        return 0
    sections = sum(root.map(name) is not None for name in _SECTIONS)
    is_told = root.find("job", "dump_folder") is not None or root.find("model", "flavor") is not None
    if sections < 2 or not (is_told or trainer.degree(root, "shard") or root.find("training", "local_batch_size")):
        return 0
    return min(50 + 5 * sections, 95)


def read(tree: Tree, options: Options) -> Content:
    """What the file says, with its keys checked."""
    root = tree.root
    sayer = Sayer()
    if root is None:
        return sayer.content()
    sizes = trainer.degrees(root)
    sayer.report(*folded(_keys(root, options), "torchtitan 0.2.2"), *trainer.check(root, sizes))
    # The file is of a release that reads TOML; what planc knows of these is true of the last one.
    sayer.assume("versions.torchtitan", '"0.2.2"', Span(tree.source, 0, 0), "torchtitan")
    _layout(root, sizes, sayer)
    _batch(root, sizes, sayer)
    _precision(root, sizes, sayer)
    _pipeline(root, sizes, sayer)
    _optimizer(root, sayer)
    _schedule(root, sayer)
    _run(root, sayer)
    _model(root, sizes, sayer)
    return sayer.content()


def _keys(root: Map, options: Options) -> Iterator[Diagnostic]:
    """Faults of keys. A class of the user's own may have further ones, and tells of those that the table has."""
    own = root.value("job", "custom_config_module") or root.value("experimental", "custom_args_module")
    table = load_table("torchtitan")
    for found in check(root, Reader(table, version=options.version("torchtitan"))):
        unknown = found.code in (faults.UNKNOWN_KEY.code, faults.MISPLACED_KEY.code)
        if not (own and unknown and not found.fixes):
            yield found
    if own:
        return
    for section in root.entries:
        rows = {section.name: table.keys.get(section.name, {})}
        entries: tuple[Entry, ...] = (section,)
        if isinstance(section.value, Map) and "only" not in rows[section.name]:
            rows, entries = rows[section.name].get("keys", {}), section.value.entries
        for entry in entries:
            key, _, module = rows.get(entry.name, {}).get("only", "").partition(" = ")
            if module:
                message = f"`{entry.name}` is a key of another configuration class"
                help = (f'write `{key.partition(".")[2]} = "{module}"` in `[job]`',)
                label = "without that class the trainer stops"
                yield faults.INERT_KEY.at(entry.key.span, message, label, help=help)


def _layout(root: Map, sizes: trainer.Degrees, sayer: Sayer) -> None:
    """Axes and what is shared."""
    for axis, path in (("tensor", "parallel.tensor"), ("pipeline", "parallel.pipeline"),
                       ("context", "parallel.context"), ("expert", "parallel.expert")):  # fmt: skip
        entry = trainer.degree(root, axis)
        if whole(entry) == getattr(sizes, axis):
            sayer.say(path, entry)
    tensor, shard = trainer.degree(root, "tensor"), trainer.degree(root, "shard")
    if tensor is not None and 1 < sizes.tensor:
        sayer.assume("parallel.sequence", "true", tensor.span, tensor.name)  # its plans split norms always
    if 1 < sizes.expert:
        sayer.say("parallel.expert_tensor", root.find("parallelism", "expert_tensor_parallel_degree"))
    if 1 < sizes.context:
        method = root.find("parallelism", "context_parallel_rotate_method")
        word = _CONTEXTS.get(str(root.value("parallelism", "context_parallel_rotate_method")), "all-gather")
        _say_or_assume(sayer, "context", method, word, trainer.degree(root, "context"))
    if shard is not None and 0 < sizes.shard:
        sayer.say("parallel.data", shard, str(sizes.replicate * sizes.shard))
    _sharding(root, sizes, sayer, shard)


def _sharding(root: Map, sizes: trainer.Degrees, sayer: Sayer, shard: Entry | None) -> None:
    if not sizes.is_sharded:
        sayer.say("shard.stage", shard, "0")
        return
    policy = root.find("parallelism", "fsdp_reshard_after_forward")
    word = root.value("parallelism", "fsdp_reshard_after_forward")
    kept = word == "never" or (word in (None, "default") and 1 < sizes.pipeline)
    _say_or_assume(sayer, "shard.stage", policy, "2" if kept else "3", shard or root.find("training"))
    if 1 < sizes.replicate:
        replicate = trainer.degree(root, "replicate")
        share = str(sizes.shard) if 0 < sizes.shard else f"parallel.data / {sizes.replicate}"
        sayer.say("shard.size", replicate, share)


def _say_or_assume(sayer: Sayer, path: str, entry: Entry | None, text: str, else_at: Entry | None) -> None:
    """What a key says, or its default where the file leaves it out."""
    if entry is not None:
        sayer.say(path, entry, text)
    elif else_at is not None:
        sayer.assume(path, text, else_at.key.span, else_at.name)


def _batch(root: Map, sizes: trainer.Degrees, sayer: Sayer) -> None:
    """A pipeline takes all the micro batches of a step in one local batch."""
    local = root.find("training", "local_batch_size") or root.find("training", "batch_size")
    size = whole(local)
    everything = root.find("training", "global_batch_size")
    total = whole(everything)
    if total is not None and 0 < total:
        sayer.say("batch.global", everything)
    sayer.say("batch.sequence_length", root.find("training", "seq_len"))
    if local is None or size is None:
        return
    if sizes.pipeline == 1:
        sayer.say("batch.micro", local)
        passes = 1
    else:
        micro = root.find("parallelism", "pipeline_parallel_microbatch_size")
        each = 1 if micro is None else whole(micro)
        if each is None or each < 1 or size % each != 0:
            return
        _say_or_assume(sayer, "batch.micro", micro, str(each), local)
        passes = size // each
    if total is None or total < 0:
        sayer.assume("batch.accumulation", str(passes), local.span, local.name)


def _precision(root: Map, sizes: trainer.Degrees, sayer: Sayer) -> None:
    names = trainer.converters(root)
    converted = next((name for name in names if name in ("quantize.linear.float8", "float8")), None)
    if converted is not None:
        _float8(root, sayer)
        return
    if "quantize.linear.mx" in names:
        if str(root.value("quantize", "linear", "mx", "recipe_name") or "mxfp8").startswith("mxfp8"):
            sayer.say("precision", root.find("model", "converters"), "fp8")
            sayer.say("precision.recipe", root.find("model", "converters"), "mxfp8")
        return
    dtype, products = (root.find("training", name) for name in ("dtype", "mixed_precision_param"))
    if names or root.value("float8", "enable_float8_linear") or root.value("training", "fp8_linear"):
        return
    short = root.value("training", "dtype") == "bfloat16"
    if not sizes.is_sharded and (1 < sizes.tensor or 1 < sizes.pipeline):
        return  # only FSDP mixes dtypes beside other axes
    word = "fp32" if root.value("training", "mixed_precision_param") == "float32" and not short else "bf16"
    _say_or_assume(sayer, "precision", products or dtype, word, root.find("training"))
    if short:
        sayer.say("precision.master", dtype, "bf16")


def _float8(root: Map, sayer: Sayer) -> None:
    sayer.say("precision", root.find("model", "converters"), "fp8")
    float8 = root.map("quantize", "linear", "float8") or root.map("float8")
    recipe = float8.find("recipe_name") if float8 is not None else None
    word = float8.value("recipe_name") if float8 is not None else None
    if word in ("tensorwise", "rowwise"):
        sayer.say("precision.recipe", recipe, word)
    elif word is None:
        sayer.say("precision.recipe", root.find("model", "converters"), "tensorwise")
    if float8 is not None and float8.value("enable_fsdp_float8_all_gather") is True and word is None:
        sayer.say("precision.weights", float8.find("enable_fsdp_float8_all_gather"), "fp8")


def _pipeline(root: Map, sizes: trainer.Degrees, sayer: Sayer) -> None:
    if sizes.pipeline == 1:
        return
    entry = root.find("parallelism", "pipeline_parallel_schedule")
    name = root.value("parallelism", "pipeline_parallel_schedule")
    word = _SCHEDULES.get(name.lower()) if isinstance(name, str) else "1f1b" if entry is None else None
    if word is None or root.value("parallelism", "pipeline_parallel_schedule_csv"):
        return
    at = trainer.degree(root, "pipeline")
    uneven = (root.find("parallelism", name) for name in ("pipeline_parallel_layers_per_stage",
                                                           "module_fqns_per_model_part"))  # fmt: skip
    if word == "interleaved" and not any(uneven):
        _say_or_assume(sayer, "pipeline", entry, word, at)
        sayer.say("pipeline.chunks", entry, "2")
    elif word == "1f1b":
        _say_or_assume(sayer, "pipeline", entry, word, at)


def _optimizer(root: Map, sayer: Sayer) -> None:
    sayer.say("optimizer.clip", root.find("training", "max_norm"))
    if str(root.value("optimizer", "name") or "AdamW") != "AdamW" or root.map("optimizer") is None:
        return
    _say_or_assume(sayer, "optimizer", root.find("optimizer", "name"), "adamw", root.find("optimizer"))
    for key, path in (("lr", "learning_rate"), ("eps", "epsilon"), ("weight_decay", "weight_decay")):
        entry = root.find("optimizer", key)
        if entry is not None and isinstance(root.value("optimizer", key), (int, float)):
            sayer.say(f"optimizer.{path}", entry)
    betas = [root.value("optimizer", name) for name in ("beta1", "beta2")]
    texts = [number(float(beta)) for beta in betas if isinstance(beta, (int, float)) and not isinstance(beta, bool)]
    if len(texts) == 2 and None not in texts:
        sayer.say("optimizer.betas", root.find("optimizer", "beta1"), f"[{texts[0]}, {texts[1]}]")


def _schedule(root: Map, sayer: Sayer) -> None:
    warmup = root.find("lr_scheduler", "warmup_steps") or root.find("training", "warmup_steps")
    ratio, course = root.value("lr_scheduler", "decay_ratio"), root.value("lr_scheduler", "decay_type")
    word = course if course in ("linear", "cosine") else "linear" if course is None else None
    entry = root.find("lr_scheduler", "decay_type")
    if isinstance(ratio, (int, float)) and not isinstance(ratio, bool):
        entry = root.find("lr_scheduler", "decay_ratio")
        word = "constant" if ratio == 0 else "wsd" if 0 < ratio < 1 else word
    if word is None or (entry is None and warmup is None):
        return
    _say_or_assume(sayer, "schedule", entry, word, warmup)
    sayer.say("schedule.warmup", warmup, unit="steps")
    if word == "constant":
        return
    total, steps = root.find("lr_scheduler", "total_steps"), root.find("training", "steps")
    sayer.say("schedule.total", total, unit="steps")
    if total is None and steps is not None and whole(steps) is not None:
        sayer.assume("schedule.total", f"{whole(steps)} steps", steps.span, steps.name)
    least, rate = root.value("lr_scheduler", "min_lr_factor"), root.value("optimizer", "lr")
    if isinstance(least, (int, float)) and isinstance(rate, (int, float)) and not isinstance(least, bool):
        sayer.say("schedule.minimum", root.find("lr_scheduler", "min_lr_factor"), number(float(f"{least * rate:.12g}")))


def _run(root: Map, sayer: Sayer) -> None:
    """Length, data, checkpoints and the rest."""
    sayer.say("train.duration", root.find("training", "steps"), unit="steps")
    sayer.say("train.seed", root.find("debug", "seed") or root.find("training", "seed"))
    for path, places in (("train.deterministic", ("debug", "training")), ("train.compile", ("compile", "training"))):
        key = "enable" if path == "train.compile" else "deterministic"
        old = "compile" if path == "train.compile" else "deterministic"
        sayer.say(path, root.find(places[0], key) or root.find(places[1], old))
    if root.value("training", "enable_cpu_offload") is True:
        entry = root.find("training", "enable_cpu_offload")
        sayer.say("offload.optimizer", entry, "cpu")
        sayer.say("offload.weights", entry, "cpu")
    for key, path in (("dataset", "dataset.name"), ("dataset_path", "dataset.path")):
        sayer.say(path, root.find("training", key))
    sayer.say("dataset.workers", root.find("training", "dataloader", "num_workers"))
    mode = root.value("activation_checkpoint", "mode")
    layers = mode == "selective" and root.value("activation_checkpoint", "selective_ac_option") != "op"
    if mode in ("none", "selective", "full") and not layers:
        sayer.say("recompute", root.find("activation_checkpoint", "mode"), mode)
    sayer.say("log.every", root.find("metrics", "log_freq"), unit="steps")
    sayer.say("launch.timeout", root.find("comm", "train_timeout_seconds"), unit="s")
    if root.value("checkpoint", "enable") is True or root.value("checkpoint", "enable_checkpoint") is True:
        _checkpoint(root, sayer)


def _checkpoint(root: Map, sayer: Sayer) -> None:
    sayer.say("checkpoint.directory", root.find("checkpoint", "folder"))
    unit = root.value("checkpoint", "interval_type") or "steps"
    if unit in ("steps", "seconds"):
        sayer.say("checkpoint.every", root.find("checkpoint", "interval"), unit="steps" if unit == "steps" else "s")
    kept = root.find("checkpoint", "keep_latest_k")
    if 1 < (whole(kept) or 0):
        sayer.say("checkpoint.keep", kept)
    mode = root.value("checkpoint", "async_mode")
    if isinstance(mode, str):
        sayer.say("checkpoint.async", root.find("checkpoint", "async_mode"), "false" if mode == "disabled" else "true")


def _model(root: Map, sizes: trainer.Degrees, sayer: Sayer) -> None:
    """The sizes of a flavor, where they are all that the language needs: not of latent attention or windows."""
    name, entry = root.value("model", "name"), root.find("model", "flavor")
    flavor = FLAVORS.get((str(name), str(root.value("model", "flavor"))))
    if flavor is None or not flavors.is_plain(name) or entry is None:
        return
    flavors.say(sayer.say, flavor, str(name), entry, root.find("model", "name"))
    if flavor.experts and sizes.expert == 1 and 1 < sizes.tensor:
        tensor = trainer.degree(root, "tensor")
        if tensor is not None:
            sayer.assume("parallel.expert_tensor", str(sizes.tensor), tensor.span, tensor.name)


KIND = Kind(
    "torchtitan",
    "a torchtitan configuration",
    ("toml",),
    _MARKS,
    recognise,
    read,
    targets=("torchtitan",),
    withheld=_WITHHELD,
)

"""axolotl's YAML."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.native import faults
from planc.native.keys import Reader, check
from planc.native.kind import Content, Kind, Options
from planc.native.kinds import deepspeed
from planc.native.kinds._axolotl_checks import check as conflicts
from planc.native.kinds._finetuning import as_read, say_count, say_modules, say_number, say_text, truthy
from planc.native.saying import Sayer, is_on, number, whole
from planc.native.tables import load_table
from planc.native.tree import Entry, Map, Scalar, Seq, Tree
from planc.source import Span

_SURE = (
    "micro_batch_size", "sequence_len", "datasets", "adapter", "load_in_4bit", "sample_packing", "num_epochs",
    "pad_to_sequence_len", "lora_target_linear", "val_set_size", "dataset_prepared_path", "wandb_watch", "plugins",
)  # fmt: skip

_OPTIMIZERS = {
    "adamw_torch": "adamw", "adamw_torch_fused": "adamw", "adamw_hf": "adamw", "adamw_apex_fused": "adamw",
    "adamw_bnb_8bit": "adamw-8bit", "adamw_8bit": "adamw-8bit", "adafactor": "adafactor", "sgd": "sgd",
    "lion_pytorch": "lion", "lion_32bit": "lion", "muon": "muon",
}  # fmt: skip

_COURSES = {
    "linear": "linear", "cosine": "cosine", "constant": "constant", "constant_with_warmup": "constant",
    "inverse_sqrt": "inverse-sqrt",
}  # fmt: skip

#: Strategies of FSDP, as ZeRO stages.
_STAGES = {"full_shard": "3", "hybrid_shard": "3", "shard_grad_op": "2", "hybrid_shard_zero2": "2"}

#: What the Trainer, or the command that starts it, decides.
_WITHHELD = ("launch.timeout", "checkpoint", "dataset", "schedule", "precision")


def recognise(tree: Tree) -> int:
    """How sure it is that a tree is one of axolotl's files."""
    root = tree.root
    if root is None or "base_model" not in root.names():
        return 0
    count = len(set(root.names()).intersection(_SURE))
    return min(60 + 6 * count, 96) if count else 0


def read(tree: Tree, options: Options) -> Content:
    """What the file says, with its keys checked."""
    sayer = Sayer()
    if tree.root is None:
        return sayer.content()
    root = as_read(tree.root)
    reader = Reader(load_table("axolotl"), version=options.version("axolotl"))
    is_open = _has_other_plugins(root)
    sayer.report(*(found for found in check(root, reader) if not (is_open and _is_unlike(found))), *conflicts(root))
    start = root.span._replace(end=min(root.span.end, root.span.start + 1))
    _batch(root, sayer, start)
    _precision(root, sayer)
    _optimizer(root, sayer, start)
    _course(root, sayer, start)
    _memory(root, sayer, start)
    _shards(root, sayer, options)
    _adapter(root, sayer)
    _run(root, sayer)
    return sayer.content()


def _has_other_plugins(root: Map) -> bool:
    """Whether plug-ins that axolotl does not bring along may read keys of their own."""
    entry = root.find("plugins")
    items = entry.value.items if entry is not None and isinstance(entry.value, Seq) else ()
    names = [item.value if isinstance(item, Scalar) else None for item in items]
    return any(not str(name).startswith("axolotl.integrations.") for name in names)


def _is_unlike(found: Diagnostic) -> bool:
    """Whether a key is like none that is known."""
    return found.code == faults.UNKNOWN_KEY.code and found.severity is Severity.WARNING


def _batch(root: Map, sayer: Sayer, start: Span) -> None:
    micro, accumulation, total = (
        root.find(name) for name in ("micro_batch_size", "gradient_accumulation_steps", "batch_size")
    )
    if not say_count(sayer, "batch.micro", micro) and micro is None:
        sayer.assume("batch.micro", "1", start, "micro_batch_size")
    if not say_count(sayer, "batch.accumulation", accumulation) and accumulation is None:
        per_step, per_pass = whole(total), whole(micro) or 1
        if per_step is not None and 0 < per_pass <= per_step and per_step % per_pass == 0:
            sayer.say("batch.accumulation", total, str(per_step // per_pass))
        elif total is None:
            sayer.assume("batch.accumulation", "1", start, "gradient_accumulation_steps")
    length = root.find("sequence_len")
    if not say_count(sayer, "batch.sequence_length", length) and length is None:
        sayer.assume("batch.sequence_length", "512", start, "sequence_len")
    say_count(sayer, "parallel.tensor", root.find("tensor_parallel_size"))
    say_count(sayer, "parallel.context", root.find("context_parallel_size") or root.find("sequence_parallel_degree"))


def _precision(root: Map, sayer: Sayer) -> None:
    for word, names in (("bf16", ("bf16", "bfloat16")), ("fp16", ("fp16", "float16"))):
        for name in names:
            if is_on(root, name) and not is_on(root, "fp8"):
                sayer.say("precision", root.find(name), word)
                return


def _optimizer(root: Map, sayer: Sayer, start: Span) -> None:
    entry = root.find("optimizer")
    word = _OPTIMIZERS.get(str(root.value("optimizer")))
    if word is not None:
        sayer.say("optimizer", entry, word)
    elif entry is None:
        sayer.assume("optimizer", "adamw", start, "optimizer")
    else:
        sayer.withhold("optimizer")
    for path, name in (
        ("optimizer.learning_rate", "learning_rate"), ("optimizer.weight_decay", "weight_decay"),
        ("optimizer.clip", "max_grad_norm"), ("optimizer.epsilon", "adam_epsilon"),
    ):  # fmt: skip
        say_number(sayer, path, root.find(name))
    betas = [root.value(name) for name in ("adam_beta1", "adam_beta2")]
    texts = [number(float(beta)) for beta in betas if isinstance(beta, (int, float))]
    if len(texts) == 2 and all(texts):
        sayer.say("optimizer.betas", root.find("adam_beta1"), f"[{texts[0]}, {texts[1]}]")


def _course(root: Map, sayer: Sayer, start: Span) -> None:
    entry = root.find("lr_scheduler")
    word = _COURSES.get(str(root.value("lr_scheduler")))
    if word is not None:
        sayer.say("schedule", entry, word)
    elif entry is None:
        sayer.assume("schedule", "cosine", start, "lr_scheduler")
    sayer.withhold("schedule.warmup", "schedule.total", "schedule.minimum")
    if word is not None or entry is None:
        share = root.find("warmup_ratio")
        if not say_count(sayer, "schedule.warmup", root.find("warmup_steps"), "steps") and _is_share(share):
            sayer.say("schedule.warmup", share)
    if not say_count(sayer, "train.duration", root.find("max_steps"), "steps"):
        say_number(sayer, "train.duration", root.find("num_epochs"), "epochs")


def _is_share(entry: Entry | None) -> bool:
    value = entry.value.value if entry is not None and isinstance(entry.value, Scalar) else None
    return isinstance(value, float) and 0 <= value <= 1


def _memory(root: Map, sayer: Sayer, start: Span) -> None:
    entry = root.find("gradient_checkpointing")
    value = root.value("gradient_checkpointing")
    if truthy(root, "selective_checkpointing") is not None:
        sayer.withhold("recompute")
    elif value is True or value in ("offload", "offload_disk"):
        sayer.say("recompute", entry, "full")
        if value == "offload":
            sayer.say("offload.activations", entry, "true")
    elif entry is None and not is_on(root, "fsdp_config", "activation_checkpointing"):
        sayer.assume("recompute", "none", start, "gradient_checkpointing")
    if root.value("activation_offloading") is True:
        sayer.say("offload.activations", root.find("activation_offloading"), "true")


def _shards(root: Map, sayer: Sayer, options: Options) -> None:
    entry = truthy(root, "deepspeed")
    if entry is not None and isinstance(entry.value, Map):
        reader = deepspeed.reader_of(("hf", "accelerate"), options.version("deepspeed"))
        sayer.report(*check(entry.value, reader))
        deepspeed.say(entry.value, sayer)
    elif entry is not None and isinstance(entry.value, Scalar) and isinstance(entry.value.value, str):
        sayer.refer(entry.value.value, entry.value.span, "deepspeed")
    config, words = root.map("fsdp_config"), truthy(root, "fsdp")
    if entry is not None:
        return
    if config is None and words is None:
        sayer.withhold("shard", "offload.optimizer", "offload.weights")  # of the configuration of accelerate
        return
    _fsdp(config, words, sayer)
    say_count(sayer, "shard.size", root.find("dp_shard_size"))


def _fsdp(config: Map | None, words: Entry | None, sayer: Sayer) -> None:
    stage, offloaded = _stage(config, words), False
    if stage is not None:
        sayer.say("shard.stage", *stage)
    else:
        sayer.withhold("shard.stage")
    for name in ("offload_params", "fsdp_offload_params"):
        if config is not None and is_on(config, name) and not offloaded:
            offloaded = True
            sayer.say("offload.weights", config.find(name), "cpu")
            sayer.say("offload.optimizer", config.find(name), "cpu")
    for name in ("activation_checkpointing", "fsdp_activation_checkpointing"):
        if config is not None and is_on(config, name):
            sayer.say("recompute", config.find(name), "full")


def _stage(config: Map | None, words: Entry | None) -> tuple[Entry, str] | None:
    """The ZeRO stage that FSDP's settings come to, at what says so."""
    for name in ("reshard_after_forward", "fsdp_reshard_after_forward"):
        again = None if config is None else config.find(name)
        if again is not None and config is not None and isinstance(config.value(name), bool):
            return again, "3" if config.value(name) else "2"
    for name in ("sharding_strategy", "fsdp_sharding_strategy"):
        strategy = None if config is None else config.find(name)
        stage = None if config is None else _STAGES.get(str(config.value(name)).lower())
        if strategy is not None and stage is not None:
            return strategy, stage
    items = words.value.items if words is not None and isinstance(words.value, Seq) else ()
    for item in items:
        stage = _STAGES.get(str(item.value)) if isinstance(item, Scalar) else None
        if stage is not None and words is not None:
            return words, stage
    return None


def _adapter(root: Map, sayer: Sayer) -> None:
    kind = root.value("adapter")
    if kind not in ("lora", "qlora"):
        if kind is not None:
            sayer.withhold("adapter")
        return
    sayer.say("adapter", root.find("adapter"), "lora")
    say_count(sayer, "adapter.rank", root.find("lora_r"))
    say_number(sayer, "adapter.alpha", root.find("lora_alpha"))
    say_number(sayer, "adapter.dropout", root.find("lora_dropout"))
    say_modules(sayer, root.find("lora_target_modules"))
    if is_on(root, "load_in_4bit"):
        sayer.say("adapter.base", root.find("load_in_4bit"), "nf4")


def _run(root: Map, sayer: Sayer) -> None:
    if whole(root.find("seed")) is not None:
        say_number(sayer, "train.seed", root.find("seed"))
    if is_on(root, "torch_compile"):
        sayer.say("train.compile", root.find("torch_compile"))
    say_text(sayer, "checkpoint.directory", root.find("output_dir"))
    say_count(sayer, "checkpoint.every", root.find("save_steps"), "steps")
    say_count(sayer, "checkpoint.keep", root.find("save_total_limit"))
    say_text(sayer, "resume.directory", root.find("resume_from_checkpoint"))
    if whole(root.find("dataloader_num_workers")) is not None:
        say_number(sayer, "dataset.workers", root.find("dataloader_num_workers"))
    if is_on(root, "sample_packing"):
        sayer.say("dataset.packed", root.find("sample_packing"))


KIND = Kind(
    "axolotl",
    "a file of axolotl",
    ("yaml",),
    ("base_model",),
    recognise,
    read,
    trainer="hf",
    withheld=_WITHHELD,
)

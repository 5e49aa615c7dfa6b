"""Arguments of the Trainer of Hugging Face, in the JSON or YAML that `HfArgumentParser` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.diagnostics.names import slip
from planc.native import faults
from planc.native.keys import Reader, check, folded
from planc.native.kind import Content, Kind, Options
from planc.native.kinds import _deepspeed_checks, deepspeed
from planc.native.kinds import _transformers_checks as checks
from planc.native.saying import Sayer, is_on, number, quoted, whole
from planc.native.tables import load_table
from planc.native.tree import Entry, Map, Scalar, Tree

_SURE = (
    "per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "lr_scheduler_type",
    "per_device_eval_batch_size", "save_total_limit", "gradient_checkpointing", "logging_steps", "warmup_ratio",
    "save_strategy", "eval_strategy", "ddp_timeout", "report_to", "max_grad_norm", "dataloader_num_workers",
)  # fmt: skip

#: What is said where the file says nothing: the Trainer holds a DeepSpeed file against its own defaults, too.
_DEFAULTS = (
    ("batch.micro", "per_device_train_batch_size", "8"), ("batch.accumulation", "gradient_accumulation_steps", "1"),
    ("optimizer.clip", "max_grad_norm", "1"), ("optimizer.learning_rate", "learning_rate", "5e-5"),
    ("optimizer.betas", "adam_beta1", "[0.9, 0.999]"), ("optimizer.epsilon", "adam_epsilon", "1e-8"),
    ("optimizer.weight_decay", "weight_decay", "0"), ("schedule", "lr_scheduler_type", "linear"),
)  # fmt: skip

_OPTIMIZERS = {
    "adamw_torch": "adamw", "adamw_torch_fused": "adamw", "adamw_apex_fused": "adamw", "adamw_bnb_8bit": "adamw-8bit",
    "adamw_8bit": "adamw-8bit", "adafactor": "adafactor", "sgd": "sgd", "lion_32bit": "lion",
}  # fmt: skip

#: Courses of the rate, and what they are called here.
_COURSES = {
    "linear": "linear", "cosine": "cosine", "constant": "constant", "constant_with_warmup": "constant",
    "inverse_sqrt": "inverse-sqrt",
}  # fmt: skip

#: Letters of a name that stands for a longer one, and those that it may lack: `ing`.
_TELLING, _ENDING = 10, 3

_WITHHELD = ("parallel.pipeline", "pipeline", "recompute", "shard", "offload", "dataset", "adapter", "schedule")


def recognise(tree: Tree) -> int:
    """How sure it is that a tree holds arguments of the Trainer."""
    root = tree.root
    if root is None:
        return 0
    count = len(set(root.names()).intersection(_SURE))
    if count < 2 and not ("output_dir" in root.names() and count):
        return 0
    return min(40 + 6 * count, 80)


def read(tree: Tree, options: Options) -> Content:
    """What the file says, with its keys checked."""
    sayer, root = Sayer(), tree.root
    if root is None:
        return sayer.content()
    reader = Reader(load_table("transformers"), version=options.version("transformers"))
    sayer.report(*folded(sure(check(root, reader), reader), reader.consumer))
    sayer.report(*checks.check(root))
    say(root, sayer, options)
    return sayer.content()


def sure(found: Iterable[Diagnostic], reader: Reader) -> Iterator[Diagnostic]:
    """What is certain of a file that holds the program's own arguments as well, for a release that may be older.

    A key that is like none is the program's; one that is near an argument may be. A new name is one to use where the
    release is stated, since earlier ones do not have it.
    """
    for each in found:
        if each.code == faults.UNKNOWN_KEY.code:
            if _is_meant(each.primary.span.text.strip("\"'-"), reader.table.keys):
                yield each._replace(severity=Severity.WARNING)
        elif each.code != faults.RENAMED_KEY.code or reader.version is not None:
            yield each


def _is_meant(name: str, keys: Iterable[str]) -> bool:
    """Whether a name is a slip of an argument's, or all of one but its last letters, as `gradient_checkpoint`."""
    if slip(name, keys) is not None:
        return True
    return _TELLING <= len(name) and any(key.startswith(name) and len(key) <= len(name) + _ENDING for key in keys)


def say(root: Map, sayer: Sayer, options: Options, is_whole: bool = True) -> None:
    """What arguments of the Trainer say, wherever they stand; `is_whole`: none but these are given."""
    _batch(root, sayer)
    _precision(root, sayer)
    _optimizer(root, sayer)
    _course(root, sayer)
    _run(root, sayer)
    _recomputation(root, sayer)
    _deepspeed(root, sayer, options)
    _fsdp(root, sayer)
    start = root.span._replace(end=min(root.span.end, root.span.start + 1))
    for path, key, text in _DEFAULTS if is_whole else ():
        if root.find(key) is None and not (key == "adam_beta1" and root.find("adam_beta2") is not None):
            sayer.assume(path, text, start, key)


def _recomputation(root: Map, sayer: Sayer) -> None:
    """Activations that are computed again: all of them, or those of some layers, for which a plan has no word."""
    entry = checks.recomputation(root)
    if entry is None or not is_on(root, entry.name):
        return
    every = root.find("activation_checkpointing_kwargs", "every_n_layers")
    if every is None or whole(every) == 1:
        sayer.say("recompute", entry, "full")


def _batch(root: Map, sayer: Sayer) -> None:
    for path, key in (
        ("batch.micro", "per_device_train_batch_size"), ("batch.accumulation", "gradient_accumulation_steps"),
    ):  # fmt: skip
        if whole(root.find(key)):
            sayer.say(path, root.find(key))


def _precision(root: Map, sayer: Sayer) -> None:
    for word in ("bf16", "fp16"):
        if is_on(root, word):
            sayer.say("precision", root.find(word), word)
            return


def _numbered(root: Map, key: str) -> Entry | None:
    """An entry, where its value is a number."""
    value = root.value(key)
    return root.find(key) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _optimizer(root: Map, sayer: Sayer) -> None:
    word = _OPTIMIZERS.get(str(root.value("optim")))
    if word is not None:
        sayer.say("optimizer", root.find("optim"), word)
    for path, key in (
        ("optimizer.learning_rate", "learning_rate"), ("optimizer.weight_decay", "weight_decay"),
        ("optimizer.epsilon", "adam_epsilon"), ("optimizer.clip", "max_grad_norm"),
    ):  # fmt: skip
        sayer.say(path, _numbered(root, key))
    first, second = (_numbered(root, key) for key in ("adam_beta1", "adam_beta2"))
    if first is not None or second is not None:
        betas = (root.value("adam_beta1") if first else 0.9, root.value("adam_beta2") if second else 0.999)
        texts = [number(float(beta)) for beta in betas]
        if all(texts):
            sayer.say("optimizer.betas", first or second, f"[{', '.join(text for text in texts if text)}]")
            sayer.use(first, second)


def _course(root: Map, sayer: Sayer) -> None:
    word = _COURSES.get(str(root.value("lr_scheduler_type")))
    if word is not None:
        sayer.say("schedule", root.find("lr_scheduler_type"), word)
    if word is not None or root.find("lr_scheduler_type") is None:
        steps = root.find("warmup_steps")
        share = root.value("warmup_steps")
        if whole(steps):
            sayer.say("schedule.warmup", steps, unit="steps")
        elif isinstance(share, float) and 0 < share < 1:
            sayer.say("schedule.warmup", steps)  # of all steps
    steps = root.find("max_steps")
    if (whole(steps) or 0) > 0:
        sayer.say("train.duration", steps, unit="steps")
    elif _numbered(root, "num_train_epochs") is not None:
        sayer.say("train.duration", root.find("num_train_epochs"), unit="epochs")


def _run(root: Map, sayer: Sayer) -> None:
    if whole(root.find("seed")) is not None:
        sayer.say("train.seed", root.find("seed"))
    for key, path in (("torch_compile", "train.compile"), ("full_determinism", "train.deterministic")):
        if is_on(root, key):
            sayer.say(path, root.find(key))
    every = root.find("save_steps")
    if root.value("save_strategy") in (None, "steps") and (whole(every) or 0) > 0:
        sayer.say("checkpoint.every", every, unit="steps")
    if isinstance(root.value("output_dir"), str):
        sayer.say("checkpoint.directory", root.find("output_dir"))
    if (whole(root.find("save_total_limit")) or 0) > 0:
        sayer.say("checkpoint.keep", root.find("save_total_limit"))
    if whole(root.find("dataloader_num_workers")) is not None:
        sayer.say("dataset.workers", root.find("dataloader_num_workers"))
    timeout = root.find("ddp_timeout")
    if (whole(timeout) or 0) > 0:
        sayer.say("launch.timeout", timeout, unit="s")
    resumed = root.value("resume_from_checkpoint")
    if isinstance(resumed, str) and resumed.lower() not in ("true", "false", "none", ""):
        sayer.say("resume.directory", root.find("resume_from_checkpoint"), quoted(resumed))


def _deepspeed(root: Map, sayer: Sayer, options: Options) -> None:
    """The DeepSpeed file that the arguments name, or that stands in them."""
    entry = root.find("deepspeed")
    if entry is None:
        return
    if isinstance(entry.value, Map):
        reader = deepspeed.reader_of(("hf", "accelerate"), options.version("deepspeed"), auto_stops=True)
        sayer.report(*check(entry.value, reader), *_deepspeed_checks.check(entry.value, "hf"))
        deepspeed.say(entry.value, sayer)
    elif isinstance(entry.value, Scalar) and isinstance(entry.value.value, str) and entry.value.value:
        sayer.refer(entry.value.value, entry.value.span, "deepspeed")


def _fsdp(root: Map, sayer: Sayer) -> None:
    entry = root.find("fsdp")
    if entry is None or not isinstance(entry.value, Scalar) or entry.value.value in (None, False, ""):
        return
    config = root.map("fsdp_config")
    words = str(entry.value.value).split()
    again = None
    if config is not None:
        again = config.find("reshard_after_forward") or config.find("fsdp_reshard_after_forward")
        if is_on(config, "activation_checkpointing") or is_on(config, "fsdp_activation_checkpointing"):
            sayer.say(
                "recompute",
                config.find("activation_checkpointing") or config.find("fsdp_activation_checkpointing"),
                "full",
            )
    if again is not None and isinstance(again.value, Scalar) and isinstance(again.value.value, bool):
        sayer.say("shard.stage", again, "3" if again.value.value else "2")
    elif "shard_grad_op" in words or "hybrid_shard_zero2" in words:
        sayer.say("shard.stage", entry, "2")
    elif "full_shard" in words or "hybrid_shard" in words or entry.value.value is True:
        sayer.say("shard.stage", entry, "3")
    if "offload" in words:
        sayer.say("offload.weights", entry, "cpu")
        sayer.say("offload.optimizer", entry, "cpu")


KIND = Kind(
    "transformers",
    "arguments of the Trainer",
    ("json", "yaml"),
    _SURE,
    recognise,
    read,
    targets=("transformers",),
    trainer="hf",
    withheld=_WITHHELD,
)

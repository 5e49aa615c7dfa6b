"""What flags of torchtitan's trainer say of the run: those that stand over a TOML file win over it.

A setting that no flag has is that of the TOML file, or of the function that makes the configuration: it is unknown.
"""

from __future__ import annotations

from planc.native.kinds import _torchtitan_flavors as flavors
from planc.native.kinds._torchtitan_line import Flags
from planc.native.saying import Sayer, number, whole
from planc.native.shell.embedded import outermost
from planc.native.tree import Entry, Scalar
from planc.targets._torchtitan_models import CONFIGS, FLAVORS, Config

#: Whole numbers by section and key, the fields that they are, and units.
_NUMBERS = (
    ("parallelism.tensor_parallel_degree", "parallel.tensor", ""),
    ("parallelism.pipeline_parallel_degree", "parallel.pipeline", ""),
    ("parallelism.context_parallel_degree", "parallel.context", ""),
    ("parallelism.expert_parallel_degree", "parallel.expert", ""),
    ("training.seq_len", "batch.sequence_length", ""),
    ("training.global_batch_size", "batch.global", ""),
    ("training.steps", "train.duration", "steps"),
    ("metrics.log_freq", "log.every", "steps"),
    ("comm.train_timeout_seconds", "launch.timeout", "s"),
)  # fmt: skip

#: Keys of the same setting, by release, and the fields that they are.
_VALUES = (
    (("debug.seed", "training.seed"), "train.seed"),
    (("debug.deterministic", "training.deterministic"), "train.deterministic"),
    (("compile.enable", "training.compile"), "train.compile"),
    (("dataloader.dataset", "training.dataset"), "dataset.name"),
    (("dataloader.dataset_path", "training.dataset_path"), "dataset.path"),
    (("dataloader.num_workers", "training.dataloader.num_workers"), "dataset.workers"),
)  # fmt: skip

_ADAMW = "optimizer.param_groups.0.optimizer_kwargs"

#: What a configuration leaves unknown, whichever flags are given.
_WITHHELD = ("parallel", "shard", "batch", "offload", "context", "recompute", "precision")


def say(flags: Flags, sayer: Sayer) -> None:
    """What the flags say, each over what a file says."""
    if not flags.over:  # else the file says what it is for, and what it leaves open
        sayer.target("torchtitan")
        sayer.withhold(*_WITHHELD)
    teller = _Teller(flags, sayer)
    for key, path, unit in _NUMBERS:
        teller.say(path, teller.find(key), unit=unit, known=0 < (teller.whole(key) or 0))
    for keys, path in _VALUES:
        teller.say(path, next((found for key in keys if (found := teller.find(key)) is not None), None))
    _batch(teller)
    _sharing(teller)
    _optimizer(teller)
    _schedule(teller)
    _checkpoint(teller)
    if flags.over:
        return
    _pipeline(teller)
    _policy(teller)
    _model(teller)


class _Teller:
    """Says fields of settings that are given, over files where there may be one."""

    __slots__ = ("_sayer", "flags")

    def __init__(self, flags: Flags, sayer: Sayer) -> None:
        self.flags = flags
        self._sayer = sayer

    def find(self, key: str) -> Entry | None:
        """The setting of a whole name."""
        return self.flags.root.find(*key.split("."))

    def value(self, key: str) -> object:
        """Its value; None if there is none."""
        return self.flags.root.value(*key.split("."))

    def whole(self, key: str) -> int | None:
        """Its whole number; None if it has none."""
        return whole(self.find(key))

    def real(self, key: str) -> float | None:
        """Its number; None if it has none that the language writes."""
        value = self.value(key)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if is_number and number(float(value)) is not None else None  # type: ignore[arg-type]

    def say(self, path: str, entry: Entry | None, text: str | None = None, unit: str = "", known: bool = True) -> None:
        """A field, over what any file says; where the flag is given and not known what it says, none says it."""
        if entry is not None:
            self.hide(path)
            if known:
                self._sayer.say(path, entry, text, unit, wins=True)

    def hide(self, *paths: str) -> None:
        """Fields that flags decide over a file, by what only that has."""
        if self.flags.over:
            self._sayer.hide(*paths)


def _batch(teller: _Teller) -> None:
    """A pipeline takes all the micro batches of a step in one local batch."""
    local, size = teller.find("training.local_batch_size"), teller.whole("training.local_batch_size")
    stages = teller.whole("parallelism.pipeline_parallel_degree")
    if local is None:
        return
    if stages is None:
        teller.hide("batch.micro", "batch.accumulation")  # what it is depends on the pipeline of the file
    elif stages == 1 and size is not None and 0 < size:
        teller.say("batch.micro", local)
    elif 1 < stages:
        micro = teller.find("parallelism.pipeline_parallel_microbatch_size")
        teller.say("batch.micro", micro)
        if micro is None:
            teller.hide("batch.micro", "batch.accumulation")


def _sharing(teller: _Teller) -> None:
    """What FSDP shares, where all that decides it is given."""
    shard, replicate = (teller.find(f"parallelism.data_parallel_{name}_degree") for name in ("shard", "replicate"))
    size, copies = whole(shard), whole(replicate)
    again = teller.value("parallelism.fsdp_reshard_after_forward")
    if shard is not None or replicate is not None:
        teller.hide("shard.stage", "shard.size", "parallel.data")
    if size is not None and copies is not None and 0 < size and 0 < copies:
        teller.say("parallel.data", shard, str(size * copies))
        is_sharded = 1 < size or 1 < (teller.whole("parallelism.context_parallel_degree") or 1)
        if not is_sharded and teller.find("parallelism.context_parallel_degree") is not None:
            teller.say("shard.stage", shard, "0")
        elif is_sharded and again in ("always", "never"):
            entry = teller.find("parallelism.fsdp_reshard_after_forward")
            teller.say("shard.stage", entry, "3" if again == "always" else "2")
            if 1 < copies:
                teller.say("shard.size", shard, str(size))
    offload = teller.find("training.enable_cpu_offload")
    if teller.value("training.enable_cpu_offload") is True:
        for part in ("optimizer", "weights"):
            teller.say(f"offload.{part}", offload, "cpu")
    if 1 < (teller.whole("parallelism.tensor_parallel_degree") or 1):
        teller.say("parallel.sequence", teller.find("parallelism.enable_sequence_parallel"))


def _pipeline(teller: _Teller) -> None:
    """The schedule of the pipeline, and how context ranks exchange, which since 0.3 there is one way of."""
    if 1 < (teller.whole("parallelism.pipeline_parallel_degree") or 1):
        entry = teller.find("parallelism.pipeline_parallel_schedule")
        name = teller.value("parallelism.pipeline_parallel_schedule")
        word = {"1f1b": "1f1b", "interleaved1f1b": "interleaved"}.get(str(name).lower())
        if word is not None:
            teller.say("pipeline", entry, word)
    if 1 < (teller.whole("parallelism.context_parallel_degree") or 1):
        teller.say("context", teller.find("parallelism.context_parallel_degree"), "all-gather")


def _optimizer(teller: _Teller) -> None:
    clip = teller.real("training.max_norm")
    teller.say("optimizer.clip", teller.find("training.max_norm"), known=clip is not None and 0 < clip)
    section = "optimizer" if teller.flags.over else _ADAMW
    named = teller.value("optimizer.name" if teller.flags.over else "optimizer.param_groups.0.optimizer_name")
    if named not in (None, "AdamW"):
        return
    rate = teller.find(f"{section}.lr")
    if rate is not None and teller.real(f"{section}.lr") is not None:
        teller.say("optimizer", rate, "adamw")
    for key, field in (("lr", "learning_rate"), ("eps", "epsilon"), ("weight_decay", "weight_decay")):
        known = teller.real(f"{section}.{key}") is not None
        teller.say(f"optimizer.{field}", teller.find(f"{section}.{key}"), known=known)
    betas = teller.value(f"{_ADAMW}.betas")
    texts = betas.split() if isinstance(betas, str) and not teller.flags.over else []
    try:
        numbers = [number(float(text)) for text in texts]
    except ValueError:
        return
    if len(numbers) == 2 and None not in numbers:
        teller.say("optimizer.betas", teller.find(f"{_ADAMW}.betas"), f"[{numbers[0]}, {numbers[1]}]")


def _schedule(teller: _Teller) -> None:
    """The course of the rate, where both what it is and how long it is kept are given."""
    ratio, course = teller.find("lr_scheduler.decay_ratio"), teller.value("lr_scheduler.decay_type")
    part = teller.real("lr_scheduler.decay_ratio")
    word = "constant" if part == 0 else None
    entry = ratio
    if ratio is not None and isinstance(ratio.value, Scalar) and ratio.value.value is None:
        word, entry = course if course in ("linear", "cosine") else None, teller.find("lr_scheduler.decay_type")
    if not isinstance(word, str):
        return
    teller.say("schedule", entry, word)
    teller.say("schedule.warmup", teller.find("lr_scheduler.warmup_steps"), unit="steps")
    if word == "constant":
        return
    teller.say("schedule.total", teller.find("lr_scheduler.total_steps"), unit="steps")
    least, rate = teller.real("lr_scheduler.min_lr_factor"), teller.real(f"{_ADAMW}.lr")
    if least is not None and rate is not None:
        teller.say("schedule.minimum", teller.find("lr_scheduler.min_lr_factor"), number(float(f"{least * rate:.12g}")))


def _checkpoint(teller: _Teller) -> None:
    if teller.value("checkpoint.enable") is not True or teller.value("checkpoint.load_only") is True:
        return
    teller.say("checkpoint.directory", teller.find("checkpoint.folder"))
    teller.say("checkpoint.every", teller.find("checkpoint.interval"), unit="steps")
    if 1 < (teller.whole("checkpoint.keep_latest_k") or 0):
        teller.say("checkpoint.keep", teller.find("checkpoint.keep_latest_k"))
    mode = teller.value("checkpoint.async_mode")
    if isinstance(mode, str):
        teller.say("checkpoint.async", teller.find("checkpoint.async_mode"), "false" if mode == "disabled" else "true")


def _policy(teller: _Teller) -> None:
    """The subcommand that says what is computed again."""
    policy = teller.flags.policy
    word = (policy.known or "").partition(":")[2] if policy is not None else ""
    if policy is not None and word in ("none", "selective", "full"):
        place = outermost(policy.origin)
        teller.say("recompute", Entry(place, Scalar(place, "activation-checkpoint"), Scalar(place, word)), word)


def _model(teller: _Teller) -> None:
    """The sizes and the dtypes of a configuration that torchtitan itself has."""
    module, entry = teller.value("module"), teller.find("config")
    config = next((each for each in CONFIGS if (each.module, each.name) == (module, teller.value("config"))), None)
    if config is None or entry is None:
        return
    _precision(teller, config, entry)
    flavor = FLAVORS[(config.module, config.flavor)]
    if flavors.is_plain(module):
        flavors.say(teller.say, flavor, config.module, entry, teller.find("module"))


def _precision(teller: _Teller, config: Config, entry: Entry) -> None:
    dtype = teller.value("training.mixed_precision_param")
    words = {"float32": "fp32", "bfloat16": "bf16"}
    if config.recipe:
        teller.say("precision", entry, "fp8")
        teller.say("precision.recipe", entry, config.recipe)
    elif isinstance(dtype, str) and dtype in words:
        teller.say("precision", teller.find("training.mixed_precision_param"), words[dtype])

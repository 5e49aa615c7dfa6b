"""What flags of Megatron-LM say of the layout, the batch, precision, shared states, the optimizer and the run."""

from __future__ import annotations

from planc.facts.layouts import chunks_of
from planc.native.megatron.flags import Flags, Teller, number_of, words_of
from planc.native.saying import number
from planc.targets._megatron_flags import CONTEXT, FSDP, OPTIMIZERS
from planc.targets._megatron_lengths import STYLES

_EXCHANGES = {native: word for word, native in CONTEXT.items()}
_COURSES = {native: word for word, native in STYLES.items()}
_OPTIMIZERS = {native: word for word, (native, _) in OPTIMIZERS.items()}

#: Strategies of Megatron's FSDP, as stages.
_STRATEGIES = {"no_shard": "0", "optim": "1", **{native: str(stage) for stage, native in FSDP.items()}}

#: Flags that say how many chunks of layers a rank of the pipeline holds.
_CHUNKS = (
    "num-virtual-stages-per-pipeline-rank", "num-layers-per-virtual-pipeline-stage", "pipeline-model-parallel-layout",
)  # fmt: skip

#: What flags of a program that does not train, or trains otherwise, leave open.
OF_TRAINING = (
    "batch", "recompute", "offload", "optimizer", "schedule", "train", "dataset", "checkpoint", "resume",
)  # fmt: skip


#: What only programs that answer prompts, or learn from answers, are told.
_OTHER_PROGRAMS = ("perform-rl-step", "inference-max-requests", "num-tokens-to-generate", "incoming-requests-per-step")


def trains(flags: Flags) -> bool:
    """Whether the program trains a model on data, as far as its flags tell."""
    is_asked = flags.has("train-iters", "train-samples", "global-batch-size", "lr")
    return not flags.has(*_OTHER_PROGRAMS) and (is_asked or not flags.whole)


def say_layout(flags: Flags, teller: Teller) -> None:
    """Tensor, pipeline, context and expert ranks, and how they exchange."""
    teller.number("parallel.tensor", "tensor-model-parallel-size", 1)
    teller.number("parallel.pipeline", "pipeline-model-parallel-size", 1)
    teller.number("parallel.context", "context-parallel-size")
    teller.number("parallel.expert", "expert-model-parallel-size")
    _expert_tensor(flags, teller)
    tensor = flags.count("tensor-model-parallel-size")
    is_split = tensor != 1 and not (tensor is None and flags.lacks("tensor-model-parallel-size"))
    if is_split and (trains(flags) or flags.is_on("sequence-parallel")):
        teller.flag("parallel.sequence", "sequence-parallel")  # Megatron switches it off at 1
        if flags.lacks("sequence-parallel"):
            teller.assume("parallel.sequence", "false", "sequence-parallel", plain=True)
    if flags.has("context-parallel-size", "cp-comm-type"):
        teller.word("context", "cp-comm-type", _EXCHANGES, "p2p")
    teller.number("launch.timeout", "distributed-timeout-minutes", 10, "min")
    _pipeline(flags, teller)


def _expert_tensor(flags: Flags, teller: Teller) -> None:
    """As many ranks as split the layers, unless it is stated."""
    name, of_layers = "expert-tensor-parallel-size", flags.count("tensor-model-parallel-size")
    if flags.has(name) or not flags.whole:
        teller.number("parallel.expert_tensor", name)
    elif of_layers is not None and flags.has("num-experts"):
        teller.assume("parallel.expert_tensor", str(of_layers), name, plain=True)


def _pipeline(flags: Flags, teller: Teller) -> None:
    layout, chunks = flags.text("pipeline-model-parallel-layout"), virtual_chunks(flags)
    if layout is not None:
        teller.text("pipeline.layout", "pipeline-model-parallel-layout")
    name = next((name for name in _CHUNKS if flags.has(name)), None)
    if name is not None and chunks is None:
        teller.withhold("pipeline")
    elif name is not None and chunks != 1:
        teller.say("pipeline", name, "interleaved")
        teller.say("pipeline.chunks", name, str(chunks))
        teller.number("pipeline.group", "microbatch-group-size-per-virtual-pipeline-stage")
    elif not flags.whole or flags.has("hybrid-layer-pattern"):
        teller.withhold("pipeline")
    for end in ("first", "last"):
        teller.number(f"pipeline.{end}_stage_layers", f"decoder-{end}-pipeline-num-layers")
    for end in ("embedding", "loss"):
        teller.flag(f"pipeline.{end}_as_layer", f"account-for-{end}-in-pipeline-split")


def virtual_chunks(flags: Flags) -> int | None:
    """Chunks of layers that a rank of the pipeline holds; None where that cannot be told."""
    if flags.has("num-virtual-stages-per-pipeline-rank"):
        return flags.count("num-virtual-stages-per-pipeline-rank")
    stages = flags.count("pipeline-model-parallel-size") or (
        1 if flags.lacks("pipeline-model-parallel-size") else None
    )  # fmt: skip
    if stages is None or stages < 1:
        return None
    layout = flags.text("pipeline-model-parallel-layout")
    if layout is not None:
        parts = chunks_of(layout)
        return None if isinstance(parts, str) or len(parts) % stages else len(parts) // stages
    if flags.has("num-layers-per-virtual-pipeline-stage"):
        each, layers = flags.count("num-layers-per-virtual-pipeline-stage"), counted_layers(flags)
        return None if not each or layers is None or layers % (stages * each) else layers // (stages * each)
    return None if flags.has("pipeline-model-parallel-layout") else 1


def counted_layers(flags: Flags) -> int | None:
    """Layers that are shared out over the stages, with the ends that count as one each."""
    layers = flags.count("num-layers")
    ends = sum(flags.is_on(f"account-for-{end}-in-pipeline-split") for end in ("embedding", "loss"))
    return None if layers is None or layers < 1 else layers + ends


def say_batch(flags: Flags, teller: Teller) -> None:
    """Micro and global batch, the length of a sample, and a batch that grows."""
    teller.number("batch.micro", "micro-batch-size")
    teller.number("batch.global", "global-batch-size")
    teller.number("batch.sequence_length", "seq-length" if flags.has("seq-length") else "encoder-seq-length")
    sizes = words_of(flags.find("rampup-batch-size"))
    if sizes is not None and len(sizes) == 3 and all(size.isdecimal() for size in sizes):
        teller.say("batch.ramp", "rampup-batch-size", "linear")
        for name, size in zip(("start", "increment"), sizes, strict=False):
            teller.say(f"batch.ramp.{name}", "rampup-batch-size", str(int(size)))
        teller.say("batch.ramp.over", "rampup-batch-size", f"{int(sizes[2])} samples")
    elif flags.has("rampup-batch-size", "step-batch-size-schedule"):
        teller.withhold("batch.ramp")


def say_precision(flags: Flags, teller: Teller) -> None:
    """The dtypes of products, gradients, weights and moments."""
    half = [name for name in ("bf16", "fp16") if flags.is_on(name)]
    narrow = next((name for name in ("fp8", "fp4") if flags.has(f"{name}-format")), None)
    if len(half) == 2 or not (half or flags.lacks("bf16", "fp16")):
        teller.withhold("precision")
    elif narrow is not None and half == ["bf16"] and flags.text(f"{narrow}-format") is not None:
        teller.say("precision", f"{narrow}-format", narrow)
        _narrow(flags, teller, narrow)
    elif narrow is not None:
        teller.withhold("precision")
    elif half:
        teller.say("precision", half[0], half[0])
        if half == ["fp16"]:
            teller.number("precision.loss_scale", "loss-scale")
    else:
        teller.assume("precision", "fp32", "bf16")
    _gradients(flags, teller, half)
    words = {word: word for word in ("fp32", "bf16", "fp16", "fp8")}
    if not flags.lacks("main-params-dtype"):
        teller.word("precision.master", "main-params-dtype", words)
    moments = {flags.text(name) for name in ("exp-avg-dtype", "exp-avg-sq-dtype") if flags.has(name)}
    if len(moments) == 1 and not flags.lacks("exp-avg-dtype"):
        teller.word("optimizer.states", "exp-avg-dtype", words, "fp32")
    elif moments - {"fp32"}:
        teller.withhold("optimizer.states")


def _narrow(flags: Flags, teller: Teller, name: str) -> None:
    recipes = {word: word for word in ("delayed", "tensorwise", "blockwise", "mxfp8", "nvfp4")}
    teller.word("precision.recipe", f"{name}-recipe", recipes, "delayed" if name == "fp8" else "nvfp4")
    if name == "fp8":
        teller.word("precision.format", "fp8-format", {"e4m3": "e4m3", "hybrid": "hybrid"})
        if flags.is_on("fp8-param-gather"):
            teller.say("precision.weights", "fp8-param-gather", "fp8")


def _gradients(flags: Flags, teller: Teller, half: list[str]) -> None:
    """fp32 beside bf16 unless it is told otherwise; beside fp16 only if it is told so."""
    if flags.is_on("accumulate-allreduce-grads-in-fp32"):
        teller.say("precision.gradients", "accumulate-allreduce-grads-in-fp32", "fp32")
    elif half == ["bf16"] and flags.is_on("grad-reduce-in-bf16"):
        teller.say("precision.gradients", "grad-reduce-in-bf16", "bf16")
    elif half == ["fp16"] and flags.lacks("accumulate-allreduce-grads-in-fp32", "main-grads-dtype"):
        teller.assume("precision.gradients", "fp16", "accumulate-allreduce-grads-in-fp32")
    elif flags.has("main-grads-dtype") or not flags.whole:
        teller.withhold("precision.gradients")


def say_sharing(flags: Flags, teller: Teller) -> None:
    """States that replicas share, keep elsewhere or compute again."""
    optimizer = "use-distributed-optimizer"
    if flags.is_on("use-megatron-fsdp", "use-custom-fsdp"):
        teller.word("shard.stage", "data-parallel-sharding-strategy", _STRATEGIES, "no_shard")
    elif flags.is_on("use-torch-fsdp2"):
        teller.say("shard.stage", "use-torch-fsdp2", "3")
    elif flags.is_on(optimizer):
        teller.say("shard.stage", optimizer, "1")
    elif not flags.lacks(optimizer, "use-megatron-fsdp", "use-custom-fsdp", "use-torch-fsdp2"):
        teller.withhold("shard.stage")
    if flags.has("num-distributed-optimizer-instances") and flags.count("num-distributed-optimizer-instances") != 1:
        teller.withhold("shard.size")
    if flags.is_on("overlap-grad-reduce"):
        teller.number("shard.bucket", "ddp-bucket-size")
    if flags.is_on("optimizer-cpu-offload") and flags.number("optimizer-offload-fraction") in (None, 1):
        teller.say("offload.optimizer", "optimizer-cpu-offload", "cpu")
    _recompute(flags, teller)


def _recompute(flags: Flags, teller: Teller) -> None:
    kind = flags.text("recompute-granularity")
    if flags.is_on("recompute-activations"):
        teller.say("recompute", "recompute-activations", "selective")
    elif kind in ("full", "selective"):
        teller.say("recompute", "recompute-granularity", kind)
    elif not flags.lacks("recompute-granularity", "recompute-activations"):
        teller.withhold("recompute")
    if kind == "full":
        teller.word("recompute.method", "recompute-method", {"uniform": "uniform", "block": "block"})
        teller.number("recompute.layers", "recompute-num-layers")
    modules = words_of(flags.find("recompute-modules"))
    if modules and kind == "selective" and all(name.isidentifier() for name in modules):
        listed = ", ".join(f'"{name}"' for name in modules)
        teller.say("recompute.modules", "recompute-modules", f"[{listed}]")


def say_optimizer(flags: Flags, teller: Teller) -> None:
    """The optimizer with its numbers, the learning rate and its course."""
    name = flags.text("optimizer") or ("adam" if flags.lacks("optimizer") else "")
    word = _OPTIMIZERS.get(name)
    teller.word("optimizer", "optimizer", _OPTIMIZERS, "adam")
    if word is None:
        return
    teller.number("optimizer.learning_rate", "lr")
    if flags.number("clip-grad") != 0:
        teller.number("optimizer.clip", "clip-grad", 1.0)
    teller.number("optimizer.weight_decay", "weight-decay", 0.01)
    takes = OPTIMIZERS[word][1]
    if "betas" in takes:
        _betas(flags, teller)
    for field, flag in takes.items():
        if flag:
            teller.number(f"optimizer.{field}", flag)


def _betas(flags: Flags, teller: Teller) -> None:
    values = []
    for name, default in (("adam-beta1", 0.9), ("adam-beta2", 0.999)):
        values.append(default if flags.lacks(name) else flags.number(name))
    given = next((name for name in ("adam-beta1", "adam-beta2") if flags.has(name)), None)
    if given is not None and None not in values:
        teller.say(
            "optimizer.betas", given, f"[{', '.join(number(value) or '' for value in values if value is not None)}]"
        )
        teller.use("adam-beta1", "adam-beta2")


def say_schedule(flags: Flags, teller: Teller) -> None:
    """The length of the run and the course of the learning rate."""
    length = flags.count("seq-length")
    if flags.has("train-iters"):
        teller.number("train.duration", "train-iters", unit="steps")
    else:
        teller.number("train.duration", "train-samples", unit="samples")
    teller.word("schedule", "lr-decay-style", _COURSES | {"WSD": "wsd"}, "linear")
    if flags.has("lr-decay-iters"):
        teller.number("schedule.total", "lr-decay-iters", unit="steps")
    elif flags.has("lr-decay-samples"):
        _in_tokens(flags, teller, "schedule.total", "lr-decay-samples", length)
    if flags.has("lr-warmup-fraction"):
        teller.number("schedule.warmup", "lr-warmup-fraction")
    elif flags.count("lr-warmup-iters"):
        teller.number("schedule.warmup", "lr-warmup-iters", unit="steps")
    elif flags.has("lr-warmup-samples"):
        _in_tokens(flags, teller, "schedule.warmup", "lr-warmup-samples", length)
    if flags.text("lr-decay-style") != "constant":
        teller.number("schedule.minimum", "min-lr")


def _in_tokens(flags: Flags, teller: Teller, path: str, name: str, length: int | None) -> None:
    """Samples as tokens: the language counts a schedule in steps or tokens."""
    entry = flags.find(name)
    samples = None if entry is None else number_of(entry)
    if samples is None or length is None or not isinstance(samples, int):
        teller.withhold(path)
    elif 0 < samples:
        teller.say(path, name, f"{samples * length} tokens")


def say_run(flags: Flags, teller: Teller) -> None:
    """Seeds, data, checkpoints, log lines, a profile."""
    teller.number("train.seed", "seed", 1234)
    if flags.is_on("deterministic-mode"):
        teller.flag("train.deterministic", "deterministic-mode")
    teller.text("dataset.path", "data-path")
    teller.number("dataset.workers", "num-workers")
    if flags.has("save"):
        teller.number("checkpoint.every", "save-interval", unit="steps")
        formats = {"torch": "full", "torch_dist": "sharded", "torch_dcp": "sharded", "fsdp_dtensor": "sharded"}
        teller.word("checkpoint.format", "ckpt-format", formats, "torch_dist")
        if flags.is_on("async-save") and flags.is_on("use-persistent-ckpt-worker"):
            teller.flag("checkpoint.async", "async-save")
    teller.text("checkpoint.directory", "save")
    teller.text("resume.directory", "load")
    teller.number("resume.step", "ckpt-step")
    teller.number("log.every", "log-interval", unit="steps")
    teller.text("log.directory", "tensorboard-dir")
    start, end = flags.count("profile-step-start"), flags.count("profile-step-end")
    if flags.is_on("profile") and start is not None and end is not None and start < end:
        teller.number("profile.start", "profile-step-start", unit="steps")
        teller.say("profile.length", "profile-step-end", f"{end - start} steps")

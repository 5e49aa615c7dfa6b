"""The plan in flags of Megatron-LM: model, layout, batch, number formats, sharding, optimizer and run.

Names are those of megatron/training/arguments.py of the 0.16 line, whose parser makes most of them of the fields of
megatron-core's TransformerConfig. A flag that is not due is left out, so that Megatron's own default holds; what a plan
decides by a default of its own (no clipping, no dropout) is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.targets._data import real
from planc.targets._launch import option, written
from planc.targets._megatron_lengths import length_flags

#: Words of a plan, and what Megatron calls them.
CONTEXT = {"ring": "p2p", "ulysses": "a2a", "all-gather": "all_gather"}
DISPATCH = {"all-to-all": "alltoall", "all-gather": "allgather", "deepep": "flex"}
_EXPERT_SIZES = {"expert": "expert-model-parallel-size", "expert_tensor": "expert-tensor-parallel-size"}
NORM = {"rmsnorm": "RMSNorm", "layernorm": "LayerNorm"}
POSITIONS = {"rope": "rope", "learned": "learned_absolute"}
#: Optimizers of Megatron by the plan's word, each with the fields that it takes and Megatron's flags for them.
OPTIMIZERS: dict[str, tuple[str, dict[str, str]]] = {
    "adamw": ("adam", {"epsilon": "adam-eps", "betas": ""}),
    "sgd": ("sgd", {"momentum": "sgd-momentum"}),
    "muon": ("muon", {"epsilon": "adam-eps", "betas": "", "momentum": "muon-momentum"}),
}
#: How Megatron's FSDP, which is not its distributed optimizer, calls the stages at which it shares more than that does.
FSDP = {2: "optim_grads", 3: "optim_grads_params"}


class Flag(NamedTuple):
    """A flag without its dashes: the field that it says, and its value; True for one that takes none."""

    path: str
    name: str
    value: Any

    def words(self) -> tuple[str, ...]:
        """The words of the command line. A value is joined to its flag, so that it may begin with a dash."""
        if self.value is True:
            return (f"--{self.name}",)
        if isinstance(self.value, tuple):
            return (f"--{self.name}", *(_text(value) for value in self.value))
        return (f"--{self.name}={_text(self.value)}",)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else repr(real(value))


def flags(plan: Plan, facts: Facts) -> dict[str, tuple[Flag, ...]]:
    """All flags by subject. What is faulty or not known is left out, so a plan with faults has flags too."""
    parts = {
        "layout": _layout(plan, facts), "pipeline": _pipeline(plan, facts), "model": _model(plan, facts),
        "experts": _experts(plan, facts), "batch": _batch(plan, facts), "precision": _precision(plan),
        "recomputation": _recompute(plan), "shared states": _shared(plan, facts), "optimizer": _optimizer(plan),
        "length and learning rate": (Flag(*said) for said in length_flags(plan, facts)), "run": _run(plan, facts),
    }  # fmt: skip
    return {
        part: tuple(flag for flag in found if flag.value is not None and flag.value is not False)
        for part, found in parts.items()
    }


def fact(facts: Facts, path: str) -> Any:
    """The value of a fact, or None where it is not known."""
    value = facts[path]
    return None if isinstance(value, Unknown) else value


def _layout(plan: Plan, facts: Facts) -> Iterator[Flag]:
    tensor, context = fact(facts, "parallel.tensor"), fact(facts, "parallel.context")
    yield Flag("parallel.tensor", "tensor-model-parallel-size", tensor)
    yield Flag("parallel.pipeline", "pipeline-model-parallel-size", fact(facts, "parallel.pipeline"))
    yield Flag("parallel.context", "context-parallel-size", context)
    if context is not None and 1 < context:
        yield Flag("context", "cp-comm-type", CONTEXT.get(written(plan, "context")))
    if tensor is not None and 1 < tensor:
        yield Flag("parallel.sequence", "sequence-parallel", written(plan, "parallel.sequence"))
    for name in ("expert", "expert_tensor"):  # of the second Megatron's own default is the tensor ranks
        size = fact(facts, f"parallel.{name}")
        if written(plan, "model.experts.count") is not None or (size is not None and 1 < size):
            yield Flag(f"parallel.{name}", _EXPERT_SIZES[name], size)
    timeout = written(plan, "launch.timeout")
    yield Flag("launch.timeout", "distributed-timeout-minutes", None if timeout is None else int(timeout // 60))


def _pipeline(plan: Plan, facts: Facts) -> Iterator[Flag]:
    layout, listed = written(plan, "pipeline.layout"), written(plan, "pipeline.layers")
    if layout is not None:
        yield Flag("pipeline.layout", "pipeline-model-parallel-layout", "".join(layout.split()))
    elif listed:
        ends = "m" * (written(plan, "model.mtp_layers") or 0) + "L"
        stages = "|".join("t" * count if isinstance(count, int) else "" for count in listed)
        yield Flag("pipeline.layers", "pipeline-model-parallel-layout", f"E{stages}{ends}")
    elif written(plan, "pipeline") == "interleaved":
        yield Flag("pipeline.chunks", "num-virtual-stages-per-pipeline-rank", written(plan, "pipeline.chunks"))
    if written(plan, "pipeline") == "interleaved":
        name = "microbatch-group-size-per-virtual-pipeline-stage"
        yield Flag("pipeline.group", name, written(plan, "pipeline.group"))
    for end in ("first", "last"):
        layers = written(plan, f"pipeline.{end}_stage_layers")
        yield Flag(f"pipeline.{end}_stage_layers", f"decoder-{end}-pipeline-num-layers", layers)
    for end in ("embedding", "loss"):
        counted = written(plan, f"pipeline.{end}_as_layer")
        yield Flag(f"pipeline.{end}_as_layer", f"account-for-{end}-in-pipeline-split", counted)


def _model(plan: Plan, facts: Facts) -> Iterator[Flag]:
    for name, flag in (("layers", "num-layers"), ("hidden", "hidden-size"), ("heads", "num-attention-heads"),
                       ("ffn", "ffn-hidden-size"), ("vocab", "vocab-size")):  # fmt: skip
        yield Flag(f"model.{name}", flag, written(plan, f"model.{name}"))
    positions = written(plan, "model.positions")
    yield Flag("model.max_sequence_length", "max-position-embeddings", _positions(plan, positions))
    yield Flag("model.positions", "position-embedding-type", POSITIONS.get(positions))
    yield Flag("model.norm", "normalization", NORM.get(written(plan, "model.norm")))
    yield Flag("model.gated", "swiglu", written(plan, "model.gated"))
    yield Flag("model.bias", "disable-bias-linear", written(plan, "model.bias") in ("none", "qkv"))
    yield Flag("model.bias", "add-qkv-bias", written(plan, "model.bias") == "qkv")
    yield Flag("model.tied", "untie-embeddings-and-output-weights", written(plan, "model.tied") is False)
    for name in ("hidden-dropout", "attention-dropout"):
        dropout = written(plan, "model.dropout")
        yield Flag("model.dropout", name, None if dropout is None else real(dropout))
    yield Flag("model.mtp_layers", "mtp-num-layers", written(plan, "model.mtp_layers") or None)
    yield from _attention(plan)


def _positions(plan: Plan, kind: str | None) -> int | None:
    """Rows of learned positions. Others have none: there Megatron asks only that a sample is not longer."""
    longest, length = written(plan, "model.max_sequence_length"), written(plan, "batch.sequence_length")
    if kind == "learned" and longest is not None:
        return int(longest)
    return max((count for count in (longest, length) if count is not None), default=None)


def _attention(plan: Plan) -> Iterator[Flag]:
    kind = written(plan, "model.attention")
    if kind == "mla":
        yield Flag("model.attention", "multi-latent-attention", True)
        for name, flag in (("q_lora_rank", "q-lora-rank"), ("kv_lora_rank", "kv-lora-rank"),
                           ("qk_nope_head_dim", "qk-head-dim"), ("qk_rope_head_dim", "qk-pos-emb-head-dim"),
                           ("v_head_dim", "v-head-dim")):  # fmt: skip
            yield Flag(f"model.attention.{name}", flag, written(plan, f"model.attention.{name}"))
        yield Flag("model.attention", "qk-layernorm", True)  # the norms of the compressed queries, keys and values
        return
    groups, heads = written(plan, "model.kv_heads"), written(plan, "model.heads")
    if groups is not None and groups != heads:
        yield Flag("model.kv_heads", "group-query-attention", True)
        yield Flag("model.kv_heads", "num-query-groups", groups)
    head_dim = written(plan, "model.head_dim")
    yield Flag("model.head_dim", "kv-channels", head_dim if isinstance(head_dim, int) else None)
    window = written(plan, "model.attention.window") if kind == "sliding" else None
    if window is not None:
        yield Flag("model.attention.window", "window-size", f"{window},0")
        yield Flag("model.attention.every", "window-attn-skip-freq", written(plan, "model.attention.every"))
    yield Flag("model.attention.qk_norm", "qk-layernorm", written(plan, "model.attention.qk_norm") == "head")
    sinks = "learnable" if written(plan, "model.attention.sinks") else None
    yield Flag("model.attention.sinks", "softmax-type", sinks)


def _experts(plan: Plan, facts: Facts) -> Iterator[Flag]:
    experts = {name: written(plan, f"model.experts.{name}") for name in (
        "count", "top_k", "ffn", "shared", "shared_ffn", "shared_gate", "dense_layers", "every")}  # fmt: skip
    if experts["count"] is None:
        return
    yield Flag("model.experts.count", "num-experts", experts["count"])
    yield Flag("model.experts.top_k", "moe-router-topk", experts["top_k"])
    yield Flag("model.experts.top_k", "moe-router-pre-softmax", experts["top_k"] == 1)  # it asks for that then
    yield Flag("model.experts.ffn", "moe-ffn-hidden-size", experts["ffn"])
    yield Flag("model.experts.every", "moe-layer-freq", _pattern(plan))
    shared, width = experts["shared"], experts["shared_ffn"]
    if shared and width:
        yield Flag("model.experts.shared", "moe-shared-expert-intermediate-size", shared * width)
        yield Flag("model.experts.shared_gate", "moe-shared-expert-gate", experts["shared_gate"])
    dispatch = written(plan, "expert.dispatch") or "all-to-all"
    yield Flag("expert.dispatch", "moe-token-dispatcher-type", DISPATCH[dispatch])
    yield Flag("expert.dispatch", "moe-flex-dispatcher-backend", "deepep" if dispatch == "deepep" else None)
    yield Flag("expert.capacity_factor", "moe-expert-capacity-factor", _real(plan, "expert.capacity_factor"))


def _pattern(plan: Plan) -> str | None:
    """Which layers have experts, a digit a layer, where not all of them have."""
    layers, dense = written(plan, "model.layers"), written(plan, "model.experts.dense_layers") or 0
    every = written(plan, "model.experts.every") or 1
    if layers is None or (dense == 0 and every == 1):
        return None
    return "[" + ",".join(str(int(dense <= at and (at + 1 - dense) % every == 0)) for at in range(layers)) + "]"


def _batch(plan: Plan, facts: Facts) -> Iterator[Flag]:
    yield Flag("batch.micro", "micro-batch-size", fact(facts, "batch.micro"))
    yield Flag("batch.global", "global-batch-size", fact(facts, "batch.global"))
    yield Flag("batch.sequence_length", "seq-length", written(plan, "batch.sequence_length"))
    over = written(plan, "batch.ramp.over") if written(plan, "batch.ramp") == "linear" else None
    sizes = tuple(written(plan, f"batch.ramp.{name}") for name in ("start", "increment"))
    if over is not None and None not in sizes:
        yield Flag("batch.ramp", "rampup-batch-size", (*sizes, int(over)))


def _precision(plan: Plan) -> Iterator[Flag]:
    precision, gradients = written(plan, "precision"), written(plan, "precision.gradients")
    if precision in ("bf16", "fp8", "fp4"):
        yield Flag("precision", "bf16", True)
    yield Flag("precision", "fp16", precision == "fp16")
    yield Flag("precision.loss_scale", "loss-scale", _real(plan, "precision.loss_scale"))
    if precision == "fp8":
        yield Flag("precision.format", "fp8-format", written(plan, "precision.format") or "hybrid")
        yield Flag("precision.recipe", "fp8-recipe", written(plan, "precision.recipe"))
        yield Flag("precision.weights", "fp8-param-gather", written(plan, "precision.weights") == "fp8")
    if precision == "fp4":
        yield Flag("precision", "fp4-format", "e2m1")
        yield Flag("precision.recipe", "fp4-recipe", written(plan, "precision.recipe"))
    half = precision not in (None, "fp32")
    yield Flag("precision.gradients", "accumulate-allreduce-grads-in-fp32", half and gradients == "fp32")
    yield Flag("precision.gradients", "grad-reduce-in-bf16", half and gradients == "bf16")
    narrow = {path: written(plan, path) for path in ("precision.master", "optimizer.states")}
    if needs_precision_aware(plan):
        yield Flag("optimizer.states", "use-precision-aware-optimizer", True)
        yield Flag("precision.gradients", "main-grads-dtype", "bf16" if gradients == "bf16" else None)
        yield Flag("precision.master", "main-params-dtype", narrow["precision.master"])
        for name in ("exp-avg-dtype", "exp-avg-sq-dtype"):
            yield Flag("optimizer.states", name, narrow["optimizer.states"])


def needs_precision_aware(plan: Plan) -> bool:
    """Whether the optimizer has to be the one that keeps narrow states, which its offloading needs too."""
    narrow = {written(plan, path) for path in ("precision.master", "optimizer.states")} - {None, "fp32"}
    return bool(narrow) or written(plan, "offload.optimizer") == "cpu"


def _recompute(plan: Plan) -> Iterator[Flag]:
    kind = written(plan, "recompute")
    yield Flag("recompute", "recompute-granularity", kind if kind in ("full", "selective") else None)
    if kind == "selective":
        yield Flag("recompute.modules", "recompute-modules", tuple(written(plan, "recompute.modules") or ()) or None)
    if kind == "full":  # it asks for both
        yield Flag("recompute.method", "recompute-method", written(plan, "recompute.method") or "uniform")
        yield Flag("recompute.layers", "recompute-num-layers", written(plan, "recompute.layers") or 1)


def _shared(plan: Plan, facts: Facts) -> Iterator[Flag]:
    stage, bucket = fact(facts, "shard.stage"), written(plan, "shard.bucket")
    overlap = bool(option(plan, "megatron", "overlap"))
    if stage is None:
        return
    yield Flag("shard.stage", "use-distributed-optimizer", 1 <= stage)
    if stage in FSDP:
        yield Flag("shard.stage", "use-megatron-fsdp", True)
        yield Flag("shard.stage", "data-parallel-sharding-strategy", FSDP[stage])
        yield Flag("shard.stage", "no-gradient-accumulation-fusion", True)
    copies = fact(facts, "shard.replicas")
    if 1 <= stage and copies is not None and 1 < copies:
        yield Flag("shard.size", "num-distributed-optimizer-instances", copies)
    # Buckets are made for the overlap only; without it there is one for all gradients.
    yield Flag("shard.bucket", "overlap-grad-reduce", overlap or bucket is not None)
    yield Flag("shard.bucket", "ddp-bucket-size", bucket)
    yield Flag("shard.stage", "overlap-param-gather", overlap and 1 <= stage)
    yield Flag("offload.optimizer", "optimizer-cpu-offload", written(plan, "offload.optimizer") == "cpu")


def _optimizer(plan: Plan) -> Iterator[Flag]:
    name, takes = OPTIMIZERS.get(written(plan, "optimizer") or "", (None, {}))
    yield Flag("optimizer", "optimizer", name)
    yield Flag("optimizer.learning_rate", "lr", _real(plan, "optimizer.learning_rate"))
    yield Flag("optimizer.weight_decay", "weight-decay", _real(plan, "optimizer.weight_decay"))
    betas = written(plan, "optimizer.betas")
    if "betas" in takes and betas is not None and len(betas) == 2:
        for at in range(2):
            yield Flag("optimizer.betas", f"adam-beta{at + 1}", real(betas[at]))
    for field, flag in takes.items():
        if flag:
            yield Flag(f"optimizer.{field}", flag, _real(plan, f"optimizer.{field}"))
    clip = _real(plan, "optimizer.clip")
    yield Flag("optimizer.clip", "clip-grad", 0.0 if clip is None else clip)


def _run(plan: Plan, facts: Facts) -> Iterator[Flag]:
    yield Flag("train.seed", "seed", written(plan, "train.seed"))
    yield Flag("train.deterministic", "deterministic-mode", written(plan, "train.deterministic"))
    yield Flag("dataset.path", "data-path", written(plan, "dataset.path"))
    yield Flag("dataset.workers", "num-workers", written(plan, "dataset.workers"))
    saved, resumed = written(plan, "checkpoint.directory"), written(plan, "resume.directory")
    yield Flag("checkpoint.directory", "save", saved)
    yield Flag("checkpoint.format", "ckpt-format", _format(plan, facts))
    yield Flag("checkpoint.async", "async-save", written(plan, "checkpoint.async"))
    yield Flag("checkpoint.async", "use-persistent-ckpt-worker", written(plan, "checkpoint.async"))
    yield Flag("resume.directory", "load", saved if resumed is None else resumed)  # so that a restart goes on
    yield Flag("resume.directory", "exit-on-missing-checkpoint", resumed is not None)
    yield Flag("resume.step", "ckpt-step", written(plan, "resume.step"))
    # The trace of a profile goes to the same folder.
    if "tensorboard" in (written(plan, "log.to") or ()) or written(plan, "profile.start") is not None:
        yield Flag("log.directory", "tensorboard-dir", written(plan, "log.directory"))


def _format(plan: Plan, facts: Facts) -> str:
    if fact(facts, "shard.stage") in FSDP:
        return "fsdp_dtensor"
    return "torch" if written(plan, "checkpoint.format") == "full" else "torch_dist"


def _real(plan: Plan, path: str) -> float | None:
    value = written(plan, path)
    return None if value is None or isinstance(value, str) else real(value)  # a loss scale may be a word

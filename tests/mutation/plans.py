"""Clean plans of all kinds, as fields by path, so that one field can be changed at a time.

Paths are those of the language; `gpu`, `cluster` and `model` are blocks of their own, everything else is the plan's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

Fields = Mapping[str, str]


class Clean(NamedTuple):
    """A plan without a fault: its name, the consumer that trains it, what it emits, and its fields by path."""

    name: str
    trainer: str
    emit: str
    fields: Fields


_GPU = {"gpu.memory": "80 GiB", "gpu.bf16": "989 TFLOPS", "gpu.fp16": "989 TFLOPS", "gpu.fp8": "1979 TFLOPS"}
_CARD = {**_GPU, "gpu.link": "450 GB/s", "gpu.compute_capability": "9.0", "gpu.vendor": "nvidia"}
_HOST = {"cluster.inter_node": "50 GB/s", "cluster.cpu_memory": "2 TB", "cluster.cpu_cores": "96"}


def _model(layers: int, hidden: int, heads: int, ffn: int, **more: str) -> dict[str, str]:
    sizes = {"layers": layers, "hidden": hidden, "heads": heads, "ffn": ffn, "vocab": 32768}
    given = {**{name: str(size) for name, size in sizes.items()}, "family": '"llama"', **more}
    return {f"model.{name.replace('__', '.')}": value for name, value in given.items()}


_GROUPED = _model(16, 2048, 16, 8192, kv_heads="8", max_sequence_length="8192")
_SMALL = _model(8, 1024, 16, 4096, kv_heads="8")
_MANY_HEADS = _model(8, 1024, 16, 4096, norm="layernorm", gated="false", bias="all", tied="true", dropout="0.1")
_ONE_KV_HEAD = _model(8, 1024, 8, 4096, kv_heads="1", head_dim="256")
_WINDOW = _model(8, 1024, 16, 4096, kv_heads="8", attention="sliding", attention__window="1024", attention__every="4")
_MOE = _model(
    8, 1024, 16, 4096, kv_heads="8", experts__count="16", experts__top_k="2", experts__ffn="1024",
    experts__dense_layers="0",
)  # fmt: skip
_SHARED = {**_MOE, "model.experts.shared": "1", "model.experts.shared_ffn": "1024", "model.experts.dense_layers": "2"}
_LATENT = {
    **_SHARED, "model.kv_heads": "16", "model.attention": "mla", "model.attention.q_lora_rank": "512",
    "model.attention.kv_lora_rank": "256", "model.attention.qk_nope_head_dim": "64",
    "model.attention.qk_rope_head_dim": "32", "model.attention.v_head_dim": "64",
}  # fmt: skip
_ADAM = {
    "optimizer": "adamw", "optimizer.learning_rate": "0.0003", "optimizer.betas": "[0.9, 0.95]",
    "optimizer.weight_decay": "0.1", "optimizer.clip": "1",
}  # fmt: skip
_COSINE = {
    **_ADAM, "schedule": "cosine", "schedule.warmup": "100 steps", "schedule.minimum": "0.00003",
    "train.duration": "5000 steps",
}  # fmt: skip
_LAUNCH = {"launch.script": '"train.py"'}
_SAVES = {"checkpoint.every": "500 steps", "checkpoint.directory": '"saves"', "checkpoint.keep": "2"}


def _plan(name: str, trainer: str, emit: str, model: Fields, nodes: int, *rest: Fields, **own: str) -> Clean:
    """A plan on so many nodes of eight cards; `own` are fields, written with `__` for the dot."""
    written = {path.replace("__", "."): value for path, value in own.items()}
    base = {
        **_CARD, **_HOST, **model, "cluster.nodes": str(nodes), "cluster.gpus_per_node": "8",
        "batch.global": "128", "batch.micro": "1", "batch.sequence_length": "4096", "precision": "bf16",
    }  # fmt: skip
    for fields in rest:
        base.update(fields)
    return Clean(name, trainer, emit, {**base, **written})


def _deepspeed(name: str, model: Fields, nodes: int, *rest: Fields, **own: str) -> Clean:
    return _plan(name, "deepspeed", "deepspeed, torchrun", model, nodes, _LAUNCH, *rest, **own)


def _accelerate(name: str, backend: str, model: Fields, nodes: int, *rest: Fields, **own: str) -> Clean:
    emit = f"accelerate {{ backend = {backend} }}"
    return _plan(name, "accelerate", emit, model, nodes, _LAUNCH, *rest, **own)


def _megatron(name: str, model: Fields, nodes: int, *rest: Fields, **own: str) -> Clean:
    return _plan(name, "megatron", "megatron", model, nodes, *rest, **own)


_CPU = {"offload.optimizer": "cpu"}
_BOTH = {"offload.optimizer": "cpu", "offload.weights": "cpu"}

PLANS: tuple[Clean, ...] = (
    _deepspeed("zero0", _SMALL, 1, _ADAM, shard__stage="0"),
    _deepspeed("zero1", _GROUPED, 2, _COSINE, shard__stage="1", precision__gradients="fp32", shard__bucket="500000000"),
    _deepspeed("zero2-offload", _GROUPED, 2, _COSINE, _CPU, shard__stage="2"),
    _deepspeed("zero3-offload", _GROUPED, 1, _ADAM, _BOTH, shard__stage="3", recompute="full"),
    _deepspeed("zero3-secondary", _GROUPED, 2, _ADAM, _SAVES, shard__stage="3", shard__secondary_size="8"),
    _deepspeed("zero3-nvme", _GROUPED, 1, _ADAM, shard__stage="3", offload__optimizer="nvme", offload__path='"/nvme"'),
    _deepspeed("zero1-tensor", _SMALL, 2, _ADAM, shard__stage="1", parallel__tensor="4"),
    _deepspeed("zero3-long", _GROUPED, 2, _ADAM, shard__stage="3", parallel__context="4", context="ulysses",
               batch__sequence_length="8192"),
    _deepspeed("zero1-pipeline", _MANY_HEADS, 2, _ADAM, shard__stage="1", parallel__pipeline="4"),
    _deepspeed("zero2-fp16", _MANY_HEADS, 1, _COSINE, shard__stage="2", precision="fp16", precision__loss_scale="1024"),
    _deepspeed("zero1-muon", _SMALL, 1, shard__stage="1", optimizer="muon", optimizer__learning_rate="0.02",
               optimizer__momentum="0.95", schedule="linear", schedule__warmup="10 steps", schedule__total="100 steps"),
    _accelerate("fsdp2-shared", "fsdp2", _GROUPED, 2, _SAVES, shard__stage="3", recompute="full"),
    _accelerate("fsdp2-gradients", "fsdp2", _SMALL, 1, shard__stage="2", train__compile="true"),
    _accelerate("fsdp2-hybrid", "fsdp2", _GROUPED, 2, shard__stage="3", shard__size="8"),
    _accelerate("fsdp2-tensor", "fsdp2", _GROUPED, 2, shard__stage="3", parallel__tensor="4"),
    _accelerate("fsdp2-long", "fsdp2", _SMALL, 2, shard__stage="3", parallel__context="4", context="ring",
                batch__sequence_length="8192"),
    _accelerate("fsdp2-offload", "fsdp2", _GROUPED, 1, _BOTH, shard__stage="3"),
    _accelerate("zero3", "deepspeed", _GROUPED, 2, shard__stage="3", optimizer__clip="1"),
    _accelerate("zero2", "deepspeed", _SMALL, 1, _CPU, shard__stage="2", batch__accumulation="16"),
    _accelerate("zero3-sequences", "deepspeed", _GROUPED, 2, shard__stage="3", parallel__context="2",
                context="ulysses"),
    _plan("torchrun-one", "torchrun", "torchrun", _SMALL, 1, _LAUNCH, launch__restarts="3",
          launch__args='["--data", "x"]'),
    _plan("torchrun-several", "torchrun", "torchrun", _SHARED, 3, _LAUNCH, batch__global="96", shard__stage="3"),
    _plan("job", "slurm", "slurm", _SMALL, 2, _LAUNCH, launch__walltime="24 h",
          launch__slurm='{ partition = "gpu"  constraint = "h100" }'),
    _plan("job-deepspeed", "slurm", "slurm, deepspeed", _GROUPED, 4, _LAUNCH, _ADAM, shard__stage="1",
          launch__walltime="90 min"),
    _plan("job-accelerate", "slurm", "slurm, accelerate", _GROUPED, 2, _LAUNCH, shard__stage="3"),
    _megatron("tensor", _SMALL, 1, _COSINE, shard__stage="1", parallel__tensor="4", parallel__sequence="true"),
    _megatron("heads", _MANY_HEADS, 1, _COSINE, parallel__tensor="2", recompute="selective"),
    _megatron("one-kv-head", _ONE_KV_HEAD, 1, shard__stage="1", parallel__tensor="4"),
    _megatron("pipeline", _SMALL, 2, _COSINE, parallel__tensor="2", parallel__pipeline="4", recompute="full",
              recompute__method="uniform", recompute__layers="1"),
    _megatron("interleaved", _SMALL, 2, _ADAM, parallel__pipeline="4", pipeline="interleaved", pipeline__chunks="2",
              shard__stage="1", parallel__tensor="2"),
    _megatron("uneven", _SMALL, 2, parallel__pipeline="4", pipeline__first_stage_layers="1",
              pipeline__last_stage_layers="1", shard__stage="1"),
    _megatron("ends-as-layers", _model(14, 1024, 16, 4096), 2, parallel__pipeline="4",
              pipeline__embedding_as_layer="true", pipeline__loss_as_layer="true"),
    _megatron("layout", _SMALL, 1, parallel__pipeline="4", pipeline__layout='"Ett|tt|tt|ttL"'),
    _megatron("long", _WINDOW, 2, shard__stage="1", parallel__tensor="2", parallel__sequence="true",
              parallel__context="4", context="all-gather", batch__sequence_length="32768"),
    _megatron("long-ulysses", _GROUPED, 1, shard__stage="1", parallel__context="4", context="ulysses"),
    _megatron("experts", _MOE, 1, _COSINE, shard__stage="1", parallel__expert="8"),
    _megatron("experts-split", _SHARED, 2, parallel__tensor="2", parallel__sequence="true", parallel__expert="4",
              parallel__expert_tensor="2", shard__stage="1", expert__dispatch="all-to-all"),
    _megatron("experts-pipeline", _MOE, 2, parallel__pipeline="2", parallel__expert="4", parallel__tensor="2",
              parallel__sequence="true", expert__capacity_factor="1.25"),
    _megatron("latent", _LATENT, 1, shard__stage="1", parallel__expert="4", parallel__tensor="2",
              parallel__sequence="true"),
    _megatron("ramp", _SMALL, 1, _ADAM, shard__stage="1", shard__size="4", batch__ramp="linear",
              batch__ramp__start="32", batch__ramp__increment="32", batch__ramp__over="10000 samples"),
)  # fmt: skip


def text_of(clean: Clean, fields: Fields | None = None) -> str:
    """The plan file that says these fields, or those of the plan."""
    tree: dict[str, list[tuple[str, str]]] = {"gpu": [], "cluster": [], "model": [], "plan": []}
    for path, value in (clean.fields if fields is None else fields).items():
        block, _, rest = path.partition(".")
        if block not in ("gpu", "cluster", "model"):
            block, rest = "plan", path
        tree[block].append((rest, value))
    blocks = [
        f"gpu card {{\n{_body(tree['gpu'])}}}",
        f"cluster site {{\ngpu = card\n{_body(tree['cluster'])}}}",
        f"model net {{\n{_body(tree['model'])}}}",
        f"plan run {{\nmodel = net\ncluster = site\n{_body(tree['plan'])}emit = [{clean.emit}]\n}}",
    ]
    return "\n".join(blocks) + "\n"


def _body(entries: list[tuple[str, str]]) -> str:
    """The entries of a block: fields as they are, those of a section inside it, with its word where it has one."""
    words = {path: value for path, value in entries if "." not in path}
    inner: dict[str, list[tuple[str, str]]] = {}
    for path, value in entries:
        section, dot, rest = path.partition(".")
        if dot:
            inner.setdefault(section, []).append((rest, value))
    lines = [
        f"{name} {value}\n" if value.startswith("{") else f"{name} = {value}\n"
        for name, value in words.items()
        if name not in inner
    ]
    for name, rest in inner.items():
        head = f"{name} = {words[name]}" if name in words else name
        lines.append(f"{head} {{\n{_body(rest)}}}\n")
    return "".join(lines)

"""The engines that train a plan, and what each keeps on the card for every parameter."""

from __future__ import annotations

from typing import Any, NamedTuple

from planc.plan.model import Choice, Plan


class Engine(NamedTuple):
    """A trainer's conventions of bytes and kernels.

    family: engines of one family compute a layer by the same code, so that formulas of bytes and kernels ask for it.
    runtime: engines of one runtime split and schedule by the same code, so that rules ask for it.
    weights_in_fp32: the resident weights are fp32 shards, cast to the compute dtype when they are gathered (FSDP2);
        else they are kept in the compute dtype, beside the optimizer's master copy.
    second_gradient_width: bytes of a second copy of each gradient that is kept where replicas reduce them; 0 where there is none.
    fused: norms and activation functions of its layers are one kernel each (TransformerEngine), else modules of PyTorch run
        op by op.
    norm_width: bytes that an rmsnorm keeps for each element if it runs op by op, in fp32 on 16-bit inputs.
    loss_parallel: tensor ranks compute the loss on their shards of the vocabulary; else each has all logits.
    convention: what is kept, in words, for `explain`.
    sizes_buckets: it runs by a file of planc's that says how much is reduced and gathered at once, from the model's size.
    """

    name: str
    family: str
    runtime: str
    weights_in_fp32: bool
    second_gradient_width: int
    fused: bool
    norm_width: int
    loss_parallel: bool
    convention: str
    sizes_buckets: bool = False


# Widths of norms: torch.nn.RMSNorm keeps its input and a product in fp32; Hugging Face's LlamaRMSNorm keeps one of them in 16 bits.
ENGINES: dict[str, Engine] = {
    "deepspeed": Engine("deepspeed", "deepspeed", "deepspeed", False, 0, False, 6, False, "weights and gradients in the compute dtype, fp32 master weights and moments"),
    "fsdp2": Engine("fsdp2", "fsdp2", "fsdp2", True, 0, False, 8, False, "fp32 shards of weights and gradients, fp32 moments, no second copy"),
    "torchtitan": Engine("torchtitan", "fsdp2", "fsdp2", True, 0, False, 8, True, "fp32 shards of weights and gradients, fp32 moments, no second copy"),
    "megatron": Engine("megatron", "megatron", "megatron", False, 0, True, 8, True, "weights in the compute dtype, gradients in `precision.gradients`, fp32 master weights and moments"),
    "nanotron": Engine("nanotron", "megatron", "megatron", False, 2, True, 8, True, "16-bit weights and gradients, gradients accumulated in fp32, fp32 master weights and moments"),
    "gpt-neox": Engine("gpt-neox", "megatron", "deepspeed", False, 2, True, 8, True, "16-bit weights and gradients, beside bf16 gradients accumulated in fp32, fp32 master weights and moments"),
    "generic": Engine("generic", "deepspeed", "generic", False, 0, False, 6, False, "no trainer is emitted: weights and gradients in the compute dtype, fp32 master weights and moments"),
}  # fmt: skip

#: DeepSpeed by ds_config.json, whose buckets follow from the model.
SIZED = ENGINES["deepspeed"]._replace(sizes_buckets=True)

_BY_TARGET: dict[str, str] = {
    "deepspeed": "deepspeed", "deepspeed-launcher": "deepspeed", "gpt-neox": "gpt-neox",
    "megatron": "megatron", "megatron-bridge": "megatron", "nanotron": "nanotron",
    "fsdp2": "fsdp2", "torchtitan": "torchtitan",
}  # fmt: skip


def engines(plan: Plan) -> tuple[Engine, ...]:
    """The engines of the trainers that a plan emits, each once; `generic` where it names none.

    accelerate, transformers and lightning drive either engine: as the target's `backend` option says, else a plan that
    shards weights is trained by FSDP2, and the DeepSpeed file that accelerate gets beside it keeps the same bytes.
    """
    found: list[Engine] = []
    for choice in plan.targets:
        name = _BY_TARGET.get(choice.name)
        if choice.name in ("accelerate", "transformers", "lightning"):
            name = _driven_by(plan, choice)
        if name is not None and ENGINES[name] not in found:
            found.append(ENGINES[name])
    if plan.emits("deepspeed") and not _hides_buckets(plan):
        found = [SIZED if engine.name == "deepspeed" else engine for engine in found]
    return tuple(found) or (ENGINES["generic"],)


def _hides_buckets(plan: Plan) -> bool:
    """Whether accelerate starts DeepSpeed, by a file that has no key for buckets."""
    return any(choice.name == "accelerate" and _driven_by(plan, choice) == "deepspeed" for choice in plan.targets)


def _driven_by(plan: Plan, choice: Choice) -> str:
    """The engine that a target drives which has several."""
    backend = choice.options.value("backend") if "backend" in choice.options else None
    return "fsdp2" if plan.value("shard.stage") in (2, 3) and backend != "deepspeed" else "deepspeed"


def engine_value(engine: Engine, name: str) -> Any:
    """The property of an engine that a fact reads as `engine.NAME`."""
    return getattr(engine, name)

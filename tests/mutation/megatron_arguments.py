"""What Megatron's classes and functions are given for the flags of `megatron.args`, as its own start-up gives it.

Dtypes are their names. What no flag says is left out, so that Megatron's own defaults hold.
"""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from typing import Any

from tests.consumers.megatron_parser import parsed

Arguments = dict[str, dict[str, Any]]

#: Fields of the layout, which go to `initialize_model_parallel` too.
_PARALLEL = (
    "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size",
    "expert_model_parallel_size", "expert_tensor_parallel_size",
)  # fmt: skip
_PRECISIONS = ("fp16", "bf16")
#: Fields of latent attention, which its own configuration adds.
_LATENT = ("q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim")
_OPTIMIZER = (
    "optimizer", "lr", "min_lr", "weight_decay", "adam_beta1", "adam_beta2", "adam_eps", "sgd_momentum",
    "muon_momentum", "clip_grad", "main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype",
)  # fmt: skip


def words_of(text: str) -> list[str]:
    """The words of a `megatron.args`, as the scripts read them."""
    return [line for line in text.rstrip("\n").split("\n") if not line.startswith("#")]


def arguments(words: list[str], world: int) -> Arguments:
    """The arguments of Megatron's classes and functions, by what takes them; a SystemExit for an unknown flag."""
    args = parsed(words)
    _check(args, world)
    if args.global_batch_size is None:
        args.global_batch_size = args.micro_batch_size * max(1, world // _model_size(args))
    said = {
        "world": {"size": world},
        "parallel": _parallel(args),
        "config": _config(args),
        "network": _network(args),
        "batch": {
            name: getattr(args, name) for name in ("global_batch_size", "micro_batch_size", "rampup_batch_size")
        } | {"sequence_length": args.seq_length},
        "optimizer": _optimizer(args),
        "schedule": _schedule(args),
    }  # fmt: skip
    return {part: {name: value for name, value in own.items() if value is not None} for part, own in said.items()}


def _check(args: Namespace, world: int) -> None:
    """What Megatron's `validate_args` has against flags, as far as its classes do not say it again."""
    if args.micro_batch_size is None:
        raise ValueError("there is no micro batch")
    if world % _model_size(args) != 0:
        raise ValueError(f"world size ({world}) is not divisible by {_model_size(args)}")
    if args.train_iters and (args.train_samples or args.rampup_batch_size or args.lr_decay_samples):
        raise ValueError("iteration-based training beside samples")
    if args.rampup_batch_size and (args.lr_decay_iters or args.lr_warmup_iters):
        raise ValueError("sample-based training beside iterations")
    if args.save is not None and not args.save_interval:
        raise ValueError("saves without an interval")
    if args.lr is not None and args.lr < (args.min_lr or 0.0):
        raise ValueError("the minimum is above the peak")
    if args.seq_length is not None and args.max_position_embeddings < args.seq_length:
        raise ValueError("the sequence is longer than the positions")
    if args.optimizer == "muon" and (args.use_distributed_optimizer or args.overlap_grad_reduce):
        raise ValueError("muon beside shared states")
    if args.optimizer_cpu_offload and not args.use_precision_aware_optimizer:
        raise ValueError("offload without the precision-aware optimizer")
    if args.use_megatron_fsdp and args.ckpt_format != "fsdp_dtensor":
        raise ValueError("Megatron FSDP only supports fsdp_dtensor")
    if args.fp8_param_gather and not args.use_distributed_optimizer:
        raise ValueError("fp8 weights are gathered by the distributed optimizer")


def _model_size(args: Namespace) -> int:
    return int(args.tensor_model_parallel_size * args.pipeline_model_parallel_size * args.context_parallel_size)


def _parallel(args: Namespace) -> dict[str, Any]:
    sizes = {name: getattr(args, name) for name in _PARALLEL}
    copies = args.num_distributed_optimizer_instances
    chunks = _chunks(args)
    return {**sizes, "num_distributed_optimizer_instances": copies,
            "virtual_pipeline_model_parallel_size": None if chunks == 1 else chunks}  # fmt: skip


def _chunks(args: Namespace) -> int | None:
    layout = args.pipeline_model_parallel_layout
    if layout is None:
        chunks: int | None = args.num_virtual_stages_per_pipeline_rank
        return chunks
    from megatron.core.transformer.pipeline_parallel_layer_layout import PipelineParallelLayerLayout

    stages = PipelineParallelLayerLayout.get_num_stages_from_str(layout)
    if stages % args.pipeline_model_parallel_size != 0:
        raise ValueError("the length of the layout is no multiple of the stages")
    return int(stages // args.pipeline_model_parallel_size)


def _config(args: Namespace) -> dict[str, Any]:
    from megatron.core.transformer.transformer_config import TransformerConfig

    config: dict[str, Any] = {}
    for field in dataclasses.fields(TransformerConfig):
        value = getattr(args, field.name, None)
        unsaid = value == getattr(parsed([]), field.name, None)  # kernels are on by default, and not installed
        if field.name not in (*_PARALLEL, *_PRECISIONS) and not unsaid:
            config[field.name] = value
    config.update(
        precision=next((name for name in _PRECISIONS if getattr(args, name)), "fp32"),
        num_query_groups=args.num_query_groups if args.group_query_attention else None,
        gated_linear_unit=args.swiglu or None,
        num_moe_experts=args.num_experts,
        fp8_param=args.fp8_param_gather or None,
        num_layers_in_first_pipeline_stage=args.decoder_first_pipeline_num_layers,
        num_layers_in_last_pipeline_stage=args.decoder_last_pipeline_num_layers,
        sequence_parallel=(args.sequence_parallel and 1 < args.tensor_model_parallel_size) or None,
        cp_comm_type=args.cp_comm_type[0] if args.cp_comm_type else None,
        hidden_dropout=args.hidden_dropout,
        attention_dropout=args.attention_dropout,
    )
    if config.pop("multi_latent_attention", False):
        config.update({name: getattr(args, name) for name in _LATENT})
    return config


def _network(args: Namespace) -> dict[str, Any]:
    vocab, multiple = args.vocab_size, 128 * args.tensor_model_parallel_size
    return {
        "vocab_size": None if vocab is None else -(-vocab // multiple) * multiple,
        "max_sequence_length": args.max_position_embeddings or 1,
        "share_embeddings_and_output_weights": not args.untie_embeddings_and_output_weights,
        "position_embedding_type": args.position_embedding_type or "none",
    }


def _optimizer(args: Namespace) -> dict[str, Any]:
    given = {name: getattr(args, name) for name in _OPTIMIZER}
    offloaded = args.optimizer_cpu_offload or None
    return given | {
        "use_distributed_optimizer": args.use_distributed_optimizer,
        "optimizer_cpu_offload": offloaded,
        "use_precision_aware_optimizer": offloaded and args.use_precision_aware_optimizer,
    }


def _schedule(args: Namespace) -> dict[str, Any]:
    steps, warmup = args.lr_decay_samples, args.lr_warmup_samples or 0
    if steps is None:
        batch = args.global_batch_size
        steps = None if args.lr_decay_iters is None else args.lr_decay_iters * batch
        warmup = (args.lr_warmup_iters or 0) * batch
    if args.lr is None or steps is None:
        return {}
    warmup = args.lr_warmup_fraction * steps if args.lr_warmup_fraction is not None else warmup
    return {
        "lr_decay_style": args.lr_decay_style, "max_lr": args.lr, "init_lr": 0.0, "min_lr": args.min_lr or 0.0,
        "lr_decay_steps": float(steps), "lr_warmup_steps": float(warmup),
    }  # fmt: skip

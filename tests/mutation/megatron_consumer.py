"""Megatron asked about a layout as it would start it: ranks, configuration, batch, optimizer, schedule, first layers.

A stand-in takes the place of the cluster, and tensors have no memory, so that a model of any size is built in a moment.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from contextlib import ExitStack
from copy import copy
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from tests.mutation.fake_cluster import cluster
from tests.mutation.megatron_arguments import Arguments


def refusal(said: Arguments) -> str | None:
    """What Megatron has against the arguments; None if it would train with them."""
    with contextlib.redirect_stdout(io.StringIO()), _prepared():
        try:
            with _cluster(said["world"]["size"]):
                _start(said)
        except Exception as error:  # whatever it raises is its answer
            return f"{type(error).__name__}: {error}".split("\n", maxsplit=1)[0]
    return None


@contextlib.contextmanager
def _cluster(world: int) -> Iterator[None]:
    """So many ranks of which this process is the first, and nothing left of them or of Megatron's groups behind it."""
    from megatron.core import parallel_state

    with cluster(world):
        try:
            yield
        finally:
            with contextlib.suppress(Exception):  # what was never made cannot be forgotten
                parallel_state.destroy_model_parallel()


class _Reached(Exception):
    """The schedule came past its checks."""


@contextlib.contextmanager
def _prepared() -> Iterator[None]:
    """Megatron without a card and without TransformerEngine: what it puts on a card has no memory instead.

    The norms and the attention that it has of its own know neither sequence nor context ranks, on which they would not
    depend; TransformerEngine's, with which such layouts are trained, do.
    """
    import torch
    from megatron.core import utils
    from megatron.core.transformer import multi_latent_attention
    from megatron.core.transformer.dot_product_attention import DotProductAttention
    from megatron.core.transformer.torch_norm import WrappedTorchNorm
    from packaging.version import Version

    attend, norm, zeros = DotProductAttention.__init__, WrappedTorchNorm.__new__, torch.zeros

    def attention(made: Any, config: Any, *rest: Any, **more: Any) -> None:
        known = {name: value for name, value in more.items() if name not in ("k_channels", "v_channels")}
        attend(made, _changed(config, context_parallel_size=1), *rest, **known)

    def normalization(kind: Any, config: Any, *rest: Any, **more: Any) -> Any:
        return norm(kind, _changed(config, sequence_parallel=False, persist_layer_norm=False), *rest, **more)

    def anywhere(*sizes: Any, **more: Any) -> Any:
        return zeros(*sizes, **{**more, "device": None} if more.get("device") == "cuda" else more)

    with ExitStack() as stack:
        for owner, name, value in (
            (torch.cuda, "current_device", lambda: torch.device("meta")),
            (torch.cuda, "Stream", lambda *_, **__: None),
            (torch.Tensor, "cuda", lambda tensor, *_, **__: tensor),
            (torch, "zeros", anywhere),
            (DotProductAttention, "__init__", attention),
            (WrappedTorchNorm, "__new__", normalization),
            (multi_latent_attention, "TELinear", type("Absent", (), {})),
            (utils, "get_te_version", lambda: Version("2.9.0")),
        ):
            stack.enter_context(patch.object(owner, name, value, create=True))
        yield


def _changed(config: Any, **values: Any) -> Any:
    changed = copy(config)
    for name, value in values.items():
        setattr(changed, name, value)
    return changed


def _start(said: Arguments) -> None:
    from megatron.core import parallel_state

    parallel_state.initialize_model_parallel(create_gloo_process_groups=False, **said["parallel"])
    config = _configuration(said)
    batches = _batches(said)
    _optimizer(said)
    _schedule(said)
    _pieces(said, config)
    _model(said, config)
    _order(said, config, batches)


def _configuration(said: Arguments) -> Any:
    import torch
    from megatron.core.transformer.transformer_config import MLATransformerConfig, TransformerConfig

    given = dict(said["config"])
    precision = given.pop("precision", "bf16")
    dtype = {"fp32": torch.float32, "fp16": torch.float16}.get(precision, torch.bfloat16)
    parallel = {name: size for name, size in said["parallel"].items() if not name.startswith("num_")}
    kind = MLATransformerConfig if "kv_lora_rank" in given else TransformerConfig
    return kind(
        fp16=dtype == torch.float16, bf16=dtype == torch.bfloat16, params_dtype=dtype, pipeline_dtype=dtype,
        use_cpu_initialization=True, perform_initialization=False, **parallel, **given,
    )  # fmt: skip


def _batches(said: Arguments) -> int:
    """Micro batches of a step, by Megatron's own count."""
    from megatron.core import parallel_state
    from megatron.core.num_microbatches_calculator import _build_num_microbatches_calculator

    batch = said["batch"]
    calculator = _build_num_microbatches_calculator(
        rank=1,
        rampup_batch_size=batch.get("rampup_batch_size"),
        global_batch_size=batch["global_batch_size"],
        micro_batch_size=batch["micro_batch_size"],
        data_parallel_size=parallel_state.get_data_parallel_world_size(),
        decrease_batch_size_if_needed=False,
    )
    calculator.update(0, consistency_check=True)
    if "rampup_batch_size" in batch:
        calculator.update(batch["rampup_batch_size"][2] // 2, consistency_check=True)
    return int(calculator.get())


def _optimizer(said: Arguments) -> None:
    import torch
    from megatron.core.optimizer import OptimizerConfig, _get_megatron_optimizer_based_on_param_groups

    dtypes = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    given = {name: dtypes.get(value, value) for name, value in said["optimizer"].items()}
    if {"main_params_dtype", "exp_avg_dtype"} & set(given):
        given["use_precision_aware_optimizer"] = True
        with contextlib.suppress(RuntimeError):  # TransformerEngine, which it needs, is not installed
            OptimizerConfig(**given)
    else:
        OptimizerConfig(**given)
    weight = torch.nn.Parameter(torch.empty(1))
    if given["optimizer"] not in ("adam", "sgd", "muon"):
        groups = [{"params": [weight]}]
        _get_megatron_optimizer_based_on_param_groups(OptimizerConfig(**given), [], groups)
    names = {"lr": "lr", "weight_decay": "weight_decay", "adam_eps": "eps"}
    taken = {name: given[key] for key, name in names.items() if key in given}
    betas = tuple(given.get(name, default) for name, default in (("adam_beta1", 0.9), ("adam_beta2", 0.999)))
    if given["optimizer"] == "adam":
        torch.optim.AdamW([weight], betas=betas, **taken)


def _schedule(said: Arguments) -> None:
    from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler

    if said["schedule"]:
        decay = said["optimizer"].get("weight_decay", 0.01)
        OptimizerParamScheduler(
            SimpleNamespace(param_groups=[]), start_wd=decay, end_wd=decay, wd_incr_steps=1, wd_incr_style="constant",
            wsd_decay_steps=1, lr_wsd_decay_style="linear", **said["schedule"],
        )  # fmt: skip


def _pieces(said: Arguments, config: Any) -> None:
    """A sample, cut over the context ranks and the tensor ranks as its batches and layers do."""
    import torch
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel.mappings import scatter_to_sequence_parallel_region
    from megatron.core.utils import get_batch_on_this_cp_rank

    length = said["batch"].get("sequence_length")
    if length is None:
        return
    tokens = torch.empty((said["batch"]["micro_batch_size"], length), dtype=torch.int64)
    if 1 < config.context_parallel_size:
        tokens = get_batch_on_this_cp_rank({"tokens": tokens})["tokens"]
    if config.sequence_parallel:
        scatter_to_sequence_parallel_region(
            torch.empty((tokens.shape[1], 1, 1)), parallel_state.get_tensor_model_parallel_group()
        )
    if config.cp_comm_type == "a2a" and 1 < config.context_parallel_size:
        heads = config.num_attention_heads // config.tensor_model_parallel_size
        torch.empty(heads).view(config.context_parallel_size, heads // config.context_parallel_size)


def _model(said: Arguments, config: Any) -> None:
    """What the first rank holds, with no memory behind it."""
    import torch
    from megatron.core import parallel_state
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_decoder_block_spec, get_gpt_mtp_block_spec
    from megatron.core.models.gpt.gpt_model import GPTModel

    chunks = config.virtual_pipeline_model_parallel_size or 1
    for chunk in range(chunks):
        stage = None if chunks == 1 else chunk
        of_chunk = {} if stage is None else {"vp_stage": chunk, "ignore_virtual": False}
        spec = get_gpt_decoder_block_spec(config, use_transformer_engine=False, vp_stage=stage)
        more = {}
        if config.mtp_num_layers:
            more["mtp_block_spec"] = get_gpt_mtp_block_spec(config, spec, use_transformer_engine=False, vp_stage=stage)
        with torch.device("meta"):
            built = GPTModel(
                config,
                spec,
                pre_process=parallel_state.is_pipeline_first_stage(**of_chunk),
                post_process=parallel_state.is_pipeline_last_stage(**of_chunk),
                vp_stage=stage,
                **said["network"],
                **more,
            )
        _first_pass(built, config)


def _first_pass(built: Any, config: Any) -> None:
    """What layers with experts have against the layout once they train; the pass itself needs a card."""
    import torch
    from megatron.core.transformer.moe.moe_layer import MoELayer

    for layer in built.modules():
        if isinstance(layer, MoELayer):
            try:
                layer(torch.empty((4, 1, config.hidden_size), device="meta"))
            except ValueError:
                raise
            except Exception:
                return


def _order(said: Arguments, config: Any, batches: int) -> None:
    """The checks of the interleaved schedule, which stand before its first micro batch."""
    import torch
    from megatron.core.enums import ModelType
    from megatron.core.pipeline_parallel.schedules import forward_backward_pipelining_with_interleaving

    chunks = config.virtual_pipeline_model_parallel_size
    if chunks is None or config.pipeline_model_parallel_size == 1:
        return

    asked: list[bool] = []

    class Chunk(torch.nn.Module):
        @property
        def config(self) -> Any:
            return config

        @property
        def model_type(self) -> Any:
            if 2 <= len(asked):  # looked for and read before the checks, and again after them
                raise _Reached
            asked.append(True)
            return ModelType.encoder_or_decoder

    group = SimpleNamespace(size=lambda: config.pipeline_model_parallel_size, rank=lambda: 0)
    groups = SimpleNamespace(tp=group, cp=group, embd=group, pos_embd=group, pp=group, dp_cp=group)
    with contextlib.suppress(_Reached):
        forward_backward_pipelining_with_interleaving(
            forward_step_func=lambda *_: None,
            data_iterator=[iter(())] * chunks,
            model=[Chunk() for _ in range(chunks)],
            num_microbatches=batches,
            seq_length=said["batch"].get("sequence_length", 1),
            micro_batch_size=said["batch"]["micro_batch_size"],
            p2p_communicator=SimpleNamespace(config=config, pp_group=group),
            pg_collection=groups,
        )

"""The parameters that a rank of Megatron holds, model by model, on a stand-in for the cluster and without a GPU.

The one argument is JSON, a list of cases: `world`, `rank`, `parallel` (sizes by Megatron's names), `config` (fields of
TransformerConfig), `latent` for latent attention, and `model` (arguments of GPTModel). A line of JSON comes back for
each: parameters of routed experts, and all others.
"""

import contextlib
import io
import json
import sys
import warnings

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_decoder_block_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.transformer import multi_latent_attention
from megatron.core.transformer.dot_product_attention import DotProductAttention
from megatron.core.transformer.transformer_config import MLATransformerConfig, TransformerConfig
from torch.testing._internal.distributed.fake_pg import FakeStore

warnings.simplefilter("ignore")
# Where some of its modules put their tensors.
torch.cuda.current_device = lambda: torch.device("cpu")
torch.Tensor.cuda = lambda tensor, *_, **__: tensor


def without_widths(made, config, *rest, k_channels=None, v_channels=None, **more):
    """Its attention without kernels takes no widths of their own for keys and values; it has no parameters."""
    plain(made, config, *rest, **more)


multi_latent_attention.TELinear = type("Absent", (), {})  # TransformerEngine is not installed
plain, DotProductAttention.__init__ = DotProductAttention.__init__, without_widths


def count(world, rank, parallel, config, model, latent):
    dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
    parallel_state.initialize_model_parallel(create_gloo_process_groups=False, **parallel)
    half = {"bf16": True, "params_dtype": torch.bfloat16, "pipeline_dtype": torch.bfloat16}
    kind = MLATransformerConfig if latent else TransformerConfig
    made = kind(use_cpu_initialization=True, **half, **parallel, **config)
    chunks = parallel.get("virtual_pipeline_model_parallel_size") or 1
    found = {"experts": 0, "others": 0}
    for chunk in range(chunks):
        of_chunk = {} if chunks == 1 else {"vp_stage": chunk, "ignore_virtual": False}
        spec = get_gpt_decoder_block_spec(made, use_transformer_engine=False, vp_stage=chunk if 1 < chunks else None)
        built = GPTModel(
            made,
            spec,
            pre_process=parallel_state.is_pipeline_first_stage(**of_chunk),
            post_process=parallel_state.is_pipeline_last_stage(**of_chunk),
            vp_stage=chunk if 1 < chunks else None,
            **model,
        )
        for name, parameter in built.named_parameters():
            found["experts" if ".mlp.experts." in name else "others"] += parameter.numel()
    parallel_state.destroy_model_parallel()
    dist.destroy_process_group()
    return found


for case in json.loads(sys.argv[1]):
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            answer = count(**case)
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
        with contextlib.suppress(Exception):
            parallel_state.destroy_model_parallel()
            dist.destroy_process_group()
    print(json.dumps(answer), flush=True)

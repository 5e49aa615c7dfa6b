"""A tiny Llama, trained for one step and saved by each of the trainers, in folders of the one that the argument names.

It runs under torchrun. One rank prints a line of JSON: the parameters that the models have, counted by torch. Modules
are imported where they are used, as Megatron saves in a process of its own, which reads this file once more.
"""

import argparse
import json
import sys
from pathlib import Path

SIZES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 64}


def built(tied=False):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**SIZES, use_cache=False, tie_word_embeddings=tied))


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


def loss_of(model):
    import torch

    tokens = torch.arange(8).repeat(2, 1)
    return model(input_ids=tokens, labels=tokens).loss


def save_by_deepspeed(folder, stage):
    import deepspeed

    # The operator for shared memory is a C++ build of a minute, and only a faster way to do the same.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    model = built()
    config = {
        "train_micro_batch_size_per_gpu": 2,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": stage},
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
    }
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    engine.backward(loss_of(engine))
    engine.step()
    engine.save_checkpoint(str(folder))


def save_by_dcp(folder):
    import torch
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict
    from torch.distributed.fsdp import fully_shard

    model = built()
    for layer in model.model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss_of(model).backward()
    optimizer.step()
    of_model, of_optimizer = get_state_dict(model, optimizer)
    dcp.save({"model": of_model, "optim": of_optimizer, "step": torch.tensor(1)}, checkpoint_id=str(folder / "step-1"))


def save_by_megatron(folder):
    import torch
    import torch.distributed as dist
    from megatron.core import dist_checkpointing, parallel_state
    from megatron.core.dist_checkpointing.strategies.torch import TorchDistSaveShardedStrategy
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.models.gpt.gpt_model import GPTModel
    from megatron.core.transformer.transformer_config import TransformerConfig

    # Where some of its modules put their tensors, and what it waits for.
    torch.cuda.current_device = lambda: torch.device("cpu")
    torch.cuda.synchronize = lambda *_: None
    ranks = dist.get_world_size()
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=ranks)
    shape = {"num_layers": 2, "hidden_size": 16, "ffn_hidden_size": 32, "num_attention_heads": 2}
    config = TransformerConfig(
        **shape,
        use_cpu_initialization=True,
        add_bias_linear=False,
        gated_linear_unit=True,
        normalization="RMSNorm",
        tensor_model_parallel_size=ranks,
    )
    model = GPTModel(
        config,
        get_gpt_layer_local_spec(normalization="RMSNorm"),
        vocab_size=64,
        max_sequence_length=8,
        position_embedding_type="rope",
        share_embeddings_and_output_weights=False,
    )
    # As Megatron-LM's own program puts it together, which is no package.
    arguments = argparse.Namespace(tensor_model_parallel_size=ranks, pipeline_model_parallel_size=1, world_size=ranks)
    state = {"model": model.sharded_state_dict(), "iteration": 1, "args": arguments}
    inside = folder / "iter_0000001"
    inside.mkdir(parents=True, exist_ok=True)
    strategy = TorchDistSaveShardedStrategy("torch_dist", 1, thread_count=1)
    dist_checkpointing.save(state, str(inside), sharded_strategy=strategy)
    if dist.get_rank() == 0:
        (folder / "latest_checkpointed_iteration.txt").write_text("1")


def main(folder):
    import torch.distributed as dist

    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        built().save_pretrained(str(folder / "safetensors"), max_shard_size="8KB")
        built(tied=True).save_pretrained(str(folder / "tied"))
    save_by_dcp(folder / "dcp")
    for stage in (0, 1, 3):
        save_by_deepspeed(folder / f"deepspeed-{stage}", stage)
    save_by_megatron(folder / "megatron")
    if dist.get_rank() == 0:
        print(json.dumps({"untied": count(built()), "tied": count(built(tied=True))}), flush=True)
    # Left to the interpreter, the threads of gloo and the store now and then outlive it, and the rank ends by SIGABRT.
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""A tiny Llama, trained for one step and saved by each of the trainers, in folders of the one that the argument names.

It runs under torchrun. One rank prints a line of JSON: the parameters that the models have, counted by torch.
"""

import json
import sys
from pathlib import Path

import deepspeed
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.fsdp import fully_shard
from transformers import LlamaConfig, LlamaForCausalLM

# The operator for shared memory is a C++ build of a minute, and only a faster way to do the same.
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
folder = Path(sys.argv[1])
sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 64}


def built(tied=False):
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(**sizes, use_cache=False, tie_word_embeddings=tied))


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


def loss_of(model):
    tokens = torch.arange(8).repeat(2, 1)
    return model(input_ids=tokens, labels=tokens).loss


def save_by_deepspeed(stage):
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
    engine.save_checkpoint(str(folder / f"deepspeed-{stage}"))


def save_by_dcp():
    model = built()
    for layer in model.model.layers:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss_of(model).backward()
    optimizer.step()
    of_model, of_optimizer = get_state_dict(model, optimizer)
    state = {"model": of_model, "optim": of_optimizer, "step": torch.tensor(1)}
    dcp.save(state, checkpoint_id=str(folder / "dcp" / "step-1"))


dist.init_process_group("gloo")
if dist.get_rank() == 0:
    built().save_pretrained(str(folder / "safetensors"), max_shard_size="8KB")
    built(tied=True).save_pretrained(str(folder / "tied"))
save_by_dcp()
for stage in (0, 1, 3):
    save_by_deepspeed(stage)
if dist.get_rank() == 0:
    print(json.dumps({"untied": count(built()), "tied": count(built(tied=True))}), flush=True)
# Left to the interpreter, the threads of gloo and the store now and then outlive it, and the rank ends by SIGABRT.
dist.destroy_process_group()

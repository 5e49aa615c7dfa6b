"""Goes on, on the ranks that there are, from checkpoints that `save_checkpoints.py` wrote on two.

The argument is the folder with all of them. One rank prints a line of JSON: what came of each, `loaded` or the error.
"""

import json
import os
import sys
from pathlib import Path

import deepspeed
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException
from transformers import LlamaConfig, LlamaForCausalLM

# The operator for shared memory is a C++ build of a minute, and only a faster way to do the same.
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
folder = Path(sys.argv[1])
sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 64}


def built(**changes):
    return LlamaForCausalLM(LlamaConfig(**sizes | changes, use_cache=False, tie_word_embeddings=False))


def load_by_deepspeed(stage):
    model = built()
    config = {
        "train_micro_batch_size_per_gpu": 2,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": stage},
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
    }
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    engine.load_checkpoint(str(folder / f"deepspeed-{stage}"))


def load_by_dcp(**changes):
    state = {"model": built(**changes).state_dict()}
    dcp.load(state, checkpoint_id=str(folder / "dcp" / "step-1"))


def outcome(load, *arguments, **named):
    try:
        load(*arguments, **named)
    except (Exception, CheckpointException) as error:
        return f"{type(error).__name__}: {error}"
    return "loaded"


dist.init_process_group("gloo")
report = {f"deepspeed-{stage}": outcome(load_by_deepspeed, stage) for stage in (0, 1, 3)}
report["dcp"] = outcome(load_by_dcp)
report["dcp of another model"] = outcome(load_by_dcp, hidden_size=32)
if dist.get_rank() == 0:
    print(json.dumps(report), flush=True)
dist.destroy_process_group()
# Not left to the interpreter, which threads of gloo and the store now and then outlive: the rank ends by SIGABRT.
os._exit(0)

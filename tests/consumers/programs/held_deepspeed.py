"""A DeepSpeed program: a step of models like Llama under ZeRO, and from every rank what it holds of the model states.

The one argument is JSON, a list of sizes with the ZeRO stage and the dtype of gradients. A step has two micro batches:
`gradients` are the bytes after the first, when a card holds what it will add to, and `reduced` those after the second.
"""

import json
import os
import sys
from types import SimpleNamespace

import deepspeed
import torch
from llama import Model

# The operator for shared memory is a C++ build of a minute, and only a faster way to do the same.
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False


def held(tensors):
    """Bytes of the tensors, each place in memory once."""
    places = {(tensor.data_ptr(), tensor.numel()): tensor.numel() * tensor.element_size() for tensor in tensors}
    return sum(places.values())


def gradients(model, optimizer):
    own = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    kept = (getattr(optimizer, name, {}) for name in ("averaged_gradients", "all_grad_tensors"))
    shared = [tensor for groups in kept for group in groups.values() for tensor in group or ()]
    shared += getattr(optimizer, "fp32_groups_gradients_flat", [])
    return held(own + [tensor for tensor in shared if tensor is not None])


def trained(case):
    config = {
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": 2,
        "bf16": {"enabled": True},
        "data_types": {"grad_accum_dtype": case.gradients},
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
        "zero_optimization": {
            "stage": case.stage, "reduce_bucket_size": 1024, "stage3_param_persistence_threshold": 0,
        },
    }  # fmt: skip
    model = Model(case)
    shapes = [list(parameter.shape) for parameter in model.parameters()]
    engine, optimizer, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    tokens = torch.randint(0, case.vocab, (1, 8))
    seen = []
    for _ in range(2):
        engine.backward(engine(tokens).float().logsumexp(-1).mean())
        seen.append(gradients(model, optimizer))
        engine.step()
    if case.stage == 3:
        weights = [parameter.ds_tensor for parameter in model.parameters()]
        masters = optimizer.fp32_partitioned_groups_flat
    elif hasattr(optimizer, "bf16_groups_flat"):
        weights, masters = optimizer.bf16_groups_flat, optimizer.fp32_groups_flat_partition
    else:
        weights, masters = optimizer.bit16_groups_flat, optimizer.single_partition_of_fp32_groups
    moments = [state[name] for state in optimizer.optimizer.state.values() for name in ("exp_avg", "exp_avg_sq")]
    return {
        "rank": engine.global_rank,
        "shapes": shapes,
        "weights": held(weights),
        "gradients": seen[0],
        "reduced": seen[1],
        "optimizer": held([*masters, *moments]),
    }


for number, sizes in enumerate(json.loads(sys.argv[1])):
    print(json.dumps(trained(SimpleNamespace(**sizes)) | {"case": number}), flush=True)
torch.distributed.destroy_process_group()
# Not left to the interpreter, which threads of gloo and the store now and then outlive: the rank ends by SIGABRT.
os._exit(0)

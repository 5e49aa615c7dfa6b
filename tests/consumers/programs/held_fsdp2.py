"""A torch program: a step of models like Llama under FSDP2, and from every rank what it holds of the model states.

The one argument is JSON, a list of the models' sizes. Bytes are those of the tensors; `kept` are those of the memory
under them, once for all tensors that share it.
"""

import json
import os
import sys
from types import SimpleNamespace

import torch
import torch.distributed as dist
from llama import Model
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def held(tensors):
    own = [tensor.to_local() for tensor in tensors]
    kept = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in own}
    return {"bytes": sum(tensor.numel() * tensor.element_size() for tensor in own), "kept": sum(kept.values())}


def trained(case, mesh):
    model = Model(case)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for module in (*model.layers, model):
        fully_shard(module, mesh=mesh, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(0, case.vocab, (1, 8))
    model(tokens).float().logsumexp(-1).mean().backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    optimizer.step()
    moments = [state[name] for state in optimizer.state.values() for name in ("exp_avg", "exp_avg_sq")]
    return {
        "shapes": [list(parameter.shape) for parameter in model.parameters()],
        "weights": held(model.parameters()),
        "gradients": held(gradients),
        "optimizer": held(moments),
    }


dist.init_process_group("gloo")
everyone = init_device_mesh("cpu", (dist.get_world_size(),))
for number, sizes in enumerate(json.loads(sys.argv[1])):
    found = trained(SimpleNamespace(**sizes), everyone)
    print(json.dumps({"rank": dist.get_rank(), "case": number} | found), flush=True)
dist.destroy_process_group()
# Not left to the interpreter, which threads of gloo and the store now and then outlive: the rank ends by SIGABRT.
os._exit(0)

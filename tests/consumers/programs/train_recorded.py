"""A torch program: a tiny Llama under FSDP2, trained for three steps, with its metrics and its checkpoint (DCP).

The last argument is the folder for them. Each rank prints a line of JSON: its number, and the parameters of the model.
"""

import json
import os
import sys
from types import SimpleNamespace

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from llama import Model
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

SIZES = SimpleNamespace(layers=2, hidden=16, heads=2, kv_heads=2, ffn=64, vocab=128)
STEPS = 3

folder = sys.argv[-1]
dist.init_process_group("gloo")
torch.manual_seed(7)
model = Model(SIZES)
count = sum(parameter.numel() for parameter in model.parameters())
for module in (*model.layers, model):
    fully_shard(module, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
losses = []
for _ in range(STEPS):
    tokens = torch.arange(8).repeat(4, 1)
    loss = torch.nn.functional.cross_entropy(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
checkpoint.save({"model": model.state_dict()}, checkpoint_id=os.path.join(folder, "ckpt", f"step_{STEPS}"))
if dist.get_rank() == 0:
    with open(os.path.join(folder, "metrics.jsonl"), "w") as file:
        file.writelines(json.dumps({"step": step, "loss": loss}) + "\n" for step, loss in enumerate(losses, 1))
print(json.dumps({"rank": dist.get_rank(), "parameters": count, "losses": losses}), flush=True)
dist.destroy_process_group()
# Not left to the interpreter, which threads of gloo and the store now and then outlive: the rank ends by SIGABRT.
os._exit(0)

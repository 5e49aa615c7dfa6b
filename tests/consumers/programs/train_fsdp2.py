"""A plain torch program: one step of a tiny model under FSDP2, and a line of JSON from every rank."""

import json
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (world,))
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
for layer in model:
    if isinstance(layer, nn.Linear):
        fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
batch = torch.randn(4, 16, generator=torch.Generator().manual_seed(rank))
losses = []
for _ in range(2):
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
parameters = list(model.parameters())
print(
    json.dumps(
        {
            "rank": rank,
            "world": world,
            "local_rank": int(os.environ["LOCAL_RANK"]),
            "node": int(os.environ["GROUP_RANK"]),
            "threads": os.environ["OMP_NUM_THREADS"],
            "sharded": all(isinstance(parameter, DTensor) for parameter in parameters),
            "local": sum(parameter.to_local().numel() for parameter in parameters),
            "total": sum(parameter.numel() for parameter in parameters),
            "falls": losses[1] < losses[0],
            "argv": sys.argv,
        }
    ),
    flush=True,
)
dist.destroy_process_group()
# Not left to the interpreter, which threads of gloo and the store now and then outlive: the rank ends by SIGABRT.
os._exit(0)

"""The groups that PyTorch's device meshes make of the ranks of a large cluster, as FSDP2 and torchtitan lay them out.

The one argument is JSON, a list of layouts: `world`, `rank` and the sizes of the axes of `planc.facts.groups`. A line
of JSON comes back for each: the ranks of each group of that rank.
"""

import json
import sys

import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

for case in json.loads(sys.argv[1]):
    dist.init_process_group("fake", rank=case["rank"], world_size=case["world"], store=FakeStore())
    replicate = case["data"] // case["shard"]
    expert_data = case["world"] // (case["pipeline"] * case["expert"] * case["expert_tensor"])
    dense = init_device_mesh(
        "cpu",
        (case["pipeline"], replicate, case["shard"], case["context"], case["tensor"]),
        mesh_dim_names=("pipeline", "replicate", "shard", "context", "tensor"),
    )
    experts = init_device_mesh(
        "cpu",
        (case["pipeline"], expert_data, case["expert"], case["expert_tensor"]),
        mesh_dim_names=("pipeline", "expert_data", "expert", "expert_tensor"),
    )
    named = {name: dense[name] for name in ("tensor", "context", "replicate", "pipeline")}
    named |= {name: experts[name] for name in ("expert", "expert_tensor", "expert_data")}
    named["data"] = dense["replicate", "shard"]._flatten()
    named["shard"] = dense["shard", "context"]._flatten()
    named["data_context"] = dense["replicate", "shard", "context"]._flatten()
    print(json.dumps({name: mesh.mesh.tolist() for name, mesh in named.items()}), flush=True)
    dist.destroy_process_group()

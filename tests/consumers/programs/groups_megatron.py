"""The groups that Megatron makes of the ranks of a large cluster, layout by layout, on a stand-in for the cluster.

The one argument is JSON, a list of layouts: `world`, `order`, sizes by Megatron's names, and `rank` for what
`initialize_model_parallel` gives that rank; else all groups are listed by its generator of ranks, which is faster. A
line of JSON comes back for each.
"""

import json
import sys

import torch.distributed as dist
from megatron.core import parallel_state
from torch.testing._internal.distributed.fake_pg import FakeStore

MADE = {
    "tensor": parallel_state.get_tensor_model_parallel_group,
    "context": parallel_state.get_context_parallel_group,
    "data": parallel_state.get_data_parallel_group,
    "data_context": lambda: parallel_state.get_data_parallel_group(with_context_parallel=True),
    "shard": lambda: parallel_state.get_data_parallel_group(with_context_parallel=True, partial_data_parallel=True),
    "pipeline": parallel_state.get_pipeline_model_parallel_group,
    "expert": parallel_state.get_expert_model_parallel_group,
    "expert_tensor": parallel_state.get_expert_tensor_parallel_group,
    "expert_data": parallel_state.get_expert_data_parallel_group,
}
DENSE = {"tensor": "tp", "context": "cp", "data": "dp", "data_context": "dp-cp", "pipeline": "pp"}
EXPERTS = {"expert": "ep", "expert_tensor": "tp", "expert_data": "dp"}


def of_rank(rank, world, **sizes):
    dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
    parallel_state.initialize_model_parallel(create_gloo_process_groups=False, **sizes)
    found = {name: dist.get_process_group_ranks(group()) for name, group in MADE.items()}
    parallel_state.destroy_model_parallel()
    dist.destroy_process_group()
    return found


def of_all(world, order, **sizes):
    tensor, pipeline = sizes["tensor_model_parallel_size"], sizes["pipeline_model_parallel_size"]
    context, expert = sizes["context_parallel_size"], sizes["expert_model_parallel_size"]
    split = sizes["expert_tensor_parallel_size"]
    data, expert_data = world // (tensor * pipeline * context), world // (split * pipeline * expert)
    dense = parallel_state.RankGenerator(tensor, 1, data, pipeline, context, order)
    experts = parallel_state.RankGenerator(split, expert, expert_data, pipeline, 1, order)
    return {
        **{name: dense.get_ranks(token) for name, token in DENSE.items()},
        **{name: experts.get_ranks(token) for name, token in EXPERTS.items()},
    }


for case in json.loads(sys.argv[1]):
    print(json.dumps(of_rank(**case) if "rank" in case else of_all(**case)), flush=True)

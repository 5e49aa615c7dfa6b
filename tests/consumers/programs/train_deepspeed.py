"""A DeepSpeed program: it reads the file that `--deepspeed_config` names, and trains one step by it."""

import argparse
import json
import os

import deepspeed
import torch
from torch import nn

# The operator for shared memory is a C++ build of a minute, and only a faster way to do the same.
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
parser = deepspeed.add_config_arguments(argparse.ArgumentParser())
args = parser.parse_args()
model = nn.Sequential(*[nn.Linear(16, 16) for _ in range(4)])
with open(args.deepspeed_config) as file:
    own = "optimizer" not in json.load(file)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2) if own else None
engine, optimizer, _, scheduler = deepspeed.initialize(
    args=args, model=model, optimizer=optimizer, model_parameters=model.parameters()
)
generator = torch.Generator().manual_seed(engine.global_rank)
steps = engine.global_steps
for _ in range(engine.gradient_accumulation_steps()):
    batch = torch.randn(engine.train_micro_batch_size_per_gpu(), 16, generator=generator)
    loss = engine(batch.to(next(engine.parameters()).dtype)).float().pow(2).mean()
    engine.backward(loss)
    engine.step()
print(
    json.dumps(
        {
            "rank": engine.global_rank,
            "world": torch.distributed.get_world_size(),
            "stage": engine.zero_optimization_stage(),
            "batch": engine.train_batch_size(),
            "micro": engine.train_micro_batch_size_per_gpu(),
            "accumulation": engine.gradient_accumulation_steps(),
            "dtype": str(next(engine.parameters()).dtype),
            "clipping": engine.gradient_clipping(),
            "optimizer": type(getattr(optimizer, "optimizer", optimizer)).__name__,
            "scheduler": type(scheduler).__name__,
            "steps": engine.global_steps - steps,
            "finite": bool(torch.isfinite(loss)),
        }
    ),
    flush=True,
)
torch.distributed.destroy_process_group()
# Not left to the interpreter, which threads of gloo and the store now and then outlive: the rank ends by SIGABRT.
os._exit(0)

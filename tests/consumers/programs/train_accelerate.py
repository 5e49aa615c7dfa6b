"""An accelerate program: a tiny model, prepared as the environment of `accelerate launch` says."""

import json
import os

import torch
from accelerate import Accelerator
from accelerate.state import PartialState
from accelerate.utils import DistributedType
from torch import nn
from torch.distributed.tensor import DTensor

# accelerate 1.15 trains by DDP on a CPU whatever it is told: it goes on to FSDP and DeepSpeed from "several GPUs" only.
PartialState(cpu=True)
if "true" in (os.environ.get("ACCELERATE_USE_FSDP"), os.environ.get("ACCELERATE_USE_DEEPSPEED")):
    PartialState._shared_state["distributed_type"] = DistributedType.MULTI_GPU
if os.environ.get("FSDP_VERSION") == "1":
    PartialState._shared_state["device"] = torch.device("cpu")  # FSDP1 knows a CPU without a number only
    # Rank 0 sends the others its weights by way of a GPU, or not at all; here they all start from the same seed.
    os.environ["FSDP_SYNC_MODULE_STATES"] = os.environ["FSDP_CPU_RAM_EFFICIENT_LOADING"] = "false"
if os.environ.get("ACCELERATE_USE_DEEPSPEED") == "true":
    import deepspeed

    # The operator for shared memory is a C++ build of a minute, and only a faster way to do the same.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False

accelerator = Accelerator()


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(x)))


torch.manual_seed(0)
model = nn.Sequential(Block(16), Block(16), nn.Linear(16, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
data = torch.utils.data.TensorDataset(torch.randn(32, 16), torch.randint(0, 4, (32,)))
loader = torch.utils.data.DataLoader(data, batch_size=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
dtype = next(model.parameters()).dtype
for batch, target in loader:
    with accelerator.accumulate(model):
        loss = nn.functional.cross_entropy(model(batch.to(dtype)).float(), target)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
whole = 4 * 16 * 16 * 4 + 2 * (64 + 16) + 16 * 4 + 4  # two Blocks and the output layer
parameters = list(model.parameters())
plugin = accelerator.state.deepspeed_plugin
print(
    json.dumps(
        {
            "rank": accelerator.process_index,
            "world": accelerator.num_processes,
            "type": str(accelerator.distributed_type),
            "precision": accelerator.mixed_precision,
            "accumulation": accelerator.gradient_accumulation_steps,
            "sharded": all(isinstance(parameter, DTensor) for parameter in parameters),
            "wrapper": type(model).__name__,
            "weight": sum(float(parameter.detach().double().sum()) for parameter in parameters),
            "held": sum(parameter.numel() for parameter in parameters) / whole,
            "units": sum(type(module).__name__.startswith(("FSDP", "FullySharded")) for module in model.modules()),
            "recomputed": sum(type(module).__name__ == "CheckpointWrapper" for module in model.modules()),
            "stage": plugin.zero_stage if plugin else None,
            "batch": plugin.deepspeed_config["train_batch_size"] if plugin else None,
            "clipping": model.gradient_clipping() if plugin else None,
            "finite": bool(torch.isfinite(loss)),
        }
    ),
    flush=True,
)
accelerator.end_training()
# Not left to the interpreter, which threads of gloo and the store now and then outlive: the rank ends by SIGABRT.
os._exit(0)

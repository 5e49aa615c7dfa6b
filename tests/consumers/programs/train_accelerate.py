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
PartialState._shared_state["distributed_type"] = DistributedType.MULTI_GPU
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
            "units": sum(type(module).__name__.startswith("FSDP") for module in model.modules()),
            "stage": plugin.zero_stage if plugin else None,
            "batch": plugin.deepspeed_config["train_batch_size"] if plugin else None,
            "clipping": model.gradient_clipping() if plugin else None,
            "finite": bool(torch.isfinite(loss)),
        }
    ),
    flush=True,
)
# Left to the interpreter, the threads of gloo and the store now and then outlive it, and the rank ends by SIGABRT.
accelerator.end_training()

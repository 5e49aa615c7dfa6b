"""A program of Lightning: a model that the Trainers of emitted modules train, beside the same model on one process.

The one argument is JSON, a list of cases: the folder of a compiled plan, who shares the states there, the rate and the
largest norm. A line of JSON comes back for each case and rank. The CPU stands for the cards, for which Lightning asks.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from argparse import Namespace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import lightning.pytorch.strategies as strategies
import torch
import torch.distributed as dist
import torch.distributed.device_mesh as meshes
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.strategies import DDPStrategy, DeepSpeedStrategy
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import CheckpointWrapper
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.tensor import DTensor
from torch.utils.data import DataLoader, TensorDataset
from transformers import LlamaConfig, LlamaForCausalLM

TOKENS = 8
STEPS = 3
CONFIG = LlamaConfig(
    hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, vocab_size=64, use_cache=False
)
WRAPPERS = ("_forward_module.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "module.", "network.")
make_mesh, make_shards = meshes.init_device_mesh, FullyShardedDataParallel.__init__


def on_cpu(self: FullyShardedDataParallel, *rest: Any, **named: Any) -> None:
    """FSDP as it is made, on the one device that Lightning has no number of."""
    make_shards(self, *rest, **named | {"device_id": torch.device("cpu")})


def mesh_on_cpu(*rest: Any, **named: Any) -> meshes.DeviceMesh:
    """The mesh, where Lightning's FSDP says "cuda"."""
    return make_mesh("cpu", *rest[1:], **{name: value for name, value in named.items() if name != "device_type"})


class DeepSpeedOnCpu(DeepSpeedStrategy):
    """Lightning's own, without the question for CUDA."""

    def setup_environment(self) -> None:
        """As DDP does it."""
        DDPStrategy.setup_environment(self)

    def setup_distributed(self) -> None:
        """As it does there, without the numbers of the cards."""
        import deepspeed

        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # would be compiled; gloo does as well
        engine, numbered = deepspeed.DeepSpeedEngine, deepspeed.DeepSpeedEngine._set_distributed_vars
        engine._set_distributed_vars = lambda self, args: numbered(self, Namespace(device_rank=0))
        self.set_world_ranks()
        self._init_deepspeed_distributed()


class Module(LightningModule):
    """What a program writes, as the docstring of the emitted module says it."""

    def __init__(self, plan: ModuleType, backend: str) -> None:
        super().__init__()
        self.plan = plan
        self.losses, self.seen, self.gradients = [], [], []
        self.beside = import_module("parallelize") if backend == "fsdp2" else None
        self.network = built() if self.beside is None else None

    def configure_model(self) -> None:
        """Lays the model out, where another module does that."""
        if self.network is None:
            self.network = self.beside.parallelize(built())

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        """The loss of some samples."""
        tokens, numbers = batch
        loss = loss_of(self.network, tokens)
        self.losses.append(loss.detach())
        self.seen.append(numbers)
        return loss

    def on_after_backward(self) -> None:
        """Notes what is kept of the gradients of a micro batch."""
        self.gradients.append(kept_by(self.trainer.strategy.model))

    def configure_optimizers(self) -> torch.optim.Optimizer | None:
        """The plan's; DeepSpeed makes its own."""
        if self.beside is not None:
            return self.beside.make_optimizer(self.network)
        return self.plan.make_optimizer(self.parameters()) if hasattr(self.plan, "make_optimizer") else None


def loaded(folder: str) -> ModuleType:
    """The emitted module, which may import the one beside it."""
    sys.path[:] = [folder, *(path for path in sys.path if path != folder)]
    for name in ("lightning_trainer", "parallelize"):
        sys.modules.pop(name, None)
    strategies.DeepSpeedStrategy = DeepSpeedOnCpu
    FullyShardedDataParallel.__init__ = on_cpu
    meshes.init_device_mesh = mesh_on_cpu
    plan = import_module("lightning_trainer")
    if hasattr(plan, "DEEPSPEED"):
        plan.DEEPSPEED["optimizer"]["params"]["torch_adam"] = True  # its own would be compiled
    return plan


def built() -> nn.Module:
    """The model, with the same weights on every rank."""
    torch.manual_seed(7)
    return LlamaForCausalLM(CONFIG)


def loss_of(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    """The loss of some samples."""
    logits = model(tokens).logits.float()
    return nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def trained_alone(case: dict[str, Any], batches: list[torch.Tensor]) -> tuple[nn.Module, list[float]]:
    """The model and the losses of one process that passes all samples of a step at once, in fp32."""
    model, losses = built(), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=case["rate"])
    for batch in batches:
        loss = loss_of(model, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), case["clip"])
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return model, losses


def passed(module: Module, world: int) -> list[set[int]]:
    """The samples that all ranks together passed in each step."""
    parts: list[Any] = [None] * world
    dist.all_gather_object(parts, torch.stack(module.seen).reshape(STEPS, -1).tolist())
    return [{number for part in parts for number in part[step]} for step in range(STEPS)]


def weights_of(trainer: Trainer, module: Module) -> dict[str, torch.Tensor]:
    """All weights by the names that they have in the model, whole."""
    model = trainer.strategy.model

    def named() -> dict[str, torch.Tensor]:
        found = {}
        for name, parameter in module.named_parameters():
            for wrapper in WRAPPERS:
                name = name.replace(wrapper, "")
            data = parameter.detach()
            found[name] = (data.full_tensor() if isinstance(data, DTensor) else data).clone()
        return found

    if isinstance(model, FullyShardedDataParallel):
        with FullyShardedDataParallel.summon_full_params(model):
            return named()
    return named()


def kept_by(model: nn.Module) -> int:
    """Bytes of the gradients that this rank keeps."""
    shards = [module._handle for module in model.modules() if isinstance(module, FullyShardedDataParallel)]
    weights = [handle.flat_param for handle in shards] if shards else model.parameters()
    found = [weight.grad for weight in weights if weight.grad is not None]
    parts = [tensor.to_local() if isinstance(tensor, DTensor) else tensor for tensor in found]
    return sum(part.numel() * part.element_size() for part in parts)


def held(module: Module) -> int:
    """Bytes of this rank's parts of the weights."""
    parts = (tensor.to_local() if isinstance(tensor, DTensor) else tensor for tensor in module.parameters())
    return sum(part.numel() * part.element_size() for part in parts)


def trained(case: dict[str, Any]) -> dict[str, Any]:
    """What the Trainer did with a case."""
    plan = loaded(case["folder"])
    dice = torch.Generator().manual_seed(3)
    data = torch.randint(3, 64, (plan.GLOBAL_BATCH * STEPS, TOKENS), generator=dice)
    trainer = plan.trainer(accelerator="cpu", enable_progress_bar=False, enable_model_summary=False)
    module = Module(plan, case["backend"])
    samples = TensorDataset(data, torch.arange(len(data)))
    trainer.fit(module, DataLoader(samples, batch_size=plan.MICRO_BATCH, shuffle=True))
    seen = passed(module, plan.WORLD_SIZE)
    alone, losses = trained_alone(case, [data[sorted(numbers)] for numbers in seen])
    mine = torch.stack(module.losses).reshape(STEPS, plan.ACCUMULATION).mean(1)
    dist.all_reduce(mine)
    theirs = dict(alone.named_parameters())
    weights = weights_of(trainer, module)
    assert weights.keys() == theirs.keys(), (sorted(weights), sorted(theirs))
    return {
        "world": trainer.world_size,
        "strategy": type(trainer.strategy).__name__,
        "steps": trainer.global_step,
        "passed": [len(numbers) for numbers in seen],
        "losses": (mine / trainer.world_size).tolist(),
        "alone": losses,
        "apart": max((weights[name] - theirs[name]).abs().max().item() for name in theirs) / case["rate"],
        "held": held(module),
        "gradients": max(module.gradients),
        "whole": sum(parameter.numel() * 4 for parameter in theirs.values()),
        "sharded": sum(isinstance(part, FullyShardedDataParallel) for part in trainer.strategy.model.modules()),
        "recomputed": sum(isinstance(part, CheckpointWrapper) for part in trainer.strategy.model.modules()),
        "saved": sorted(path.name for path in Path(trainer.checkpoint_callback.dirpath).iterdir()),
    }


def main() -> None:
    """Trains the cases one by one."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for number, case in enumerate(json.loads(sys.argv[1])):
        found = trained(case)
        print(json.dumps({"rank": dist.get_rank(), "case": number} | found), flush=True)
    dist.destroy_process_group()
    # Not left to the interpreter, which threads of gloo and the store now and then outlive: the rank ends by SIGABRT.
    os._exit(0)


if __name__ == "__main__":
    main()

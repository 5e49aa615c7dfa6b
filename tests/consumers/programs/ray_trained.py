"""Trains a small model in the workers of Ray that an emitted ray_train.py starts; each writes down what it saw."""

import json
import os
import sys
import tempfile
from pathlib import Path

import ray
import ray_train
from ray.train import Checkpoint, ScalingConfig, report
from ray.train.torch import TorchConfig


def train(config: dict[str, str]) -> None:
    import parallelize as plan
    import torch
    from torch import nn

    plan.start()
    torch.manual_seed(0)
    model = nn.Module()
    model.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))
    plan.parallelize(model)
    optimizer = plan.make_optimizer(model)
    losses = []
    for _ in range(3):
        hidden = torch.full((1, 8), 1.0 + torch.distributed.get_rank())
        for layer in model.layers:
            hidden = layer(hidden)
        loss = hidden.square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    rank = torch.distributed.get_rank()
    names = ("WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "OMP_NUM_THREADS", "TRITON_CACHE_DIR", "TEXT")
    found = {
        "rank": rank,
        "env": {name: os.environ.get(name) for name in names},
        "sharded": all(type(parameter).__name__ == "DTensor" for parameter in model.parameters()),
        "learns": losses[-1] < losses[0],
    }
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kept.txt").write_text("kept")
        report({"loss": losses[-1]}, checkpoint=Checkpoint.from_directory(folder) if rank == 0 else None)
    Path(config["out"], f"{rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    planned = ray_train.scaling_config()
    trainer = ray_train.trainer(  # on a machine without cards
        train,
        train_loop_config={"out": sys.argv[1]},
        scaling_config=ScalingConfig(num_workers=planned.num_workers, placement_strategy=planned.placement_strategy),
        torch_config=TorchConfig(backend="gloo", timeout_s=ray_train.torch_config().timeout_s),
    )
    result = trainer.fit()
    print(json.dumps({"checkpoint": result.checkpoint.path, "loss": result.metrics["loss"]}))
    ray.shutdown()

"""A torch program: models that emitted modules lay out, trained beside the same models on one process.

The one argument is JSON, a list of cases: path of a `parallelize.py`, and the model's type and sizes as transformers
calls them, or no type for the model beside this file. A line of JSON comes back for each case and rank: how its ranks
and weights lie, and how far the weights are from those of one process.
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist
from llama import Model
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor
from transformers import AutoConfig, AutoModelForCausalLM

STEPS = 2
TOKENS = 16


def loaded(path: str) -> ModuleType:
    """The module at a path."""
    spec = spec_from_file_location("parallelize", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(case: dict[str, Any]) -> nn.Module:
    """The model of a case, with the same weights on every rank."""
    torch.manual_seed(7)
    if case["type"] is None:
        return Model(SimpleNamespace(**case["sizes"]))
    config = AutoConfig.for_model(case["type"], **case["sizes"], pad_token_id=0, bos_token_id=1, eos_token_id=2)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():  # norms and biases begin alike, and would hide what was mixed up
            parameter.add_(torch.randn_like(parameter), alpha=0.02)
    return model


def loss_of(model: nn.Module, tokens: torch.Tensor) -> torch.Tensor:
    """The loss of some samples."""
    found = model(tokens)
    logits = (found if isinstance(found, torch.Tensor) else found.logits).float()
    return nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


def samples(plan: ModuleType, vocab: int) -> list[torch.Tensor]:
    """The global batch of every step."""
    dice = torch.Generator().manual_seed(3)
    return [torch.randint(3, vocab, (plan.GLOBAL_BATCH, TOKENS), generator=dice) for _ in range(STEPS)]


def trained_alone(case: dict[str, Any], plan: ModuleType, batches: list[torch.Tensor]) -> tuple[nn.Module, list[float]]:
    """The model and the losses of one process that passes all samples in fp32."""
    model, losses = built(case), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=plan.LEARNING_RATE)
    for batch in batches:
        loss = loss_of(model, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), plan.LARGEST_NORM)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return model, losses


def trained(case: dict[str, Any], plan: ModuleType, batches: list[torch.Tensor]) -> dict[str, Any]:
    """The same by all ranks, as the plan lays it out."""
    torch.manual_seed(7)
    model = plan.parallelize(built(case))
    optimizer = plan.make_optimizer(model)
    scaler = plan.make_scaler() if hasattr(plan, "make_scaler") else None
    losses: list[float] = []
    for batch in batches:
        total = torch.zeros(())
        parts = batch.chunk(plan.DATA)[plan.data_rank()].split(plan.MICRO_BATCH)
        assert len(parts) == plan.ACCUMULATION
        for part in parts:
            loss = loss_of(model, part) / plan.ACCUMULATION
            (loss if scaler is None else scaler.scale(loss)).backward()
            total += loss.detach()
        if scaler is not None:
            scaler.unscale_(optimizer)
        norm = plan.clip_gradients(model)
        gradients = held(parameter.grad for parameter in model.parameters())
        if scaler is None:
            optimizer.step()
        else:
            scaler.step(optimizer)
            scaler.update()
        optimizer.zero_grad()
        dist.all_reduce(total)
        losses.append(total.item() / plan.WORLD_SIZE)
    moments = [state[name] for state in optimizer.state.values() for name in ("exp_avg", "exp_avg_sq")]
    return {
        "model": model,
        "losses": losses,
        "norm": norm.item(),
        "weights": held(model.parameters()),
        "gradients": gradients,
        "optimizer": held(moments),
    }


def held(tensors: Any) -> int:
    """Bytes of this rank's parts."""
    return sum(tensor.to_local().numel() * tensor.element_size() for tensor in tensors)


def apart(model: nn.Module, alone: nn.Module) -> float:
    """The largest distance between a weight of one model and that of the other."""
    theirs = dict(alone.named_parameters())
    found = 0.0
    for name, parameter in model.named_parameters():
        whole = parameter.full_tensor().cpu()
        found = max(found, (whole - theirs[name]).abs().max().item())
    return found


def described(plan: ModuleType, model: nn.Module) -> dict[str, Any]:
    """How the ranks and the weights lie."""
    parameters = dict(model.named_parameters())
    assert all(isinstance(parameter, DTensor) for parameter in parameters.values())
    layers = model.get_submodule(plan.LAYERS)
    assert all(isinstance(module, FSDPModule) for module in (model, *layers))
    return {
        "mesh": [list(plan.mesh().mesh_dim_names), list(plan.mesh().shape)],
        "meshes": sorted({(*parameter.device_mesh.mesh_dim_names,) for parameter in parameters.values()}),
        "split": sorted(name for name, parameter in parameters.items() if parameter.placements[-1].is_shard()),
        "dtypes": sorted({str(parameter.dtype) for parameter in parameters.values()}),
        "compiled": all(layer._compiled_call_impl is not None for layer in layers),
        "recomputed": sum(isinstance(layer.forward, partial) for layer in layers),
    }


def main() -> None:
    torch.set_num_threads(1)
    for number, case in enumerate(json.loads(sys.argv[1])):
        plan = loaded(case["path"])
        plan.start()
        batches = samples(plan, case["sizes"].get("vocab_size") or case["sizes"]["vocab"])
        alone, losses = trained_alone(case, plan, batches)
        found = trained(case, plan, batches)
        model = found.pop("model")
        found |= {"alone": losses, "apart": apart(model, alone) / plan.LEARNING_RATE, **described(plan, model)}
        print(json.dumps({"rank": dist.get_rank(), "case": number} | found), flush=True)
    dist.destroy_process_group()
    # Not left to the interpreter, which threads of gloo and the store now and then outlive: the rank ends by SIGABRT.
    os._exit(0)


if __name__ == "__main__":
    main()

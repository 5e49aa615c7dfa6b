"""What PyTorch's FSDP2 memory tracker counts on one card of a large cluster, for a model like Llama, case by case.

Nothing is computed: tensors are fake and so is the cluster. The one argument is JSON, a list of cases; a line of JSON
comes back for each: bytes of the model states, and what was alive when forward and backward pass held most.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
import torch.nn.functional as functional
from llama import Model
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.testing._internal.distributed.fake_pg import FakeStore


class Case(NamedTuple):
    """A model and how it is laid out; `replicate` above 1 is HSDP."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int
    world: int
    replicate: int
    tensor: int
    sequence: bool
    recompute: bool
    micro: int
    sequence_length: int


def laid_out(case: Case) -> Model:
    """The model, split over the cards as the case says."""
    shape = (case.replicate, case.world // case.replicate // case.tensor, case.tensor)
    with unset_fake_temporarily():  # a mesh holds true ranks
        mesh = init_device_mesh("cpu", shape, mesh_dim_names=("replicate", "shard", "tensor"))
        tensor = mesh["tensor"]
        data = mesh["replicate", "shard"] if 1 < case.replicate else mesh["shard"]
    model = Model(case)
    if 1 < case.tensor:
        split_over_tensor_ranks(model, tensor, case.sequence)
    if case.recompute:
        for index, layer in enumerate(model.layers):
            model.layers[index] = checkpoint_wrapper(layer, preserve_rng_state=False)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    with meshes_of_true_ranks():
        for module in (*model.layers, model):
            fully_shard(module, mesh=data, mp_policy=policy, reshard_after_forward=True)
    return model


def split_over_tensor_ranks(model: Model, mesh: DeviceMesh, sequence: bool) -> None:
    """Split every product; with sequence parallelism also norms and what lies between."""
    between = Shard(1) if sequence else Replicate()
    products: dict[str, Any] = {
        **{f"attention.{name}": ColwiseParallel() for name in ("query", "key", "value")},
        "attention.output": RowwiseParallel(output_layouts=between),
        **{f"mlp.{name}": ColwiseParallel() for name in ("gate", "up")},
        "mlp.down": RowwiseParallel(output_layouts=between),
    }
    ends: dict[str, Any] = {
        "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=between),
        "head": ColwiseParallel(input_layouts=between, output_layouts=Replicate()),
    }
    if sequence:
        gathered = PrepareModuleInput(input_layouts=(between,), desired_input_layouts=(Replicate(),))
        products |= {"attention": gathered, "mlp": gathered}
        products |= {name: SequenceParallel() for name in ("first_norm", "second_norm")}
        ends["norm"] = SequenceParallel()
    for layer in model.layers:
        parallelize_module(layer, mesh, products)
    parallelize_module(model, mesh, ends)


@contextlib.contextmanager
def meshes_of_true_ranks() -> Iterator[None]:
    """Lets FSDP join its mesh with that of the tensor ranks, which computes with ranks, outside the fake mode."""
    joined = DeviceMesh._concatenate

    def truly(*arguments: Any, **named: Any) -> DeviceMesh:
        with unset_fake_temporarily():
            return joined(*arguments, **named)

    DeviceMesh._concatenate = staticmethod(truly)
    try:
        yield
    finally:
        DeviceMesh._concatenate = staticmethod(joined)


def tracked(case: Case) -> dict[str, Any]:
    """Bytes of a second step, whose optimizer states are there from the beginning."""
    model = laid_out(case)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
    tracker = FSDPMemTracker(model, optimizer)
    tokens = torch.randint(0, case.vocab, (case.micro, case.sequence_length))
    tracker.track_inputs((tokens,))
    with tracker:
        forward_and_backward(model, tokens)
        optimizer.step()
        optimizer.zero_grad()
        tracker.reset_mod_stats()
        tracker._peak_mem.clear()
        forward_and_backward(model, tokens)
        peak = next(iter(tracker.get_tracker_snapshot("peak").values()))
    parameters = tuple(model.parameters())
    moments = (value for state in optimizer.state.values() for value in state.values() if torch.is_tensor(value))
    return {
        "weights": sum(map(bytes_here, parameters)),
        "gradients": sum(bytes_here(parameter.grad) for parameter in parameters),
        "optimizer": sum(map(bytes_here, moments)),
        "peak": peak["Total"],
        "parts": {getattr(part, "value", part): size for part, size in peak.items() if size and part != "Total"},
    }


def forward_and_backward(model: Model, tokens: torch.Tensor) -> None:
    """One micro batch; the loss is that of PyTorch, in fp32."""
    logits = model(tokens)
    loss = functional.cross_entropy(logits.float().view(-1, logits.shape[-1]), tokens.view(-1))
    del logits
    loss.backward()


def bytes_here(tensor: torch.Tensor) -> int:
    """Bytes of the part of a tensor that is on this card."""
    own = tensor.to_local() if isinstance(tensor, DTensor) else tensor
    return own.numel() * own.element_size()


def main() -> None:
    for given in json.loads(sys.argv[1]):
        case = Case(**given)
        dist.init_process_group("fake", rank=0, world_size=case.world, store=FakeStore())
        with FakeTensorMode(allow_non_fake_inputs=True):
            print(json.dumps(tracked(case)), flush=True)
        dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""Fields of plans by path, for the readers: cards and models of the catalogue, clusters, layouts, GPT models."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from planc.plan.model import Plan, Record, Unknown
from tests.catalogue.catalogue import entries

GIB, GB = 2**30, 10**9
GBIT = 10**9 // 8


@cache
def _catalogue(file: str) -> Mapping[str, Plan]:
    return {name: entry.plan for name, entry in entries(file).items()}


def _fields(record: Record, prefix: str) -> dict[str, Any]:
    """All fields below a record that are known, by path; of a section, its word as well."""
    found: dict[str, Any] = {}
    for name, located in record.fields.items():
        value, path = located.value, f"{prefix}.{name}"
        if isinstance(value, Record):
            found[path] = value.word
            found.update(_fields(value, path))
        elif value is not None and not isinstance(value, Unknown):
            found[path] = value
    return found


@cache
def _block(file: str, name: str, path: str) -> Mapping[str, Any]:
    return _fields(_catalogue(file)[name][path].value, path)


def catalogue_model(name: str) -> dict[str, Any]:
    """The fields of a model of the catalogue."""
    return dict(_block("models", name, "model"))


def cluster(gpu: str, gpus: int, inter_node: float, gpus_per_node: int = 8, domain: int = 8) -> dict[str, Any]:
    """The fields of a cluster of a card of the catalogue; `inter_node` in bytes per second, GPU and direction."""
    card = _block("gpus", gpu, "cluster.gpu")
    nodes = -(-gpus // gpus_per_node)
    return {
        **card, "cluster.nodes": nodes, "cluster.gpus_per_node": gpus // nodes, "cluster.domain": domain,
        "cluster.intra_node": card["cluster.gpu.link"], "cluster.inter_node": inter_node,
    }  # fmt: skip


def gpt(layers: int, hidden: int, heads: int, vocab: int, sequence_length: int) -> dict[str, Any]:
    """The fields of a model of the GPT-2 kind: MLP of 4 h, biases, learned positions, tied, dropout."""
    return {
        "model.layers": layers, "model.hidden": hidden, "model.heads": heads, "model.kv_heads": heads,
        "model.head_dim": hidden // heads, "model.ffn": 4 * hidden, "model.vocab": vocab, "model.gated": False,
        "model.bias": "all", "model.norm": "layernorm", "model.positions": "learned", "model.tied": True,
        "model.dropout": 0.1, "model.max_sequence_length": sequence_length, "batch.sequence_length": sequence_length,
    }  # fmt: skip


def layout(gpus: int, tensor: int, pipeline: int, context: int, micro: int, global_batch: int) -> dict[str, Any]:
    """The fields of a layout and of its batch, the data-parallel size worked out."""
    data = max(1, gpus // (tensor * pipeline * context))
    return {
        "parallel.tensor": tensor, "parallel.pipeline": pipeline, "parallel.context": context, "parallel.data": data,
        "shard.size": data, "batch.micro": micro, "batch.global": global_batch,
        "batch.accumulation": max(1, global_batch // (micro * data)),
    }  # fmt: skip


def padded(vocab: int, tensor: int) -> int:
    """A vocabulary as Megatron-LM pads it: to a multiple of 128 for each tensor rank."""
    unit = 128 * tensor
    return -(-vocab // unit) * unit

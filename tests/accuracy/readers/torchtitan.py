"""Table 05: torchtitan's published runs; memory is what the allocator had reserved."""

from __future__ import annotations

from typing import Any

from tests.accuracy.case import MEMORY, Case, Row, each, number, rows, unusable
from tests.accuracy.givens import GBIT, GIB, catalogue_model, cluster, layout

TABLE = "05_torchtitan"

_MODELS = {
    "Llama-3.1-8B": "llama-3-8b", "Llama-3-8B": "llama-3-8b", "Llama-3.1-70B": "llama-3-70b",
    "Llama-3-70B": "llama-3-70b", "Llama-2-13B": "llama-2-13b", "Llama-3.1-405B": "llama-3.1-405b",
}  # fmt: skip

_SELECTIVE = {"selective(op)", "selective op", "selective"}


def read() -> tuple[Case, ...]:
    """One case a row that recomputes nothing, everything, or all but what torchtitan saves by operator."""
    return each(rows(TABLE), TABLE, _case)


def _case(row: Row) -> Case:
    family = _MODELS[row["model"]]
    if row["ac"] == "selective layer":
        return unusable(TABLE, row, family, "every other layer is recomputed, which the language does not have")
    gpus, tensor, pipeline, context, micro, sequence = number(row, "gpus", "tp", "pp", "cp", "lbs", "seq")
    batch = int(row["gbs"] or micro * gpus // (tensor * pipeline * context))
    # With stages, the local batch is cut into micro batches of a size that is not stated.
    given = {
        **cluster(*_hardware(row["gpu"], gpus)),
        **catalogue_model(family),
        **layout(gpus, tensor, pipeline, context, micro if pipeline == 1 else 1, batch),
        "batch.sequence_length": sequence, "parallel.sequence": 1 < tensor, "shard.stage": 3,
        "precision": "fp8" if row["float8"] == "1" else "bf16", "precision.gradients": "fp32",
        "recompute": "selective" if row["ac"] in _SELECTIVE else row["ac"], "train.compile": row["compile"] == "1",
    }  # fmt: skip
    given["shard.size"] = min(int(row["fsdp"]), given["parallel.data"])
    if "HBM2e" in row["gpu"]:
        given |= _SLOW_H100
    return Case(
        TABLE, row["row_id"].rpartition(":")[2], family, "torchtitan", given,
        memory=float(row["mem_gib"]) * GIB if row["mem_gib"] else None, quantity="reserved",
        seconds=batch * sequence / (float(row["tok_s_gpu"]) * gpus),
        left_out={MEMORY: "the micro batch is not stated"} if 1 < pipeline else {},
    )  # fmt: skip


#: What is different about the H100 with HBM2e that the runs were made on.
_SLOW_H100: dict[str, Any] = {
    "cluster.gpu.memory": 96 * GIB, "cluster.gpu.usable_memory": 95 * GIB,
    "cluster.gpu.memory_bandwidth": 2400 * 10**9, "cluster.gpu.power": 500,
}  # fmt: skip


def _hardware(gpu: str, gpus: int) -> tuple[str, int, float]:
    if gpu.startswith("A100"):
        return "a100-sxm-80gb", gpus, 200 * GBIT
    return ("h200-sxm-141gb" if gpu.startswith("H200") else "h100-sxm-80gb"), gpus, 400 * GBIT

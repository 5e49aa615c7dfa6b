"""Tables 03a and 03b: Narayanan et al. (2021), GPT models on DGX A100 nodes, all layers recomputed."""

from __future__ import annotations

from typing import Any

from tests.accuracy.case import Case, Row, each, number, rows
from tests.accuracy.givens import GBIT, cluster, gpt, layout

TABLE_1 = "03a_megatron_sc21_table1"
TABLE_2 = "03b_megatron_sc21_table2"

_VOCAB, _SEQUENCE = 51_200, 2048

#: Layers, hidden size and heads of the models of the second table, from the first and from the text.
_MODELS = {"174.6": (96, 12_288, 96), "529.6": (105, 20_480, 128)}


def read_table_1() -> tuple[Case, ...]:
    """One case a row; weak scaling, three of the large ones interleaved."""
    return each(rows(TABLE_1), TABLE_1, _first)


def read_table_2() -> tuple[Case, ...]:
    """One case a row: tensor and pipeline parallelism against ZeRO-3; interleaving is not stated, so there is none."""
    return each(rows(TABLE_2), TABLE_2, _second)


def _first(row: Row) -> Case:
    layers, hidden, heads, gpus, tensor, pipeline, micro, batch, chunks = number(
        row, "layers", "hidden", "heads", "gpus", "tp", "pp", "micro_batch", "global_batch", "virtual_chunks"
    )
    given = _given(layers, hidden, heads, gpus) | layout(gpus, tensor, pipeline, 1, micro, batch)
    if 1 < chunks:
        given |= {"pipeline": "interleaved", "pipeline.chunks": chunks}
    seconds = _seconds(layers, hidden, gpus, batch, float(row["tflops_gpu"]))
    return Case(
        TABLE_1,
        row["row_id"].rpartition(":")[2],
        f"gpt-{row['model_B']}B",
        "megatron",
        given,
        seconds=seconds,
        is_plain=True,
    )


def _second(row: Row) -> Case:
    layers, hidden, heads = _MODELS[row["model_B"]]
    gpus, tensor, pipeline, micro, batch = number(row, "gpus", "tp", "pp", "micro_batch", "global_batch")
    given = _given(layers, hidden, heads, gpus) | layout(gpus, tensor, pipeline, 1, micro, batch)
    sharded = row["scheme"] == "ZeRO-3"
    if sharded:
        given |= {"shard.stage": 3, "precision.gradients": "fp16"}
    family = "gpt-175B" if row["model_B"] == "174.6" else f"gpt-{row['model_B']}B"
    seconds = _seconds(layers, hidden, gpus, batch, float(row["tflops_gpu"]))
    engine = "deepspeed" if sharded else "megatron"
    return Case(TABLE_2, row["row_id"].rpartition(":")[2], family, engine, given, seconds=seconds, is_plain=True)


def _given(layers: int, hidden: int, heads: int, gpus: int) -> dict[str, Any]:
    return {
        **cluster("a100-sxm-80gb", gpus, 200 * GBIT), **gpt(layers, hidden, heads, _VOCAB, _SEQUENCE),
        "precision": "fp16", "precision.gradients": "fp32", "recompute": "full",
    }  # fmt: skip


def _seconds(layers: int, hidden: int, gpus: int, batch: int, teraflops: float) -> float:
    """The step of the printed rate, by the paper's own count of FLOPs: its equation 3."""
    terms = 1 + _SEQUENCE / (6 * hidden) + _VOCAB / (16 * layers * hidden)
    return 96 * batch * _SEQUENCE * layers * hidden**2 * terms / (teraflops * 1e12 * gpus)

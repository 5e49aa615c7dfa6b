"""Table 16: the schedules of Zero Bubble Pipeline Parallelism, on up to four nodes of A100."""

from __future__ import annotations

from typing import Any

from tests.accuracy.case import Case, Row, each, number, rows, unusable
from tests.accuracy.givens import GB, GBIT, cluster, gpt, layout

TABLE = "16_zero_bubble"

#: The vocabulary that the parameter counts of the paper imply, padded for one tensor rank.
_VOCAB = 50_304


def read() -> tuple[Case, ...]:
    """One case a row that was measured; the handmade schedules ZB-H1 and ZB-H2 were not."""
    return each(rows(TABLE), TABLE, _case)


def _case(row: Row) -> Case:
    family = f"zero-bubble-{row['model']}"
    if not row["mem_gb"]:
        return unusable(TABLE, row, family, "nothing was measured")
    layers, hidden, heads, sequence, gpus, tensor, pipeline, micro, batch = number(
        row, "layers", "hidden", "heads", "seq", "gpus", "tp", "pp", "mbs", "gbs"
    )
    given = {
        **cluster("a100-sxm-80gb", gpus, 200 * GBIT),
        **gpt(layers, hidden, heads, _VOCAB, sequence),
        **layout(gpus, tensor, pipeline, 1, micro, batch),
        **_schedule(row["schedule"], (layers + 2) // pipeline),
        "precision": "fp16", "precision.gradients": "fp32",
        "pipeline.embedding_as_layer": True, "pipeline.loss_as_layer": True,
    }  # fmt: skip
    return Case(
        TABLE, row["row_id"].rpartition(":")[2], family, "megatron", given,
        memory=float(row["mem_gb"]) * GB, quantity="peak", is_plain=True,
        seconds=batch / (float(row["samples_s_gpu"]) * gpus),
    )  # fmt: skip


def _schedule(name: str, layers_per_stage: int) -> dict[str, Any]:
    """The fields of a schedule; interleaved, every layer is a chunk."""
    if name == "1F1B-I":
        return {"pipeline": "interleaved", "pipeline.chunks": layers_per_stage}
    if name.startswith("ZB-"):
        return {"pipeline": "zero-bubble", "pipeline.limit": 2 if name == "ZB-2p" else 1}
    return {"pipeline": "1f1b"}

"""Tables 17: the runs of Megatron-DeepSpeed by which vTrain was validated, on A100 nodes."""

from __future__ import annotations

from tests.accuracy.case import Case, Row, each, number, rows
from tests.accuracy.givens import GBIT, cluster, gpt, layout

SINGLE, MULTI = "17_vtrain_single", "17_vtrain_multi"

#: The GPT vocabulary as Megatron pads it for 8 tensor ranks; the tables do not state it.
_VOCAB = 51_200


def read_single() -> tuple[Case, ...]:
    """One case a row: one node."""
    return each(rows(SINGLE), SINGLE, lambda row: _case(SINGLE, row, f"vtrain-h{row['hidden']}-l{row['layers']}"))


def read_multi() -> tuple[Case, ...]:
    """One case a row: several nodes."""
    return each(rows(MULTI), MULTI, lambda row: _case(MULTI, row, f"gpt-{row['params_billion']}B"))


def _case(table: str, row: Row, family: str) -> Case:
    layers, hidden, heads, sequence, gpus, tensor, pipeline, micro, batch = number(
        row, "layers", "hidden", "heads", "seq", "gpus", "tp", "pp", "micro_batch", "global_batch"
    )
    given = {
        **cluster("a100-sxm-80gb", gpus, 200 * GBIT),
        **gpt(layers, hidden, heads, _VOCAB, sequence),
        **layout(gpus, tensor, pipeline, 1, micro, batch),
        "precision": "fp16", "precision.gradients": "fp16", "recompute": "full",
    }  # fmt: skip
    seconds = float(row["iteration_ms"]) / 1000
    return Case(table, row["row_id"].rpartition(":")[2], family, "megatron", given, seconds=seconds, is_plain=True)

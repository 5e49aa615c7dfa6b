"""Table 14: InternEvo's runs of a 7B model on A100; its columns contradict each other, so they are only reported."""

from __future__ import annotations

from tests.accuracy.case import Case, Row, each, number, rows, unusable
from tests.accuracy.givens import GBIT, cluster, layout

TABLE = "14_internevo"


def read() -> tuple[Case, ...]:
    """One case a row with a throughput."""
    return each(rows(TABLE), TABLE, _case)


def _case(row: Row) -> Case:
    family = "internlm-7b"
    if row["table"] == "memory":
        return unusable(
            TABLE, row, family, "dp and zero-1 do not make up the GPUs, and the sequence length is not stated"
        )
    layers, hidden, heads, ffn, vocab, sequence = number(row, "layers", "hidden", "heads", "ffn", "vocab", "seq")
    gpus, tensor, micro, passes, group = number(row, "gpus", "tp", "micro_bsz", "micro_num", "zero1_group")
    batch = micro * passes * (gpus // tensor)
    given = {
        **cluster("a100-sxm-80gb", gpus, 4 * 100 * GBIT / 8),
        **layout(gpus, tensor, 1, 1, micro, batch),
        "model.layers": layers, "model.hidden": hidden, "model.heads": heads, "model.kv_heads": heads,
        "model.head_dim": hidden // heads, "model.ffn": ffn, "model.vocab": vocab, "model.tied": False,
        "batch.sequence_length": sequence, "shard.stage": 1, "precision": "bf16", "precision.gradients": "bf16",
        "recompute": "full" if row["act_ckpt"] == "1" else "none",
    }  # fmt: skip
    given["shard.size"] = min(group, given["parallel.data"])
    seconds = batch * sequence / (float(row["tok_s_gpu"]) * gpus)
    return Case(TABLE, row["row_id"].rpartition(":")[2], family, "deepspeed", given, seconds=seconds)

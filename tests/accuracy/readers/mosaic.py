"""Table 12: MosaicML's benchmark of FSDP, one to 64 nodes."""

from __future__ import annotations

from tests.accuracy.case import Case, Row, each, number, rows
from tests.accuracy.givens import GBIT, cluster, layout

TABLE = "12_mosaic_fsdp"

_CARDS = {"a100_40gb": "a100-sxm-40gb", "a100_80gb": "a100-sxm-80gb", "h100_80gb": "h100-sxm-80gb"}

#: Per GPU: 1600 Gbit/s a node, as the sections on the A100 say; the H100's say nothing, so the 3200 of its usual node.
_FABRICS = {"a100_40gb": 200 * GBIT, "a100_80gb": 200 * GBIT, "h100_80gb": 400 * GBIT}

#: The MPT vocabulary of the benchmark.
_VOCAB = 50_368


def read() -> tuple[Case, ...]:
    """One case a row; no memory was published."""
    return each(rows(TABLE), TABLE, _case)


def _case(row: Row) -> Case:
    layers, hidden, heads, sequence, gpus, micro, batch = number(
        row, "layers", "hidden", "heads", "seq", "gpus", "mbs", "gbs"
    )
    given = {
        **cluster(_CARDS[row["gpu"]], gpus, _FABRICS[row["gpu"]]),
        **layout(gpus, 1, 1, 1, micro, batch),
        "model.layers": layers, "model.hidden": hidden, "model.heads": heads, "model.kv_heads": heads,
        "model.head_dim": hidden // heads, "model.ffn": 4 * hidden, "model.vocab": _VOCAB, "model.gated": False,
        "model.bias": "none", "model.norm": "rmsnorm", "model.positions": "learned", "model.tied": True,
        "model.max_sequence_length": sequence, "batch.sequence_length": sequence,
        "shard.stage": 3 if row["sharding"] == "FULL_SHARD" else 2,
        "precision": "fp8" if row["precision"] == "amp_fp8" else "bf16", "precision.gradients": "bf16",
        "recompute": "full" if row["act_ckpt"] == "True" else "none",
    }  # fmt: skip
    seconds = batch * sequence / float(row["tok_s"])
    return Case(TABLE, row["row_id"].rpartition(":")[2], row["model"], "fsdp2", given, seconds=seconds)

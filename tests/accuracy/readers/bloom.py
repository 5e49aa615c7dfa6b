"""Table 11: the layouts that were tried for BLOOM, on Jean Zay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tests.accuracy.case import MEMORY, TIME, Case, Row, each, number, rows, unusable
from tests.accuracy.givens import GB, GBIT, cluster, layout

TABLE = "11_bigscience_bloom_topologies"

#: What BLOOM's vocabulary is padded to.
_VOCAB = 250_880

#: Samples of a step where the row does not say, as nearly all others.
_BATCH = 2048


def read() -> tuple[Case, ...]:
    """One case a row that states its layout."""
    table = rows(TABLE)
    contradicted = _contradicted(table)
    return each(table, TABLE, lambda row: _case(row, row["row_id"] in contradicted))


def _case(row: Row, contradicted: bool) -> Case:
    family = f"bloom-h{row['hidden']}"
    if not row["tp"]:
        return unusable(TABLE, row, family, "the layout is not stated")
    hidden, heads, gpus, tensor, pipeline, micro = number(row, "hidden", "heads", "gpus", "tp", "pp", "mbs")
    layers = round(float(row["layers"] or row["layers_solved"]))
    batch = int(row["gbs"] or _BATCH)
    rebalanced = row["bf16_rebalanced_partition"] == "1"
    given = {
        **cluster("a100-sxm-80gb", gpus, 4 * 100 * GBIT / 8),
        **layout(gpus, tensor, pipeline, 1, micro, batch),
        "model.layers": layers, "model.hidden": hidden, "model.heads": heads, "model.kv_heads": heads,
        "model.head_dim": hidden // heads, "model.ffn": 4 * hidden, "model.vocab": _VOCAB, "model.gated": False,
        "model.bias": "all", "model.norm": "layernorm", "model.positions": "alibi", "model.tied": True,
        "model.embedding_norm": True, "batch.sequence_length": int(row["seq"]), "shard.stage": int(row["zero_stage"]),
        "precision": "bf16" if rebalanced or row["section"] == "bf16" else "fp16",
        "precision.gradients": "fp32" if rebalanced else "fp16", "recompute": "full",
        "pipeline.embedding_as_layer": rebalanced, "pipeline.loss_as_layer": rebalanced,
    }  # fmt: skip
    left_out: dict[str, str] = {}
    if contradicted:
        left_out[MEMORY] = "another row of the same layout, but for the micro batch, contradicts it"
    if not row["layers"]:
        left_out = dict.fromkeys((MEMORY, TIME), "the number of layers is not stated")
    elif hidden % heads:
        left_out[TIME] = "the heads do not divide the hidden size: one of them is not what ran"
    timed = row["sec_it"] and row["gbs"]
    return Case(
        TABLE, row["row_id"].rpartition(":")[2], family, "gpt-neox", given,
        memory=float(row["mem_gb"]) * GB if row["mem_gb"] else None, quantity="total", is_plain=True,
        seconds=float(row["sec_it"]) if timed else None,
        fits=row["status"] == "ok", left_out=left_out,
    )  # fmt: skip


def _contradicted(table: Sequence[Row]) -> set[str]:
    """Rows with more memory than one of a larger micro batch, or over 10 % more than an equal one, and those ones."""
    alike: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in table:
        if row["mem_gb"] and row["tp"]:
            names = ("hidden", "layers", "gpus", "dp", "tp", "pp", "bf16_rebalanced_partition", "section", "heads")
            alike[tuple(row[name] for name in names)].append(row)
    found: set[str] = set()
    for group in alike.values():
        for one in group:
            for two in group:
                (less,), (more,) = number(one, "mbs"), number(two, "mbs")
                most = float(two["mem_gb"]) * (1.1 if less == more else 1.0)
                if less <= more and most < float(one["mem_gb"]):
                    found |= {one["row_id"], two["row_id"]}
    return found

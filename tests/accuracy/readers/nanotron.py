"""Table 10a: the sweep of nanotron's playbook on H100 nodes."""

from __future__ import annotations

from tests.accuracy.case import FITS, MEMORY, RANK, TIME, Case, Row, each, number, rows
from tests.accuracy.givens import GBIT, GIB, cluster, layout

TABLE = "10a_ultrascale_configs"

#: FLOP/s of the card by which the test for stalls judges a micro batch.
_PEAK = 989e12

_EMPTY = "as many stages as layers, or more: empty stages crash"
_STALLS = "stalls: over 0.9 s a micro batch of less than 0.15 s of work, with stages on several nodes"


def read() -> tuple[Case, ...]:
    """One case a row; with tensor ranks the sweep mixes runs with sequence parallelism and without, unsaid which."""
    return each(rows(TABLE), TABLE, _case)


def _case(row: Row) -> Case:
    gpus, tensor, pipeline, micro = number(row, "gpus", "tp", "pp", "mbs")
    layers, hidden, heads, kv_heads, ffn, vocab = number(row, "layers", "hidden", "heads", "kv_heads", "ffn", "vocab")
    sequence, batch, passes = number(row, "seq", "gbs_seqs", "grad_acc")
    ran = row["status"] == "ok"
    name = row["model"].rpartition("-")[2]
    given = {
        **cluster("h100-sxm-80gb", gpus, 400 * GBIT),
        **layout(gpus, tensor, pipeline, 1, micro, batch),
        "batch.accumulation": passes,
        "model.layers": layers, "model.hidden": hidden, "model.heads": heads, "model.kv_heads": kv_heads,
        "model.head_dim": hidden // heads, "model.ffn": ffn, "model.vocab": vocab, "model.tied": row["tied"] == "1",
        "batch.sequence_length": sequence, "parallel.sequence": False, "shard.stage": int(row["zero_stage"]),
        "precision": "bf16", "precision.gradients": "fp32",
    }  # fmt: skip
    return Case(
        TABLE, row["row_id"].rpartition(":")[2], f"nanotron-{name}", "nanotron", given,
        memory=float(row["mem_gib"]) * GIB if ran else None, stage="first", quantity="peak",
        seconds=batch * sequence / float(row["tok_s"]) if ran else None,
        fits=ran, group=f"{name} on {gpus}",
        other={"parallel.sequence": True} if 1 < tensor else {},
        left_out=_left_out(row),
    )  # fmt: skip


def _left_out(row: Row) -> dict[str, str]:
    """The tests of the notes on this table: by its columns alone, none by how far a prediction is off."""
    tensor, pipeline, layers = number(row, "tp", "pp", "layers")
    if row["chk_gbs"] == "0":
        return dict.fromkeys((MEMORY, TIME, RANK, FITS), "dp x mbs x grad_acc is not the global batch")
    if row["status"] != "ok":
        return {FITS: _EMPTY} if layers <= pipeline else {}
    memory = float(row["mem_gib"]) * GIB
    if memory < 2 * float(row["params"]) / (tensor * pipeline):
        return dict.fromkeys((MEMORY, TIME, RANK, FITS), "less memory than the card's share of the 16-bit weights")
    found: dict[str, str] = {FITS: _EMPTY} if layers <= pipeline else {}
    if _stalls(row):
        found |= dict.fromkeys((TIME, RANK), _STALLS)
    elif 8 < tensor:
        found |= dict.fromkeys((TIME, RANK), "tensor ranks on several nodes")
    if 70 * GIB < memory:
        found.setdefault(RANK, "less than 10 GiB of headroom")
    return found


def _stalls(row: Row) -> bool:
    """Whether the row waits about a second for every micro batch, which nothing in its plan explains."""
    gpus, tensor, pipeline, passes = number(row, "gpus", "tp", "pp", "grad_acc")
    tokens = float(row["gbs_seqs"]) * float(row["seq"])
    seconds = tokens / float(row["tok_s"]) / passes
    work = 6 * float(row["params"]) * tokens / (gpus * _PEAK) / passes
    return 1 < pipeline and 8 < gpus and tensor <= 8 and 0.9 < seconds and work < 0.15

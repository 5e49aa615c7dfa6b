"""Table 13: peak memory of Megatron-LM's own regression tests, of the last global rank."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.accuracy.case import MEMORY, Case, Row, each, number, rows, unusable
from tests.accuracy.givens import GBIT, cluster, layout

TABLE = "13_megatron_golden_memory"
ALLOCATED = "13_megatron_golden_memory/allocated"

#: Machines from which a test is taken, in this order, if it ran on several.
_ENVIRONMENTS = ("dev_dgx_a100", "dev_dgx_h100", "dev_dgx_gb200")

#: Machines whose container computed plain attention where the test does not choose a kernel.
_PLAIN = ("lts_dgxa100_dracooci", "lts_dgx_a100")

#: Vocabulary of the tests that name no tokenizer: GPT-2's, BERT's.
_VOCAB, _BERT_VOCAB = 50_257, 29_056

#: Features that stand in the name of a test alone: words of it, and why the test is then no plan of this language.
_NAMED = {
    "reruns": "not a training run", "grpo": "not a training run", "distill": "two models at once",
    "uneven_pipeline": "the split is not stated", "offloading": "activations are offloaded",
    "cross_entropy_loss_fusion": "a fused loss, with another copy of the logits",
    "frozen": "a part of the model is frozen",
}  # fmt: skip


def read_peak() -> tuple[Case, ...]:
    """One case a row: bytes allocated at the peak."""
    return _cases(TABLE, "mem_max_allocated_bytes", "peak")


def read_allocated() -> tuple[Case, ...]:
    """One case a row: bytes allocated between two steps, which are those of the model states."""
    return _cases(ALLOCATED, "mem_allocated_bytes", "states")


def _cases(table: str, column: str, quantity: str) -> tuple[Case, ...]:
    found = rows(TABLE)
    chosen: dict[str, Row] = {}
    for row in found:
        known = chosen.setdefault(row["test_case"], row)
        if _rank(row) < _rank(known):
            chosen[row["test_case"]] = row
    return each(found, table, lambda row: _case(table, row, column, quantity, row is chosen[row["test_case"]]))


def _rank(row: Row) -> int:
    return _ENVIRONMENTS.index(row["env"]) if row["env"] in _ENVIRONMENTS else len(_ENVIRONMENTS)


def _case(table: str, row: Row, column: str, quantity: str, is_chosen: bool) -> Case:
    family = f"golden-{row['model_family']}"
    reason = _unusable(row) or ("" if row[column] else "nothing was measured")
    if reason:
        return unusable(table, row, family, reason)
    return Case(
        table, row["row_id"].rpartition(":")[2], family, "megatron", _given(row),
        memory=float(row[column]), stage="last", quantity=quantity, is_plain=_is_plain(row),
        left_out={} if is_chosen else {MEMORY: "the same test on another machine"},
    )  # fmt: skip


def _unusable(row: Row) -> str:
    """Why a test is no plan of this language, or the table does not say what it is; empty if it is one."""
    if row["model_family"] not in ("gpt", "moe", "bert", "mixtral"):
        return "the model has layers that the language does not have"
    if not row["layers"] or not row["seq"] or not row["mbs"]:
        return "the layout is not stated"
    if row["dist_opt"] and not row["gpus"]:
        return "the number of GPUs, which share the optimizer states, is not stated"
    if row["mla"] or row["mtp"]:
        return "the ranks of its latent attention are not stated"
    if row["fp8"] or row["optimizer"] == "muon" or row["mfsdp"]:
        return "fp8, muon or Megatron-FSDP: what they keep is not known"
    if row["recompute_modules"]:
        return "what the recomputed modules hold is not known"
    return next((reason for name, reason in _NAMED.items() if name in row["test_case"]), "")


def _is_plain(row: Row) -> bool:
    """Whether attention keeps its scores."""
    if row["attn_backend"]:
        return row["attn_backend"] in ("unfused", "local")
    return row["impl"] == "local" or row["env"].startswith(_PLAIN)


def _given(row: Row) -> Mapping[str, Any]:
    tensor, pipeline, context = (int(row[name] or 1) for name in ("tp", "pp", "cp"))
    layers, hidden, heads, sequence, micro = number(row, "layers", "hidden", "heads", "seq", "mbs")
    gpus, batch = int(row["gpus"] or 8), int(row["gbs"] or 32)
    ffn = int(row["ffn"] or (_gated_ffn(hidden) if row["swiglu"] else 4 * hidden))
    vocab = int(row["vocab_arg"] or (_BERT_VOCAB if row["model_family"] == "bert" else _VOCAB))
    given = {
        **cluster("a100-sxm-80gb", gpus, 200 * GBIT),
        **layout(gpus, tensor, pipeline, context, micro, batch),
        **_schedule(row, layers, pipeline),
        "model.layers": layers, "model.hidden": hidden, "model.heads": heads,
        "model.kv_heads": int(row["kv_groups"] or heads), "model.head_dim": int(row["head_dim"] or hidden // heads),
        "model.ffn": ffn, "model.vocab": vocab, "model.gated": bool(row["swiglu"]), "model.tied": not row["untied"],
        "model.bias": "none" if row["no_bias"] else "all",
        "model.norm": "rmsnorm" if row["norm"] == "RMSNorm" else "layernorm",
        "model.positions": row["pos_emb"] or "learned", "model.max_sequence_length": sequence,
        "model.dropout": float(row["hidden_dropout"] or 0.1), "batch.sequence_length": sequence,
        "parallel.sequence": bool(row["sp"]) and 1 < tensor, "shard.stage": 1 if row["dist_opt"] else 0,
        "precision": "fp16" if row["fp16"] else "bf16", "precision.gradients": "fp16" if row["fp16"] else "fp32",
        "recompute": row["recompute"] or "none",
    }  # fmt: skip
    if "multi_dist_optimizer_instances" in row["test_case"]:  # two of them
        given["shard.size"] = max(1, given["shard.size"] // 2)
    if row["recompute_method"]:
        given |= {"recompute.method": row["recompute_method"], "recompute.layers": int(row["recompute_layers"])}
    return given | (_experts(row, ffn) if row["experts"] else {})


def _gated_ffn(hidden: int) -> int:
    """Megatron's FFN width with SwiGLU where none is written: two thirds of 4 h, to a multiple of 64."""
    return 4 * hidden * 2 // 3 // 64 * 64


def _schedule(row: Row, layers: int, pipeline: int) -> dict[str, Any]:
    """The fields of the schedule; a chunk has as many layers as the row says."""
    if row["vpp"]:
        chunks = int(row["vpp"])
    else:
        chunks = layers // (pipeline * int(row["layers_per_vstage"])) if row["layers_per_vstage"] else 1
    counted = "account_for_embedding" in row["test_case"]
    ends = {"pipeline.embedding_as_layer": counted, "pipeline.loss_as_layer": counted}
    return ends | ({"pipeline": "interleaved", "pipeline.chunks": chunks} if 1 < chunks and 1 < pipeline else {})


def _experts(row: Row, ffn: int) -> dict[str, Any]:
    dense = re.match(r"\(\[0\]\*(\d+)", row["moe_layer_freq"])
    shared = row["moe_shared_ffn"]
    return {
        "model.experts.count": int(row["experts"]), "model.experts.top_k": int(row["topk"]),
        "model.experts.ffn": int(row["moe_ffn"] or ffn), "model.experts.shared": 1 if shared else 0,
        "model.experts.shared_ffn": int(shared or row["moe_ffn"] or ffn), "model.experts.shared_gate": False,
        "model.experts.dense_layers": int(dense[1]) if dense else 0, "model.experts.every": 1,
        "parallel.expert": int(row["ep"] or 1), "parallel.expert_tensor": int(row["etp"] or row["tp"] or 1),
    }  # fmt: skip

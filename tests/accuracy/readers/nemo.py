"""Tables 06a and 06c: NVIDIA's published performance of NeMo and Megatron-Bridge on Hopper and Blackwell."""

from __future__ import annotations

from typing import Any

from tests.accuracy.case import TIME, Case, Row, each, number, rows, unusable
from tests.accuracy.givens import GBIT, catalogue_model, cluster, gpt, layout

BRIDGE, RECIPES = "06a_nemo_bridge_perf", "06c_dgxc_benchmarking"

#: Card of the catalogue, Gbit/s per GPU between domains, GPUs a node, GPUs a fast domain.
_SYSTEMS = {
    "DGX-H100": ("h100-sxm-80gb", 400, 8, 8), "H100": ("h100-sxm-80gb", 400, 8, 8),
    "DGX-B200": ("b200-sxm-180gb", 400, 8, 8),
    "DGX-GB200": ("gb200-nvl72-186gb", 400, 4, 72), "GB200": ("gb200-nvl72-186gb", 400, 4, 72),
    "DGX-GB300": ("gb300-nvl72-288gb", 800, 4, 72),
}  # fmt: skip

#: NeMo's own models: layers, hidden size, heads, key-value heads, FFN width, vocabulary.
_NEMOTRON = {
    "nemotron-3-8b": (32, 4096, 32, 32, 16_384, 256_000), "nemotron-4-15b": (32, 6144, 48, 8, 24_576, 256_000),
    "nemotron-4-340b": (96, 18_432, 96, 8, 73_728, 256_000),
}  # fmt: skip

#: Layers, hidden size and heads of NeMo's GPT models; vocabulary of GPT-2, padded.
_GPT = {"gpt-5B": (24, 4096, 32), "gpt-20B": (44, 6144, 48), "gpt-175B": (96, 12_288, 96)}

_CATALOGUE = frozenset((
    "llama-2-7b", "llama-2-70b", "llama-3-8b", "llama-3-70b", "llama-3.1-405b",
    "qwen3-30b-a3b", "gpt-oss-120b", "deepseek-v3",
))  # fmt: skip

#: How a table calls a model, up to the first of these that its name begins with, in lower case.
_NAMES = (
    ("llama3_70b", "llama-3-70b"), ("llama3-70b", "llama-3-70b"), ("llama3_8b", "llama-3-8b"),
    ("llama3-8b", "llama-3-8b"), ("llama3.1_405b", "llama-3.1-405b"),
    ("llama2-7b", "llama-2-7b"), ("llama2-70b", "llama-2-70b"),
    ("qwen3_30b_a3b", "qwen3-30b-a3b"), ("gpt oss 120b", "gpt-oss-120b"), ("deepseekv3", "deepseek-v3"),
    ("gpt3-5b", "gpt-5B"), ("gpt3-20b", "gpt-20B"), ("gpt3-175b", "gpt-175B"), ("nemo megatron", "gpt-175B"),
    ("nemotron-8b", "nemotron-3-8b"), ("nemotron4 15b", "nemotron-4-15b"),
    ("nemotron-340b", "nemotron-4-340b"), ("nemotron 340b", "nemotron-4-340b"),
    ("llama 3.1 8b", "llama-3-8b"), ("llama 3.1 70b", "llama-3-70b"), ("llama 3.1 405b", "llama-3.1-405b"),
    ("llama3.1 405b", "llama-3.1-405b"), ("grok 1", "grok-1"), ("grok1", "grok-1"),
)  # fmt: skip


def read_bridge() -> tuple[Case, ...]:
    """Table 06a, one case a row."""
    return each(rows(BRIDGE), BRIDGE, _bridge)


def read_recipes() -> tuple[Case, ...]:
    """Table 06c, one case a row."""
    return each(rows(RECIPES), RECIPES, _recipe)


def is_mixture(case: Case) -> bool:
    """Whether the model has experts."""
    return "model.experts.count" in case.given


def is_hopper(case: Case) -> bool:
    """Whether the cards are of the generation before Blackwell."""
    return case.given.get("cluster.gpu.fp4") is False


def _bridge(row: Row) -> Case:
    family = _family(row["model"])
    if row["task"] != "pretrain":
        return unusable(BRIDGE, row, family, "fine-tuning: packed samples, or adapters")
    if row["chk_ep"] == "0":
        return unusable(BRIDGE, row, family, "more expert ranks than a stage has")
    if row["system"] not in _SYSTEMS:
        return unusable(BRIDGE, row, family, "the card is not in the catalogue")
    model = _model(family, int(row["seq"]))
    if model is None:
        return unusable(BRIDGE, row, family, "the model has layers that the language does not have")
    if "MTP" in row["model"] and "w/o" not in row["model"]:
        return unusable(BRIDGE, row, family, "layers for multi-token prediction, not described")
    given = _given(row, model, row["system"], (row["precision"] or "FP8")[:3])
    if row["precision"] == "NVFP4":
        given |= {"precision": "fp4"}
    if row["precision"].startswith("MXFP8"):
        given |= {"precision": "fp8"}
    given["shard.stage"] = 3 if (row["fsdp"] or "0") != "0" else 1
    if row["fsdp"] not in ("", "0"):
        given["shard.size"] = min(int(row["fsdp"]), given["parallel.data"])
    tokens = given["batch.global"] * int(row["seq"])
    seconds = tokens / (float(row["tok_s_gpu"]) * int(row["gpus"]))
    left_out = {} if row["precision"] else {TIME: "the precision is not stated"}
    if row["chk_ga"] == "0":
        left_out[TIME] = "dp x mbs x ga is not the global batch"
    return Case(BRIDGE, row["row_id"].rpartition(":")[2], family, "megatron", given, seconds=seconds, left_out=left_out)


def _recipe(row: Row) -> Case:
    family = _family(row["model"])
    if row["kind"] != "pretrain":
        return unusable(RECIPES, row, family, "fine-tuning: packed samples, or adapters")
    if row["model"].startswith(("Maxtext", "Paxml")):
        return unusable(RECIPES, row, family, "not NeMo: another trainer, with other conventions")
    if not row["tp"] or not row["seq"] or not row["gbs"]:
        return unusable(RECIPES, row, family, "the layout is not stated")
    model = _model(family, int(row["seq"]))
    if model is None:
        return unusable(RECIPES, row, family, "the model has layers that the language does not have")
    if row["layers"]:
        model |= {"model.layers": int(row["layers"])}
    given = _given(row, model, row["gpu"], row["precision"])
    if row["etp"]:
        given["parallel.expert_tensor"] = int(row["etp"])
    left_out: dict[str, str] = {}
    if row["chk_tok_s"] == "0":
        left_out[TIME] = "step time and tokens per second contradict each other"
    elif row["cfg_ambiguous"]:
        left_out[TIME] = "the layout is ambiguous"
    return Case(
        RECIPES, row["row_id"].rpartition(":")[2], family, "megatron", given,
        seconds=float(row["step_s"]), left_out=left_out,
    )  # fmt: skip


def _given(row: Row, model: dict[str, Any], system: str, precision: str) -> dict[str, Any]:
    card, gigabits, per_node, domain = _SYSTEMS[system]
    gpus, tensor, pipeline, micro, batch = number(row, "gpus", "tp", "pp", "mbs", "gbs")
    chunks = int(row["vp"] or 1) if 1 < pipeline else 1
    return {
        **cluster(card, gpus, gigabits * GBIT, per_node, domain),
        **model,
        **layout(gpus, tensor, pipeline, int(row["cp"] or 1), micro, batch),
        "batch.sequence_length": int(row["seq"]), "parallel.sequence": 1 < tensor,
        "parallel.expert": int(row["ep"] or 1), "parallel.expert_tensor": tensor, "shard.stage": 1,
        "precision": "fp8" if precision.startswith("FP8") else "bf16", "precision.gradients": "bf16",
        "pipeline": "interleaved" if 1 < chunks else "1f1b", **({"pipeline.chunks": chunks} if 1 < chunks else {}),
        "communication.overlapped": True,  # their recipes ask for all three overlaps
    }  # fmt: skip


def _family(name: str) -> str:
    return next((family for start, family in _NAMES if name.lower().startswith(start)), name)


def _model(family: str, sequence_length: int) -> dict[str, Any] | None:
    """The fields of a model, or None if it is none of this language."""
    if family in _CATALOGUE:
        return catalogue_model(family)
    if family in _GPT:
        layers, hidden, heads = _GPT[family]
        return gpt(layers, hidden, heads, 51_200, sequence_length) | {"model.dropout": 0}
    if family in _NEMOTRON:
        layers, hidden, heads, kv_heads, ffn, vocab = _NEMOTRON[family]
        return _plain(layers, hidden, heads, kv_heads, ffn, vocab) | {"model.gated": False, "model.norm": "layernorm"}
    if family == "grok-1":
        return _plain(64, 6144, 48, 8, 32_768, 131_072) | {
            "model.norms": 4, "model.experts.count": 8, "model.experts.top_k": 2, "model.experts.ffn": 32_768,
            "model.experts.dense_layers": 0, "model.experts.every": 1, "model.experts.shared": 0,
        }  # fmt: skip
    return None


def _plain(layers: int, hidden: int, heads: int, kv_heads: int, ffn: int, vocab: int) -> dict[str, Any]:
    return {
        "model.layers": layers, "model.hidden": hidden, "model.heads": heads, "model.kv_heads": kv_heads,
        "model.head_dim": hidden // heads, "model.ffn": ffn, "model.vocab": vocab, "model.tied": False,
    }  # fmt: skip

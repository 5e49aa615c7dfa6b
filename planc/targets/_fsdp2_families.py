"""Names of the modules in models of transformers: where their layers lie, and how tensor ranks split them.

Read from transformers 5.23; a test builds each of the models and looks the names up, another one trains those that are
split, and compares what comes out with one process.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

#: Path of the layers by Hugging Face `model_type`.
LAYERS: dict[str, str] = {
    **dict.fromkeys((
        "cohere", "cohere2", "deepseek_v2", "deepseek_v3", "gemma", "gemma2", "gemma3_text", "glm", "glm4", "gpt_oss",
        "granite", "llama", "mistral", "mixtral", "olmo", "olmo2", "olmoe", "phi", "phi3", "qwen2", "qwen2_moe",
        "qwen3", "qwen3_moe", "smollm3", "stablelm", "starcoder2",
    ), "model.layers"),
    **dict.fromkeys(("bloom", "falcon", "gpt2", "gpt_bigcode", "gptj"), "transformer.h"),
    "gpt_neox": "gpt_neox.layers", "mpt": "transformer.blocks", "opt": "model.decoder.layers",
}  # fmt: skip


class Split(NamedTuple):
    """Names of what a layer consists of, and of what stands before and behind the layers.

    columns, rows: products split by their outputs and by their inputs, in the order in which a layer calls them.
    norms: of a layer; head_norms: those over each head, which a rank applies to its own heads only.
    attention: called with its input by the name `hidden_states` if `named`, else as the first argument; as is `mlp`.
    """

    columns: tuple[str, ...]
    rows: tuple[str, ...]
    norms: tuple[str, ...] = ("input_layernorm", "post_attention_layernorm")
    head_norms: tuple[str, ...] = ()
    attention: str = "self_attn"
    named: bool = True
    mlp: str = "mlp"
    embedding: str = "model.embed_tokens"
    norm: str = "model.norm"
    head: str = "lm_head"


_QKV = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
_LLAMA = Split((*_QKV, "mlp.gate_proj", "mlp.up_proj"), ("self_attn.o_proj", "mlp.down_proj"))

#: How the families that are split over tensor ranks are split.
SPLITS: dict[str, Split] = {
    **dict.fromkeys(("gemma", "granite", "llama", "mistral", "qwen2", "smollm3"), _LLAMA),
    "gemma2": _LLAMA._replace(norms=(*_LLAMA.norms, "pre_feedforward_layernorm", "post_feedforward_layernorm")),
    "qwen3": _LLAMA._replace(head_norms=("self_attn.q_norm", "self_attn.k_norm")),
    "starcoder2": _LLAMA._replace(columns=(*_QKV, "mlp.c_fc"), rows=("self_attn.o_proj", "mlp.c_proj")),
    "gpt_neox": Split(
        ("attention.query_key_value", "mlp.dense_h_to_4h"),
        ("attention.dense", "mlp.dense_4h_to_h"),
        attention="attention", named=False, embedding="gpt_neox.embed_in", norm="gpt_neox.final_layer_norm",
    ),
}  # fmt: skip


_SPLIT_AT_ENTRY = """PrepareModuleInput(
            input_layouts=Replicate(), desired_input_layouts=Shard(1), use_local_output=True
        )"""
_GATHERED_BY_NAME = """PrepareModuleInput(
            input_kwarg_layouts={"hidden_states": Shard(1)},
            desired_input_kwarg_layouts={"hidden_states": Replicate()},
        )"""


def styles(family: str, sequence: bool) -> Iterator[tuple[str, str]]:
    """Path of each module that is split or held whole, and the style of torch that does it.

    With `sequence` the tokens between the products are split as well, but not before the first layer: the models count
    positions behind the embedding.
    """
    split, layers = SPLITS[family], LAYERS[family]
    between = "Shard(1)" if sequence else "Replicate()"
    whole = "SequenceParallel(use_local_output=True)" if sequence else "Whole()"
    yield split.embedding, "RowwiseParallel(input_layouts=Replicate())"
    if sequence:
        yield f"{layers}.0", _SPLIT_AT_ENTRY
        gathered = "PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate())"
        yield f"{layers}.*.{split.attention}", _GATHERED_BY_NAME if split.named else gathered
        yield f"{layers}.*.{split.mlp}", gathered
    for name in split.norms:
        yield f"{layers}.*.{name}", whole
    for name in split.head_norms:
        yield f"{layers}.*.{name}", "SequenceParallel(sequence_dim=2, use_local_output=True)"
    for name in split.columns:
        yield f"{layers}.*.{name}", "ColwiseParallel()"
    for name in split.rows:
        yield f"{layers}.*.{name}", f"RowwiseParallel(output_layouts={between})"
    yield split.norm, whole
    yield split.head, f"ColwiseParallel(input_layouts={between}, output_layouts=Replicate())"

"""What is read of each model type: its keys, and what its modules build beside the matrices that all have.

From the classes of transformers 5.23: the names of the keys, what a left-out key means, and which norms, biases and
experts there are. What changes a parameter count and has no field is reported; keys that change none are not read.
"""

from __future__ import annotations

from collections.abc import Callable

from planc.readers.config import Config
from planc.readers.parts import (
    biases,
    decoder,
    dimensions,
    dropouts,
    four_times,
    full_attention,
    latent_attention,
    plain,
    sliding_attention,
    sparse_layers,
    tie,
    windowed_attention,
)


def _llama(config: Config) -> None:
    decoder(config)
    biases(
        config, config.flag("attention_bias", False, "bias"), config.flag("mlp_bias", False, "bias"), "attention_bias"
    )


def _mistral(config: Config) -> None:
    decoder(config, kv_heads=8)
    sliding_attention(config, 0, 4096)


def _mixtral(config: Config) -> None:
    decoder(config, kv_heads=8)
    sliding_attention(config, 0, None)
    inner = config.inside("experts")
    inner.count("count", "num_local_experts", "num_experts", default=8)
    inner.count("top_k", "num_experts_per_tok", default=2)
    inner.dimension("ffn", "intermediate_size")
    config.add("experts", inner)


def _qwen2(config: Config) -> None:
    decoder(config, kv_heads=32)
    config.say("bias", "qkv")
    windowed_attention(config)


def _qwen3(config: Config) -> None:
    decoder(config, kv_heads=32, head_dim=128)
    biases(config, config.flag("attention_bias", False, "bias"), False, "attention_bias")
    windowed_attention(config, (("qk_norm", "head"),))


def _qwen2_moe(config: Config) -> None:
    decoder(config, kv_heads=16)
    if config.flag("qkv_bias", True, "bias"):
        config.say("bias", "qkv", config.place_of("qkv_bias"))
    windowed_attention(config, alternate=True)
    inner = config.inside("experts")
    if not _qwen_experts(config, inner, 60, 4, 1408):
        return
    inner.say("shared", "1")
    inner.count("shared_ffn", "shared_expert_intermediate_size", default=5632)
    inner.say("shared_gate", "true")
    config.add("experts", inner)


def _qwen3_moe(config: Config) -> None:
    decoder(config, kv_heads=4)
    biases(config, config.flag("attention_bias", False, "bias"), False, "attention_bias")
    if config.flag("use_sliding_window", False, "attention"):
        sliding_attention(config, 0, 4096, (("qk_norm", "head"),))
    else:
        full_attention(config, (("qk_norm", "head"),))
    inner = config.inside("experts")
    if _qwen_experts(config, inner, 128, 8, 768):
        config.add("experts", inner)


def _qwen_experts(config: Config, inner: Config, count: int, top_k: int, ffn: int) -> bool:
    """Number, choice, width and place of the routed experts of Qwen; False if there are none."""
    if "experts" in config.written:
        return False
    number = config.find("num_experts", "num_local_experts")
    if number is not None and number.value.span.text == "0":
        return False
    inner.count("count", "num_experts", "num_local_experts", default=count)
    inner.count("top_k", "num_experts_per_tok", default=top_k)
    inner.count("ffn", "moe_intermediate_size", default=ffn)
    return sparse_layers(config, inner)


def _gemma(config: Config) -> None:
    decoder(config, kv_heads=16, head_dim=256, tied=True)
    biases(config, config.flag("attention_bias", False, "bias"), False, "attention_bias")


def _gemma2(config: Config) -> None:
    decoder(config, kv_heads=4, head_dim=256, tied=True)
    biases(config, config.flag("attention_bias", False, "bias"), False, "attention_bias")
    config.say("norms", "4")
    sliding_attention(config, 2, 4096)


def _gemma3_text(config: Config) -> None:
    # The published files leave out what is the class's default.
    config.dimension("layers", "num_hidden_layers", default=26)
    config.dimension("hidden", "hidden_size", default=2304)
    config.dimension("heads", "num_attention_heads", default=8)
    config.count("kv_heads", "num_key_value_heads", default=4)
    config.count("head_dim", "head_dim", default=256)
    config.dimension("ffn", "intermediate_size", default=9216)
    config.dimension("vocab", "vocab_size", default=262208)
    config.count("max_sequence_length", "max_position_embeddings", default=131072)
    tie(config, True)
    dropouts(config, ("attention_dropout", "0.0"))
    biases(config, config.flag("attention_bias", False, "bias"), False, "attention_bias")
    config.say("norms", "4")
    period = config.find("sliding_window_pattern")
    every = 6 if period is None else config.whole(period, 1)
    sliding_attention(config, 6 if every is None else every, 4096, (("qk_norm", "head"),))


def _phi3(config: Config) -> None:
    decoder(config)
    sliding_attention(config, 0, None)


def _gpt2(config: Config) -> None:
    _gpt(config, 1024, "0.1", tied=True)
    config.say("bias", "all")
    config.say("positions", "learned")
    if config.flag("add_cross_attention", False):
        config.uncounted("add_cross_attention", "a second attention in each layer")


def _gptj(config: Config) -> None:
    _gpt(config, 2048, "0.0", tied=False)
    config.say("bias", "mlp")
    config.say("output_bias", "true")
    config.say("norms", "1")


def _gpt(config: Config, longest: int, share: str, *, tied: bool) -> None:
    """What GPT-2 and GPT-J have in common."""
    dimensions(
        config,
        layers=("n_layer", "num_hidden_layers"),
        hidden=("n_embd", "hidden_size"),
        heads=("n_head", "num_attention_heads"),
    )
    four_times(config, "n_inner")
    config.count("max_sequence_length", "n_positions", "max_position_embeddings", default=longest)
    plain(config, tied=tied)
    dropouts(config, ("resid_pdrop", share), ("embd_pdrop", share), ("attn_pdrop", share))


def _gpt_neox(config: Config) -> None:
    dimensions(config)
    config.dimension("ffn", "intermediate_size")
    config.count("max_sequence_length", "max_position_embeddings")
    plain(config, tied=False)
    dropouts(config, ("hidden_dropout", "0.0"), ("attention_dropout", "0.0"))
    biases(config, config.flag("attention_bias", True, "bias"), True, "attention_bias")


def _falcon(config: Config) -> None:
    dimensions(config, hidden=("hidden_size", "n_embed"))
    four_times(config, "ffn_hidden_size")
    config.count("max_sequence_length", "max_position_embeddings")
    plain(config, tied=True)
    dropouts(config, ("hidden_dropout", "0.0"), ("attention_dropout", "0.0"))
    everywhere = config.flag("bias", False, "bias")
    biases(config, everywhere, everywhere, "bias")
    if config.flag("alibi", False, "positions"):
        config.say("positions", "alibi", config.place_of("alibi"))
    new = config.flag("new_decoder_architecture", False)
    if new:
        config.count("kv_heads", "num_kv_heads")
    elif config.flag("multi_query", True, "kv_heads"):
        config.say("kv_heads", "1", config.place_of("multi_query"))
    stated = config.find("num_ln_in_parallel_attn")
    two = new if stated is None else stated.value.span.text == "2"
    if config.flag("parallel_attn", True, "norms") and not two:
        config.say("norms", "1", config.place_of("parallel_attn"))


def _bloom(config: Config) -> None:
    dimensions(
        config,
        layers=("n_layer", "num_hidden_layers"),
        hidden=("hidden_size", "n_embed"),
        heads=("n_head", "num_attention_heads"),
    )
    four_times(config)
    config.count("max_sequence_length", "seq_length")
    plain(config, tied=True)
    dropouts(config, ("hidden_dropout", "0.0"), ("attention_dropout", "0.0"))
    config.say("bias", "all")
    config.say("embedding_norm", "true")
    config.say("positions", "alibi")


def _opt(config: Config) -> None:
    dimensions(config)
    config.dimension("ffn", "ffn_dim")
    config.count("max_sequence_length", "max_position_embeddings", default=2048)
    plain(config, tied=True)
    dropouts(config, ("dropout", "0.1"), ("attention_dropout", "0.0"))
    config.say("positions", "learned")
    everywhere = config.flag("enable_bias", True, "bias")
    biases(config, everywhere, everywhere, "enable_bias")
    if config.flag("do_layer_norm_before", True) is False or config.flag("_remove_final_layer_norm", False):
        config.uncounted("do_layer_norm_before", "no norm behind the last layer")
    if config.flag("layer_norm_elementwise_affine", True) is False:
        config.uncounted("layer_norm_elementwise_affine", "norms without parameters")
    narrow, hidden = config.find("word_embed_proj_dim"), config.find("hidden_size")
    if narrow is not None and (hidden is None or narrow.value.span.text != hidden.value.span.text):
        config.uncounted("word_embed_proj_dim", "embeddings of another width than the layers")


def _deepseek_v2(config: Config) -> None:
    _deepseek(config, 64, None, 2, 1407, 0)
    mlp = config.flag("mlp_bias", False, "bias")
    biases(config, config.flag("attention_bias", False, "bias"), False, "attention_bias")
    if mlp:
        config.uncounted("mlp_bias", "biases of all experts but the routed ones", "bias")


def _deepseek_v3(config: Config) -> None:
    _deepseek(config, 256, 8, 1, 2048, 3)
    biases(config, config.flag("attention_bias", False, "bias"), False, "attention_bias")
    ahead = config.find("num_nextn_predict_layers", "num_mtp_layers")
    if ahead is not None and ahead.value.span.text != "0" and "mtp_layers" not in config.written:
        config.assumed.append("`mtp_layers` is 0: transformers builds the model without multi-token prediction")


def _deepseek(config: Config, count: int, top_k: int | None, shared: int, ffn: int, dense: int) -> None:
    """What the versions of DeepSeek have in common; the numbers are those of each class."""
    config.dimension("layers", "num_hidden_layers")
    hidden = config.dimension("hidden", "hidden_size")
    heads = config.dimension("heads", "num_attention_heads")
    config.count("kv_heads", "num_key_value_heads", default=128 if config.model_type == "deepseek_v3" else None)
    config.dimension("ffn", "intermediate_size")
    config.dimension("vocab", "vocab_size")
    config.count("max_sequence_length", "max_position_embeddings")
    tie(config, False)
    dropouts(config, ("attention_dropout", "0.0"))
    if hidden and heads and hidden % heads:  # the default of `head_dim` has no meaning here, but has to be whole
        config.count("head_dim", "v_head_dim", default=128)
    latent_attention(config)
    inner = config.inside("experts")
    inner.count("count", "n_routed_experts", "num_experts", "num_local_experts", default=count)
    inner.dimension("top_k", "num_experts_per_tok", default=top_k)
    inner.count("ffn", "moe_intermediate_size", default=ffn)
    inner.count("shared", "n_shared_experts", default=shared, least=0)
    inner.count("dense_layers", "first_k_dense_replace", default=dense, least=0)
    config.add("experts", inner)
    period = config.find("moe_layer_freq")
    if period is not None and period.value.span.text != "1":
        config.uncounted("moe_layer_freq", "dense layers between those with experts", "experts")


def _gpt_oss(config: Config) -> None:
    decoder(config, kv_heads=8, head_dim=64)
    biases(config, config.flag("attention_bias", True, "bias"), True, "attention_bias")
    sliding_attention(config, 2, 128, (("sinks", "true"),))
    inner = config.inside("experts")
    inner.count("count", "num_local_experts", "num_experts", default=128)
    inner.count("top_k", "num_experts_per_tok", default=4)
    inner.dimension("ffn", "intermediate_size")
    config.add("experts", inner)


def _olmo2(config: Config) -> None:
    decoder(config)
    biases(config, config.flag("attention_bias", False, "bias"), False, "attention_bias")
    full_attention(config, (("qk_norm", "full"),))


#: What is read of each type.
TYPES: dict[str, Callable[[Config], None]] = {
    "llama": _llama, "mistral": _mistral, "mixtral": _mixtral, "qwen2": _qwen2, "qwen3": _qwen3,
    "qwen2_moe": _qwen2_moe, "qwen3_moe": _qwen3_moe, "gemma": _gemma, "gemma2": _gemma2, "gemma3_text": _gemma3_text,
    "phi3": _phi3, "gpt2": _gpt2, "gpt_neox": _gpt_neox, "gptj": _gptj, "falcon": _falcon, "bloom": _bloom,
    "opt": _opt, "deepseek_v2": _deepseek_v2, "deepseek_v3": _deepseek_v3, "gpt_oss": _gpt_oss, "olmo2": _olmo2,
}  # fmt: skip

"""What flags of Megatron-LM say of the model."""

from __future__ import annotations

from planc.native.megatron.flags import Flags, Teller
from planc.native.megatron.patterns import pattern
from planc.targets._megatron_flags import DISPATCH, NORM, POSITIONS

#: Flags of models that are no stack of equal transformer layers.
_OTHER_MODELS = (
    "hybrid-layer-pattern", "hybrid-override-pattern", "is-hybrid-model", "decoder-num-layers", "encoder-num-layers",
    "model-provider", "heterogeneous-layers-config-path", "heterogeneous-layers-config-encoded-json", "flextron",
    "use-checkpoint-args",
)  # fmt: skip

#: What a layer of such a model has all the same: its tensor ranks share the heads of its attention.
_SHARED = ("layers", "hidden", "heads", "kv_heads")

_NORMS = {native: word for word, native in NORM.items()}
_POSITIONS = {native: word for word, native in POSITIONS.items()} | {"yarn": "rope"}
_DISPATCH = {native: word for word, native in DISPATCH.items() if native != "flex"}


def say_model(flags: Flags, teller: Teller) -> None:
    """Dimensions, layers and heads; nothing that is uncertain where the layers are of several kinds."""
    is_plain = not flags.has(*_OTHER_MODELS)
    if flags.has("num-layers") and not flags.has("hybrid-layer-pattern", "hybrid-override-pattern"):
        teller.number("model.layers", "num-layers")
    teller.number("model.hidden", "hidden-size")
    teller.number("model.heads", "num-attention-heads")
    _kv_heads(flags, teller)
    if not is_plain or not flags.whole:
        teller.withhold("model")
    _width(flags, teller, is_plain)
    teller.number("model.max_sequence_length", "max-position-embeddings")
    _vocabulary(flags, teller)
    if is_plain:
        _details(flags, teller)
        _attention(flags, teller)
        _experts(flags, teller)
        teller.number("model.mtp_layers", "mtp-num-layers")


def _vocabulary(flags: Flags, teller: Teller) -> None:
    """What is stated; else it is that of the tokenizer."""
    teller.number("model.vocab", "padded-vocab-size" if flags.has("padded-vocab-size") else "vocab-size")


def _kv_heads(flags: Flags, teller: Teller) -> None:
    """Megatron groups heads only if it is told to, and into one group unless it is told into how many."""
    if flags.is_on("multi-latent-attention"):
        return
    if flags.is_on("group-query-attention"):
        teller.number("model.kv_heads", "num-query-groups", 1)
        teller.use("group-query-attention")
    elif not flags.lacks("group-query-attention"):
        teller.withhold("model.kv_heads")


def _width(flags: Flags, teller: Teller, is_plain: bool) -> None:
    """The width of the MLP: four times the hidden size, of a gated one two thirds of that in multiples of 64."""
    hidden = flags.count("hidden-size")
    if flags.has("ffn-hidden-size"):
        teller.number("model.ffn", "ffn-hidden-size")
    elif flags.whole and is_plain and hidden is not None and not flags.has("quick-geglu"):
        width = 4 * hidden * 2 // 3 // 64 * 64 if flags.is_on("swiglu") else 4 * hidden
        teller.assume("model.ffn", str(width), "ffn-hidden-size")


def _details(flags: Flags, teller: Teller) -> None:
    if flags.is_on("use-rotary-position-embeddings"):
        teller.say("model.positions", "use-rotary-position-embeddings", "rope")
    else:
        teller.word("model.positions", "position-embedding-type", _POSITIONS, "learned_absolute")
    teller.word("model.norm", "normalization", _NORMS, "LayerNorm")
    if flags.is_on("swiglu", "quick-geglu"):
        teller.say("model.gated", "swiglu" if flags.is_on("swiglu") else "quick-geglu", "true")
    elif flags.lacks("swiglu", "quick-geglu"):
        teller.assume("model.gated", "false", "swiglu")
    if flags.is_on("disable-bias-linear"):
        bias = "qkv" if flags.is_on("add-qkv-bias") else "none"
        teller.say("model.bias", "disable-bias-linear", bias)
    elif flags.lacks("disable-bias-linear"):
        teller.assume("model.bias", "all", "disable-bias-linear")
    if flags.is_on("untie-embeddings-and-output-weights"):
        teller.say("model.tied", "untie-embeddings-and-output-weights", "false")
    elif flags.lacks("untie-embeddings-and-output-weights"):
        teller.assume("model.tied", "true", "untie-embeddings-and-output-weights")
    _dropout(flags, teller)


def _dropout(flags: Flags, teller: Teller) -> None:
    """One number, where both are equal; each is a tenth unless it is stated."""
    names = ("hidden-dropout", "attention-dropout")
    shares = [0.1 if flags.lacks(name) else flags.number(name) for name in names]
    given = next((name for name in names if flags.has(name)), None)
    if shares[0] != shares[1] or shares[0] is None:
        teller.withhold("model.dropout")
    elif given is None:
        teller.assume("model.dropout", "0.1", names[0])
    else:
        teller.number("model.dropout", given)


def _attention(flags: Flags, teller: Teller) -> None:
    if flags.has("experimental-attention-variant", "linear-attention-type"):
        teller.withhold("model.attention", "model.kv_heads", "model.head_dim")
        return
    if flags.is_on("multi-latent-attention"):
        teller.say("model.attention", "multi-latent-attention", "mla")
        for name, flag, default in (
            ("q_lora_rank", "q-lora-rank", None), ("kv_lora_rank", "kv-lora-rank", 32),
            ("qk_nope_head_dim", "qk-head-dim", 128), ("qk_rope_head_dim", "qk-pos-emb-head-dim", 64),
            ("v_head_dim", "v-head-dim", 128),
        ):  # fmt: skip
            teller.number(f"model.attention.{name}", flag, default)
        return
    teller.number("model.head_dim", "kv-channels")
    if flags.has("window-size"):
        _window(flags, teller)
    if flags.is_on("qk-layernorm"):
        teller.say("model.attention.qk_norm", "qk-layernorm", "head")
    if flags.text("softmax-type") == "learnable":
        teller.say("model.attention.sinks", "softmax-type", "true")


def _window(flags: Flags, teller: Teller) -> None:
    """Tokens that a token looks back, and which layers do not: every n-th, or those of a pattern."""
    first = (flags.text("window-size") or "").strip("()").partition(",")[0].strip()
    every = flags.count("window-attn-skip-freq")
    if not first.isdecimal() or (every is None and flags.has("window-attn-skip-freq")):
        teller.withhold("model.attention")
        return
    teller.say("model.attention", "window-size", "sliding")
    teller.say("model.attention.window", "window-size", str(int(first)))
    if every is not None:
        teller.number("model.attention.every", "window-attn-skip-freq")


def _experts(flags: Flags, teller: Teller) -> None:
    if not flags.has("num-experts"):
        if not flags.whole:
            teller.withhold("model.experts")
        return
    if flags.count("num-experts") == 0:  # Megatron takes it for a dense model
        return
    teller.number("model.experts.count", "num-experts")
    teller.number("model.experts.top_k", "moe-router-topk", 2)
    ffn = "moe-ffn-hidden-size" if flags.has("moe-ffn-hidden-size") else "ffn-hidden-size"
    teller.number("model.experts.ffn", ffn)
    _sparse_layers(flags, teller)
    if flags.count("moe-shared-expert-intermediate-size"):
        teller.say("model.experts.shared", "moe-shared-expert-intermediate-size", "1")
        teller.number("model.experts.shared_ffn", "moe-shared-expert-intermediate-size")
        teller.flag("model.experts.shared_gate", "moe-shared-expert-gate")
    if flags.text("moe-flex-dispatcher-backend") == "deepep" and flags.text("moe-token-dispatcher-type") == "flex":
        teller.say("expert.dispatch", "moe-token-dispatcher-type", "deepep")
    else:
        teller.word("expert.dispatch", "moe-token-dispatcher-type", _DISPATCH, "allgather")
    teller.number("expert.capacity_factor", "moe-expert-capacity-factor")


def _sparse_layers(flags: Flags, teller: Teller) -> None:
    """Which layers have experts: all behind the dense ones that lead, or one in n; else it cannot be said."""
    text, layers = flags.text("moe-layer-freq"), flags.count("num-layers")
    if text is None:
        if flags.has("moe-layer-freq"):
            teller.withhold("model.experts")
        return
    every = flags.count("moe-layer-freq")
    if every is not None and layers is not None and 0 < every and layers % every == 0:
        teller.say("model.experts.every", "moe-layer-freq", str(every))
        return
    found = pattern(text)
    dense = None if found is None else len(found) - sum(found)
    if found is not None and dense is not None and len(found) == layers and found == [0] * dense + [1] * sum(found):
        if dense:
            teller.say("model.experts.dense_layers", "moe-layer-freq", str(dense))
    else:
        teller.withhold("model.experts")

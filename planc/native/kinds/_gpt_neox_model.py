"""What a gpt-neox file says of the model, as megatron/model/transformer.py builds it."""

from __future__ import annotations

from typing import Any, NamedTuple

from planc.native.saying import Sayer, is_on, whole
from planc.native.tables import load_table
from planc.native.tree import Entry, Map, Seq, data
from planc.targets._gpt_neox_config import POSITIONS

_NORMS = {
    "layernorm": "layernorm", "te_layernorm": "layernorm", "rmsnorm": "rmsnorm", "te_rmsnorm": "rmsnorm",
}  # fmt: skip
_POSITIONS = {native: word for word, native in POSITIONS.items()}

#: Activations that are products of two halves; all others that it has are not.
GATED = ("geglu", "reglu", "swiglu", "bilinear", "glu")

#: Kinds of attention that are one.
_ATTENTIONS = ("global", "flash")

#: The key whose file has the model: keys of the model that it leaves out have their defaults.
_MODEL = "num_layers"


class Widths(NamedTuple):
    """The MLP that is built: the columns of its first matrix for one half, and the rows of its second.

    Where the two differ, it cannot be run.
    """

    first: int
    second: int


def widths(root: Map) -> Widths | None:
    """The widths of the MLP; None where something that they depend on is not said.

    A gated MLP gets two thirds of what is asked for, shared out over its halves, so that it has as many parameters as
    one without a gate. Both matrices are rounded up: the first in twice the steps of the second.
    """
    asked, hidden = whole(root.find("intermediate_size")), whole(root.find("hidden_size"))
    if root.find("intermediate_size") is None and root.find("expansion_factor") is None and hidden is not None:
        asked = 4 * hidden
    step, activation = _value(root, "mlp_multiple_of"), _word(root, "activation")
    is_counted = isinstance(step, int) and not isinstance(step, bool) and 0 < step
    if asked is None or asked < 1 or not is_counted or activation is None or is_on(root, "te_layernorm_mlp"):
        return None  # Transformer Engine builds its own by other rules
    is_gated = activation in GATED
    both = asked * 2 // 3 if is_gated else asked
    half = both // 2 if is_gated else both
    first = -(-both // (2 * step)) * 2 * step
    return Widths(first // 2 if is_gated else first, -(-half // step) * step)


def say_model(root: Map, sayer: Sayer) -> None:
    """Its dimensions; of layers of several kinds, or none of attention, no more than their number."""
    for path, key in (
        ("layers", "num_layers"), ("hidden", "hidden_size"), ("max_sequence_length", "max_position_embeddings"),
    ):  # fmt: skip
        _number(sayer, f"model.{path}", root.find(key))
    _number(sayer, "batch.sequence_length", root.find("seq_length"))
    if not _is_attention(root):
        return
    _number(sayer, "model.heads", root.find("num_attention_heads"))
    if root.find("num_kv_heads") is not None:
        _number(sayer, "model.kv_heads", root.find("num_kv_heads"))
    elif whole(root.find("num_attention_heads")) is not None:
        _say(root, sayer, "model.kv_heads", "num_kv_heads", str(whole(root.find("num_attention_heads"))))
    activation, built = _word(root, "activation"), widths(root)
    if activation is not None:
        _say(root, sayer, "model.gated", "activation", "true" if activation in GATED else "false")
    if built is not None:
        _say(root, sayer, "model.ffn", "intermediate_size", str(built.second))
    _words(root, sayer)
    _parts(root, sayer)
    _attention(root, sayer)


def _value(root: Map, key: str) -> Any:
    """The value of a key; its default where the file has the model and not the key; None if that is not known."""
    if root.find(key) is not None:
        return root.value(key)
    return load_table("gpt-neox").keys[key].get("default") if root.find(_MODEL) is not None else None


def _word(root: Map, key: str) -> str | None:
    """A word, whose case does not matter."""
    value = _value(root, key)
    return value.lower() if isinstance(value, str) else None


def _say(root: Map, sayer: Sayer, path: str, key: str, text: str) -> None:
    """What follows from a key, or from its default where the file has the model and leaves it out."""
    entry, model = root.find(key), root.find(_MODEL)
    if entry is not None:
        sayer.say(path, entry, text)
    elif model is not None:
        sayer.assume(path, text, model.key.span, key)


def _number(sayer: Sayer, path: str, entry: Entry | None) -> None:
    value = getattr(entry.value, "value", None) if entry is not None else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        sayer.say(path, entry)


def _words(root: Map, sayer: Sayer) -> None:
    for path, key, words in (("norm", "norm", _NORMS), ("positions", "pos_emb", _POSITIONS)):
        word = _word(root, key)
        if word in words:
            _say(root, sayer, f"model.{path}", key, words[word])
    untied, dropout = _value(root, "no_weight_tying"), _value(root, "hidden_dropout")
    if isinstance(untied, bool):
        _say(root, sayer, "model.tied", "no_weight_tying", "false" if untied else "true")
    if root.find("hidden_dropout") is not None and dropout == _value(root, "attention_dropout"):
        _number(sayer, "model.dropout", root.find("hidden_dropout"))


def _parts(root: Map, sayer: Sayer) -> None:
    """Biases of attention and MLP, and whether both read one norm."""
    attention, mlp = _value(root, "use_bias_in_attn_linear"), _value(root, "use_bias_in_mlp")
    if isinstance(attention, bool) and isinstance(mlp, bool):
        words = {(True, True): "all", (True, False): "attention", (False, True): "mlp", (False, False): "none"}
        key = "use_bias_in_attn_linear" if root.find("use_bias_in_attn_linear") is not None else "use_bias_in_mlp"
        _say(root, sayer, "model.bias", key, words[attention, mlp])
    parallel, shared = _value(root, "gpt_j_residual"), _value(root, "gpt_j_tied")
    if isinstance(parallel, bool) and isinstance(shared, bool):
        _say(root, sayer, "model.norms", "gpt_j_residual", "1" if parallel and shared else "2")


def _is_attention(root: Map) -> bool:
    """Whether every layer has attention and an MLP, as far as the file tells."""
    if (whole(root.find("moe_num_experts")) or 1) > 1:
        return False
    found = root.find("attention_config")
    return found is None or all(name in _ATTENTIONS for name in _kinds(found))


def _kinds(entry: Entry) -> list[str]:
    """The names in a list such as `[[["flash"], 24]]`."""
    items = entry.value.items if isinstance(entry.value, Seq) else ()
    first = [data(item.items[0]) for item in items if isinstance(item, Seq) and item.items]
    return [str(name) for each in first for name in (each if isinstance(each, list) else [each])]


def _attention(root: Map, sayer: Sayer) -> None:
    """A window is one of flash attention only."""
    window, found = root.find("sliding_window_width"), root.find("attention_config")
    if whole(window) and found is not None and set(_kinds(found)) == {"flash"}:
        sayer.say("model.attention", window, "sliding")
        sayer.say("model.attention.window", window)
    elif root.find("sliding_window_width") is None:
        _say(root, sayer, "model.attention", "sliding_window_width", "full")

"""What the model types have in common, read from a configuration into the fields of a model."""

from __future__ import annotations

from planc.readers.config import Config
from planc.readers.faults import UNREADABLE
from planc.syntax import nodes

#: More fields of the attention: name and word.
Words = tuple[tuple[str, str], ...]


def dimensions(
    config: Config,
    *,
    layers: tuple[str, ...] = ("num_hidden_layers",),
    hidden: tuple[str, ...] = ("hidden_size",),
    heads: tuple[str, ...] = ("num_attention_heads",),
) -> None:
    """The dimensions that a file cannot do without, by the names of their keys."""
    config.dimension("layers", *layers)
    config.dimension("hidden", *hidden)
    config.dimension("heads", *heads)
    config.dimension("vocab", "vocab_size")


def decoder(config: Config, *, kv_heads: int | None = None, head_dim: int | None = None, tied: bool = False) -> None:
    """What most types name as Llama does; the arguments are what the class takes for a key that is left out."""
    dimensions(config)
    config.count("kv_heads", "num_key_value_heads", default=kv_heads)
    config.count("head_dim", "head_dim", default=head_dim)
    config.dimension("ffn", "intermediate_size")
    config.count("max_sequence_length", "max_position_embeddings")
    tie(config, tied)
    dropouts(config, ("attention_dropout", "0.0"))


def plain(config: Config, *, tied: bool) -> None:
    """What the types before Llama have in common: two matrices in the MLP, and norms with a bias."""
    tie(config, tied)
    config.say("gated", "false")
    config.say("norm", "layernorm")


def tie(config: Config, default: bool) -> None:
    """Whether the output layer shares the embedding."""
    tied = config.flag("tie_word_embeddings", default, "tied")
    if tied:
        config.say("tied", "true", config.place_of("tie_word_embeddings"))
    elif tied is None:
        config.spoil("tied", config.place_of("tie_word_embeddings"))


def dropouts(config: Config, *keys: tuple[str, str]) -> None:
    """One number for hidden and attention dropout: the largest, as memory and speed are judged by it.

    keys: each with what the class takes if it is left out.
    """
    if "dropout" in config.written:
        return
    shares = [config.share(key, default) for key, default in keys]
    largest, value = max(shares, key=lambda share: share[0])
    if largest:
        config.enter("dropout", value)
    if any(share != largest for share, _ in shares):
        config.assumed.append(f"`dropout` is {largest}, the largest of {', '.join(f'`{key}`' for key, _ in keys)}")


def biases(config: Config, attention: bool | None, mlp: bool | None, key: str) -> None:
    """The biases of the two halves of a layer, shown at a key."""
    if attention is None or mlp is None:
        config.spoil("bias", config.place_of(key))
    elif attention or mlp:
        word = "all" if attention and mlp else "attention" if attention else "mlp"
        config.say("bias", word, config.place_of(key))


def four_times(config: Config, *keys: str) -> None:
    """The width of the MLP, which is four times the hidden size where it is not given, also if the plan sets that."""
    if config.count("ffn", *keys) is None and config.find(*keys) is None:
        place = config.place
        hidden = nodes.Path(place, (nodes.Name(place, "hidden"),))
        config.enter("ffn", nodes.Binary(place, "*", nodes.Number(place, "4"), hidden))


def full_attention(config: Config, more: Words = ()) -> None:
    """Attention that looks back to the start in every layer."""
    if more and "attention" not in config.written:
        inner = config.inside("attention")
        for field, word in more:
            inner.say(field, word)
        config.add("attention", inner)


def sliding_attention(config: Config, every: int, window: int | None, more: Words = ()) -> None:
    """Attention that looks back over `sliding_window`, or to the start if that is null.

    every: a full layer every n, 0 for none; `layer_types` in the file says it better.
    window: what the class takes for `sliding_window` if it is left out.
    """
    if "attention" in config.written:
        return
    inner = config.inside("attention")
    length = inner.count("window", "sliding_window", default=window)
    period = 1 if length is None else _period(config, every)
    if length is None and inner.entries:
        config.spoil("attention", config.place_of("sliding_window"))
        return
    if period is None:
        return
    if period == 1:
        full_attention(config, more)
        return
    if period:
        inner.say("every", str(period))
    for field, word in more:
        inner.say(field, word)
    config.choose("attention", "sliding", inner)


def _period(config: Config, every: int) -> int | None:
    """How often a layer is full, 0 for never and 1 for always, by `layer_types` if the file has it; None if unknown."""
    types = config.words("layer_types")
    if types is None:
        return every
    place = config.place_of("layer_types")
    layers = config.find("num_hidden_layers")
    if layers is not None and layers.value.span.text != str(len(types)):
        label = f"`num_hidden_layers` is {layers.value.span.text}"
        config.faults.append(UNREADABLE.at(place, f"`layer_types` lists {len(types)} layers", label))
    full = [kind in ("full_attention", "attention") for kind in types]
    if not all(full[at] or kind == "sliding_attention" for at, kind in enumerate(types)):
        config.uncounted("layer_types", "layers that are neither full nor sliding", "attention")
        return None
    first = full.index(True) + 1 if True in full else 0
    if first and any(is_full != ((at + 1) % first == 0) for at, is_full in enumerate(full)):
        return _irregular(config, "layer_types")
    return first


def _irregular(config: Config, key: str) -> int:
    """Layers that slide in no period are taken as full, which costs more, and that is said."""
    message = "the sliding layers come in no period: all are taken as full"
    config.partly(config.place_of(key), message, "`every` is a full layer every n")
    return 1


def windowed_attention(config: Config, more: Words = (), *, alternate: bool = False) -> None:
    """The attention of Qwen, which slides with `use_sliding_window` only.

    alternate: every other layer below the number `max_window_layers` slides (Qwen2-MoE), else all from that number on.
    """
    if "attention" in config.written:
        return
    slides, types = config.flag("use_sliding_window", False), config.find("layer_types")
    if slides and types is None:
        layers, bound = config.find("num_hidden_layers"), config.find("max_window_layers")
        count = None if layers is None else config.whole(layers)
        limit = 28 if bound is None else config.whole(bound)
        if count is None or limit is None:
            config.spoil("attention", config.place_of("max_window_layers"))
            return
        if 0 < limit < count:
            every = _irregular(config, "max_window_layers")
        elif alternate:
            every = 2 if limit else 1
        else:
            every = 1 if limit else 0
        sliding_attention(config, every, 4096, more)
    elif slides:
        sliding_attention(config, 0, 4096, more)
    else:
        full_attention(config, more)


def latent_attention(config: Config) -> None:
    """Multi-head latent attention."""
    if "attention" in config.written:
        return
    inner = config.inside("attention")
    inner.count("q_lora_rank", "q_lora_rank", default=1536)
    inner.count("kv_lora_rank", "kv_lora_rank", default=512)
    inner.count("qk_nope_head_dim", "qk_nope_head_dim", default=128)
    inner.count("qk_rope_head_dim", "qk_rope_head_dim", default=64)
    inner.count("v_head_dim", "v_head_dim", default=128)
    config.choose("attention", "mla", inner)


def sparse_layers(config: Config, inner: Config) -> bool:
    """Which layers have experts, as Qwen says it: every n-th, but for those that are listed. False if none has."""
    dense, step = config.numbers("mlp_only_layers"), config.find("decoder_sparse_step")
    every = 1 if step is None else config.whole(step, 1)
    layers = config.find("num_hidden_layers")
    count = None if layers is None else config.whole(layers, 1)
    if dense is None or every is None or count is None:
        config.spoil("experts", config.place)
        return False
    left = sorted({layer for layer in dense if layer < count and (layer + 1) % every == 0})
    if count // every == len(left):
        return False
    if not left:
        if every != 1:
            inner.say("every", str(every), config.place_of("decoder_sparse_step"))
    elif every == 1 and left == list(range(len(left))):
        inner.say("dense_layers", str(len(left)), config.place_of("mlp_only_layers"))
    else:
        config.uncounted("mlp_only_layers", "dense layers between those with experts", "experts")
        return False
    return True

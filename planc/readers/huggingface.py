"""A Hugging Face `config.json` as the body of a `model` block: a function from one text to another's meaning."""

from __future__ import annotations

from typing import NamedTuple

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.diagnostics.names import nearest
from planc.readers.config import Config
from planc.readers.faults import ASSUMED, UNKNOWN_TYPE, UNREADABLE
from planc.readers.json_text import Broken, Member, Object, String, read
from planc.readers.model_types import TYPES
from planc.source import Source, Span
from planc.syntax import nodes

#: Heads that are a language model's.
_HEADS = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")

#: Fields to write by hand where a type is not known, with the keys under which such files often have them.
_BY_HAND = (
    ("layers", ("num_hidden_layers", "n_layer", "n_layers", "num_layers")),
    ("hidden", ("hidden_size", "n_embd", "d_model")), ("heads", ("num_attention_heads", "n_head", "n_heads")),
    ("ffn", ("intermediate_size", "n_inner", "ffn_dim")), ("vocab", ("vocab_size",)),
    ("kv_heads", ("num_key_value_heads",)), ("head_dim", ("head_dim",)),
)  # fmt: skip
_REQUIRED = ("layers", "hidden", "heads", "ffn", "vocab")


class Imported(NamedTuple):
    """The entries that a file stands for, None if it says too little, and what is wrong with it.

    left_out: the numbers among them that transformers takes for keys which are not there, with the keys.
    """

    body: nodes.Body | None
    diagnostics: tuple[Diagnostic, ...]
    left_out: tuple[tuple[nodes.Number, str], ...] = ()


def body_of(source: Source, written: frozenset[str]) -> Imported:
    """The body of a `model` block as a config.json has it; `written` are the fields that the block sets itself."""
    value = read(source)
    if isinstance(value, Broken):
        return _nothing(value.span, "the file cannot be read as JSON", value.text, *value.help)
    if not isinstance(value, Object):
        return _nothing(value.span, "the file holds no JSON object", "a configuration is one: `{ ... }`")
    named = _member(value, "model_type")
    if named is None:
        place = Span(source, value.span.start, value.span.start + 1)
        return _nothing(place, "the file names no `model_type`", "is it the `config.json` of a model?")
    if not isinstance(named.value, String):
        return _nothing(named.value.span, "`model_type` is no text", "a text is due here")
    model_type, place = named.value.value, named.value.span
    inner = _member(value, "text_config")
    if model_type == "gemma3" and inner is not None:
        return _text_model(value, inner, place, written)
    if model_type not in TYPES:
        return Imported(None, (_unknown_type(model_type, place, value, inner),))
    return _read(Config(_first(value), model_type, place, written), value)


def _nothing(place: Span, message: str, label: str, *help: str) -> Imported:
    return Imported(None, (UNREADABLE.at(place, message, label, help=help),))


def _member(value: Object, key: str) -> Member | None:
    return next((member for member in value.members if member.key.value == key), None)


def _first(value: Object) -> dict[str, Member]:
    """The members by key; of equal keys the first."""
    members: dict[str, Member] = {}
    for member in value.members:
        members.setdefault(member.key.value, member)
    return members


def _text_model(whole: Object, inner: Member, place: Span, written: frozenset[str]) -> Imported:
    """The language model of a `gemma3`, whose file describes a vision tower too."""
    if not isinstance(inner.value, Object):
        return _nothing(inner.value.span, "`text_config` is no object", "an object is due here")
    members = _first(inner.value)
    # The whole model decides whether its head is tied, whatever its part says.
    members.pop("tie_word_embeddings", None)
    members.update({key: member for key, member in _first(whole).items() if key == "tie_word_embeddings"})
    config = Config(members, "gemma3_text", place, written)
    config.partly(place, "the vision tower of the model is not counted", "the text model alone is taken")
    return _read(config, inner.value)


def _read(config: Config, value: Object) -> Imported:
    names = config.words("architectures")
    if names and not any(name.endswith(_HEADS) for name in names):
        place = config.place_of("architectures")
        config.partly(place, "the head of the model is not counted", "the causal language model is taken")
    if config.get("per_layer_config") is not None:
        config.uncounted("per_layer_config", "layers that differ from each other")
    TYPES[config.model_type](config)
    config.enter("family", nodes.String(config.place, config.model_type))
    members = _first(value)
    for member in value.members:
        first = members[member.key.value]
        if first is not member and member.key.value in config.asked:
            message = f"`{member.key.value}` stands twice in the file"
            related = (Label(first.key.span, "first here"),)
            config.faults.append(UNREADABLE.at(member.key.span, message, "again here", related=related))
    if config.assumed:
        notes = tuple(dict.fromkeys(config.assumed))
        message = f"{plural(len(notes), 'value')} that the file leaves open, as in transformers"
        config.faults.append(ASSUMED.at(config.place, message, f"a `{config.model_type}`", notes=notes))
    body = nodes.Body(value.span, tuple(config.entries))
    return Imported(body, tuple(config.faults), tuple(config.left_out))


def _unknown_type(model_type: str, place: Span, value: Object, inner: Member | None) -> Diagnostic:
    """The fault of a type that is not known: what to write by hand, with the numbers that the file has."""
    members = _first(value)
    help = []
    if inner is not None and isinstance(inner.value, Object):
        named = _member(inner.value, "model_type")
        if named is not None and isinstance(named.value, String) and named.value.value in TYPES:
            help.append(f"save its `text_config`, a `{named.value.value}`, as a file of its own, and read that")
        members = {**_first(inner.value), **members}
    guess = nearest(model_type, TYPES)
    if guess:
        help.append(f"did you mean `{guess}`?")
    numbers = []
    for field, keys in _BY_HAND:
        number = next((members[key].value.span.text for key in keys if key in members), "")
        if number.isdigit() or field in _REQUIRED:
            numbers.append(f"{field} = {number if number.isdigit() else '...'}")
    help.append(f"write the fields out: `model name {{ {'  '.join(numbers)} }}`")
    help.append("and what differs from a llama: `gated`, `bias`, `norm`, `norms`, `positions`, `tied`, `experts`")
    shown = f" `{model_type}`" if model_type.isascii() and model_type.replace("_", "a").isalnum() else ""
    listed = ", ".join(f"`{known}`" for known in sorted((*TYPES, "gemma3")))
    message = f"planc does not know the model type{shown}"
    return UNKNOWN_TYPE.at(place, message, "no such type", help=tuple(help), notes=(f"the types are {listed}",))

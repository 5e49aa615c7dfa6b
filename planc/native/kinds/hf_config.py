"""The `config.json` of a Hugging Face model: the model of a job, as the reader of `from hf("config.json")` takes it.

Here the file is somebody else's, and right: what planc does not know of it is no fault of the file, but leaves the
model unknown, which is told as advice.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic
from planc.native import faults, keys
from planc.native.kind import Content, Kind, Options
from planc.native.saying import Sayer, number, quoted
from planc.native.tree import Entry, Map, Tree, walk
from planc.plan.schema import SECTIONS
from planc.readers import faults as of_reader
from planc.readers.huggingface import Imported, body_of
from planc.source import Span
from planc.syntax import nodes

#: Keys of which such a file has some, beside `model_type`.
_OF_MODELS = (
    "architectures", "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "transformers_version",
    "torch_dtype", "dtype", "text_config", "n_embd", "n_layer", "d_model", "max_position_embeddings",
)  # fmt: skip

#: What planc does not know, or leaves out: no fault of the file.
_OF_PLANC = tuple(each.code for each in (of_reader.UNKNOWN_TYPE, of_reader.UNCOUNTED, of_reader.PARTLY_READ))

#: The file says nothing of a run, so that all of it is left to the others.
_WITHHELD = tuple(field.name for field in SECTIONS["plan"] if field.name != "model")


def recognise(tree: Tree) -> int:
    """How sure it is that a tree is the configuration of a model."""
    root = tree.root
    if root is None or not isinstance(root.value("model_type"), str):
        return 0
    return 90 if set(root.names()).intersection(_OF_MODELS) else 40


def read(tree: Tree, options: Options) -> Content:
    """What the file says of the model."""
    sayer = Sayer()
    root = tree.root
    if root is None or not isinstance(root.value("model_type"), str):
        return sayer.content()
    imported = body_of(tree.source, frozenset())
    named = root.find("model_type")
    place = named.value.span if named is not None else root.span
    sayer.report(*_told(imported, root, place))
    if imported.body is not None and _is_whole(imported.body):
        entries = {entry.value.span: entry for each in walk(root) for entry in each.entries}
        _Speaker(sayer, entries, imported).say(imported.body, "model")
    return sayer.content()


def _told(imported: Imported, root: Map, place: Span) -> Iterator[Diagnostic]:
    """What the reader found; what it does not know, or would have to guess, as advice."""
    twice = {found.primary.span for found in keys.duplicates(root)}
    for found in imported.diagnostics:
        is_left_out = found.code == of_reader.UNREADABLE.code and found.primary.span == place
        if found.code in _OF_PLANC or is_left_out:
            told = faults.UNKNOWN_MODEL
            yield found._replace(code=told.code, name=told.name, severity=told.severity, help=())
        elif found.primary.span not in twice:  # every file is asked for keys that stand twice
            yield found


def _is_whole(body: nodes.Body) -> bool:
    """Whether what could not be read is only what a plan has to say, and so is unknown where it does not."""
    required = {field.name for field in SECTIONS["model"] if field.required}
    return all(bool(entry.names) and required.issuperset(entry.names) for entry in _bad(body))


def _bad(body: nodes.Body) -> Iterator[nodes.Bad]:
    for entry in body.entries:
        if isinstance(entry, nodes.Bad):
            yield entry
        elif isinstance(entry, nodes.Section):
            yield from (each._replace(names=()) for each in _bad(entry.body))
        elif isinstance(entry, nodes.Field) and isinstance(entry.value, nodes.Bad):
            yield entry.value._replace(names=(entry.key.text,))
        elif isinstance(entry, nodes.Field) and isinstance(entry.value, nodes.Narrowed):
            yield from (each._replace(names=()) for each in _bad(entry.value.body))


class _Speaker:
    """Says entries of a `model` block by the entries of the file that have the same places."""

    __slots__ = ("_entries", "_left_out", "_sayer")

    def __init__(self, sayer: Sayer, entries: dict[Span, Entry], imported: Imported) -> None:
        self._sayer = sayer
        self._entries = entries
        self._left_out = imported.left_out

    def say(self, body: nodes.Body, path: str) -> None:
        """Says what a body holds."""
        for entry in body.entries:
            if isinstance(entry, nodes.Section):
                self.say(entry.body, f"{path}.{entry.name.text}")
            elif isinstance(entry, nodes.Field):
                self._field(entry, f"{path}.{entry.key.text}")

    def _field(self, field: nodes.Field, path: str) -> None:
        value = field.value.head if isinstance(field.value, nodes.Narrowed) else field.value
        entry, text = self._entries.get(value.span), _text(value)
        missing = next((key for number, key in self._left_out if number is value), None)
        if entry is not None and text is not None:
            if missing is not None:
                self._sayer.assume(path, text, value.span, missing)
            elif isinstance(value, nodes.Number) and entry.value.span.text == text:
                self._sayer.say(path, entry)
            else:
                self._sayer.say(path, entry, text)
        if isinstance(field.value, nodes.Narrowed):
            self.say(field.value.body, path)


def _text(value: object) -> str | None:
    """A value as the language writes it."""
    match value:
        case nodes.Number():
            return value.text if value.text.isdigit() else number(float(value.text))
        case nodes.Literal():
            return value.word
        case nodes.Name():
            return value.text
        case nodes.Path():
            return ".".join(name.text for name in value.names)
        case nodes.String():
            return quoted(value.value)
        case nodes.Binary(left=nodes.Number(), right=nodes.Path()):  # `4 * hidden`, of the model
            return f"{_text(value.left)} {value.operator} model.{_text(value.right)}"
    return None


KIND = Kind(
    "hf-config",
    "the `config.json` of a model",
    ("json",),
    ('"model_type"',),
    recognise,
    read,
    withheld=_WITHHELD,
)

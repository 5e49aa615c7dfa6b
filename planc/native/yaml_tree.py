"""YAML as a tree. It is composed, never constructed: no tag makes an object, and an alias is not copied.

pyyaml reads YAML 1.1, as the consumers do that use it: `no` is false, `1e-5` a text, `0777` octal.
"""

from __future__ import annotations

from typing import Any

from planc.native.tree import PLACEHOLDER, Broken, Entry, Map, Node, Scalar, Seq, Tree
from planc.source import Source, Span

#: Brackets and indents within each other.
MAX_NESTING = 64

#: Nodes of a document, those that aliases stand for counted each time: no file that a person wrote has more.
MAX_NODES = 200_000

_CORE = "tag:yaml.org,2002:"


def read(source: Source) -> Tree | Broken:
    """The tree of a YAML text, with all of its documents."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        too_deep = _too_deep(source, yaml.parse(source.text, Loader=loader))
        if too_deep is not None:
            return too_deep
        composed = list(yaml.compose_all(source.text, Loader=loader))
    except yaml.MarkedYAMLError as error:
        return _broken(source, error)
    except yaml.YAMLError as error:  # a character that YAML does not allow has no mark
        at = min(getattr(error, "position", 0), max(len(source.text) - 1, 0))
        return Broken(Span(source, at, min(at + 1, len(source.text))), "this character is not allowed in YAML")
    builder = _Builder(source)
    roots = []
    for document in composed:
        root = builder.node(document, ())
        if isinstance(root, Broken):
            return root
        if MAX_NODES < builder.size(document):
            return Broken(root.span, f"aliases stand for more than {MAX_NODES:,} values")
        roots.append(root)
    return Tree(source, "yaml", tuple(roots))


def _too_deep(source: Source, events: Any) -> Broken | None:
    """Where collections are nested too deeply; composing them would take a frame of the stack each."""
    depth = 0
    for event in events:
        kind = type(event).__name__
        if kind.endswith(("SequenceStartEvent", "MappingStartEvent")):
            depth += 1
            if MAX_NESTING < depth:
                at = min(event.start_mark.index, len(source.text))
                return Broken(Span(source, at, at), f"nested more than {MAX_NESTING} deep")
        elif kind.endswith(("SequenceEndEvent", "MappingEndEvent")):
            depth -= 1
    return None


def _broken(source: Source, error: Any) -> Broken:
    mark = error.problem_mark or error.context_mark
    at = min(mark.index, len(source.text)) if mark is not None else 0
    problem = str(error.problem or error.context or "the text cannot be read")
    help: tuple[str, ...] = ()
    if source.text[at : at + 1] == "\t":
        problem, help = "a tab, with which YAML indents nothing", ("indent by blanks",)
    return Broken(Span(source, at, min(at + 1, len(source.text))), problem, help)


class _Builder:
    """Makes nodes of what pyyaml composed; what an alias stands for is made once."""

    __slots__ = ("_made", "_resolver", "_sizes", "_source")

    def __init__(self, source: Source) -> None:
        from yaml.constructor import SafeConstructor

        self._source = source
        self._made: dict[int, Node] = {}
        self._sizes: dict[int, int] = {}
        self._resolver = SafeConstructor()

    def node(self, composed: Any, active: tuple[int, ...]) -> Node | Broken:
        """The node, or where it cannot be made."""
        from yaml import MappingNode, SequenceNode

        if id(composed) in active:
            return Broken(self._span(composed), "an alias stands for what it is part of")
        if id(composed) in self._made:
            return self._made[id(composed)]
        inside = (*active, id(composed))
        made: Node | Broken
        if isinstance(composed, MappingNode) and self._source.text.startswith("{{", composed.start_mark.index):
            made = Scalar(self._span(composed), PLACEHOLDER)  # a gap of a template, as jinja writes it
        elif isinstance(composed, MappingNode):
            made = self._map(composed, inside)
        elif isinstance(composed, SequenceNode):
            items = [self.node(item, inside) for item in composed.value]
            broken = next((item for item in items if isinstance(item, Broken)), None)
            made = broken or Seq(self._span(composed), tuple(item for item in items if not isinstance(item, Broken)))
        else:
            made = Scalar(self._span(composed), self._scalar(composed))
        if not isinstance(made, Broken):
            self._made[id(composed)] = made
        return made

    def _map(self, composed: Any, active: tuple[int, ...]) -> Map | Broken:
        entries: list[Entry] = []
        merged: list[Entry] = []
        for key, value in composed.value:
            made = self.node(value, active)
            if isinstance(made, Broken):
                return made
            name = self.node(key, active)
            if isinstance(name, Broken):
                return name
            if key.tag == f"{_CORE}merge":
                merged.extend(_merged(made))
            elif isinstance(name, Scalar):
                span = (
                    name.span.to(made.span) if name.span.start <= made.span.start else name.span
                )  # of an alias the name
                entries.append(Entry(span, name, made))
        own = {entry.name for entry in entries}
        # What is merged comes first, so that it counts less, and never twice.
        taken: dict[str, Entry] = {}
        for entry in merged:
            if entry.name not in own:
                taken.setdefault(entry.name, entry)
        return Map(self._span(composed), (*taken.values(), *entries))

    def _scalar(self, composed: Any) -> Any:
        text, tag = composed.value, composed.tag.removeprefix(_CORE)
        if tag == "value":
            return text
        construct = {
            "null": self._resolver.construct_yaml_null, "bool": self._resolver.construct_yaml_bool,
            "int": self._resolver.construct_yaml_int, "float": self._resolver.construct_yaml_float,
        }.get(tag)  # fmt: skip
        try:
            return text if construct is None else construct(composed)
        except (ValueError, OverflowError, KeyError, IndexError):  # `!!int x`, or a number of 5,000 digits
            return text

    def size(self, composed: Any) -> int:
        """Nodes of a tree, with those that aliases stand for; more than `MAX_NODES` are not told apart."""
        found = self._sizes.get(id(composed))
        if found is None:
            parts: list[Any] = []
            if isinstance(composed.value, list):
                parts = [part for item in composed.value for part in (item if isinstance(item, tuple) else (item,))]
            found = self._sizes[id(composed)] = min(1 + sum(map(self.size, parts)), MAX_NODES + 1)
        return found

    def _span(self, composed: Any) -> Span:
        start, end = composed.start_mark.index, composed.end_mark.index
        text = self._source.text
        while start < end <= len(text) and text[end - 1].isspace():  # a block ends where the next one begins
            end -= 1
        return Span(self._source, min(start, len(text)), min(end, len(text)))


def _merged(node: Node) -> tuple[Entry, ...]:
    """The entries that `<<` brings in, of one map or of several."""
    maps = node.items if isinstance(node, Seq) else (node,)
    return tuple(entry for each in maps if isinstance(each, Map) for entry in each.entries)

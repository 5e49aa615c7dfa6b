"""What may be written where the cursor stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from planc.editing.cursor import Cursor, cursor_at
from planc.editing.document import Document
from planc.editing.linking import Linked
from planc.editing.roles import Frame, item_of, parent_kinds, reference_kinds
from planc.editing.wording import field_markdown, type_text, units_of
from planc.plan.evaluate import FUNCTIONS
from planc.plan.naming import written
from planc.plan.policies import field_at
from planc.plan.schema import AUTO, DERIVED, KINDS, SECTIONS, Field, Follows, Type
from planc.plan.scope import Load
from planc.plan.shape import fields_of
from planc.plan.solve import SOLVABLE
from planc.plan.units import COUNTED, PLAIN, SUFFIXES, UNITS
from planc.resources import plan_files
from planc.source import Source
from planc.syntax.outline import Outline
from planc.targets import load_target, target_names

#: The files of planc's own that hold the blocks of a kind.
SHIPPED = {"gpu": "planc/gpus", "model": "planc/models"}

_NUMERIC = ("count", "number", "share", "quantity", "money")


class Item(NamedTuple):
    """Something to be written in place of the text from `start` to the cursor.

    type: `field`, `section`, `name`, `word`, `target`, `unit`, `function`, `keyword`, `file` or `block`.
    insert: what is written; snippet: the same with `$1`, `${1:text}` where one goes on typing, if that is of use.
    rank: the lower, the likelier. beside: text that has to come in at another offset, such as the `use` of its file.
    """

    label: str
    type: str
    insert: str
    start: int
    detail: str = ""
    doc: str = ""
    snippet: str = ""
    rank: int = 5
    beside: tuple[int, str] | None = None


def complete(
    document: Document, offset: int, linked: Linked, files: Callable[[], tuple[str, ...]], load: Load
) -> tuple[Item, ...]:
    """What may be written at an offset; `files` gives the paths that a `use` or an import could name."""
    cursor = cursor_at(document, offset)
    makers: dict[str, Callable[[Cursor], Iterable[Item]]] = {
        "top": _top,
        "from": lambda cursor: _keywords(cursor, "from"),
        "entry": lambda cursor: _entries(cursor, document),
        "after": lambda cursor: _after(cursor, document),
        "value": lambda cursor: (
            *_values(cursor, linked),
            *_of_catalogue(cursor, document, linked, load),
            *_behind_equal(cursor, document),
        ),
        "unit": lambda cursor: (*_units(cursor), *_behind_number(cursor, document)),
        "parent": lambda cursor: _parents(cursor, linked),
        "use": lambda cursor: _files(cursor, (*_catalogue(), *files()), ".plan"),
        "import": lambda cursor: _files(cursor, files(), ".json"),
    }
    made = makers.get(cursor.place)
    if made is None or (cursor.quoted and cursor.place not in ("use", "import", "value", "parent")):
        return ()
    items: dict[str, Item] = {}
    for item in made(cursor):
        items.setdefault(item.label, item)
    return tuple(items.values())


def _top(cursor: Cursor) -> Iterator[Item]:
    yield Item("use", "keyword", "use ", cursor.start, "another file", snippet='use "$1"', rank=1)
    yield Item("language", "keyword", "language = 1", cursor.start, "version of the language", rank=9)
    for kind in KINDS:
        lines = [f"  {text}" for text in _required("plan" if kind == "template" else kind)] or ["  $2"]
        body = "\n".join(lines)
        snippet = f"{kind} ${{1:name}} {{\n{body}\n}}"
        yield Item(kind, "block", f"{kind} ", cursor.start, f"a new {kind}", snippet=snippet, rank=2)


def _required(kind: str) -> Iterator[str]:
    """The required fields of a block as lines of a snippet."""
    required = [field for field in SECTIONS.get(kind, ()) if field.required]
    width = max((len(field.name) for field in required), default=0)
    for number, field in enumerate(required, 2):
        yield f"{field.name:<{width}} = ${number}"


def _entries(cursor: Cursor, document: Document) -> Iterator[Item]:
    frame = cursor.frame
    if frame.kind == "policy":
        for verb, detail in (("require", "what has to hold"), ("forbid", "what may not be"), ("warn", "what is odd")):
            yield Item(verb, "keyword", f"{verb} ", cursor.start, detail, rank=1)
        return
    known = _written(cursor, document)
    for number, field in enumerate(frame.fields.values()):
        if field.name in known or (field.only and frame.word is not None and frame.word not in field.only):
            continue
        rank = 1 if field.required else 3
        title = ".".join((*(frame.path or ()), field.name))
        insert, snippet = (field.name, "") if cursor.follows else _as_entry(field)
        kind = "section" if field.type.form in ("record", "map") else "field"
        detail, doc = type_text(field.type), field_markdown(field, title)
        yield Item(field.name, kind, insert, cursor.start, detail, doc, snippet, rank * 100 + number)


def _written(cursor: Cursor, document: Document) -> set[str]:
    """The fields that stand in the body already, but for the one at the cursor."""
    part, frame = cursor.part, cursor.frame
    if part is None or frame.path is None:
        return set()
    return {
        role.text
        for role in document.roles(part)
        if role.type == "field" and role.path == (*frame.path, role.text) and role.start != cursor.start
    }


def _as_entry(field: Field) -> tuple[str, str]:
    """An entry of a field, plain and as a snippet."""
    form = field.type.form
    if form in ("record", "map"):
        return f"{field.name} ", f"{field.name} {{ $1 }}"
    closed = {"list": "[$1]", "text": '"$1"', "version": '"$1"'}.get(form)
    return f"{field.name} = ", f"{field.name} = {closed}" if closed else ""


def _after(cursor: Cursor, document: Document) -> Iterator[Item]:
    """Behind a whole value: what goes on with it, or the next entry."""
    frame = cursor.frame
    if frame.is_rule:
        yield from _keywords(cursor, "and", "or", "not", "in", "when", "because")
    if frame.bracket == "{":
        yield from _entries(cursor, document)


def _keywords(cursor: Cursor, *words: str) -> Iterator[Item]:
    for word in words:
        yield Item(word, "keyword", f"{word} ", cursor.start, rank=6)


def _values(cursor: Cursor, linked: Linked) -> Iterator[Item]:
    frame, due = cursor.frame, cursor.due
    if due is not None and due.form == "list" and frame.bracket == "{" and not frame.is_rule and not cursor.quoted:
        yield Item("[ ]", "keyword", "[", cursor.start, type_text(due), snippet="[$1]", rank=1)
        return
    item = item_of(due)
    if item is not None and item.form == "reference":
        yield from _names(cursor, reference_kinds(item), linked)
    if cursor.quoted:
        return
    if frame.names:
        yield from _below(cursor, frame)
        return
    if item is not None:
        yield from _words(cursor, item)
    if frame.field is not None and not frame.is_rule:
        path = ".".join(frame.below(frame.field.name) or ())
        if frame.field.default is AUTO or isinstance(frame.field.default, Follows) or path in SOLVABLE:
            yield Item("auto", "word", "auto", cursor.start, "worked out from the other fields", rank=4)
        if not frame.field.required and "none" not in frame.field.type.words:
            yield Item("none", "word", "none", cursor.start, "brings the default back", rank=8)
    if item is None or item.form in _NUMERIC:
        yield from _operands(cursor)


def _names(cursor: Cursor, kinds: tuple[str, ...], linked: Linked) -> Iterator[Item]:
    """The blocks of some kinds that the file knows, its own first."""
    for at, file in enumerate((linked, *linked.used)):
        for number, (kind, name) in enumerate(file.scope.blocks):
            if kind in kinds:
                insert = written(name, True)[1:-1] if cursor.quoted else written(name, False)
                detail = kind if file is linked else f"{kind} of {file.scope.source.name}"
                yield Item(name, "name", insert, cursor.start, detail, rank=min(at, 1) * 1000 + number)


def _of_catalogue(cursor: Cursor, document: Document, linked: Linked, load: Load) -> Iterator[Item]:
    """Blocks of planc's own files that the text does not use yet: their `use` comes in with them."""
    for kind in reference_kinds(cursor.due):
        path = SHIPPED.get(kind, "")
        if not path or any(use.path.value == path for use in linked.scope.file.uses):
            continue
        source = load(path, document.source)
        beside = _place_of_use(document, path)
        for number, (own, name) in enumerate(Outline(source) if isinstance(source, Source) else ()):
            if own == kind:
                detail = f"{kind} of {path}, which is then used"
                yield Item(name, "name", name, cursor.start, detail, rank=2000 + number, beside=beside)


def _place_of_use(document: Document, path: str) -> tuple[int, str]:
    """Where the `use` of a file comes in, and how: in the line below the last one, else in the first."""
    uses = [part for part in document.parts if part.tokens[0].type == "USE"]
    if not uses:
        return 0, f'use "{path}"\n'
    end = document.source.text.find("\n", uses[-1].end)
    return (len(document.source.text), f'\nuse "{path}"') if end == -1 else (end + 1, f'use "{path}"\n')


def _words(cursor: Cursor, due: Type) -> Iterator[Item]:
    for word in due.words:
        required = [field.name for field in SECTIONS.get(due.of, ()) if field.required and word in field.only]
        filled = "  ".join(f"{name} = ${number}" for number, name in enumerate(required, 1))
        snippet = f"{word} {{ {filled} }}" if required and due.form == "variant" and not cursor.follows else ""
        yield Item(word, "word", word, cursor.start, due.of if due.form == "variant" else "", snippet=snippet, rank=1)
    if due.form == "flag" or due.flag:
        yield from (Item(word, "word", word, cursor.start, rank=2) for word in ("true", "false"))
    if due.form == "target":
        for name in target_names():
            target = load_target(name)
            doc = "\n\n".join(f"`{option.name}`: {option.doc}" for option in target.options)
            yield Item(name, "target", name, cursor.start, target.summary, doc, rank=1)


def _operands(cursor: Cursor) -> Iterator[Item]:
    """What a calculation or a condition is made of."""
    walker = cursor.walker
    assert walker is not None
    root = "plan" if walker.kind in ("template", "policy") else walker.kind
    for field in fields_of(root).values():
        if walker.kind == "policy" or field.type.form in (*_NUMERIC, "record", "variant", "reference"):
            yield Item(field.name, "field", field.name, cursor.start, type_text(field.type), field.doc, rank=6)
    if walker.kind == "policy":
        for path in DERIVED:
            yield Item(path.partition(".")[0], "field", path.partition(".")[0], cursor.start, "derived numbers", rank=6)
        yield from _keywords(cursor, "not")
    for name in FUNCTIONS:
        yield Item(name, "function", f"{name}(", cursor.start, "function", snippet=f"{name}($1)", rank=7)


def _below(cursor: Cursor, frame: Frame) -> Iterator[Item]:
    """What may follow the dot of a path."""
    walker = cursor.walker
    assert walker is not None
    root = "plan" if walker.kind in ("template", "policy") else walker.kind
    field = field_at(root, frame.names)
    if field is not None and field.type.form in ("record", "variant", "reference"):
        for below in fields_of(field.type.of).values():
            detail, doc = type_text(below.type), field_markdown(below, ".".join((*frame.names, below.name)))
            yield Item(below.name, "field", below.name, cursor.start, detail, doc)
    if walker.kind == "policy":
        prefix = f"{'.'.join(frame.names)}."
        for path in DERIVED:
            if path.startswith(prefix):
                name = path.removeprefix(prefix).partition(".")[0]
                yield Item(name, "field", name, cursor.start, "derived number")


def _units(cursor: Cursor) -> Iterator[Item]:
    due = item_of(cursor.due)
    blank = "" if cursor.follows else " "
    if due is not None and cursor.word == "" and any(word for word in due.words):
        return
    for unit in units_of(due) if due is not None else UNITS:
        yield Item(unit, "unit", f"{blank}{unit}", cursor.start, rank=1)
    plain = due is None or PLAIN in due.dimensions or any(UNITS[unit][0] in due.dimensions for unit in COUNTED)
    if plain and not (due is not None and due.form == "share") and blank:
        for suffix, factor in SUFFIXES.items():
            yield Item(suffix, "unit", suffix, cursor.start, f"{factor:,} times", rank=2)


def _behind_equal(cursor: Cursor, document: Document) -> Iterable[Item]:
    """In the line below `field =`, the next entry may be meant as well, the value being left for later."""
    text = document.source.text
    line = text.rfind("\n", 0, cursor.start) + 1
    alone = not text[line : cursor.start].strip() and not cursor.quoted
    return _entries(cursor, document) if alone and cursor.frame.bracket == "{" and not cursor.frame.is_rule else ()


def _behind_number(cursor: Cursor, document: Document) -> Iterable[Item]:
    """What may follow a number instead of its unit, once there is a blank behind it."""
    return _after(cursor, document) if cursor.follows and not cursor.word else ()


def _parents(cursor: Cursor, linked: Linked) -> Iterator[Item]:
    walker = cursor.walker
    assert walker is not None
    own = [item for item in _names(cursor, parent_kinds(walker.kind), linked) if item.label != walker.name]
    yield from own
    if walker.kind == "model" and not cursor.quoted:
        snippet = 'hf("${1:config.json}")'
        yield Item("hf", "function", "hf(", cursor.start, "a model of Hugging Face's config.json", snippet=snippet)


def _catalogue() -> tuple[str, ...]:
    return tuple(f"planc/{name}" for name in plan_files(".plan"))


def _files(cursor: Cursor, files: tuple[str, ...], ending: str) -> Iterator[Item]:
    for number, path in enumerate(files):
        if path.endswith(ending) or (ending == ".plan" and path.startswith("planc/")):
            insert = path if cursor.quoted else f'"{path}"'
            yield Item(path, "file", insert, cursor.start, rank=number)

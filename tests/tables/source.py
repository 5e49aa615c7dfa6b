"""What a script reads of a consumer's source by its syntax: dataclasses, enumerations and values; nothing is imported.

`load(root, path)` reads a module of a package whose folder stands in `root`; a class or value that the module imports
from the same root is followed to where it is defined.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from tests.tables.common import Row, type_name

#: Rows of types that are written by one name.
PLAIN: dict[str, Row] = {
    "int": {"types": ["int"]},
    "float": {"types": ["float"]},
    "bool": {"types": ["bool"]},
    "str": {"types": ["string"]},
    "None": {"types": ["null"]},
    "Path": {"types": ["string"]},
    "list": {"types": ["list"]},
    "tuple": {"types": ["list"]},
    "dict": {"types": ["object"], "unknown": "open"},
    "Any": {},
    "object": {},
}

_LISTS = ("list", "List", "tuple", "Tuple", "Sequence", "Iterable", "set")
_MAPS = ("dict", "Dict", "Mapping")

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Pow: operator.pow, ast.LShift: operator.lshift,
}  # fmt: skip


class NotFixedError(Exception):
    """A value that is known only when the program runs."""


class Module:
    """A module of a source: its classes, the values that it names at its top level, and what it imports by name."""

    def __init__(self, root: Path, path: Path) -> None:
        self.root, self.path = root, path
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.classes = {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}
        self.values = dict(_assigned(self.tree.body))
        self.imports = dict(self._imported())

    def _imported(self) -> Iterator[tuple[str, tuple[Path, str]]]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                base = self.root if node.level == 0 else self.path.parents[node.level - 1]
                place = base.joinpath(*(node.module or "").split("."))
                for alias in node.names:
                    yield alias.asname or alias.name, (place, alias.name)

    def class_of(self, name: str) -> tuple[Module, ast.ClassDef] | None:
        """The class that goes by this name here, with the module that defines it."""
        if name in self.classes:
            return self, self.classes[name]
        place, own = self.imports.get(name, (None, name))
        module = None if place is None else _at(self.root, place)
        return None if module is None else module.class_of(own)

    def value_of(self, name: str) -> tuple[Module, ast.expr] | None:
        """The expression that a name of the top level stands for, with the module that has it."""
        if name in self.values:
            return self, self.values[name]
        place, own = self.imports.get(name, (None, name))
        module = None if place is None else _at(self.root, place)
        return None if module is None else module.value_of(own)


class Field(NamedTuple):
    """A field of a dataclass, with the module in which its annotation and value have their meaning."""

    name: str
    module: Module
    annotation: ast.expr
    value: ast.expr | None

    @property
    def said(self) -> dict[str, ast.expr]:
        """The arguments of `field(...)`, where its value is such a call."""
        if _is_call(self.value, "field"):
            return {keyword.arg: keyword.value for keyword in self.value.keywords if keyword.arg}
        return {}

    @property
    def has_default(self) -> bool:
        """Whether the field may be left out."""
        said = self.said
        return self.value is not None if not said else "default" in said or "default_factory" in said


class Rules(NamedTuple):
    """How a consumer reads its classes.

    types: rows of types that are no classes of the source. unknown: what becomes of a key that no field has.
    folds: whether the case of the members of an enumeration does not matter.
    """

    types: dict[str, Row]
    unknown: str
    folds: bool = False


@cache
def load(root: Path, path: str) -> Module:
    """A module of the source, by its path below the root."""
    return Module(root, root / path)


def _at(root: Path, place: Path) -> Module | None:
    for path in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
        if path.is_file():
            return load(root, path.relative_to(root).as_posix())
    return None


def _assigned(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            yield node.target.id, node.value


def _is_call(node: ast.expr | None, name: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and _name(node.func) == name


def _name(node: ast.expr) -> str:
    """The last name of a dotted expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def fields(module: Module, name: str) -> tuple[Field, ...]:
    """The fields of a dataclass and of those that it inherits from, in the order of the dataclass."""
    found = module.class_of(name)
    assert found is not None, f"no class {name} in {module.path}"
    home, node = found
    own: dict[str, Field] = {}
    for base in node.bases:
        if home.class_of(_name(base)) is not None:
            own.update({field.name: field for field in fields(home, _name(base))})
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and not _is_of_class(each):
            own[each.target.id] = Field(each.target.id, home, each.annotation, each.value)
    return tuple(own.values())


def _is_of_class(node: ast.AnnAssign) -> bool:
    return isinstance(node.annotation, ast.Subscript) and _name(node.annotation.value) == "ClassVar"


def members(module: Module, name: str) -> tuple[str, ...]:
    """The names of an enumeration's members; none of a class that is no enumeration."""
    found = module.class_of(name)
    if found is None or not any(_name(base).endswith("Enum") for base in found[1].bases):
        return ()
    return tuple(name for name, _ in _assigned(found[1].body) if not name.startswith("_"))


def object_of(module: Module, name: str, rules: Rules) -> Row:
    """The row of an object that becomes a dataclass."""
    keys: dict[str, Row] = {}
    required = []
    for field in fields(module, name):
        keys[field.name] = row_of_field(field, rules)
        if not field.has_default and "null" not in keys[field.name].get("types", ["null"]):
            required.append(field.name)
    row: Row = {"types": ["object"], "unknown": rules.unknown, "keys": keys}
    return {**row, "required": required} if required else row


def row_of_field(field: Field, rules: Rules) -> Row:
    """The row of a field: what its annotation says, and its default where that is fixed."""
    row = row_of(field.module, field.annotation, rules)
    if not field.has_default or "keys" in row:
        return row
    try:
        return with_default(row, default_of(field))
    except NotFixedError:
        return row


def with_default(row: Row, default: Any) -> Row:
    """A row with a default, whose type it takes too."""
    if "types" not in row:
        return {**row, "default": default}
    name = type_name(default)
    fits = name in row["types"] or (name == "int" and "float" in row["types"])
    return {**row, "types": row["types"] if fits else [*row["types"], name], "default": default}


def default_of(field: Field) -> Any:
    """The value that a field has where it is left out."""
    said = field.said
    if "default_factory" not in said:
        value = said.get("default", field.value)
        assert value is not None, field.name
        return fixed(field.module, value)
    factory = said["default_factory"]
    if isinstance(factory, ast.Lambda):
        return fixed(field.module, factory.body)
    empty: dict[str, Any] = {"list": [], "dict": {}}
    if _name(factory) not in empty:
        raise NotFixedError(ast.unparse(factory))
    return empty[_name(factory)]


def fixed(module: Module, node: ast.expr) -> Any:
    """The value of an expression that needs no run of the program; a member of an enumeration is its name."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return [fixed(module, part) for part in parts]
        case ast.Dict(keys=keys, values=values):
            return {fixed(module, key): fixed(module, value) for key, value in zip(keys, values, strict=True) if key}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -fixed(module, operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _OPERATORS[type(sign)](fixed(module, left), fixed(module, right))
        case ast.Call(func=ast.Name(id="int" | "float" | "str" | "Path" as name), args=[part]):
            value = fixed(module, part)
            return {"int": int, "float": float, "str": str, "Path": str}[name](value)
        case ast.Attribute(value=owner, attr=attr) if attr in members(module, _name(owner)):
            return attr
        case ast.Name(id=name):
            found = module.value_of(name)
            if found is not None:
                return fixed(*found)
        case ast.ListComp(elt=ast.Attribute(attr="name"), generators=[ast.comprehension(iter=ast.Name(id=name))]):
            if members(module, name):
                return list(members(module, name))
    raise NotFixedError(ast.unparse(node))


def row_of(module: Module, annotation: ast.expr, rules: Rules) -> Row:
    """What a type annotation says of a key; nothing for one that takes anything."""
    match annotation:
        case ast.Constant(value=str() as text):
            return row_of(module, ast.parse(text, mode="eval").body, rules)
        case ast.Constant(value=None):
            return PLAIN["None"]
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return union((row_of(module, left, rules), row_of(module, right, rules)))
        case ast.Subscript(value=generic, slice=inner):
            return _of_generic(module, _name(generic), inner, rules)
        case ast.Name() | ast.Attribute():
            return _of_name(module, annotation, rules)
    raise ValueError(f"an annotation of no known form: {ast.unparse(annotation)}")


def _of_name(module: Module, annotation: ast.expr, rules: Rules) -> Row:
    name = _name(annotation)
    for known in (rules.types, PLAIN):
        if name in known:
            return known[name]
    if names := members(module, name):
        words = [each.lower() if rules.folds else each for each in names]
        return {"types": ["string"], "words": words, **({"folded": words} if rules.folds else {})}
    if module.class_of(name) is not None:
        return object_of(module, name, rules)
    found = module.value_of(name)
    if found is None:
        raise ValueError(f"{module.path.name}: nothing says what {ast.unparse(annotation)} is")
    return row_of(*found, rules)


def _of_generic(module: Module, name: str, inner: ast.expr, rules: Rules) -> Row:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "Literal":
        return of_choices([fixed(module, part) for part in parts])
    if name == "Optional":
        return union((row_of(module, inner, rules), PLAIN["None"]))
    if name == "Union":
        return union([row_of(module, part, rules) for part in parts])
    if name in _MAPS:
        return PLAIN["dict"]
    if name in _LISTS:
        items = row_of(module, parts[0], rules)
        return {"types": ["list"], "items": items} if items else {"types": ["list"]}
    return {}


def of_choices(values: list[Any]) -> Row:
    """The row of a key that takes only these values."""
    if all(isinstance(value, str) for value in values):
        return {"types": ["string"], "words": values}
    row: Row = {"types": list(dict.fromkeys(type_name(value) for value in values))}
    if row["types"] == ["int"] and sorted(values) == list(range(min(values), max(values) + 1)):
        row |= {"minimum": min(values), "maximum": max(values)}
    return row


def union(rows: Iterable[Row]) -> Row:
    """What is said of a key that takes what any of the rows takes."""
    held = list(rows)
    if not all("types" in row for row in held):
        return {}
    row: Row = {"types": list(dict.fromkeys(name for each in held for name in each["types"]))}
    texts = [each for each in held if "string" in each["types"]]
    if texts and all("words" in each for each in texts):
        row["words"] = list(dict.fromkeys(word for each in texts for word in each["words"]))
        folded = list(dict.fromkeys(word for each in texts for word in each.get("folded", ())))
        row |= {"folded": folded} if folded else {}
    lists = [each.get("items") for each in held if "list" in each["types"]]
    if lists and all(lists):
        row["items"] = union([each for each in lists if each])
    row |= _of_objects([each for each in held if "object" in each["types"]])
    numbers = [each for each in held if {"int", "float"} & {*each["types"]}]
    if len(numbers) == 1:
        row |= {bound: numbers[0][bound] for bound in ("minimum", "maximum", "above", "below") if bound in numbers[0]}
    defaults = [each["default"] for each in held if "default" in each]
    if len(defaults) == len(held) and all(each == defaults[0] for each in defaults):
        row["default"] = defaults[0]
    return row


def _of_objects(objects: list[Row]) -> Row:
    if not objects:
        return {}
    row: Row = {"unknown": "open" if any(each.get("unknown") == "open" for each in objects) else objects[0]["unknown"]}
    names = dict.fromkeys(name for each in objects for name in each.get("keys", {}))
    keys = {name: union([each["keys"][name] for each in objects if name in each.get("keys", {})]) for name in names}
    required = [name for name in names if all(name in each.get("required", ()) for each in objects)]
    return row | ({"keys": keys} if keys else {}) | ({"required": required} if required else {})


def gone(old: dict[str, Row], new: dict[str, Row], path: str = "") -> Iterator[str]:
    """The whole names of the keys of an earlier release that a later one lacks; of an object that is gone, its own."""
    for name, row in old.items():
        if name not in new:
            yield path + name
        elif "keys" in row and "keys" in new[name]:
            yield from gone(row["keys"], new[name]["keys"], f"{path}{name}.")

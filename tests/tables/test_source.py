"""What is read of a source by its syntax, on sources of our own."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from tests.tables.source import Module, NotFixedError, Rules, fixed, gone, load, members, object_of, row_of, union

RULES = Rules(types={"dtype": {"types": ["string"], "words": ["half", "full"]}}, unknown="rejected")

_KINDS = """
from enum import Enum

LIMIT = 4 * 1024

class Engine(Enum):
    FAST = auto()
    SLOW = "slow"

    def speed(self): ...

@dataclass
class Base:
    depth: int
    width: float = 0.5
    KNOWN: ClassVar[int] = 1
"""

_WHOLE = """
from package.kinds import Base as Plain, Engine
from .kinds import LIMIT
import torch

Either = Union[Plain, int]

@dataclass
class Whole(Plain):
    width: float = 1
    engine: Engine = Engine.FAST
    words: list[str] = field(default_factory=lambda: ["a", "b"])
    names: Optional[List[str]] = field(default_factory=list)
    limit: int | None = LIMIT
    mode: Literal["on", "off"] = "on"
    level: Literal[0, 1, 2] = field(default=1, metadata={"more": 1})
    dtype: torch.dtype = None
    inner: Either = None
    open: Dict[str, int] = field(default_factory=dict)
    any: Any = compute()
    late: "str" = compute()
    pair: tuple[int, int] = (1, -2)
    huge: int = int(5e8)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A source with one package."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "kinds.py").write_text(_KINDS, encoding="utf-8")
    (folder / "whole.py").write_text(_WHOLE, encoding="utf-8")
    return tmp_path


def rows(root: Path) -> Any:
    """The rows of the dataclass of the package."""
    return object_of(load(root, "package/whole.py"), "Whole", RULES)["keys"]


def test_a_field_of_a_class_that_another_inherits_from_is_one_of_its_own(root: Path) -> None:
    row = object_of(load(root, "package/whole.py"), "Whole", RULES)
    assert row["unknown"] == "rejected"
    assert row["required"] == ["depth"]
    assert list(row["keys"])[:2] == ["depth", "width"]
    assert row["keys"]["width"] == {"types": ["float"], "default": 1}
    assert "KNOWN" not in row["keys"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("depth", {"types": ["int"]}),
        ("engine", {"types": ["string"], "words": ["FAST", "SLOW"], "default": "FAST"}),
        ("words", {"types": ["list"], "items": {"types": ["string"]}, "default": ["a", "b"]}),
        ("names", {"types": ["list", "null"], "items": {"types": ["string"]}, "default": []}),
        ("limit", {"types": ["int", "null"], "default": 4096}),
        ("mode", {"types": ["string"], "words": ["on", "off"], "default": "on"}),
        ("level", {"types": ["int"], "minimum": 0, "maximum": 2, "default": 1}),
        ("dtype", {"types": ["string", "null"], "words": ["half", "full"], "default": None}),
        ("open", {"types": ["object"], "unknown": "open", "default": {}}),
        ("any", {}),
        ("late", {"types": ["string"]}),
        ("pair", {"types": ["list"], "items": {"types": ["int"]}, "default": [1, -2]}),
        ("huge", {"types": ["int"], "default": 500_000_000}),
    ],
)
def test_an_annotation_and_a_default_make_a_row(root: Path, name: str, expected: dict[str, Any]) -> None:
    assert rows(root)[name] == expected


def test_a_class_among_the_types_makes_an_object(root: Path) -> None:
    inner = rows(root)["inner"]
    assert inner["types"] == ["object", "int"]
    assert set(inner["keys"]) == {"depth", "width"}
    assert inner["required"] == ["depth"]


def test_members_are_the_names_of_an_enumeration_alone(root: Path) -> None:
    module = load(root, "package/whole.py")
    assert members(module, "Engine") == ("FAST", "SLOW")
    assert members(module, "Plain") == ()


def test_members_may_be_written_in_any_case_where_the_consumer_says_so(root: Path) -> None:
    row = object_of(load(root, "package/whole.py"), "Whole", RULES._replace(folds=True))["keys"]["engine"]
    assert row["words"] == row["folded"] == ["fast", "slow"]


def test_a_type_that_nothing_explains_is_an_error(root: Path) -> None:
    with pytest.raises(ValueError, match=r"nothing says what Strange is"):
        row_of(load(root, "package/whole.py"), ast.parse("Strange", mode="eval").body, RULES)


@pytest.mark.parametrize("text", ["compute()", "x", "[f for f in y]", "1 if z else 2"])
def test_what_only_a_run_can_tell_has_no_value(root: Path, text: str) -> None:
    module = Module(root, root / "package" / "kinds.py")
    with pytest.raises(NotFixedError):
        fixed(module, ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-2 * (3 + 1)", -8),
        ("{'a': [1, 2.5]}", {"a": [1, 2.5]}),
        ("1 << 10", 1024),
        ("LIMIT // 3", 1365),
        ("Path('folder')", "folder"),
        ("[each.name for each in Engine]", ["FAST", "SLOW"]),
        ("Engine.SLOW", "SLOW"),
    ],
)
def test_what_needs_no_run_has_one(root: Path, text: str, expected: Any) -> None:
    module = Module(root, root / "package" / "kinds.py")
    assert fixed(module, ast.parse(text, mode="eval").body) == expected


def test_words_hold_only_where_no_other_text_does() -> None:
    words = {"types": ["string"], "words": ["a"], "folded": ["a"]}
    assert union([words, {"types": ["null"]}]) == {**words, "types": ["string", "null"]}
    assert union([words, {"types": ["string"]}]) == {"types": ["string"]}
    assert union([words, {}]) == {}


def test_two_objects_need_what_both_need() -> None:
    text, number = {"types": ["string"]}, {"types": ["int"], "default": 1}
    one = {"types": ["object"], "unknown": "rejected", "keys": {"a": text, "b": number}, "required": ["a"]}
    other = {"types": ["object"], "unknown": "rejected", "keys": {"a": text, "b": text, "c": number}}
    merged = union([one, other])
    assert set(merged["keys"]) == {"a", "b", "c"}
    assert merged["keys"]["b"] == {"types": ["int", "string"]}
    assert "required" not in merged


def test_of_an_object_that_is_gone_only_its_own_name_is() -> None:
    leaf = {"types": ["int"]}
    old = {"kept": {"keys": {"a": leaf, "b": leaf}}, "lost": {"keys": {"c": leaf}}}
    assert list(gone(old, {"kept": {"keys": {"a": leaf}}})) == ["kept.b", "lost"]

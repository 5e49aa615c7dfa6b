"""JSON as a tree: the values of the standard library, each at its place."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planc.native.tree import Broken, Map, Scalar, data
from tests.native.trees import entries, nodes, read, tree

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def without_surrogates(value: Any) -> Any:
    """A value as one has it who reads half of a pair of surrogates as a question mark."""
    return json.loads(json.dumps(value))


@given(VALUES, st.sampled_from((None, 0, 1, 3)), st.booleans())
def test_every_node_is_the_text_at_its_place(value: Any, indent: int | None, plain: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=plain)
    found = tree("json", text)
    (root,) = found.roots
    if "\\ud" not in text:
        assert data(root) == value
    for node in nodes(root):
        read_again = tree("json", node.span.text)
        assert data(read_again.roots[0]) == data(node)
    for entry in entries(root):
        assert entry.span == entry.key.span.to(entry.value.span)
        assert json.loads(entry.key.span.text) == entry.key.value or "\\ud" in text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8", 8), ("-0", 0), ("1e3", 1000.0), ("5E-1", 0.5), ('"\\u00e9\\n"', "é\n"), ("[]", []), ("{}", {}),
        ("\r\n[1,\r\n 2]\r\n", [1, 2]), ("1" * 400, int("1" * 400)), ("-Infinity", -math.inf),
        ("1" + "0" * 4999, math.inf), ("1e999", math.inf),
    ],
)  # fmt: skip
def test_values(text: str, value: object) -> None:
    found = data(tree("json", text).roots[0])
    assert found == value
    assert type(found) is type(value)


def test_what_is_no_json_but_python_writes_it() -> None:
    found = tree("json", '{"a": NaN, "b": Infinity}').root
    assert found is not None
    assert math.isnan(found.value("a"))
    assert found.value("b") == math.inf


def test_equal_keys_are_all_there_and_the_last_counts() -> None:
    root = tree("json", '{"a": 1, "b": 2, "a": 3}').root
    assert root is not None
    assert root.names() == ("a", "b", "a")
    assert root.value("a") == 3
    assert data(root) == {"a": 3, "b": 2}


def test_the_gap_of_a_template() -> None:
    root = tree("json", '{"a": GBSIZE, "b": [LR, 1]}').root
    assert root is not None
    first = root.find("a")
    assert first is not None
    assert isinstance(first.value, Scalar)
    assert first.value.is_placeholder
    assert first.value.span.text == "GBSIZE"
    assert root.value("a") is None
    assert data(root) == {"a": None, "b": [None, 1]}


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", (1, 1), "the text ends; a value is due"), ('{"a": 1,}', (1, 8), "a comma before `}`"),
        ('{"a": tru}', (1, 7), "a value is due here"), ("{'a': 1}", (1, 2), "a quoted key is due here"),
        ('{"a": 1', (1, 1), "this is not closed: `}` is missing"), ('{"a" 1}', (1, 6), "`:` is due here"),
        ('{"a": 1}\n{"b": 2}', (2, 1), "nothing more is due here"), ('{"a": 01}', (1, 7), "a value is due here"),
        ('{"a": "b\n"}', (1, 7), "a string is not closed in its line"), ('{"a": 0x10}', (1, 7), "a value is due here"),
        ('// no\n{"a": 1}', (1, 1), "a value is due here"), ('{"a": +1}', (1, 7), "a value is due here"),
        ("[" * 33, (1, 33), "nested more than 32 deep"), ("[" * 100_000, (1, 33), "nested more than 32 deep"),
    ],
)  # fmt: skip
def test_broken(text: str, place: tuple[int, int], said: str) -> None:
    found = read("json", text)
    assert isinstance(found, Broken)
    assert found.text == said
    assert (found.span.line, found.span.column) == place


@given(st.text(alphabet='{}[]":,0123456789.eE+-truefalsnN \n\t\\"/*#A', max_size=30))
def test_any_text_is_read_or_broken(text: str) -> None:
    found = read("json", text)
    if isinstance(found, Broken):
        assert 0 <= found.span.start <= found.span.end <= max(len(text), 1)
        with pytest.raises(ValueError):
            json.loads(text, parse_constant=_refused)
    else:
        assert all(node.span.text for node in nodes(found.roots[0]))


def _refused(word: str) -> float:
    raise ValueError(word)


def test_a_root_that_is_no_map() -> None:
    assert tree("json", "[1]").root is None
    assert isinstance(tree("json", "{}").root, Map)

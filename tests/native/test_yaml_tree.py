"""YAML as a tree: the values of pyyaml's safe loader, each at its place, and nothing made of tags."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from planc.native.tree import Broken, Map, Scalar, data, walk
from tests.native.trees import entries, nodes, read, tree

KEYS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), min_size=1, max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | KEYS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def loaded(text: str) -> Any:
    """What pyyaml makes of a text."""
    return yaml.safe_load(text)


@given(VALUES, st.sampled_from((None, False, True)), st.sampled_from((2, 4)), st.sampled_from((20, 80)))
def test_every_node_is_the_text_at_its_place(value: Any, flow: bool | None, indent: int, width: int) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, indent=indent, width=width, allow_unicode=True)
    if loaded(text) != value:
        return  # pyyaml does not read what it writes of some controls
    (root,) = tree("yaml", text).roots
    assert data(root) == value
    for node in nodes(root):
        again = " " * (node.span.column - 1) + node.span.text + "\n"
        assert loaded(again) == data(node), again
    for entry in entries(root):
        assert entry.span == entry.key.span.to(entry.value.span)


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb:\n  c: no\n  d: [1, 2]\n", "a: 1e-5\nb: 1.0e-5\nc: 0777\nd: 1_000\ne: 0x1F\nf: 190:20:30\n",
        "distributed_type: NO\nmain: yes\n", "a: ~\nb:\nc: null\nd: ''\n", "- 1\n- a: 2\n  b: 3\n-\n  - 4\n",
        "a: |\n  one\n  two\nb: >-\n  one\n  two\n", "a: .inf\nb: -.inf\n", "a: 2001-12-14\n",
        "base: &base {x: 1, y: 2}\nother:\n  <<: *base\n  y: 3\n", "a: &a [1]\nb: *a\n",
        "<<: [{a: 1, b: 1}, {a: 2, c: 2}]\nb: 3\n", "a: !!str 8\nb: !!int '8'\nc: !!float 3\n",
        "? a\n: 1\n? b\n", "%YAML 1.1\n---\na: 1\n", "a: 'it''s'\nb: \"\\u00e9\"\n", "\r\na: 1\r\nb:\r\n  c: 2\r\n",
        "on: 1\n8: 2\n1.5: 3\n", "{a: 1, b: [c, {d: e}]}\n", "# only a comment\na: 1 # and one\n",
    ],
)  # fmt: skip
def test_values_are_those_of_pyyaml(text: str) -> None:
    (root,) = tree("yaml", text).roots
    expected = loaded(text)
    assert str(data(root)) == str(_named(expected, root))


def _named(value: Any, node: Any) -> Any:
    """What pyyaml read, with dates and keys as the texts that they are in a tree."""
    if isinstance(value, dict):
        assert isinstance(node, Map)
        assert len(value) == len(node.entries)
        return {
            entry.name: _named(each, entry.value)
            for entry, each in zip(node.entries, _in_order(value, node), strict=True)
        }
    if isinstance(value, list):
        return [_named(each, item) for each, item in zip(value, node.items, strict=True)]
    return value if isinstance(value, (bool, int, float, str, type(None))) else node.span.text


def _in_order(value: dict[Any, Any], node: Map) -> list[Any]:
    return [value[entry.key.value] for entry in node.entries]


def test_places_of_keys_and_values() -> None:
    text = "a:\n  b: 'x' # why\n  c:\n  - 1\n  - {d: 2.5}\n"
    root = tree("yaml", text).root
    assert root is not None
    places = {entry.name: (entry.key.span.text, entry.value.span.text) for entry in entries(root)}
    assert places["b"] == ("b", "'x'")
    assert places["c"] == ("c", "- 1\n  - {d: 2.5}")
    assert places["d"] == ("d", "2.5")
    assert places["a"] == ("a", text[5:-1])


def test_the_place_of_an_alias_is_where_it_stands_and_that_of_its_value_where_that_is() -> None:
    root = tree("yaml", "a: &x 8\nb: *x\n").root
    assert root is not None
    found = root.find("b")
    assert found is not None
    assert found.span.text == "b"
    assert found.value.span.text == "&x 8"
    assert found.value.span.line == 1
    assert root.value("b") == 8


def test_what_is_merged_counts_less_than_what_stands_there() -> None:
    root = tree("yaml", "base: &b {x: 1, y: 1}\nuser:\n  y: 2\n  <<: *b\n").root
    assert root is not None
    assert (root.value("user", "x"), root.value("user", "y")) == (1, 2)
    user = root.map("user")
    assert user is not None
    assert sorted(user.names()) == ["x", "y"]


def test_equal_keys_are_all_there() -> None:
    root = tree("yaml", "a: 1\na: 2\n").root
    assert root is not None
    assert root.names() == ("a", "a")
    assert root.value("a") == 2


def test_several_documents() -> None:
    assert [data(root) for root in tree("yaml", "a: 1\n---\nb: 2\n...\n").roots] == [{"a": 1}, {"b": 2}]
    assert tree("yaml", "").roots == ()
    assert tree("yaml", "# nothing\n").root is None


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object/apply:os.system ['touch {0}']\n", "a: !!python/object/new:os.system ['touch {0}']\n",
        "!!python/object/apply:subprocess.check_output [[touch, '{0}']]\n", "a: !!python/name:os.system x\n",
        "a: !mine {{b: 1}}\n", "a: !!binary aGk=\n", "a: !!set {{b, c}}\n", "a: !!timestamp x\n", "a: !!int x\n",
        "a: !!bool perhaps\n", "a: !!float ''\n", "a: !!int ''\n", "a: !!omap [b: 1]\n", "a: !!null x\n",
    ],
)  # fmt: skip
def test_no_tag_makes_an_object(text: str, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    found = tree("yaml", text.format(touched))
    assert not touched.exists()
    assert all(isinstance(node, (Map, Scalar)) or node.items for node in nodes(found.roots[0]))
    assert all(
        isinstance(node.value, (bool, int, float, str, type(None)))
        for node in nodes(found.roots[0]) if isinstance(node, Scalar)
    )  # fmt: skip


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 30)
)


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("a: [1\nb: 2\n", (2, 2), None), ("a: b: c\n", (1, 5), None), ("a:\n\tb: 1\n", (2, 1), "a tab, with which"),
        ("a: *b\n", (1, 4), None), ("a: &x\n  b: *x\n", (1, 4), "an alias stands for what it is part of"),
        ("&x [*x]\n", (1, 1), "an alias stands for what it is part of"), ("a: 'b\n", (2, 1), None),
        ("a: \x01\n", (1, 4), "this character is not allowed in YAML"), ("a: {{x}}: 1\n", (1, 9), None),
        ("[" * 65 + "]" * 65, (1, 65), "nested more than 64 deep"),
        ("[" * 100_000, (1, 1001), "exceeded maximum nesting depth"),
        ("".join(f"{' ' * level}a:\n" for level in range(500)), (65, 65), "nested more than 64 deep"),
        (BOMB, (1, 1), "aliases stand for more than 200,000 values"), ("@a\n", (1, 1), None),
        ("- a\nb: 1\n", (2, 1), None), ("? [a\n", (2, 1), None),
    ],
)  # fmt: skip
def test_broken(text: str, place: tuple[int, int], said: str | None) -> None:
    start = time.monotonic()
    found = read("yaml", text)
    assert time.monotonic() - start < 5
    assert isinstance(found, Broken), found
    assert said is None or found.text.startswith(said)
    assert (found.span.line, found.span.column) == place, found


def test_merging_a_bomb_ends() -> None:
    text = "a0: &a0 {x: 1}\n" + "".join(
        f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 10)}], k{level}: 1}}\n" for level in range(1, 25)
    )
    start = time.monotonic()
    found = read("yaml", text)
    assert time.monotonic() - start < 5
    assert isinstance(found, Broken) or len(list(walk(found.roots[0]))) < 100


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#,?%@` \n\t1.0~<=", max_size=40))
def test_any_text_is_read_or_broken(text: str) -> None:
    found = read("yaml", text)
    if isinstance(found, Broken):
        assert 0 <= found.span.start <= found.span.end <= len(text)
    else:
        for root in found.roots:
            assert all(node.span.end <= len(text) for node in nodes(root))

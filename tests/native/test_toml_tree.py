"""TOML as a tree: the values of `tomllib`, each at its place."""

from __future__ import annotations

import json
import time
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planc.native.tree import Broken, Scalar, data
from tests.native.trees import entries, nodes, read, tree


def _collected(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)


NAMES = st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True) | st.sampled_from(("a b", "é", "a.b", '"', "'"))
SCALARS = (
    st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\x7f"), max_size=12)
)  # fmt: skip
VALUES = st.recursive(SCALARS, _collected, max_leaves=8)
TABLES = st.recursive(
    st.dictionaries(NAMES, VALUES, max_size=3),
    lambda inner: st.dictionaries(NAMES, VALUES | inner | st.lists(inner, min_size=1, max_size=2), max_size=3),
    max_leaves=6,
)


def written(value: Any) -> str:
    """A value as TOML has it, with blanks and, in lists, lines and comments between."""
    if isinstance(value, dict):
        return (
            "{ "
            + " , ".join(f"{json.dumps(name, ensure_ascii=False)}= {written(each)}" for name, each in value.items())
            + " }"
        )
    if isinstance(value, list):
        return "[\n  # [it}\n" + "".join(f"  {written(each)}, # ]\n" for each in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def table(value: dict[str, Any], path: tuple[str, ...] = ()) -> str:
    """A table with headers for those in it."""
    lines = [
        f"{json.dumps(name, ensure_ascii=False)} = {written(each)}  # why"
        for name, each in value.items()
        if not is_table(each)
    ]
    for name, each in value.items():
        inside = (*path, written(name))
        if isinstance(each, dict):
            lines.append(f"\n[ {' . '.join(inside)} ]  # [header]\n{table(each, inside)}")
        elif is_table(each):
            lines.extend(f"[[{'.'.join(inside)}]]\n{table(one, inside)}" for one in each)
    return "\n".join(lines) + "\n"


def is_table(value: Any) -> bool:
    """Whether a value is written with a header."""
    return isinstance(value, dict) or (
        isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)
    )


@given(TABLES, st.sampled_from(("\n", "\r\n")))
def test_every_node_is_the_text_at_its_place(value: dict[str, Any], end: str) -> None:
    text = table(value).replace("\n", end)
    root = tree("toml", text).root
    assert root is not None
    assert data(root) == value
    for node in list(nodes(root))[1:]:
        if not isinstance(node, Scalar) and node.span.text[:1] not in ("{", "["):
            continue  # the place of tables with headers is their name
        assert tomllib.loads(f"x = {node.span.text}".replace("\r\n", "\n"))["x"] == data(node)
    for entry in entries(root):
        named = tomllib.loads(f"{entry.key.span.text} = 1")
        while isinstance(named, dict):
            ((name, named),) = named.items()
        assert name == entry.key.value


TEXT = """\
top = 1
[a]
b.c = 0x1F # it
b.d = 'x'
[[a.jobs]]
"q r" = [ 1, 2,
  3 ] # [
[[a.jobs]]
t = {u = 1.5, v = [true]}
[a.x.y]
long = \"\"\"
one = 1
[no]\"\"\"
day = 1979-05-27 07:32:00
n = inf
[z]
"""


def test_places() -> None:
    root = tree("toml", TEXT).root
    assert root is not None
    places = {entry.name: (entry.key.span.text, entry.value.span.text, entry.key.span.line) for entry in entries(root)}
    assert places == {
        "top": ("top", "1", 1), "a": ("a", "a", 2), "b": ("b", "b", 3), "c": ("b.c", "0x1F", 3),
        "d": ("b.d", "'x'", 4), "jobs": ("a.jobs", "a.jobs", 5), "q r": ('"q r"', "[ 1, 2,\n  3 ]", 6),
        "t": ("t", "{u = 1.5, v = [true]}", 9), "u": ("u", "1.5", 9), "v": ("v", "[true]", 9),
        "x": ("x", "x", 10), "y": ("a.x.y", "a.x.y", 10), "long": ("long", '"""\none = 1\n[no]"""', 11),
        "day": ("day", "1979-05-27 07:32:00", 14), "n": ("n", "inf", 15), "z": ("z", "z", 16),
    }  # fmt: skip
    assert data(root)["a"]["jobs"] == [{"q r": [1, 2, 3]}, {"t": {"u": 1.5, "v": [True]}}]
    assert root.value("a", "b", "c") == 31
    assert root.value("a", "x", "y", "day") == "1979-05-27 07:32:00"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a = '''it's'''''\n", "it's''"), ('a = """"x" ""y"""""', '"x" ""y""'), ('a = "\\"#" # x', '"#'),
        ("a = '\\' # x", "\\"), ("a = 1_000", 1000), ("a = +1e3", 1000.0), ("a = 0o17", 15), ("a = -nan", "nan"),
        ("a = 07:32:00", "07:32:00"), ("a = 1979-05-27T07:32:00Z", "1979-05-27 07:32:00+00:00"),
        ('a = """\\\n  x"""', "x"), ('a = ""', ""), ("a = ''''''", ""),
    ],
)  # fmt: skip
def test_values(text: str, value: object) -> None:
    root = tree("toml", text).root
    assert root is not None
    found = root.value("a")
    assert (str(found) if value == "nan" else found) == value
    (entry,) = root.entries
    assert entry.span.text == text.partition(" # ")[0].rstrip()


def test_a_table_that_was_implied_above() -> None:
    root = tree("toml", "[a.b]\nx = 1\n[a]\ny = 2\n").root
    assert root is not None
    found = root.find("a")
    assert found is not None
    assert (found.key.span.line, data(root)) == (3, {"a": {"b": {"x": 1}, "y": 2}})


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("a = \n", (1, 5), "invalid value"), ("a = 1\na = 2\n", (2, 6), "cannot overwrite a value"),
        ("[a]\n[a]\n", (2, 3), "cannot declare"), ('a = "x\n', (1, 7), "illegal character"),
        ("a = [1\n", (1, 6), "unclosed"),
        ("a", (1, 1), "expected '='"), ("a = True\n", (1, 5), "invalid value"),
        ("a = 1 2\n", (1, 7), "expected newline"),
        ("\ta = 1\n= 2", (2, 1), "invalid statement"), ("a = " + "[" * 100_000, (1, 1), "nested more than 64 deep"),
        ("a = " + "[" * 5000 + "]" * 5000, (1, 1), "nested more than 64 deep"),
        ("a = " + "9" * 5000, (1, 1), "a number is"),
        ("a = {b = 1\n", (1, 11), "unclosed"), ("\r\na = 1\r\nb = \r\n", (3, 5), "invalid value"),
    ],
)  # fmt: skip
def test_broken(text: str, place: tuple[int, int], said: str) -> None:
    found = read("toml", text)
    assert isinstance(found, Broken), found
    assert found.text.startswith(said), found.text
    assert (found.span.line, found.span.column) == place


def test_a_long_text_is_read_in_time() -> None:
    text = "".join(f"[t{at}]\na = {at}\nb = [1, 2]\n" for at in range(5_000))
    start = time.monotonic()
    root = tree("toml", text).root
    assert root is not None
    assert root.value("t4999", "a") == 4_999
    assert time.monotonic() - start < 20


@given(st.text(alphabet="ab.=[]{}\"'#, \n\r\t01-:_Te\\", max_size=40))
def test_any_text_is_read_or_broken(text: str) -> None:
    found = read("toml", text)
    if isinstance(found, Broken):
        assert 0 <= found.span.start <= found.span.end <= len(text)
    else:
        assert all(isinstance(node.span.text, str) for node in nodes(found.roots[0]))
        for node in nodes(found.roots[0]):
            assert not isinstance(node, Scalar) or node.span.text

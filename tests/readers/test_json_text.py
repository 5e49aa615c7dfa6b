"""JSON with places: the same values as the standard library's reader, and a place for whatever is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planc.readers.json_text import Array, Broken, Number, Object, String, Value, Word, read
from planc.source import Source

WORDS = {"true": True, "false": False, "null": None}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def plain(value: Value) -> Any:
    """The value as the standard library gives it; every place covers what it stands for."""
    if isinstance(value, Object):
        return {plain(member.key): plain(member.value) for member in value.members}
    if isinstance(value, Array):
        return [plain(item) for item in value.items]
    if isinstance(value, String):
        return value.value
    assert value.span.text == (value.word if isinstance(value, Word) else value.text)
    return WORDS[value.word] if isinstance(value, Word) else json.loads(value.text)


@given(VALUES, st.sampled_from([None, 2]), st.booleans())
def test_the_same_values_as_the_standard_library(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = read(Source("case", text))
    assert not isinstance(found, Broken)
    assert found.span.text == text
    if "\\ud" not in text:  # half a character is no text that could be shown
        assert plain(found) == value


@given(VALUES, st.data())
def test_a_text_that_is_none_of_json_has_a_place(value: Any, data: st.DataObject) -> None:
    """One character less, or another one: this reader takes what the standard library takes, and nothing else."""
    text = json.dumps(value, ensure_ascii=False)
    at = data.draw(st.integers(0, len(text) - 1))
    text = text[:at] + data.draw(st.sampled_from(["", "}", '"', ",", "1", "x"])) + text[at + 1 :]
    found = read(Source("case", text))
    try:
        json.loads(text)
    except ValueError:
        assert isinstance(found, Broken)
        assert 0 <= found.span.start <= found.span.end <= len(text)
        assert found.text
    else:
        assert not isinstance(found, Broken)


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "", "the text ends; a value is due"),
        ("  \n", "", "the text ends; a value is due"),
        ('{"a": 1,}', ",", "a comma before `}`"),
        ("[1, 2,\n]", ",", "a comma before `]`"),
        ('{"a": 1', "{", "this is not closed: `}` is missing"),
        ('{"a": [1, {"b": 2}}', "}", "`,` or `]` is due here"),
        ('{"a" 1}', "1", "`:` is due here"),
        ('{"a":', ":", "the text ends; a value is due"),
        ("{'a': 1}", "'", "a quoted key is due here"),
        ("{a: 1}", "a", "a quoted key is due here"),
        ('{"a": True}', "True", "a value is due here"),
        ('{"a": 01}', "01", "a value is due here"),
        ('{"a": +1}', "+1", "a value is due here"),
        ('{"a": 1 "b": 2}', '"', "`,` or `}` is due here"),
        ('{"a": "b\n"}', '"', "a string is not closed in its line"),
        ('{"a": 1} x', "x", "nothing more is due here"),
        ('{"a": 1} // done', "/", "nothing more is due here"),
        ("[" * 40 + "]" * 40, "[", "nested more than 32 deep"),
    ],
)
def test_what_is_wrong_and_where(text: str, place: str, said: str) -> None:
    found = read(Source("case", text))
    assert isinstance(found, Broken)
    assert (found.span.text, found.text) == (place, said)


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ('{"a": True}', "write `true`"),
        ('{"a": None}', "write `null`"),
        ("{'a': 1}", 'JSON quotes with `"`'),
        ("[1, # one\n2]", "JSON has no comments"),
        ("[1,]", "remove the comma"),
    ],
)
def test_slips_have_their_own_help(text: str, help: str) -> None:
    found = read(Source("case", text))
    assert isinstance(found, Broken)
    assert found.help == (help,)


def test_what_such_files_hold_though_it_is_no_json() -> None:
    found = read(Source("case", "[NaN, Infinity, -Infinity]"))
    assert isinstance(found, Array)
    assert [item.word for item in found.items if isinstance(item, Word)] == ["NaN", "Infinity", "-Infinity"]


def test_equal_keys_are_all_there() -> None:
    found = read(Source("case", '{"a": 1, "a": 2}'))
    assert isinstance(found, Object)
    assert [member.value.text for member in found.members if isinstance(member.value, Number)] == ["1", "2"]
    assert [member.span.text for member in found.members] == ['"a": 1', '"a": 2']

"""The one text of a value, and what is refused of texts that anybody may have written."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planc.evidence.canonical import MOST_DEPTH, Unreadable, canonical, plain, read
from planc.evidence.names import fault_of, text_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
@settings(max_examples=300, deadline=None)
def test_whatever_is_written_is_read_back(value: Any) -> None:
    text = canonical(value)
    assert canonical(read(text)) == text
    assert same(read(text), json.loads(json.dumps(plain(value))))


def same(one: Any, other: Any) -> bool:
    """Whether values are equal as JSON has them, in which 2.0 and 2 are one number."""
    if isinstance(one, dict):
        return sorted(one) == sorted(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) and isinstance(one, bool) is isinstance(other, bool)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), b'"NaN"'),
        (math.inf, b'"Infinity"'),
        (-math.inf, b'"-Infinity"'),
        (2**53 - 1, b"9007199254740991"),
        (2**53, b'"9007199254740992"'),
        (-(2**53), b'"-9007199254740992"'),
        (1e16, b"10000000000000000"),
        (2.0, b"2"),
        (-0.0, b"0"),
        ("caf\udce9", rb'"caf\\udce9"'),
        ({"b": 1, "a": (True, None)}, b'{"a":[true,null],"b":1}'),
    ],
)
def test_what_json_cannot_hold_is_a_text(value: Any, text: bytes) -> None:
    assert canonical(value) == text


def test_keys_are_in_the_order_of_utf_16() -> None:
    # As RFC 8785 has it: U+1F600 begins with a surrogate, which comes before U+FB33.
    assert canonical({"\ufb33": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ufb33":1}'.encode()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"a":1,"a":1}', "a key stands there twice"),
        (b"NaN", "NaN is no number of JSON"),
        (b"[-Infinity]", "-Infinity is no number of JSON"),
        (b"1e999", "1e999 is too large a number"),
        (b'{"b":1,"a":1}', "canonical form"),
        (b'{"a": 1}', "canonical form"),
        (b"1.0", "canonical form"),
        (b"9007199254740993", "canonical form"),
        (b'"\\u0041"', "canonical form"),
        (b'"\\ud800"', "canonical form"),
        (b'"\xff"', "not text in UTF-8"),
        (b"", "Expecting value"),
        (b"[1", "Expecting"),
        (b"1" * 5000, "too large a number"),
        (b"[" * (MOST_DEPTH + 2) + b"]" * (MOST_DEPTH + 2), f"more than {MOST_DEPTH} levels"),
        (b"[" * 200_000, f"more than {MOST_DEPTH} levels"),
    ],
    ids=lambda value: str(value[:24]),
)
def test_any_other_text_is_refused(text: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read(text)


@given(st.binary(), st.binary())
def test_two_names_have_two_texts(one: bytes, other: bytes) -> None:
    text_of(one).encode("utf-8")
    assert (text_of(one) == text_of(other)) == (one == other)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (b"a/b", "a/b"),
        (b"new\nline", "new\nline"),
        (b"caf\xe9", "caf%E9"),
        (b"100%", "100%25"),
        (b"\xc3\xa9", "\u00e9"),
    ],
)
def test_the_text_of_a_name(name: bytes, text: str) -> None:
    assert text_of(name) == text
    assert fault_of(text) == ""


@pytest.mark.parametrize(
    "text", ["", "/a", "..", "a/../b", "../a", "a//b", "./a", "a/", "a\0b", "a%2Fb", "%2E%2E", "%c3", "100%"]
)
def test_what_no_name_is_written_as(text: str) -> None:
    assert fault_of(text)

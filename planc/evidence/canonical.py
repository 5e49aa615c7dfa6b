"""The one JSON text of a value, as RFC 8785 has it, and the way back, for texts that anybody may have written.

JSON of that form has no number that is none, none that is infinite, no whole number from 2^53 on, and no text with half
a character. They are written as texts: `"NaN"`, `"Infinity"`, `"-Infinity"`, the decimal digits, and `\\udc80` for the
half.
"""

from __future__ import annotations

import json
import math
from typing import Any

#: Whole numbers up to here have one value in every reader of JSON.
MOST_INTEGER = 2**53 - 1

#: Levels of lists and objects in a text that is read.
MOST_DEPTH = 100


class Unreadable(Exception):
    """Why a text is no value in canonical form."""


def canonical(value: Any) -> bytes:
    """The canonical text of a value, in UTF-8."""
    import rfc8785

    return bytes(rfc8785.dumps(plain(value)))


def plain(value: Any) -> Any:
    """A value with texts in place of what JSON cannot hold."""
    if isinstance(value, dict):
        return {_text(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int) and not isinstance(value, bool) and MOST_INTEGER < abs(value):
        return _digits(value)
    if isinstance(value, float) and not math.isfinite(value):
        return number_text(value)
    return value


def number_text(value: float) -> str:
    """The text that stands for a number which JSON lacks."""
    if math.isnan(value):
        return "NaN"
    return "Infinity" if 0 < value else "-Infinity"


def read(text: bytes) -> Any:
    """The value of a canonical text; Unreadable if it is anything else, so that no two texts mean the same."""
    try:
        value = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_object, parse_constant=_refuse, parse_int=_integer, parse_float=_number,
        )  # fmt: skip
    except UnicodeDecodeError:
        raise Unreadable("it is not text in UTF-8") from None
    except RecursionError:
        raise Unreadable(f"it has more than {MOST_DEPTH} levels") from None
    except ValueError as error:
        raise Unreadable(str(error)) from None
    _check_depth(value)
    import rfc8785

    try:
        again = rfc8785.dumps(value)
    except ValueError as error:  # half a character
        raise Unreadable(f"it is not in canonical form (RFC 8785): {error}") from None
    if again != text:
        raise Unreadable("it is not in canonical form (RFC 8785)")
    return value


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _digits(value: int) -> str:
    # Python refuses to write more than 4300 decimal digits.
    return str(value) if value.bit_length() < 8192 else hex(value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise Unreadable("a key stands there twice")
    return made


def _refuse(word: str) -> Any:
    raise Unreadable(f"{word} is no number of JSON")


def _integer(digits: str) -> int | float:
    """A whole number; one that is too large to be exact is a number of floating point, as in every other reader."""
    if len(digits) < 20 and abs(int(digits)) <= MOST_INTEGER:
        return int(digits)
    return _number(digits)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise Unreadable(f"{text[:40]} is too large a number")
    return value


def _check_depth(value: Any) -> None:
    level, depth = [value], 0
    while level:
        if MOST_DEPTH < depth:
            raise Unreadable(f"it has more than {MOST_DEPTH} levels")
        level = [
            item
            for each in level
            if isinstance(each, dict | list)
            for item in (each.values() if isinstance(each, dict) else each)
        ]
        depth += 1

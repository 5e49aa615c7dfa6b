"""What a mistyped name was meant to be."""

from __future__ import annotations

import re
from collections.abc import Iterable

from planc.diagnostics.amounts import either

#: Names that one suggestion lists; it counts the others.
_MOST = 4

#: A part of so few letters is in too many names: `7b`, `v2`.
_SHORT = 3


def did_you_mean(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """Help for an unknown name: the one that it is a slip of, else those of which it is or has a part; or none."""
    names = tuple(dict.fromkeys(known))
    guess = nearest(word, names)
    found = (guess,) if guess else by_part(word, names)
    shown = [f"`{name}`" for name in found[:_MOST]]
    if _MOST < len(found):
        return (f"did you mean {', '.join(shown)} or one of {len(found) - _MOST} more?",)
    return (f"did you mean {either(shown)}?",) if found else ()


def guesses(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """The names that `did_you_mean` shows, and those that are as near to the word as the one that it shows."""
    names = tuple(dict.fromkeys(known))
    return all_nearest(word, names) or by_part(word, names)[:_MOST]


def by_part(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """The known names that have all the parts of a word (`H200`), else those that share most (`bf16-mixed`).

    Parts stand between hyphens and the like; where none is shared, the word may stand inside a name as it is.
    """
    own = _parts(word)
    shared = {name: _parts(name) & own for name in known}
    whole = tuple(name for name, parts in shared.items() if parts == own)
    weights = {name: sum(_SHORT <= len(part) for part in parts) for name, parts in shared.items()}
    most = max(weights.values(), default=0)
    if whole or most:
        best = tuple(name for name, weight in weights.items() if weight == most)
        return whole or tuple(name for name in best if _parts(name) <= own) or best
    folded = _folded(word)
    return tuple(name for name in shared if _SHORT <= len(folded) and folded in _folded(name))


def _parts(name: str) -> frozenset[str]:
    return frozenset(re.split(r"[-_ /:]+", name.lower()))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name closest to a word, if it is close enough to be a slip of it; the first of equals.

    Close is an edit distance (with neighbours swapped as one edit) of at most a third of the length, at least 1, but
    never so many edits that no letter of the word need be left.
    """
    return _closest(word, known, _reach(word))


def all_nearest(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """The known name that `nearest` gives, and those that are as near."""
    return _all_closest(word, known, _reach(word))


def slip(word: str, known: Iterable[str]) -> str | None:
    """The known name that differs from a word by one slip of the finger, or by two in ten letters or more."""
    return _closest(word, known, 1 if len(word) < 10 else 2)


def _reach(word: str) -> int:
    return min(max(1, len(word) // 3), len(word) - 1)


def _closest(word: str, known: Iterable[str], most: int) -> str | None:
    return next(iter(_all_closest(word, known, most)), None)


def _all_closest(word: str, known: Iterable[str], most: int) -> tuple[str, ...]:
    folded = _folded(word)
    best: list[str] = []
    best_distance = most
    for name in known:
        distance = 0 if _folded(name) == folded else _distance(word, name, best_distance + 1)
        if distance < best_distance:
            best, best_distance = [name], distance
        elif distance == best_distance:
            best.append(name)
    return tuple(best)


def _folded(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "").replace(" ", "")


def _distance(left: str, right: str, limit: int) -> int:
    """Edit distance, or `limit` where it is that or more."""
    if limit <= abs(len(left) - len(right)):
        return limit
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        before, previous, row = row, before, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if 1 < i and 1 < j and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, previous[j - 2] + 1)
            row.append(cost)
        if limit <= min(row):
            return limit
    return row[-1]

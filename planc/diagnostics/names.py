"""What a mistyped name was meant to be."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name closest to a word, if it is close enough to be a slip of it; the first of equals.

    Close is an edit distance (with neighbours swapped as one edit) of at most a third of the length, at least 1.
    """
    return _closest(word, known, max(1, len(word) // 3))


def slip(word: str, known: Iterable[str]) -> str | None:
    """The known name that differs from a word by one slip of the finger, or by two in ten letters or more."""
    return _closest(word, known, 1 if len(word) < 10 else 2)


def _closest(word: str, known: Iterable[str], most: int) -> str | None:
    folded = _folded(word)
    best, best_distance = None, most + 1
    for name in known:
        distance = 0 if _folded(name) == folded else _distance(word, name, best_distance)
        if distance < best_distance:
            best, best_distance = name, distance
    return best


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

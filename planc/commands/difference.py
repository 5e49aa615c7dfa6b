"""What changes in a text file, as a unified diff that is harmless to a terminal."""

from __future__ import annotations

#: What a diff is named for where there is no file.
NOTHING = "/dev/null"


def difference(names: tuple[str, str], titles: tuple[str, str], before: str, after: str) -> str:
    """The unified diff of two texts under their names and titles; empty if they are the same."""
    from difflib import unified_diff  # few runs show one

    old, new = map(_shown, names)
    lines = unified_diff(_lines(before), _lines(after), old, new, titles[0], titles[1], lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _lines(text: str) -> list[str]:
    *lines, last = map(_shown, text.split("\n"))
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines


def _shown(line: str) -> str:
    """A line of any length, each character that does not print as an escape, but for tabs."""
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode("ascii") for c in line)

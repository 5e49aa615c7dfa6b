"""Files of other tools, judged in this process: what the tests of kinds start from."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.native.job import Judged, judge
from planc.native.kind import Recognised
from planc.native.recognising import recognise
from planc.native.tree import Scalar
from planc.source import Source
from tests.native.trees import nodes
from tests.shared import shared

#: What stands in the place of a value, one after the other, to see that no value stops planc.
VALUES = ("null", "true", "0", "-1", "1e999", "nan", '"x"', "[]", "{}", "[[[]]]", '""', "99999999999999999999")


def recognised(name: str, text: str, kind: str | None = None) -> Recognised | Diagnostic:
    """The kind of a text that was named; or what is wrong."""
    found = recognise(Source(name, text), kind, True)
    assert found is not None
    return found


def judged(name: str, text: str, kind: str | None = None) -> Judged:
    """A text of a known kind, judged by itself."""
    found = recognised(name, text, kind)
    assert isinstance(found, Recognised), found
    return judge([found], lambda name, importer: f"no file {name}")


def found_in(name: str, text: str, kind: str | None = None) -> tuple[Diagnostic, ...]:
    """Errors and warnings of a text, whether it can be read or not."""
    found = recognised(name, text, kind)
    if isinstance(found, Diagnostic):
        return (found,)
    return loud(judged(name, text, kind).diagnostics)


def loud(diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """The diagnostics without advice."""
    return tuple(each for each in diagnostics if each.severity is not Severity.INFO)


def plan_text(name: str, text: str) -> str:
    """The plan that a text makes, its lines without indents and without what every one has."""
    lines = [line.strip() for line in judged(name, text).composed.source.text.splitlines()]
    return "\n".join(line for line in lines if line and not line.startswith(("plan ", "emit ")))[:-2]


def with_other_values(name: str, text: str) -> Iterator[tuple[str, str]]:
    """A text with each of its values replaced by each of `VALUES`: what was replaced, and the text."""
    found = recognised(name, text)
    assert isinstance(found, Recognised), found
    for root in found.tree.roots:
        for node in nodes(root):
            for value in VALUES if node is not root else ():
                at = node.span
                shown = node.value if isinstance(node, Scalar) else type(node).__name__
                yield f"line {at.line}: {shown!r} -> {value}", f"{text[: at.start]}{value}{text[at.end :]}"


def corpus(*kinds: str) -> list[tuple[dict[str, str], str]]:
    """Rows of the index of the corpus whose kind begins with one of these words, and the texts."""
    folder = shared("corpus")
    with (folder / "index.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"].startswith(kinds)]
    assert rows
    return [(row, (folder / row["file"]).read_text(encoding="utf-8")) for row in rows]


def is_known_good(row: dict[str, str]) -> bool:
    """Whether somebody ran such a file."""
    return row["known_good"] in ("recipe", "ci-run", "real-run", "benchmark")


def cases(folder: Path, pattern: str) -> list[str]:
    """Names of the case files of a kind."""
    return sorted(path.name for path in folder.glob(pattern) if path.is_file())

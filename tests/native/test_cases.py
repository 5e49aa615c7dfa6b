"""Every kind of file against its cases: a new case is a new file in `tests/native/<kind>/`.

`ok_*` is clean. `err_*` reports, on each line that ends in `# <- PLN063` (or several codes), those codes, and nothing
on any other line. The first line of each, a comment, says what it shows. Files of JSON, which has no comments, are
cases of the tests of their kinds.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.native.judging import found_in

FOLDER = Path(__file__).parent
ENDINGS = (".yaml", ".toml", ".hostfile", ".sh", ".sbatch")
FILES = [path for path in FOLDER.glob("*/*") if path.suffix in ENDINGS]
OK = sorted(path.relative_to(FOLDER).as_posix() for path in FILES if path.name.startswith("ok_"))
ERR = sorted(path.relative_to(FOLDER).as_posix() for path in FILES if path.name.startswith("err_"))
_MARK = re.compile(r"# <- (PLN\d{3}(?:, PLN\d{3})*)$")


@pytest.mark.parametrize("name", OK)
def test_ok(name: str) -> None:
    found = found_in(name, (FOLDER / name).read_text(encoding="utf-8"))
    assert [(each.primary.span.line, each.code, each.message) for each in found] == []


@pytest.mark.parametrize("name", ERR)
def test_err(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    marks = ((line, _MARK.search(content)) for line, content in enumerate(text.splitlines(), 1))
    marked = Counter((line, code) for line, mark in marks if mark is not None for code in mark[1].split(", "))
    assert marked, f"{name} marks no line"
    found = found_in(name, text)
    reported = Counter((each.primary.span.line, each.code) for each in found)
    assert reported == marked, [(each.primary.span.line, each.code, each.message) for each in found]
    for each in found:
        assert len(each.message.split()) <= 12, each.message
        assert not each.message.endswith("."), each.message


@pytest.mark.parametrize("name", [*OK, *ERR])
def test_the_first_line_says_what_a_case_shows(name: str) -> None:
    first = (FOLDER / name).read_text(encoding="utf-8").partition("\n")[0]
    assert first.startswith("# ")
    assert 3 < len(first.split())

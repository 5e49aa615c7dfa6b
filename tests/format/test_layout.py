"""What the layout is, rule by rule, and docs/format.md, which describes it."""

from __future__ import annotations

import re

import pytest

from planc.format.formatting import format_text
from planc.plan.units import SUFFIXES, UNITS
from tests.format.sameness import check
from tests.shared import ROOT

PAGE = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")

#: What stands in the body of a plan, and what becomes of it.
BODIES: dict[str, tuple[str, str]] = {
    "one blank around an equals sign": ("a=1", "a = 1"),
    "two blanks between entries of one line": ("a=1 b { c=2 d=3 } e in[1,2]", "a = 1  b { c = 2  d = 3 }  e in [1, 2]"),
    "a comma between entries goes": ("a = 1, b { c = 2, d = 3, },", "a = 1  b { c = 2  d = 3 }"),
    "names are filled up": ("a=1\nlong{b=2}\nmid in[3]", "a    = 1\nlong { b = 2 }\nmid  in [3]"),
    "a comment ends no columns": ("a=1\n# c\nlong=2", "a    = 1\n# c\nlong = 2"),
    "a blank line ends columns": ("a=1\n\nlong=2", "a = 1\n\nlong = 2"),
    "an entry of several lines ends columns": (
        "a=1\nlong{\nb=2\n}\nlonger=3",
        "a = 1\nlong {\n  b = 2\n}\nlonger = 3",
    ),
    "several entries are aligned with several": (
        "a=1 b=2\nlong=3 c=4\nlongest=5",
        "a    = 1  b = 2\nlong = 3  c = 4\nlongest = 5",
    ),
    "comments share a column": ("a=1 # c\nb=23 # d\nc=456\n", "a = 1   # c\nb = 23  # d\nc = 456"),
    "rules": ("require a>1 because\n\"b\"\nwarn c", 'require a > 1  because "b"\nwarn    c'),
    "clauses share a column": (
        'x=require a because "b"\nforbid longer==1 when c because "d"',
        'x = require a       because "b"\nforbid longer == 1  when c  because "d"',
    ),
    "clauses of several rules on a line share none": (
        'require a because "b" warn c\nrequire longer because "d" warn e',
        'require a  because "b"  warn c\nrequire longer  because "d"  warn e',
    ),
    "a clause on its own line": ('require a\nbecause "b"', 'require a\n  because "b"'),
    "breaks beside operators stay": ("a = b +\nc\n* d", "a = b +\n  c\n  * d"),
    "a break before not": ("a = require b\nnot\nin [c]", "a = require b\n  not in [c]"),
    "other breaks inside an entry go": ("a =\n1\nb\n{ c = 2 }\nd\nin\n[1]", "a = 1\nb { c = 2 }\nd in [1]"),
    "signs": ("a = - 1 - -b*+c", "a = -1 - -b * +c"),
    "words and paths": ("a = min( b . c,8 )..( 1 + d )", "a = min(b.c, 8)..(1 + d)"),
    "a body of two lines is opened up": ("a { b = 1\nc = 2 }", "a {\n  b = 1\n  c = 2\n}"),
    "an entry behind one of several lines": ("a {\nb = 1\n} c = 2", "a {\n  b = 1\n}\nc = 2"),
    "empty brackets": ("a {\n\n}\nb = [ ]\nc = [\n]", "a {}\nb = []\nc = []"),
    "a list of several lines": ("a = [1,2,\n3]", "a = [\n  1, 2,\n  3,\n]"),
    "a list of one line": ("a = [ 1,2, ]", "a = [1, 2]"),
    "a call of several lines": ("a = min(1,\n2)", "a = min(\n  1,\n  2\n)"),
    "a list with bodies": ("a = [b{\nc=1\n},d]", "a = [\n  b {\n    c = 1\n  },\n  d,\n]"),
    "blank lines": ("\n\na = 1\n\n\n\nb = 2\n\n", "a = 1\n\nb = 2"),
    "comments everywhere": (
        "# a\n\n# b\nc # d\n# e\n{ # f\n\n# g\nh = # i\n1 # j\n\n}",
        "# a\n\n# b\nc  # d\n  # e\n  {  # f\n    # g\n    h =  # i\n      1  # j\n  }",
    ),
    "units": (
        "a = 80GB  b = 400   Gbit/s  c = 8% d = 4Mi\ttokens e = 1_000k f = 2.40USD/h",
        "a = 80 GB  b = 400 Gbit/s  c = 8 %  d = 4Mi tokens  e = 1_000k  f = 2.40 USD/h",
    ),
    "what is no unit": ("a = 80foo  b = 80  foo  c = 8 Ki", "a = 80foo  b = 80 foo  c = 8 Ki"),
    "a unit before in": ("a = require 80GB in [b]", "a = require 80GB in [b]"),
    "a percent sign before in": ("a = require 8% in [b]", "a = require 8 % in [b]"),
    "a unit that would become one with in": ("a = require 80 GB\nin [b]", "a = require 80GB in [b]"),
    "a unit that cannot touch": ("a = require 4Mi tokens\nin [b]", "a = require 4Mi tokens\n  in [b]"),
    "a comma between a kind and a name": ("a = plan, b { c = 1 }", "a = plan,  b { c = 1 }"),
    "a comma between a number and a name": ("a = 8, b # c\n{ d = 1 }", "a = 8,  b  # c\n  { d = 1 }"),
    "strings": ('a="# {b}\tc  "', 'a = "# {b}\tc  "'),
}  # fmt: skip

#: Lines that a comment speaks of are neither split nor joined; here whole texts stand.
HELD = (
    "plan p {\n  a { b = 1  # planc: allow x -- y\n    c = 2\n  }\n}\n",
    "plan p {\n  a {\n    b = 1\n    c = 2 }  # <- PLN101\n}\n",
    "plan p {\n  a =\n    1  # planc: allow x -- y\n}\n",
    "plan p {\n  # planc: allow x -- y\n  a =\n    1\n}\n",
    "plan p {\n  # planc: allow x -- y\n  a {\n    b = 1\n  }  c = 2\n}\n",
    "plan p {\n  a {\n    b = 1 }  c { d = 2  # planc: allow x -- y\n      e = 3  # f\n    }\n}\n",
)


@pytest.mark.parametrize("name", BODIES)
def test_rules_of_the_layout(name: str) -> None:
    body, expected = BODIES[name]
    lines = ("  " + line if line else "" for line in expected.split("\n"))
    assert check(f"plan p {{\n{body}\n}}\n") == "plan p {\n" + "\n".join(lines) + "\n}\n"


@pytest.mark.parametrize("text", HELD)
def test_lines_that_a_comment_speaks_of(text: str) -> None:
    assert check(text) == text
    without = re.sub(r"  # (planc|<-).*|\n  # planc.*", "", text)
    assert check(without) != without


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_stands_apart(unit: str) -> None:
    assert check(f"gpu g {{ a = 8{unit} }}") == f"gpu g {{ a = 8 {unit} }}\n"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_suffix_touches(suffix: str) -> None:
    assert check(f"gpu g {{ a = 8{suffix} }}") == f"gpu g {{ a = 8{suffix} }}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("\n \r\n", ""),
        ("\ufeffuse \"a\"", 'use "a"\n'),
        ("\n\n# a \r\n\r\n\r\n# b", "# a\n\n# b\n"),
        ('language=1 use"a" # b\nuse "long" # c', 'language = 1  use "a"  # b\nuse "long"             # c\n'),
        ("plan a from\nb", "plan a from b\n"),
        ('model m from hf ( "a" )\n{ b=1 }', 'model m from hf("a") { b = 1 }\n'),
        ('plan "a b"{\n}plan c{\nd=1}', 'plan "a b" {}\nplan c {\n  d = 1\n}\n'),
        ("plan plan\nfrom b", "plan plan\n  from b\n"),
    ],
)  # fmt: skip
def test_files(text: str, expected: str) -> None:
    assert check(text) == expected


def test_a_very_long_line_pushes_nothing_to_the_right() -> None:
    long = "x" * 120
    body = f"  {long} = 1  # c\n  a = 1  # d\n  bc = 2  # e\n"
    assert check(f"plan p {{\n{body}}}\n") == f"plan p {{\n  {long} = 1  # c\n  a  = 1  # d\n  bc = 2  # e\n}}\n"
    rows = "".join(f"  forbid a == {number:03}  because {chr(34)}b{chr(34)}\n" for number in range(3))
    rule = f'  forbid {long} == 1  because "b"\n'
    assert check(f"policy p {{\n{rule}{rows}}}\n") == f"policy p {{\n{rule}{rows}}}\n"


def test_the_page_shows_what_is_done() -> None:
    before, after = (re.search(rf"^```plan {name}\n(.*?)^```$", PAGE, re.S | re.M) for name in ("before", "after"))
    assert before and after
    assert check(before[1]) == after[1]


def test_what_the_page_says_of_units() -> None:
    spelled = re.findall(r"`(\d[^`]*)`", PAGE[PAGE.index("## Words") : PAGE.index("## Comments")])
    assert {"80 GB", "400 Gbit/s", "8 %", "4Mi tokens", "8Ki"} <= set(spelled)
    for quantity in spelled:
        assert format_text(f"gpu g {{ a = {quantity.replace(' ', '   ')} }}") == f"gpu g {{ a = {quantity} }}\n"


def test_the_examples_and_the_catalogue_have_the_layout() -> None:
    for path in (*sorted((ROOT / "examples").glob("*.plan")), *sorted((ROOT / "planc" / "catalogue").glob("*.plan"))):
        text = path.read_text(encoding="utf-8")
        assert format_text(text) == text, path.name

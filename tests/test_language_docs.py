"""docs/language.md is true: its tables are the code's, its examples lint as they say, its limits have tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planc.commands.files import Files
from planc.compiler import analyse
from planc.kinds import all_kinds
from planc.plan.evaluate import FUNCTIONS
from planc.plan.schema import DERIVED, KINDS, SECTIONS, Field
from planc.plan.units import SUFFIXES
from planc.resources import parser_tables
from planc.source import Source
from tests.analysis import faults
from tests.language.page import LIMITS, PAGE, with_tables
from tests.shared import ROOT

TEXT = PAGE.read_text(encoding="utf-8")
PROSE = re.sub(r"<!-- table: .*?<!-- end -->|^```.*?^```$", "", TEXT, flags=re.S | re.M)
BLOCKS = [
    (TEXT[: match.start()].count("\n") + 2, match[1], match[2])
    for match in re.finditer(r"^```plan( entries)?\n(.*?)^```$", TEXT, re.S | re.M)
]

#: The first example, which the others refer to.
BASE = Source("base.plan", BLOCKS[0][2])


def paths(kind: str, prefix: str = "") -> dict[str, Field]:
    """Every field below a kind of block, by path."""
    found: dict[str, Field] = {}
    for field in SECTIONS[kind]:
        found[prefix + field.name] = field
        if field.type.form in ("record", "variant", "reference") and field.type.of not in ("plan", "policy"):
            found.update(paths(field.type.of, f"{prefix}{field.name}."))
    return found


#: What looks like a path in the text and is none.
NO_PATHS = {"house.fabric", "pyproject.toml", "planc.toml", "config.json", "some.list"}


def load(name: str, importer: Source | None) -> Source | str:
    return BASE if name == "base.plan" else Files().load(name, importer)


def test_the_tables_are_up_to_date() -> None:
    assert with_tables(TEXT) == TEXT, "`python -m tests.language.page` writes them"


def test_every_field_is_in_the_reference_and_the_other_way_round() -> None:
    tables = dict(re.findall(r"<!-- table: fields (\w+) -->\n(.*?)<!-- end -->", TEXT, re.S))
    listed = {section: re.findall(r"^\| `(\w+)` \|", table, re.M) for section, table in tables.items()}
    # A template has the fields of a plan, and `context` has none.
    code = {section: [field.name for field in fields] for section, fields in SECTIONS.items() if fields}
    del code["template"]
    assert listed == code


def test_every_path_that_the_text_names_exists() -> None:
    known = {*paths("plan"), *DERIVED, *(path for kind in ("gpu", "cluster", "model") for path in paths(kind))}
    named = set(re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)`", PROSE))
    assert {path for path in named if path not in known} <= NO_PATHS
    assert {"parallel.tensor", "cluster.nodes", "memory.headroom"} & named


def test_every_section_and_kind_has_a_heading() -> None:
    headings = set(re.findall(r"^#{2,3} (\w+)$", TEXT, re.M))
    sections = {field.name for field in SECTIONS["plan"] if field.type.form in ("record", "variant")}
    assert sections <= headings
    assert {"gpu", "cluster", "model"} <= headings
    assert "## plan and template" in TEXT
    assert all(f"`{kind}`" in PROSE for kind in KINDS)


def test_words_functions_and_suffixes_are_all_there() -> None:
    reserved = next(paragraph for paragraph in PROSE.split("\n\n") if "reserved:" in paragraph.replace("\n", " "))
    assert set(parser_tables()["keywords"]) <= set(re.findall(r"`([a-z]+)`", reserved))
    functions = TEXT[TEXT.index("### Functions") : TEXT.index("## Blocks and entries")]
    assert set(re.findall(r"`(\w+)\(", functions)) == set(FUNCTIONS)
    assert all(f"`{suffix}`" in PROSE for suffix in SUFFIXES)


@pytest.mark.parametrize(("line", "kind", "text"), BLOCKS, ids=[f"line-{line}" for line, _, _ in BLOCKS])
def test_examples_lint_as_they_say(line: int, kind: str, text: str) -> None:
    whole = f"plan example from base {{\n{text}}}\n" if kind else text
    first = text is BASE.text
    source = Source("example.plan", whole if first else f'use "base.plan"\n{whole}')
    found = faults(analyse((source,), load))
    expected = [
        (number, code)
        for number, shown in enumerate(source.text.splitlines(), 1)
        if " # <- " in shown
        for code in shown.partition(" # <- ")[2].split()
    ]
    assert sorted((one.primary.span.line, one.code) for one in found) == sorted(expected), [
        one.message for one in found
    ]


def test_every_code_has_a_page_and_every_page_its_section_here() -> None:
    pages = {kind.code: kind.page for kind in all_kinds()}
    assert set(re.findall(r"PLN\d{3}", TEXT)) <= set(pages)
    sources = {code: re.findall(r"docs/language\.md, (.*)\.$", page, re.M) for code, page in pages.items()}
    named = {(code, text) for code, found in sources.items() for text in found}
    headings = set(re.findall(r"^#+ (.*)$", TEXT, re.M))
    unknown = {(code, text) for code, text in named if text not in headings}
    assert {(code, text) for code, text in unknown if not headings.issuperset(text.split(" and "))} == set()
    assert 20 < len(named)


def test_every_limit_has_a_test() -> None:
    tests = (ROOT / "tests" / "language" / "test_limits.py").read_text(encoding="utf-8")
    for what, module, name, _ in LIMITS:
        imported = re.search(rf"^from {re.escape(module.__name__)} import (.*)$", tests, re.M)
        assert imported and name in imported[1], f"{what}: {module.__name__}.{name}"


def test_every_link_leads_somewhere() -> None:
    headings = re.findall(r"^#+ (.*)$", TEXT, re.M)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        if target.startswith("#"):
            assert target[1:] in anchors, target
        else:
            assert (Path(PAGE).parent / target).exists(), target


def test_the_page_is_plain_text() -> None:
    assert TEXT.isascii()
    assert [line for line in PROSE.splitlines() if 120 < len(line) and not line.startswith("|")] == []

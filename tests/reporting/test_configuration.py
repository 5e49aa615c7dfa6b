"""A configuration's text: what it comes to, and that each thing wrong with it is said at its place."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.kinds import known_rules
from planc.reporting.configuration import NONE, Chosen, Configuration, matches, selection
from planc.reporting.configuration_text import read
from planc.reporting.settings import KEYS, PER_PATH_KEYS, SETTINGS
from planc.resources import read_text
from planc.source import Source
from tests.shared import ROOT

RULES = known_rules()


def configuration(text: str, *table: str) -> tuple[Configuration, tuple[Diagnostic, ...]]:
    return read(Source("planc.toml", text), table, lambda: RULES)


def said(text: str, *table: str) -> list[tuple[str, int, str, str]]:
    """Code, line, marked text and message of each fault."""
    return [
        (found.code, found.primary.span.line, found.primary.span.text, found.message)
        for found in configuration(text, *table)[1]
    ]


def test_every_setting() -> None:
    text = """\
select = ["PLN1", "idle-pipeline"]
ignore = ['PLN107']
warn-as-error = true
min-severity = "info"
exclude = ["third_party"]
baseline = "old.json"
policies = [
  "house.plan",  # the house
  "lab.plan",
]
[versions]
torch = "2.13"
[per-path."legacy/*"]
ignore = ["all"]
[per-path."x.plan"]
min-severity = "error"
"""
    found, faults = configuration(text)
    assert faults == ()
    assert found.chosen == Chosen(("PLN1", "idle-pipeline"), ("PLN107",), ("all",), Severity.INFO)
    assert [(rule.pattern, rule.span.line) for rule in found.per_path] == [("legacy/*", 13), ("x.plan", 15)]
    assert [rule.chosen for rule in found.per_path] == [Chosen(ignore=("all",)), Chosen(min_severity=Severity.ERROR)]
    assert (found.exclude, found.baseline) == (("third_party",), "old.json")
    assert found.house is not None
    assert [(use.path.value, use.span.text) for use in found.house.policies] == [
        ("house.plan", '"house.plan"'),
        ("lab.plan", '"lab.plan"'),
    ]
    version = found.house.versions[0]
    assert (version.key.text, version.key.span.text, version.value.span.text) == ("torch", "torch", '"2.13"')
    assert [(setting.key, setting.span.line) for setting in found.written] == [
        ("select", 1), ("ignore", 2), ("warn-as-error", 3), ("min-severity", 4), ("exclude", 5), ("baseline", 6),
        ("policies", 7), ("versions", 11), ("per-path", 13),
    ]  # fmt: skip


def test_a_table_of_another_file() -> None:
    text = '[project]\nname = "x"\n[tool.planc]\nignore = ["PLN107"]\n[tool.planc.versions]\ntorch = 2\n'
    found, _ = configuration(text, "tool", "planc")
    assert found.chosen.ignore == ("PLN107",)
    assert said(text, "tool", "planc") == [("PLN052", 6, "torch", "`torch` is a version, a text")]
    assert said("[tool]\nplanc = 3\n", "tool", "planc") == [("PLN052", 2, "planc", "a table is due")]


def test_nothing_is_written() -> None:
    source = Source("planc.toml", "")
    assert read(source, (), lambda: RULES) == (NONE._replace(source=source), ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("selct = []", ("PLN051", 1, "selct", "no setting `selct`")),
        ('\nignore = ["PLN1", "PLN77"]', ("PLN052", 2, '"PLN77"', "no rule `PLN77`")),
        ('ignore = ["idle-pipelin"]', ("PLN052", 1, '"idle-pipelin"', "no rule `idle-pipelin`")),
        ('ignore = ["PLN001"]', ("PLN052", 1, '"PLN001"', "`PLN001` is an error in the language")),
        ('ignore = ["", "PLN1"]', ("PLN052", 1, '""', "an empty text in `ignore`")),
        ("select = []", ("PLN052", 1, "select", "`select` chooses nothing")),
        ("ignore = 3", ("PLN052", 1, "ignore", "`ignore` is a list of texts")),
        ('warn-as-error = "PLN1"', ("PLN052", 1, "warn-as-error", "`warn-as-error` is a list of texts")),
        ('min-severity = "low"', ("PLN052", 1, "min-severity", "`min-severity` is one of three words")),
        ("min-severity = []", ("PLN052", 1, "min-severity", "`min-severity` is one of three words")),
        ("baseline = true", ("PLN052", 1, "baseline", "`baseline` is a file's name, a text")),
        ("versions = 3", ("PLN052", 1, "versions", "`versions` is a table")),
        ("per-path = []", ("PLN052", 1, "per-path", "`per-path` is a table")),
        ('[per-path]\n"a/*" = 3', ("PLN052", 2, '"a/*"', "a pattern has a table of settings")),
        ('[per-path."a/*"]\npolicies = []', ("PLN051", 2, "policies", "no setting `policies` for a path")),
        ("ignore = [\n", ("PLN050", 2, "", "the configuration is not TOML")),
        ('a = "\n', ("PLN050", 1, "", "the configuration is not TOML")),
        ("[a]\n[a]\n", ("PLN050", 2, "", "the configuration is not TOML")),
    ],
)
def test_faults(text: str, expected: tuple[str, int, str, str]) -> None:
    assert said(text) == [expected]


def test_a_faulty_setting_is_not_taken_for_one_that_holds() -> None:
    found, _ = configuration('min-severity = "low"\nignore = ["PLN107", "PLN77"]\nversions = { torch = "2.13", x = 1 }')
    assert [setting.key for setting in found.written] == ["ignore", "versions"]
    assert found.house is not None
    assert [field.key.text for field in found.house.versions] == ["torch"]


def test_all_faults_are_reported_at_once() -> None:
    text = 'selct = 1\nbaselin = 2\nignore = ["x-y"]\nexclude = 4\n'
    assert [line for _, line, _, _ in said(text)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("path", "pattern", "matching"),
    [
        ("legacy/a.plan", "legacy", True),
        ("x/legacy/y/a.plan", "legacy", True),
        ("x/legacy/y/a.plan", "legacy/", True),
        ("x/legacy", "legacy/", False),
        ("x/legacy", "legacy", True),
        ("x/a.plan", "*.plan", True),
        ("x/a.plan", "x/*", True),
        ("x/y/a.plan", "x/*", True),
        ("x/y/a.plan", "./x/y", True),
        ("a.plan", "x/*", False),
        ("x/a.plan", "X/*", False),
        ("x/a1.plan", "x/a[0-9].plan", True),
        ("x/a.plan", "x/?.plan", True),
        ("xx/a.plan", "x/a.plan", False),
    ],
)
def test_patterns(path: str, pattern: str, matching: bool) -> None:
    assert matches(path, pattern) is matching


def test_what_holds_for_a_file() -> None:
    text = 'ignore = ["PLN1"]\nmin-severity = "error"\n[per-path."a/*"]\nignore = ["PLN2"]\nmin-severity = "info"\n'
    found, _ = configuration(text)
    here = selection(found, "a/b.plan", Chosen())
    assert (here.ignore, here.min_severity) == (("PLN1", "PLN2"), Severity.INFO)
    there = selection(found, "b.plan", Chosen(ignore=("PLN3",), warn_as_error=("all",)))
    assert (there.ignore, there.min_severity, there.warn_as_error) == (("PLN1", "PLN3"), Severity.ERROR, ("all",))
    asked = selection(found, "b.plan", Chosen(select=("PLN101",)))
    assert (asked.select, asked.ignore) == (("PLN101",), ())


SCHEMA = json.loads(read_text("schemas/configuration.schema.json"))


def test_the_schema_and_the_page_have_the_settings_of_the_code() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert tuple(SCHEMA["properties"]) == KEYS
    assert tuple(SCHEMA["properties"]["per-path"]["additionalProperties"]["properties"]) == PER_PATH_KEYS
    assert {key: part["description"] for key, part in SCHEMA["properties"].items()} == {
        setting.key: setting.meaning for setting in SETTINGS
    }
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| .* \| (yes|no) \| ", page, re.M)
    assert rows == [(setting.key, "yes" if setting.per_path else "no") for setting in SETTINGS]


TEXTS = st.sampled_from(["PLN1", "all", "idle-pipeline", "house.fabric", "x/*", "2.13"])
VALUES = st.one_of(
    st.booleans(), st.integers(0, 3), TEXTS, st.lists(st.one_of(TEXTS, st.integers(0, 3)), max_size=3),
    st.dictionaries(
        st.sampled_from([*KEYS, "torch", "x/*", "y"]), st.one_of(st.lists(TEXTS, max_size=2), TEXTS, st.booleans())
    ),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.dictionaries(st.sampled_from([*KEYS, "selct"]), VALUES, max_size=4))
def test_the_schema_refuses_what_planc_refuses(document: dict[str, Any]) -> None:
    names = " ".join(re.findall(r'"([^"]*)"', json.dumps(document)))
    _, faults = configuration(_toml(document))
    shape = [found for found in faults if not found.message.startswith("no rule")]
    refused = not jsonschema.Draft202012Validator(SCHEMA).is_valid(document)
    assert refused == bool(shape), (names, [found.message for found in faults])


def _toml(document: dict[str, Any]) -> str:
    """The document as TOML; JSON's texts, numbers, flags and lists are TOML as they stand."""

    def value(item: Any) -> str:
        if isinstance(item, dict):
            return "{ " + ", ".join(f"{json.dumps(key)} = {value(inner)}" for key, inner in item.items()) + " }"
        return json.dumps(item)

    return "".join(f"{json.dumps(key)} = {value(item)}\n" for key, item in document.items())

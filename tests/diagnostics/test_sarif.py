"""Diagnostics as SARIF: what its schema and GitHub's code scanning ask for, and text that stays text."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Schema

from planc.diagnostics import sarif
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.diagnostics.fingerprint import fingerprints
from planc.diagnostics.line_hash import line_hashes
from planc.diagnostics.report import Report
from planc.kinds import kinds_of
from planc.source import Source, Span
from planc.version import VERSION
from tests.diagnostics.given import EVIL, PLAN, UNKNOWN, at, real_report, reports, small_report

REGION = ("startLine", "startColumn", "endLine", "endColumn")


def run(report: Report) -> Any:
    """The one run of a report's document, which is held against the schema and against what GitHub requires."""
    text = sarif.render(report)
    assert text.isascii()
    Schema.model_validate_json(text)
    document = json.loads(text)
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("/sarif-schema-2.1.0.json")
    (found,) = document["runs"]
    assert_what_github_requires(found)
    return found


def assert_what_github_requires(found: Any) -> None:
    rules = found["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted({result["ruleId"] for result in found["results"]})
    for rule in rules:
        for text in (rule["shortDescription"]["text"], rule["fullDescription"]["text"]):
            assert 0 < len(text) <= 1024
        assert 0 < len(rule["name"]) <= 255
        assert rule["help"]["text"] and rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
        assert 0 < len(rule["properties"]["tags"]) <= 10
    for result in found["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        assert result["partialFingerprints"]["primaryLocationLineHash"]
        (location,) = result["locations"]
        for each in (location, *result.get("relatedLocations", ())):
            assert_is_a_place(each["physicalLocation"])


def assert_is_a_place(place: Any) -> None:
    uri, region = place["artifactLocation"]["uri"], place["region"]
    assert re.fullmatch(r"(file:///)?([A-Za-z0-9._~/-]|%[0-9A-F]{2})*", uri)
    assert tuple(region) == REGION
    start, end = (region["startLine"], region["startColumn"]), (region["endLine"], region["endColumn"])
    assert (1, 1) <= start <= end


def links(text: str) -> list[tuple[str, str]]:
    """The embedded links of a plain text message, by the grammar of section 3.11.6."""
    return re.findall(r"(?<!\\)(?:\\\\)*\[((?:[^\\\[\]]|\\[\\\[\]])*)\]\(([^)]*)\)", text)


def message(text: str, label: str = "") -> str:
    found = run(Report((UNKNOWN.at(at(PLAN, "tensr"), text, label),), ()))
    return str(found["results"][0]["message"]["text"])


def test_a_result() -> None:
    report = small_report()
    result = run(report)["results"][1]
    place = {"startLine": 2, "startColumn": 14, "endLine": 2, "endColumn": 19}
    other = {"startLine": 2, "startColumn": 3, "endLine": 2, "endColumn": 20}
    assert result["level"] == "error"
    assert result["message"]["text"] == (
        "unknown field `tensr` in `parallel`.\n"
        "no such field\n"
        "see [8 ranks](0)\n"
        "see [this place](1)\n"
        "help: did you mean `tensor`?\n"
        "note: `parallel` has `tensor`"
    )
    assert result["locations"] == [
        {"physicalLocation": {"artifactLocation": {"uri": "pretrain.plan"}, "region": place}}
    ]
    assert result["relatedLocations"][0] == {
        "id": 0,
        "physicalLocation": {"artifactLocation": {"uri": "lib/c.plan"}, "region": other},
        "message": {"text": "8 ranks"},
    }
    assert [location["id"] for location in result["relatedLocations"]] == [0, 1]
    assert result["partialFingerprints"] == {
        "primaryLocationLineHash": line_hashes(PLAN, [2])[2],
        "plancFingerprint/v1": fingerprints(report.diagnostics)[1],
    }


def test_fixes_change_one_file_or_several() -> None:
    safe, unsafe = run(small_report())["results"][1]["fixes"]
    assert safe == {
        "description": {"text": "write `tensor`"},
        "artifactChanges": [
            {
                "artifactLocation": {"uri": "pretrain.plan"},
                "replacements": [
                    {
                        "deletedRegion": {"startLine": 2, "startColumn": 14, "endLine": 2, "endColumn": 19},
                        "insertedContent": {"text": "tensor"},
                    }
                ],
            }
        ],
        "properties": {"safe": True},
    }
    assert not unsafe["properties"]["safe"]
    files = [change["artifactLocation"]["uri"] for change in unsafe["artifactChanges"]]
    assert files == ["pretrain.plan", "lib/c.plan"]


def test_a_rule_shows_its_page() -> None:
    report = small_report()
    found = run(report._replace(kinds=kinds_of(report.diagnostics)))
    driver = found["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("planc", VERSION)
    rule = driver["rules"][0]
    assert (rule["id"], rule["name"]) == ("PLN011", "unknown-field")
    assert rule["shortDescription"]["text"] == "A block or section has no field of this name."
    assert rule["fullDescription"]["text"].startswith("a field that nobody reads")
    assert "\nExample:\n    gpu card" in rule["help"]["text"]
    assert "\n**Example:**\n\n```planc\ngpu card" in rule["help"]["markdown"]
    assert rule["properties"]["tags"] == ["language"]
    assert driver["rules"][1]["defaultConfiguration"] == {"level": "warning"}


def test_a_file_that_was_not_read_makes_the_run_fail() -> None:
    (invocation,) = run(small_report())["invocations"]
    assert invocation == {
        "executionSuccessful": False,
        "toolExecutionNotifications": [
            {
                "level": "error",
                "message": {"text": "cannot read `gone.plan`: no such file."},
                "locations": [{"physicalLocation": {"artifactLocation": {"uri": "gone.plan"}}}],
            }
        ],
    }
    (invocation,) = run(Report((), ("a.plan",)))["invocations"]
    assert invocation == {"executionSuccessful": True, "toolExecutionNotifications": []}


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("plans/a-b_c.plan", "plans/a-b_c.plan"),
        ("../../a.plan", "../../a.plan"),
        ("./a//b/../c.plan", "a/c.plan"),
        ("/srv/../../a/./b.plan", "file:///a/b.plan"),
        ("my plans/100%.plan", "my%20plans/100%25.plan"),
        ("a:b?c#d.plan", "a%3Ab%3Fc%23d.plan"),
        ("\u8a08.plan", "%E8%A8%88.plan"),
        ("\udcff.plan", "%FF.plan"),
        ("\ud800.plan", "%EF%BF%BD.plan"),
        ("/srv/my plans/a.plan", "file:///srv/my%20plans/a.plan"),
        ("//srv/a.plan", "file:///srv/a.plan"),
        ("<stdin>", "%3Cstdin%3E"),
    ],
)
def test_uris(name: str, uri: str) -> None:
    assert sarif.uri(name) == uri


def test_what_a_plan_wrote_is_no_link_and_no_placeholder() -> None:
    assert message("see [me](http://a), {0}") == "see [me\\](http://a), {{0}}."
    assert message("a", "[me\\](http://a)") == "a.\n[me\\\\\\](http://a)"
    assert message("emit = [slurm]") == "emit = [slurm]."
    assert links("[me\\](http://a)") == links("[me\\\\\\](http://a)") == []
    assert links("[me](0)") == links("\\\\[me](0)")[:1] == [("me", "0")]
    assert "\\x1b[2J" in message(EVIL)
    assert message(EVIL).isprintable()


def test_a_label_with_brackets_is_the_text_of_its_link() -> None:
    label = Label(at(PLAN, "parallel"), "a] [b\\")
    found = run(Report((UNKNOWN.at(at(PLAN, "tensr"), "x", related=(label,)),), ()))
    assert found["results"][0]["message"]["text"] == "x.\nsee [a\\] \\[b\\\\](0)"


def test_results_that_github_would_refuse_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MOST_RESULTS", 3)

    def found(start: int, severity: Severity) -> Diagnostic:
        return UNKNOWN.at(Span(PLAN, start, start), "x")._replace(severity=severity)

    severities = (Severity.INFO, Severity.ERROR, Severity.WARNING, Severity.WARNING, Severity.ERROR)
    whole = run(Report(tuple(map(found, range(5), severities)), ("a.plan",)))
    assert [result["level"] for result in whole["results"]] == ["error", "warning", "error"]
    (invocation,) = whole["invocations"]
    assert invocation["executionSuccessful"]
    assert invocation["toolExecutionNotifications"][0]["message"]["text"].startswith("2 more results are left out")


@pytest.mark.parametrize(
    ("text", "hashes"),
    [
        ("", ("c129715d7a2bc9a3:1",)),
        ("a\nb\na\nb\n", ("4d95462eefa6f789:1", "dbaba92b0130b202:1", "81b8d8db678b2bbe:1", "ade70578248be16f:1")),
        ("plan a {\n  x = 1\n}\n", ("833b479c379313f3:1", "6f22120091a3fc0a:1", "32dce9ccfdbc9d3e:1")),
        ("plan a {\r\n\tx = 1\r\n}\r\n", ("833b479c379313f3:1", "6f22120091a3fc0a:1", "32dce9ccfdbc9d3e:1")),
    ],
)
def test_lines_have_the_hash_that_github_works_out(text: str, hashes: tuple[str, ...]) -> None:
    """The values are those of the action that uploads SARIF, codeql-action's `fingerprints.ts`, for the same text."""
    found = line_hashes(Source("a.plan", text), range(1, len(hashes) + 1))
    assert tuple(found.values()) == hashes


def test_the_second_of_two_lines_that_go_on_alike_is_counted() -> None:
    line = "x" * 120 + "\n"
    first, second = line_hashes(Source("a.plan", line * 2 + "y"), [1, 2]).values()
    assert (first.partition(":")[0], second) == (second.partition(":")[0], first.replace(":1", ":2"))


@given(reports())
def test_hostile_text_reads_back(report: Report) -> None:
    results = run(report)["results"]
    assert len(results) == len(report.diagnostics)
    for result, diagnostic in zip(results, report.diagnostics, strict=True):
        text = result["message"]["text"]
        assert all(line.isprintable() for line in text.split("\n"))
        assert not re.search(r"(?<!\{)(\{\{)*\{(?!\{)", text)
        assert [target for _, target in links(text)] == [str(number) for number in range(len(diagnostic.related))]
        assert all(fix["description"]["text"].isprintable() for fix in result.get("fixes", ()))
        written = [edit.text for fix in diagnostic.fixes for edit in fix.edits]
        changes = [change for fix in result.get("fixes", ()) for change in fix["artifactChanges"]]
        replaced = [each["insertedContent"]["text"] for change in changes for each in change["replacements"]]
        assert sorted(replaced) == sorted(written)


def test_real_faults() -> None:
    report = real_report()
    found = run(report)
    assert len(found["results"]) == len(report.diagnostics)
    assert all("\nExample:" in rule["help"]["text"] for rule in found["tool"]["driver"]["rules"])


def test_the_schema_refuses_what_is_wrong() -> None:
    document = json.loads(sarif.render(small_report()))
    document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    with pytest.raises(ValidationError):
        Schema.model_validate(document)

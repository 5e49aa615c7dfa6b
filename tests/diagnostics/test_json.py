"""Diagnostics as data: the form that the schema describes."""

import json
from typing import Any

import jsonschema
import pytest

from planc.diagnostics.diagnostic import Edit, Fault, Fix, Label, Severity
from planc.diagnostics.json import render
from planc.diagnostics.report import Report
from planc.resources import read_text
from planc.source import Source, Span

SOURCE = Source("a.plan", "plan a {\n  parallel { tensr = 8 }\n}\n")
CLUSTER = Source("lib/c.plan", "cluster c { }")
WORD = Span(SOURCE, 22, 27)
FAULT = Fault("PLN011", "unknown-field", Severity.ERROR, "")


def schema() -> Any:
    return json.loads(read_text("schemas/diagnostics.schema.json"))


def found() -> Any:
    fix = Fix("write `tensor`", (Edit(WORD, "tensor"),), safe=False)
    diagnostic = FAULT.at(
        WORD,
        "unknown field `tensr` in `parallel`",
        "no such field",
        related=(Label(Span(CLUSTER, 8, 9), "of this cluster"),),
        help=("did you mean `tensor`?",),
        notes=("`parallel` has `tensor`",),
        fixes=(fix,),
    )
    both = (diagnostic, diagnostic._replace(severity=Severity.WARNING))
    return json.loads(render(Report(both, ("a.plan", "c.plan"), (("b.plan", "gone"),))))


def test_a_document_says_where_and_what() -> None:
    document = found()
    where = {"file": "a.plan", "line": 2, "column": 14, "end_line": 2, "end_column": 19, "start": 22, "end": 27}
    elsewhere = {"file": "lib/c.plan", "line": 1, "column": 9, "end_line": 1, "end_column": 10, "start": 8, "end": 9}
    assert document["diagnostics"][0] == {
        "code": "PLN011",
        "name": "unknown-field",
        "severity": "error",
        "page": "docs/rules/pln011-unknown-field.md",
        "message": "unknown field `tensr` in `parallel`",
        **where,
        "label": "no such field",
        "related": [{**elsewhere, "label": "of this cluster"}],
        "help": ["did you mean `tensor`?"],
        "notes": ["`parallel` has `tensor`"],
        "fixes": [{"title": "write `tensor`", "safe": False, "edits": [{**where, "text": "tensor"}]}],
    }
    assert (document["version"], document["files"], document["errors"], document["warnings"]) == (1, 2, 1, 1)
    assert document["unread"] == [{"file": "b.plan", "reason": "gone"}]


def test_the_schema_describes_it() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(found(), schema())
    jsonschema.validate(json.loads(render(Report((), ()))), schema())


@pytest.mark.parametrize(
    "break_it",
    [
        lambda document: document.pop("errors"),
        lambda document: document.update(version=2),
        lambda document: document["diagnostics"][0].update(line=0),
        lambda document: document["diagnostics"][0].update(severity="fatal"),
        lambda document: document["diagnostics"][0].update(code="E101"),
        lambda document: document["diagnostics"][0].update(colour="red"),
        lambda document: document["diagnostics"][0]["fixes"][0]["edits"].clear(),
        lambda document: document["diagnostics"][0]["related"][0].pop("end"),
    ],
)
def test_the_schema_refuses_anything_else(break_it: Any) -> None:
    document = found()
    break_it(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema())


def test_offsets_count_code_points_and_odd_characters_survive() -> None:
    source = Source("\udcff.plan", "\U0001f600 = \u202e")
    report = Report((FAULT.at(Span(source, 4, 5), "a \x1b b"),), (source.name,))
    document = json.loads(render(report))
    diagnostic = document["diagnostics"][0]
    assert (diagnostic["column"], diagnostic["end_column"], diagnostic["file"]) == (5, 6, "\udcff.plan")
    assert diagnostic["message"] == "a \x1b b"
    assert render(report).isascii()

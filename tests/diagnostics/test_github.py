"""Diagnostics as workflow commands, read back as GitHub's runner reads them."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given

from planc.diagnostics.github import render
from planc.diagnostics.report import Report
from tests.diagnostics.given import real_report, reports, small_report


class Command(NamedTuple):
    name: str
    properties: dict[str, str]
    message: str


def read(line: str) -> Command:
    """The command in a line of a log: it stands between `::` and the next `::`, its properties apart by commas."""
    assert line.startswith("::")
    head, between, message = line[2:].partition("::")
    assert between
    name, _, rest = head.partition(" ")
    pairs = (pair.split("=", 1) for pair in rest.split(","))
    properties = {key: plain(value.replace("%3A", ":").replace("%2C", ",")) for key, value in pairs}
    return Command(name, properties, plain(message))


def plain(text: str) -> str:
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def test_the_form_that_the_documentation_gives() -> None:
    assert render(small_report()) == (
        "::warning file=lib/c.plan,line=1,endLine=3,title=PLN107 unbalanced-stages::3 stages hold 5 and 6 layers\n"
        "::error file=pretrain.plan,line=2,endLine=2,col=14,endColumn=19,title=PLN011 unknown-field::"
        "unknown field `tensr` in `parallel`%0Ano such field%0Alib/c.plan:2:3: 8 ranks%0A"
        "help: did you mean `tensor`?%0Anote: `parallel` has `tensor`\n"
        "::error file=gone.plan,title=planc cannot read this file::cannot read `gone.plan`: no such file\n"
    )


def test_what_would_end_a_property_or_a_command_is_escaped() -> None:
    report = small_report()
    error = report.diagnostics[1]._replace(message="100%: a, b\n::error::c", related=(), help=(), notes=())
    source = type(error.primary.span.source)("a:b,c%.plan", error.primary.span.source.text)
    primary = error.primary._replace(span=error.primary.span._replace(source=source), text="")
    line, end = render(Report((error._replace(primary=primary),), ())).split("\n")
    assert end == ""
    assert line.startswith("::error file=a%3Ab%2Cc%25.plan,line=2,")
    assert line.endswith("::100%25: a, b\\n::error::c")
    assert read(line).properties["file"] == "a:b,c%.plan"
    assert read(line).message == "100%: a, b\\n::error::c"


@given(reports())
def test_hostile_text_starts_no_command_of_its_own(report: Report) -> None:
    *lines, end = render(report).split("\n")
    assert end == ""
    assert all(line.isprintable() for line in lines)
    commands = [read(line) for line in lines]
    assert len(commands) == len(report.diagnostics) + len(report.unread)
    for command, diagnostic in zip(commands, report.diagnostics, strict=False):
        assert command.name in ("error", "warning", "notice")
        assert command.properties["line"] == str(diagnostic.primary.span.line)
        assert command.properties["title"] == f"{diagnostic.code} {diagnostic.name}"
        assert {"file", "line", "endLine", "title"} <= set(command.properties)
        assert set(command.properties) <= {"file", "line", "endLine", "col", "endColumn", "title"}


def test_real_faults_carry_their_help() -> None:
    report = real_report()
    for line, diagnostic in zip(render(report).splitlines(), report.diagnostics, strict=True):
        command = read(line)
        assert command.properties["file"] == diagnostic.primary.span.source.name
        assert command.message.splitlines()[0] == diagnostic.message
        assert all(f"help: {text}" in command.message.splitlines() for text in diagnostic.help)

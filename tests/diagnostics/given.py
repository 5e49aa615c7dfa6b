"""Reports for the tests of the output forms: one by hand, real ones, and hostile ones made by Hypothesis."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from planc.commands.files import Files
from planc.commands.reading import read_all
from planc.compiler import analyse
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fault, Fix, Label, Severity, in_order
from planc.diagnostics.report import Report
from planc.kinds import kinds_of
from planc.source import Source, Span
from tests.shared import ROOT

#: What would disturb a terminal, a log, XML, JSON, Markdown or the commands of a workflow.
EVIL = "\x1b[2J\x07\x9b\x7f\u202e\u2066\u200b\u2028\r\n\t%0A::error::,:]]><b>&amp;\"'\\](http://a) {0} `*_ \ufffe"

PLAN = Source("pretrain.plan", "plan a {\n  parallel { tensr = 8  pipeline = 3 }\n}\n")
CLUSTER = Source("lib/c.plan", "cluster c {\n  gpus_per_node = 8\n}\n")

UNKNOWN = Fault("PLN011", "unknown-field", Severity.ERROR, "")
UNBALANCED = Fault("PLN107", "unbalanced-stages", Severity.WARNING, "")

_WHOLE = st.sampled_from([EVIL, "", "[x](http://a)", "\\](", "[[ATTACHMENT|a]]", "{0} {{", "]]>", "a: b, c", "a\r\nb"])
_MIXED = st.text("\x1b\u202e\u2028\r\n\t %:,][()<&\"'\\{}`|ab0/.\U0001f600\udcff\ud800\x00", max_size=12)
_SAVED = st.text('\x1b\u202e\n%:[](<&"\\{}a\U0001f600', max_size=8)  # what a file in UTF-8 can hold


def at(source: Source, text: str) -> Span:
    """The first place of a text in a source."""
    start = source.text.index(text)
    return Span(source, start, start + len(text))


def texts() -> st.SearchStrategy[str]:
    """Hostile texts: known ones, and what would disturb in any order."""
    return _WHOLE | _MIXED


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """A report in which every text and name is hostile."""
    sources = draw(st.lists(st.builds(Source, texts(), texts()), min_size=1, max_size=3))
    diagnostics = draw(st.lists(_diagnostics(sources), max_size=4))
    unread = draw(st.lists(st.tuples(texts(), texts()), max_size=2))
    return Report(tuple(diagnostics), tuple(source.name for source in sources), tuple(unread))


@st.composite
def _diagnostics(draw: st.DrawFn, sources: list[Source]) -> Diagnostic:
    def span() -> Span:
        source = draw(st.sampled_from(sources))
        start, end = sorted(draw(st.tuples(*[st.integers(0, len(source.text))] * 2)))
        return Span(source, start, end)

    labels = [Label(span(), draw(texts())) for _ in range(draw(st.integers(0, 2)))]
    fixes = [
        Fix(draw(texts()), (Edit(span(), draw(_SAVED)), Edit(span(), "")), draw(st.booleans()))
        for _ in range(draw(st.integers(0, 2)))
    ]
    fault = draw(st.sampled_from([UNKNOWN, UNBALANCED]))
    found = fault.at(span(), draw(texts()), draw(texts()), related=tuple(labels), fixes=tuple(fixes))
    found = found._replace(help=tuple(draw(st.lists(texts(), max_size=2))), notes=(draw(texts()),))
    return found._replace(severity=draw(st.sampled_from(Severity)))


def small_report() -> Report:
    """An error that spans files and has fixes, a warning over two lines, a clean file, and one that is not there."""
    error = UNKNOWN.at(
        at(PLAN, "tensr"),
        "unknown field `tensr` in `parallel`",
        "no such field",
        related=(Label(at(CLUSTER, "gpus_per_node = 8"), "8 ranks"), Label(at(PLAN, "pipeline = 3"))),
        help=("did you mean `tensor`?",),
        notes=("`parallel` has `tensor`",),
        fixes=(
            Fix("write `tensor`", (Edit(at(PLAN, "tensr"), "tensor"),), safe=True),
            Fix("take both out", (Edit(at(PLAN, "tensr = 8"), ""), Edit(at(CLUSTER, "8"), "4")), safe=False),
        ),
    )
    warning = UNBALANCED.at(at(CLUSTER, "{\n  gpus_per_node = 8\n}"), "3 stages hold 5 and 6 layers")
    files = (PLAN.name, CLUSTER.name, "clean.plan")
    return Report((warning, error), files, (("gone.plan", "no such file"),))


@cache
def real_report() -> Report:
    """What planc says of the plans that the tests and examples hold, advice too."""
    files = Files()
    folders = ("tests/wrong", "tests/rules", "examples")
    read = read_all(files, [str(ROOT / folder) for folder in folders])
    found = in_order((*read.diagnostics, *analyse(read.sources, files.load).diagnostics))
    assert 100 < len(found)
    return Report(found, read.names, read.unread, kinds_of(found))

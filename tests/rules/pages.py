"""docs/rules/, a page a kind of diagnostic, as `planc rule` shows it: `python -m tests.rules.pages` writes them."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from pathlib import Path

from planc.commands.main import main as planc
from planc.diagnostics.diagnostic import Severity
from planc.diagnostics.page import markdown, parts
from planc.diagnostics.report import Kind, page_path
from planc.kinds import all_kinds
from tests.shared import ROOT

FOLDER = ROOT / "docs" / "rules"
INDEX = "README.md"

_HEAD = """\
# What planc reports

Every rule, and every fault of the language and of the targets. `planc rule CODE` shows the same page, and
`planc rule --output-format json` gives all of them as data. An error keeps a plan from being compiled, a warning does
not, and advice is shown by `planc compile`, and by `planc lint --min-severity info`.

The first digit tells the subject: 0 the language and the files of other tools, 1 ranks, 2 the batch, 3 memory, 4
precision, 5 the network, 6 the launch, 7 the schedule and the length of the run, 8 data, checkpoints and where a run
goes on, 9 what a target can express.

`python -m tests.rules.pages` writes these pages: edit the docstrings of the rules and the texts of the faults instead.

| code | name | severity | what |
|---|---|---|---|
"""

_WEIGHT = {
    Severity.ERROR: "An error: a plan that has it is not compiled.",
    Severity.WARNING: "A warning: a plan that has it is compiled all the same.",
    Severity.INFO: "Advice: shown by `planc compile`, and by `planc lint --min-severity info`.",
}


def main() -> None:
    """Writes the pages, and removes those of kinds that there are no more."""
    FOLDER.mkdir(exist_ok=True)
    texts = pages()
    for left_over in {path.name for path in FOLDER.iterdir()} - set(texts):
        (FOLDER / left_over).unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """The text of each page by the name of its file, the index among them."""
    kinds = all_kinds()
    return {INDEX: _index(kinds), **{Path(page_path(kind.code, kind.name)).name: _page(kind) for kind in kinds}}


def _index(kinds: tuple[Kind, ...]) -> str:
    rows = []
    for kind in kinds:
        name = Path(page_path(kind.code, kind.name)).name
        what = _linked(markdown(parts(kind.page)[""])).strip()
        rows.append(f"| [{kind.code}]({name}) | {kind.name} | {kind.severity.value} | {what} |\n")
    return _HEAD + "".join(rows)


def _page(kind: Kind) -> str:
    head = f"# {kind.code} {kind.name}\n\n{_WEIGHT[kind.severity]}\n\n"
    return head + _linked(markdown(kind.page)) + _printed(kind)


def _linked(text: str) -> str:
    """The text with a link wherever it names a page of docs/."""
    return re.sub(r"(?<![\w`/])docs/(\w+\.md)", r"[docs/\1](../\1)", text)


def _printed(kind: Kind) -> str:
    """What `planc lint` prints for the example; nothing where the example is prose."""
    example = parts(kind.page)["Example"]
    if not example.endswith("\n"):
        return ""
    options = ["--min-severity", "info"] if kind.severity is Severity.INFO else []
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        Path("example.plan").write_text(example, encoding="utf-8")
        planc(["lint", "--no-cache", *options, "example.plan"])
    shown = " ".join(["planc", "lint", *options, "example.plan"])
    return f"\nOf the example, `{shown}` says:\n\n```text\n{printed.getvalue()}```\n"


if __name__ == "__main__":
    main()

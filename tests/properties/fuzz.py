"""A long run of coverage-guided fuzzing, by hand: `python -m tests.properties.fuzz FOLDER [libFuzzer options]`.

Needs atheris from PyPI, which the tests do not. The corpus lives in FOLDER; the examples and the cases of the rules are
where it starts. Each text is analysed and what is found is shown; a plan without errors is explained and emitted. It
stops at the first text that raises, takes two seconds of processor time, or is refused by lark in silence; libFuzzer
leaves that text in the current folder as `crash-*`. An hour: `-max_total_time=3600`.
"""

from __future__ import annotations

import sys
import time
from functools import cache
from pathlib import Path

import atheris  # type: ignore[import-not-found]

with atheris.instrument_imports(include=["planc"]):
    from planc import explanation, manifest
    from planc.commands.files import Files
    from planc.compiler import analyse, emit, open_fields
    from planc.diagnostics.diagnostic import Severity
    from planc.diagnostics.text import render
    from planc.source import Source
    from planc.syntax import parse
from tests.shared import ROOT

SECONDS = 2  # instrumented code is slower; the tests hold plain code to one

_WORDS = ROOT / "planc" / "plan" / "schema.py"


@cache
def _lark():  # type: ignore[no-untyped-def]
    from lark import Lark

    return Lark((ROOT / "grammar" / "plan.lark").read_text(encoding="utf-8"), parser="lalr", lexer="basic")


def one(data: bytes) -> None:
    """Puts one text through all of planc."""
    text = data.decode("utf-8", "replace")
    started = time.process_time()
    source = Source("case.plan", text)
    analysis = analyse((source,), Files().load)
    for diagnostic in analysis.diagnostics:
        render(diagnostic, color=True)
    if not any(found.severity is Severity.ERROR for found in analysis.diagnostics):
        for plan in analysis.plans:
            explanation.explain(plan, None)
            if not any(found.severity is Severity.ERROR for found in open_fields(plan)):
                files = emit(plan)
                manifest.text_of(plan, manifest.Origin("case.plan"), files, "0", {})
    assert time.process_time() - started < SECONDS, "too slow"
    if not parse.parse(source).diagnostics:
        _lark().parse(text.removeprefix("\ufeff"))


def main() -> None:
    """Starts libFuzzer in the folder of the first argument."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    starts = [
        *(ROOT / "examples").glob("*.plan"),
        *(ROOT / "tests").glob("*/*/*.plan"),
        *(ROOT / "tests").glob("*/*.plan"),
    ]
    for number, path in enumerate(sorted(starts)):
        (folder / f"start-{number:04}").write_bytes(path.read_bytes())
    words = sorted({word for word in _WORDS.read_text(encoding="utf-8").split('"')[1::2] if word.isidentifier()})
    dictionary = folder.parent / f"{folder.name}.dict"
    dictionary.write_text("".join(f'"{word}"\n' for word in words), encoding="utf-8")
    atheris.Setup([sys.argv[0], str(folder), f"-dict={dictionary}", "-max_len=4096", *sys.argv[2:]], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

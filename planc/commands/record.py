"""`planc record diff`: what differs between the records of two runs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from planc.commands import output
from planc.commands.arguments import Parser, parsed
from planc.commands.evidence_files import content_of, require_packages
from planc.commands.output import CannotWork, quoted
from planc.diagnostics.amounts import plural
from planc.diagnostics.text import visible
from planc.evidence.canonical import Unreadable
from planc.evidence.comparing import PARTS, Change, as_data, changes
from planc.evidence.record import MOST_BYTES, read, statement_in

#: Changes of one part that are shown, and letters of a value.
_MOST_SHOWN, _MOST_LETTERS = 40, 80


def run(arguments: list[str]) -> int:
    """Exit status: 0 if the runs are recorded alike, 1 if anything differs, 2 if a record cannot be used."""
    options = parsed(parser(), arguments)
    require_packages()
    found = changes(*(_statement(path) for path in (options.first, options.second)))
    if options.output_format == "json":
        output.write(json.dumps(as_data(found), indent=2) + "\n")
    else:
        output.write(_as_text(found))
    return 1 if found else 0


def parser() -> argparse.ArgumentParser:
    """The command line of `planc record`."""
    made = Parser(
        prog="planc record",
        description="Say what differs between the records of two runs: configuration, data, model, metrics, software. "
        "Signatures are not looked at; `planc verify` does. Exit status: 0 nothing differs, 1 something does, 2 a "
        "record cannot be used.",
    )
    made.add_argument("action", choices=("diff",), help="what to do with the records")
    made.add_argument("first", metavar="RECORD", help="the one record")
    made.add_argument("second", metavar="RECORD", help="the other")
    made.add_argument(
        "--output-format", choices=("text", "json"), default="text", help="how the changes are written; default: text"
    )
    return made


def _statement(path: str) -> dict[str, Any]:
    try:
        return statement_in(read(content_of(path, MOST_BYTES)))
    except Unreadable as reason:
        raise CannotWork(f"{quoted(path)} cannot be used: {visible(str(reason))}") from None


def _as_text(found: Sequence[Change]) -> str:
    lines = []
    for part in PARTS:
        of_part = [change for change in found if change.part == part]
        lines += [part] if of_part else []
        lines += map(_line, of_part[:_MOST_SHOWN])
        if _MOST_SHOWN < len(of_part):
            lines.append(f"  and {plural(len(of_part) - _MOST_SHOWN, 'more change')}")
    lines.append(f"Found {plural(len(found), 'change')}." if found else "The runs are recorded alike.")
    return "".join(f"{line}\n" for line in lines)


def _line(change: Change) -> str:
    name = visible(change.name)
    if change.before is None:
        return f"  + {name}  {_shown(change.after)}"
    if change.after is None:
        return f"  - {name}  {_shown(change.before)}"
    more = "" if change.difference is None else f"  ({change.difference:+.6g})"
    return f"  ~ {name}  {_shown(change.before)} -> {_shown(change.after)}{more}"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return visible(text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}...")

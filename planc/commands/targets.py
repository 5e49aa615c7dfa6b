"""`planc targets`: what `planc compile` can write, and the consumer that each was proved against."""

from __future__ import annotations

import argparse
import json
import textwrap
from typing import Any

from planc.commands import output
from planc.commands.arguments import Parser, parsed
from planc.commands.output import CannotWork
from planc.editing.wording import type_text
from planc.targets import load_target, target_names

VERSION = 1  # of the form of the JSON; a key that is removed or changes its meaning raises it, a new key does not


def run(arguments: list[str]) -> int:
    """Exit status: 0, or 2 if no target has this name."""
    options = parsed(parser(), arguments)
    names = target_names()
    for name in options.targets:
        _refuse_unknown(name, names)
    chosen = tuple(dict.fromkeys(options.targets)) or names
    if options.output_format == "json":
        output.write(json.dumps({"version": VERSION, "targets": list(map(_data, chosen))}, indent=2) + "\n")
    elif options.targets:
        output.write("\n".join(map(_page, chosen)))
    else:
        output.write(_listing(chosen))
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line of `planc targets`."""
    made = Parser(
        prog="planc targets",
        description="List what planc can write, or show what targets are: their files, what proved them, and the "
        "options that may stand in `emit`. Exit status: 0, or 2 if there is no such target.",
    )
    made.add_argument("targets", nargs="*", metavar="TARGET", help="such as slurm; its options are shown")
    made.add_argument(
        "--output-format",
        choices=("text", "json"),
        default="text",
        help="json: the targets with their options, as data; all if none is named. default: text",
    )
    return made


def _refuse_unknown(name: str, names: tuple[str, ...]) -> None:
    if name in names:
        return
    guess = output.did_you_mean(name, names)
    raise CannotWork(f"no target {output.quoted(name)}{guess}; `planc targets` lists them")


def _listing(names: tuple[str, ...]) -> str:
    width = max(map(len, names))
    lines = []
    for name in names:
        target = load_target(name)
        lines.append(f"{name:<{width}}  {target.summary}\n{'':<{width}}  proved against {target.proved}\n")
    lines.append(f"\n`planc targets NAME` shows the options of one, as {names[0]}.\n")
    return "".join(lines)


def _page(name: str) -> str:
    target = load_target(name)
    lines = [f"{name}: {target.summary}", f"proved against {target.proved}", f"page: {_path(name)}"]
    lines.append("options, as in `emit = [" + name + " { option = value }]`:" if target.options else "options: none")
    for option in target.options:
        lines.append(f"  {option.name}  ({type_text(option.type)})")
        lines.extend(textwrap.wrap(option.doc, 112, initial_indent="    ", subsequent_indent="    "))
    return "\n".join(lines) + "\n"


def _data(name: str) -> dict[str, Any]:
    """One target of the document that `schemas/targets.schema.json` describes."""
    target = load_target(name)
    options = [{"name": option.name, "type": type_text(option.type), "what": option.doc} for option in target.options]
    head = {"name": name, "summary": target.summary, "proved": target.proved, "page": _path(name)}
    return {**head, "trainers": list(target.engines), "options": options}


def _path(name: str) -> str:
    """Where the page of a target lies in planc's repository."""
    return f"docs/targets/{name}.md"

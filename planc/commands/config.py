"""`planc config`: the settings that hold for a file or folder, and where each comes from."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, NamedTuple

from planc.commands import output
from planc.commands.arguments import Parser, parsed
from planc.commands.configuring import CONFIG, Configurations, relative
from planc.commands.files import Files
from planc.commands.output import CannotWork, as_text, is_error
from planc.diagnostics.text import visible
from planc.reporting.configuration import Configuration, matches
from planc.reporting.settings import PER_PATH_KEYS, SETTINGS

#: What holds where nothing is written.
_DEFAULTS: dict[str, Any] = {
    "select": ["all"],
    "ignore": [],
    "warn-as-error": False,
    "min-severity": "warning",
    "exclude": [],
    "baseline": None,
    "policies": [],
    "versions": {},
    "per-path": {},
}


class Row(NamedTuple):
    """A setting that holds: its value, where it is written, nothing if nowhere, and the pattern that it is for."""

    key: str
    value: Any
    place: str
    pattern: str = ""


def run(arguments: list[str]) -> int:
    """Exit status: 1 if the configuration has errors, 2 if it cannot be read, else 0."""
    options = parsed(parser(), arguments)
    if not os.path.lexists(options.path):
        raise CannotWork(f"no such file or folder: {output.quoted(options.path)}")
    configurations = Configurations(Files(), options.config)
    real_path = os.path.realpath(options.path)
    folder = real_path if os.path.isdir(real_path) else os.path.dirname(real_path)
    configuration = configurations.of_folder(folder)
    inside = relative(real_path, configurations.folder(configuration))
    rows = _rows(configuration, inside if not os.path.isdir(real_path) else None)
    source = configuration.source
    if options.output_format == "json":
        settings = [row._asdict() for row in rows]
        document = {"version": 1, "file": None if source is None else source.name, "settings": settings}
        output.write(json.dumps(document, indent=2) + "\n")
    else:
        name = "no configuration" if source is None else visible(source.name)
        output.write(f"{visible(options.path)}: {name}\n")
        shown = [(f"{row.key} = {visible(_text(row.value))}", row) for row in rows]
        width = max(len(text) for text, _ in shown)
        for text, row in shown:
            of = f", for `{visible(row.pattern)}`" if row.pattern else ""
            output.write(f"  {text:<{width}}  {row.place + of or 'default'}\n")
    found = configurations.diagnostics
    output.complain(as_text(found, output.in_color(options.color, sys.stderr)))
    return 1 if any(map(is_error, found)) else 0


def _rows(configuration: Configuration, path: str | None) -> list[Row]:
    """The settings in their order, then those of the patterns that match a file; all patterns for a folder."""
    written = {setting.key: setting for setting in configuration.written}
    rows = []
    for setting in SETTINGS:
        if setting.key == "per-path":
            continue
        said = written.get(setting.key)
        place = "" if said is None else f"{visible(said.span.source.name)}:{said.span.line}"
        rows.append(Row(setting.key, _DEFAULTS[setting.key] if said is None else said.value, place))
    per_path = written.get("per-path")
    if per_path is None:
        return rows
    for rule in configuration.per_path:
        if path is None or matches(path, rule.pattern):
            place = f"{visible(rule.span.source.name)}:{rule.span.line}"
            settings = per_path.value[rule.pattern].items()
            rows.extend(Row(key, value, place, rule.pattern) for key, value in settings if key in PER_PATH_KEYS)
    return rows


def _text(value: Any) -> str:
    if value is None:
        return "none"
    return json.dumps(value, ensure_ascii=False)


def parser() -> argparse.ArgumentParser:
    """The command line of `planc config`."""
    made = Parser(
        prog="planc config",
        description="Show the settings that hold for a file or folder, and where each comes from. "
        "Exit status: 0, 1 the configuration has errors, 2 it cannot be read.",
    )
    made.add_argument("path", nargs="?", default=".", metavar="FILE|DIR", help="default: the current folder")
    made.add_argument("--config", **CONFIG)  # type: ignore[arg-type]
    made.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    made.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="of diagnostics; default: auto"
    )
    return made

"""`planc rule`: the pages of rules, those of policies included, or the list of all that planc has."""

from __future__ import annotations

import argparse

from planc.commands import output
from planc.commands.arguments import Parser, parsed
from planc.commands.output import CannotWork
from planc.diagnostics.report import Kind
from planc.kinds import all_kinds

VERSION = 1  # of the form of the JSON; a key that is removed or changes its meaning raises it, a new key does not


def run(arguments: list[str]) -> int:
    """Exit status: 0, or 2 if no rule has this code or name."""
    options = parsed(parser(), arguments)
    kinds = all_kinds()
    if options.output_format == "json":
        output.write(_as_json(tuple(_named(kinds, word) for word in options.rules) or kinds))
    elif options.rules:
        output.write("\n".join(page for word in options.rules for page in _pages(kinds, word, options.policies)))
    else:
        width = max(len(kind.name) for kind in kinds)
        for kind in kinds:
            summary = kind.page.partition("\n")[0]
            output.write(f"{kind.code}  {kind.name:<{width}}  {kind.severity.value:<7}  {summary}\n")
    return 0


def parser() -> argparse.ArgumentParser:
    """The options of `planc rule`."""
    parser = Parser(
        prog="planc rule",
        description="Show the pages of rules, or list all rules. Exit status: 0, or 2 if there is no such rule.",
    )
    parser.add_argument(
        "rules",
        nargs="*",
        metavar="CODE|NAME",
        help="such as PLN101 or indivisible-world-size; house.fabric or house are rules of a policy",
    )
    parser.add_argument(
        "--policies",
        action="append",
        default=[],
        metavar="FILE|DIR",
        help="file or folder in which policies are looked for, beside those that come with planc; may be repeated. "
        "default: the current folder",
    )
    parser.add_argument(
        "--output-format",
        choices=("text", "json"),
        default="text",
        help="json: the pages of planc's own rules in their parts, as data; of all if none is named. default: text",
    )
    return parser


def _pages(kinds: tuple[Kind, ...], word: str, places: list[str]) -> tuple[str, ...]:
    """The page of a rule of planc, or of a policy: of one of its rules or of all."""
    if any(word.upper() == kind.code or word.lower() == kind.name for kind in kinds):
        kind = _named(kinds, word)
        return (f"{kind.code} {kind.name} ({kind.severity.value})\n\n{kind.page}\n",)
    from planc.commands.policy_pages import policy_pages  # reads the folder's plans

    found = policy_pages(word, places or ["."])
    if found.pages:
        return found.pages
    _named(kinds, word, found.known)
    return ()


def _named(kinds: tuple[Kind, ...], word: str, others: tuple[str, ...] = ()) -> Kind:
    for kind in kinds:
        if word.upper() == kind.code or word.lower() == kind.name:
            return kind
    known = [*(kind.code for kind in kinds), *(kind.name for kind in kinds), *others]
    guess = output.did_you_mean(word, known)
    raise CannotWork(f"no rule {output.quoted(word)}{guess}; `planc rule` lists them")


def _as_json(kinds: tuple[Kind, ...]) -> str:
    """The document that `schemas/rules.schema.json` describes."""
    import json

    from planc.diagnostics.page import PARTS, parts
    from planc.diagnostics.report import page_path

    rules = []
    for kind in kinds:
        found = parts(kind.page)
        head = {"code": kind.code, "name": kind.name, "severity": kind.severity.value}
        page = page_path(kind.code, kind.name)
        rules.append({**head, "page": page, "what": found[""], **{part.lower(): found[part] for part in PARTS}})
    return json.dumps({"version": VERSION, "rules": rules}, indent=2) + "\n"

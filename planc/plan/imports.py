"""A block that takes its fields from a file of another tool: `model m from hf("config.json") { ... }`."""

from __future__ import annotations

from planc.diagnostics.diagnostic import Label
from planc.diagnostics.names import nearest
from planc.plan import faults
from planc.plan.evaluate import unescaped
from planc.plan.model import Unknown
from planc.plan.scope import Load, Report
from planc.readers.huggingface import body_of
from planc.source import CATALOGUE, Source
from planc.syntax import nodes

_HELP = 'write `model name from hf("config.json")`'


def imported(block: nodes.Block, call: nodes.Call, importer: Source, load: Load, report: Report) -> nodes.Body | None:
    """The body that the file stands for, without what the block itself sets; None with a report if there is none."""
    place = call.function.span
    if block.kind != "model":
        report(
            faults.UNKNOWN_FUNCTION.at(
                place, f"a {block.kind} is derived from a name only", help=("write the fields out",)
            )
        )
        return None
    if call.function.text != "hf":
        guess = nearest(call.function.text, ("hf",))
        advice = f"did you mean `{guess}`?" if guess else _HELP
        report(
            faults.UNKNOWN_FUNCTION.at(place, f"no model is derived from `{call.function.text}(...)`", help=(advice,))
        )
        return None
    if len(call.arguments) != 1 or not isinstance(call.arguments[0], nodes.String):
        report(faults.UNKNOWN_FUNCTION.at(call.span, "`hf` takes the path of one file, in quotes", help=(_HELP,)))
        return None
    path = unescaped(call.arguments[0], report)
    if isinstance(path, Unknown):
        return None
    place = call.arguments[0].span
    found = load(path, importer) if not path.startswith(CATALOGUE) else "that is a file of the catalogue"
    if isinstance(found, str):
        report(faults.UNUSABLE_IMPORT.at(place, f"cannot read `{path}`", found))
        return None
    entries = block.body.entries if block.body is not None else ()
    written = frozenset(entry.key.text for entry in entries if isinstance(entry, nodes.Field))
    body, diagnostics, _ = body_of(found, written)
    for diagnostic in diagnostics:
        report(diagnostic._replace(related=(*diagnostic.related, Label(place, "read here"))))
    return body

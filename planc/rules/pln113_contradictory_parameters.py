"""The stated number of parameters is not what the dimensions give.

Why: `parameters` is written so that the dimensions can be checked against it: a dimension that was copied from another
    model changes memory, time and the model itself, and nothing else would tell. What rounding to the written digits
    allows is allowed: 8B is anything from 7.5 to 8.5 billion, 8.0B from 7.95 to 8.05.

Example:
    model eight {
      layers = 32  hidden = 4096  heads = 32  kv_heads = 8  ffn = 14_336  vocab = 32_000  parameters = 8B
    }

Instead:
    model eight {
      layers = 32  hidden = 4096  heads = 32  kv_heads = 8  ffn = 14_336  vocab = 128_256  parameters = 8B
    }

Fix: correct the dimension that is wrong, or the number; leaving `parameters` out leaves the check out.
    `--unsafe-fixes` writes the number.

Source: the number of parameters of Hugging Face's own classes, with which planc's formulas agree for each model of the
    catalogue.

Versions: all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.amounts import count_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Origin, Plan
from planc.plan.units import SUFFIXES
from planc.rules._places import place, together
from planc.rules._repairs import writing
from planc.rules.rule import Rule

_DIMENSIONS = ("model.layers", "model.hidden", "model.heads", "model.kv_heads", "model.ffn", "model.vocab")
_WRITTEN = r"([0-9][0-9_]*)(?:\.([0-9_]+))?(?:[eE]\+?([0-9]+))?([kMBT]i?|Gi)?"


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A stated number of parameters further from the dimensions' than half of its last digit."""
    stated, total = facts["model.parameters"], facts["model.total_parameters"]
    numerator, denominator = _last_digit(plan["model.parameters"].span.text, stated)
    off = abs(stated - total)
    if 2 * off * denominator <= numerator:
        return
    more = "more" if total < stated else "fewer"
    room = numerator // (2 * denominator)
    few, many = _short(stated), _short(total)
    if few == many:
        few, many = count_text(stated), count_text(total)
    at_number = Label(
        place(plan, "model.parameters"),
        f"{_short(off)} {more}, and rounding leaves {f'room for {_short(room)}' if room else 'none'}",
    )
    at_dimensions = Label(together(plan, *_narrowed(plan) or _DIMENSIONS), f"{many} parameters")
    # The block that derives another model is where the number would be corrected, not the one that it is derived from.
    derived = bool(_narrowed(plan)) and plan["model.parameters"].origin is Origin.INHERITED
    primary, other = (at_dimensions, at_number) if derived else (at_number, at_dimensions)
    advice = f"write `parameters = {_short(total)}`, or correct a dimension"
    yield Diagnostic(
        f"{few} parameters are stated, the dimensions give {many}",
        primary,
        (other,),
        help=("write `parameters = none` beside them, or the new number" if derived else advice,),
        fixes=writing(plan, ("model.parameters", "none" if derived else _short(total))),
    )


def _narrowed(plan: Plan) -> list[str]:
    """The dimensions that the block sets itself, and does not inherit."""
    return [path for path in _DIMENSIONS if plan[path].origin in (Origin.WRITTEN, Origin.OVERRIDDEN)]


def _last_digit(text: str, value: int) -> tuple[int, int]:
    """What the last written digit counts, as a fraction; zeros at the end of a whole number may be rounding."""
    match = re.fullmatch(_WRITTEN, text)
    if match is None or match[4] not in (None, *SUFFIXES):
        match = re.fullmatch(_WRITTEN, str(value) if value < 10**100 else "1")
    assert match is not None
    whole, fraction, exponent, suffix = match.groups()
    unit = SUFFIXES.get(suffix or "", 1) * 10 ** int(exponent or 0)
    if fraction is not None:
        return unit, 10 ** len(fraction.replace("_", ""))
    digits = whole.replace("_", "")
    return unit * 10 ** (len(digits) - len(digits.rstrip("0"))), 1


def _short(count: int) -> str:
    """A number of parameters as a plan may write it: three digits or more, never further off than rounding allows."""
    for suffix in ("T", "B", "M", "k"):
        factor = SUFFIXES[suffix]
        if factor <= count:
            hundredths = (200 * count + factor) // (2 * factor)
            return f"{hundredths // 100}.{hundredths % 100:02d}".rstrip("0").rstrip(".") + suffix
    return count_text(count)


RULE = Rule(Severity.ERROR, "model", check, ("model.parameters", "model.total_parameters"))

"""A written number with its suffix or unit, as an exact amount of a dimension."""

from __future__ import annotations

import re

from planc.diagnostics.amounts import count_text, number_text, time_text
from planc.diagnostics.diagnostic import Diagnostic
from planc.diagnostics.names import all_nearest
from planc.plan.faults import MALFORMED_NUMBER, UNKNOWN_UNIT
from planc.plan.naming import for_certain, instead
from planc.plan.units import (
    COUNTED,
    CURRENCIES,
    EPOCHS,
    PLAIN,
    SAMPLES,
    STEPS,
    SUFFIXES,
    TIME,
    TOKENS,
    UNITS,
    Amount,
    exact,
)  # fmt: skip
from planc.source import Span
from planc.syntax.nodes import Number

MAX_DIGITS = 100
MAX_EXPONENT = 99

_PARTS = re.compile(
    r"([0-9][0-9_]*)(?:\.([0-9][0-9_]*))?(?:[eE]([+-]?[0-9]+))?"
    r"([A-Za-z][A-Za-z0-9_/]*)?[ \t]*(%|[A-Za-z][A-Za-z0-9_/]*)?"
)

#: Units that people write, and what they mean here; each has its own help.
_MEANT: dict[str, str] = {
    "K": "`8k` is 8,000, `8Ki` is 8,192", "m": "`M` is a million, `min` is minutes",
    "b": "`B` is a billion, `GB` a size", "G": "`GB` is a size, `Gbit/s` or `GB/s` a bandwidth, `B` a billion",
    "x": "`*` multiplies; a count has no unit",
    "KB": "write `kB`, or `KiB` for 1,024 bytes", "gb": "write `GB`, or `GiB`", "mb": "write `MB`, or `MiB`",
    "kb": "write `kB`, or `KiB`", "tb": "write `TB`, or `TiB`",
    "Gbps": "write `Gbit/s`, or `GB/s` if bytes are meant", "Gb/s": "write `Gbit/s`, or `GB/s` if bytes are meant",
    "Mbps": "write `Mbit/s`", "Tbps": "write `Tbit/s`", "GBps": "write `GB/s`", "gbit/s": "write `Gbit/s`",
    "TFLOP/s": "write `TFLOPS`", "TFLOPs": "write `TFLOPS`", "TFLOP": "write `TFLOPS`", "PFLOP/s": "write `PFLOPS`",
    "GFLOP/s": "write `GFLOPS`", "TFlops": "write `TFLOPS`", "tflops": "write `TFLOPS`", "hours": "write `h`",
    "hour": "write `h`", "hr": "write `h`", "hrs": "write `h`", "minutes": "write `min`", "minute": "write `min`",
    "mins": "write `min`", "seconds": "write `s`", "second": "write `s`", "sec": "write `s`", "secs": "write `s`",
    "days": "write `d`", "day": "write `d`", "token": "write `tokens`", "step": "write `steps`",
    "sample": "write `samples`", "epoch": "write `epochs`", "iterations": "write `steps`", "iters": "write `steps`",
    "GPUs": "a count has no unit", "gpus": "a count has no unit", "dollars": "write `USD`", "usd": "write `USD`",
}  # fmt: skip


#: Longer times, in days.
_LONG_TIMES = {"week": 7, "wk": 7, "month": 30, "year": 365, "yr": 365}


def amount(number: Number) -> Amount | Diagnostic:
    """What a written number stands for, or what is wrong with it."""
    match = _PARTS.fullmatch(number.text)
    if match is None:
        return MALFORMED_NUMBER.at(number.span, "the number cannot be read", help=("write digits, then a unit",))
    whole, fraction, exponent, glued, spaced = match.groups()
    fault = _digits_fault(number, whole, fraction or "", exponent or "0")
    if fault is not None:
        return fault
    digits = (whole + (fraction or "")).replace("_", "")
    power = int(exponent or 0) - len((fraction or "").replace("_", ""))
    numerator, denominator = (int(digits) * 10**power, 1) if 0 <= power else (int(digits), 10**-power)
    return _with_units(number, numerator, denominator, glued, spaced)


def amount_text(value: Amount) -> str:
    """An amount in the unit in which it would be written: `2000 steps`, `24 h`, `2.4 USD/h`."""
    powers = dict(value.dimension)
    if value.dimension == TIME:
        return time_text(value.value)
    currency = next((base for base in powers if base in CURRENCIES), None)
    if currency is not None and len(powers) == 1:
        return f"{number_text(value.value)} {currency}"
    if currency is not None:
        per, factor = ("kWh", 3_600_000) if "watt" in powers else ("h", 3600)
        return f"{number_text(value.value * factor)} {currency}/{per}"
    units = {TOKENS: " tokens", STEPS: " steps", SAMPLES: " samples", EPOCHS: " epochs"}
    return f"{count_text(value.value)}{units.get(value.dimension, '')}"


def amount_words(value: Amount) -> str:
    """An amount in a sentence: as it would be written, but `1 step`."""
    text = amount_text(value)
    counted = value.dimension in (TOKENS, STEPS, SAMPLES, EPOCHS)
    return text.removesuffix("s") if counted and value.value == 1 else text


def _digits_fault(number: Number, whole: str, fraction: str, exponent: str) -> Diagnostic | None:
    span = number.span
    if MAX_DIGITS < len(whole) + len(fraction):
        return MALFORMED_NUMBER.at(
            span, f"the number has {len(whole) + len(fraction):,} digits; the limit is {MAX_DIGITS}"
        )
    if 4 < len(exponent) or MAX_EXPONENT < abs(int(exponent)):
        return MALFORMED_NUMBER.at(
            span, f"the exponent is beyond {MAX_EXPONENT}", help=(f"exponents go up to {MAX_EXPONENT}",)
        )
    if 1 < len(whole) and whole.startswith("0"):
        return MALFORMED_NUMBER.at(
            span,
            "the number has a leading zero",
            help=(f"write `{whole.lstrip('0_') or '0'}`",),
            fixes=instead(_part(number, 0, whole), (whole.lstrip("0_") or "0",)),
        )
    for start, part in ((0, whole), (len(whole) + 1, fraction)):
        if part.endswith("_") or "__" in part:
            text = _regrouped(part)
            fixes = for_certain(_part(number, start, part), text)
            return MALFORMED_NUMBER.at(span, "`_` stands only between digits", help=(f"write `{text}`",), fixes=fixes)
    return None


def _part(number: Number, start: int, part: str) -> Span:
    return Span(number.span.source, number.span.start + start, number.span.start + start + len(part))


def _regrouped(part: str) -> str:
    return "_".join(piece for piece in part.split("_") if piece)


def _with_units(
    number: Number, numerator: int, denominator: int, glued: str | None, spaced: str | None
) -> Amount | Diagnostic:
    if glued is not None and glued in SUFFIXES:
        if spaced is not None and spaced not in COUNTED:
            if spaced not in UNITS:
                return _unknown(number, spaced, number.span.end)
            return UNKNOWN_UNIT.at(
                number.span,
                f"the suffix `{glued}` goes with no `{spaced}`",
                help=("write the number out, or another unit",),
            )
        dimension = PLAIN if spaced is None else UNITS[spaced][0]
        return Amount(exact(numerator * SUFFIXES[glued], denominator), dimension)
    if glued is not None and spaced is not None:
        unknown = glued if glued not in UNITS else spaced
        return (
            _unknown(number, unknown, number.span.end if unknown is spaced else _end_of_glued(number))
            if unknown not in UNITS
            else UNKNOWN_UNIT.at(number.span, f"two units: `{glued}` and `{spaced}`")
        )
    unit = glued or spaced
    if unit is None:
        return Amount(exact(numerator, denominator), PLAIN)
    if unit not in UNITS:
        return _unknown(number, unit, number.span.end)
    dimension, factor, divisor = UNITS[unit]
    return Amount(exact(numerator * factor, denominator * divisor), dimension)


def _end_of_glued(number: Number) -> int:
    return number.span.start + len(number.text.split()[0])


def _unknown(number: Number, unit: str, end: int) -> Diagnostic:
    """The fault of a unit that does not exist; a fix where only one unit can be meant."""
    place = Span(number.span.source, end - len(unit), end)
    if unit in SUFFIXES:
        touching = f"{number.text.split()[0]}{unit}"
        help = (f"the suffix touches its number: `{touching}`",)
        fixes = for_certain(number.span, touching)
        return UNKNOWN_UNIT.at(place, f"`{unit}` is a suffix, no unit", help=help, fixes=fixes)
    if unit.rstrip("s") in _LONG_TIMES:
        days = _LONG_TIMES[unit.rstrip("s")]
        count = re.match(r"[0-9_]+(?![0-9_.eE])", number.text)
        text = f"{int(count[0].replace('_', '')) * days} d" if count else ""
        help = (f"the longest unit is `d`: `{text}`" if count else f"the longest unit is `d`, {days} of them",)
        fixes = instead(number.span, (text,)) if count else ()
        return UNKNOWN_UNIT.at(place, f"unknown unit `{unit}`", help=help, fixes=fixes)
    if unit in _MEANT:
        text = _MEANT[unit]
        units = re.findall(r"`([^`]+)`", text) if text.startswith("write ") else []
        fixes = for_certain(place, units[0]) if len(units) == 1 else instead(place, units)
        return UNKNOWN_UNIT.at(place, f"unknown unit `{unit}`", help=(text,), fixes=fixes)
    near = all_nearest(unit, (*UNITS, *SUFFIXES))
    guess = (f"did you mean `{near[0]}`?",) if near else ()
    touches = place.source.text[place.start - 1 : place.start].strip() != ""  # as a suffix has to
    fixes = instead(place, (name for name in near if name in UNITS or touches))
    return UNKNOWN_UNIT.at(place, f"unknown unit `{unit}`", help=guess, fixes=fixes)

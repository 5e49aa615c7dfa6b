"""Amounts as messages show them: four significant digits, the unit that a person would write, and no float surprises.

Each function takes an int, Fraction or float and gives text; nothing here raises, however large the number is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_DECIMAL = ((10**15, "PB"), (10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_BINARY = ((2**50, "PiB"), (2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_TIMES = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_RATES = ((10**15, "PFLOPS"), (10**12, "TFLOPS"), (10**9, "GFLOPS"))
_ENERGIES = ((36 * 10**11, "GWh"), (36 * 10**8, "MWh"), (36 * 10**5, "kWh"))
_PLAIN_DIGITS = 10**12  # a longer whole number is easier to read with an exponent


def count_text(value: Any) -> str:
    """A count with all its digits (`8`, `128_256` as `128256`), or four of them with an exponent from 10^12 on."""
    if isinstance(value, int) and abs(value) < _PLAIN_DIGITS:
        return str(value)
    return number_text(value)


def number_text(value: Any) -> str:
    """A number with four significant digits: `24.5`, `0.0938`, `1.2e+14`."""
    try:
        number = float(value)
    except OverflowError:
        return _huge(value)
    if number == 0:
        return "0"
    if number == int(number) and abs(number) < 10_000:
        return str(int(number))
    text = f"{number:.4g}"
    mantissa, _, exponent = text.partition("e")
    if exponent and -5 < int(exponent) < 12:
        return f"{number:.0f}" if 0 < int(exponent) else f"{number:.8f}".rstrip("0")
    return f"{mantissa}e{exponent}" if exponent else mantissa


def quotient_text(dividend: int, divisor: int) -> str:
    """dividend / divisor with two decimals, so that a rest shows however large the number: `2047.5`, `5.33`, `8`."""
    hundredths = (200 * dividend + divisor) // (2 * divisor)
    if _PLAIN_DIGITS <= hundredths:
        return number_text(dividend // divisor)
    text = f"{hundredths // 100}.{hundredths % 100:02d}".rstrip("0").rstrip(".")
    return text if "." in text or dividend % divisor == 0 else f"about {text}"


def parameters_text(count: Any) -> str:
    """A number of parameters as people say it: `6.74B`, `125M`."""
    for factor, suffix in ((10**12, "T"), (10**9, "B"), (10**6, "M")):
        if factor <= count:
            return f"{quotient_text(int(count), factor)}{suffix}"
    return count_text(int(count))


def size_text(num_bytes: Any, binary: bool = False) -> str:
    """Bytes in the largest unit that leaves at least 1: `112 GB`, or `79.11 GiB` counted in powers of 1024."""
    return _scaled(num_bytes, _BINARY if binary else _DECIMAL, "bytes")


def speed_text(bytes_per_second: Any) -> str:
    """A bandwidth: `50 GB/s`."""
    return _scaled(bytes_per_second, _DECIMAL, "bytes") + "/s"


def rate_text(flop_per_second: Any) -> str:
    """A compute rate: `989 TFLOPS`."""
    return _scaled(flop_per_second, _RATES, "FLOP/s")


def time_text(seconds: Any) -> str:
    """A time: `70 ms`, `1.5 h`."""
    if abs(seconds) < 1:
        for factor, unit in ((1000, "ms"), (10**6, "us"), (10**9, "ns")):
            if 1 <= abs(seconds * factor):
                return f"{number_text(seconds * factor)} {unit}"
        return f"{number_text(seconds)} s"
    return _scaled(seconds, _TIMES, "s")


def gpu_time_text(gpu_seconds: Any) -> str:
    """Time summed over cards: `1022000 GPU-hours`."""
    return f"{number_text(_part(gpu_seconds, 3600))} GPU-hours"


def energy_text(joules: Any) -> str:
    """An energy: `433 MWh`."""
    return _scaled(joules, _ENERGIES, "J")


def percent_text(share: Any) -> str:
    """A share: `46.7 %`, `26 %`, with one decimal."""
    try:
        value = round(float(share) * 100, 1)
    except OverflowError:
        return number_text(share * 100) + " %"
    return f"{int(value)} %" if value == int(value) else f"{value} %"


def ratio_text(value: Any) -> str:
    """How many times, rounded to what a sentence needs: `9`, `2.5`, `120`."""
    if value < 10:
        rounded = round(float(value), 1)
        return str(int(rounded)) if rounded == int(rounded) else str(rounded)
    return number_text(round(value))


def plural(count: Any, noun: str) -> str:
    """A count with its noun: `1 rank`, `16 ranks`, `2 micro batches`, `3 keys`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{count_text(count)} {noun[:-1]}ies"
    return f"{count_text(count)} {noun}{'es' if noun.endswith(('ch', 's', 'x')) else 's'}"


def agreeing(count: Any, verb: str) -> str:
    """A verb as it follows a count with its noun: `1 layer does`, `2 layers do`."""
    if count != 1:
        return verb
    return {"are": "is", "have": "has", "do": "does"}.get(verb, f"{verb}s")


def either(texts: Sequence[str], word: str = "or") -> str:
    """Texts as a list in a sentence: `a`, `a or b`, `a, b or c`."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} {word} {texts[-1]}"


def _scaled(value: Any, units: tuple[tuple[int, str], ...], base: str) -> str:
    for factor, unit in units:
        if factor <= abs(value):
            return f"{number_text(_part(value, factor))} {unit}"
    return f"{number_text(value)} {base}"


def _part(value: Any, factor: int) -> Any:
    """value / factor as a float, or as a whole number where a float cannot hold it."""
    try:
        return float(value) / factor
    except OverflowError:
        return int(value) // factor


def _huge(value: Any) -> str:
    """A number beyond the range of floats. Its decimal text is not made: Python refuses that past 4300 digits."""
    whole = abs(int(value))
    exponent = int((whole.bit_length() - 1) * 0.30102999566398120)
    while 10 ** (exponent + 1) <= whole:
        exponent += 1
    mantissa = whole // 10 ** (exponent - 3)
    sign = "-" if value < 0 else ""
    return f"{sign}{mantissa // 1000}.{mantissa % 1000:03d}e+{exponent}"

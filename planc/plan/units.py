"""Units and dimensions: how a written quantity becomes an exact number in base units.

A dimension is a sorted tuple of (base, exponent); the bases are byte, second, flop, watt, token, step, sample, epoch
and the currencies. A plain count has the empty dimension. Amounts stay exact: an int where that is possible, else a
Fraction.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Dimension = tuple[tuple[str, int], ...]

PLAIN: Dimension = ()
BYTES: Dimension = (("byte", 1),)
BANDWIDTH: Dimension = (("byte", 1), ("second", -1))
TIME: Dimension = (("second", 1),)
RATE: Dimension = (("flop", 1), ("second", -1))
FLOP: Dimension = (("flop", 1),)
FLOP_PER_TOKEN: Dimension = (("flop", 1), ("token", -1))
POWER: Dimension = (("watt", 1),)
TOKENS: Dimension = (("token", 1),)
STEPS: Dimension = (("step", 1),)
SAMPLES: Dimension = (("sample", 1),)
EPOCHS: Dimension = (("epoch", 1),)
TOKEN_RATE: Dimension = (("second", -1), ("token", 1))
ENERGY: Dimension = (("second", 1), ("watt", 1))
MONEY: Dimension = (("money", 1),)  # of whatever currency; an amount that is known has its own

CURRENCIES = ("USD", "EUR", "GBP", "CNY", "JPY")


class Amount(NamedTuple):
    """An exact number in base units, and its dimension. Fields that take several kinds of quantity hold one."""

    value: Any
    dimension: Dimension


#: What a value of a dimension is called in messages, with its article.
NAMES: dict[Dimension, str] = {
    PLAIN: "a plain number",
    BYTES: "a size",
    BANDWIDTH: "a bandwidth",
    TIME: "a time",
    RATE: "a compute rate",
    FLOP: "a number of FLOPs",
    FLOP_PER_TOKEN: "a number of FLOPs per token",
    POWER: "a power",
    TOKENS: "a number of tokens",
    STEPS: "a number of steps",
    SAMPLES: "a number of samples",
    EPOCHS: "a number of epochs",
    TOKEN_RATE: "a number of tokens per second",
    ENERGY: "an energy",
    MONEY: "an amount of money",
}

#: An example of each, for "write ..." in a diagnostic.
EXAMPLES: dict[Dimension, str] = {
    PLAIN: "8",
    BYTES: "80 GiB",
    BANDWIDTH: "400 Gbit/s",
    TIME: "90 min",
    RATE: "989 TFLOPS",
    POWER: "700 W",
    TOKENS: "4Mi tokens",
    STEPS: "2000 steps",
    SAMPLES: "2M samples",
    EPOCHS: "3 epochs",
    **{((currency, 1),): f"5 {currency}" for currency in CURRENCIES},
    **{((currency, 1), ("second", -1)): f"2.4 {currency}/h" for currency in CURRENCIES},
    **{((currency, 1), ("second", -1), ("watt", -1)): f"0.2 {currency}/kWh" for currency in CURRENCIES},
}

#: Suffixes that touch a count.
SUFFIXES: dict[str, int] = {
    "k": 10**3, "M": 10**6, "B": 10**9, "T": 10**12,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40,
}  # fmt: skip

_DECIMAL = (("k", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12), ("P", 10**15))
_BINARY = (("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("Ti", 2**40), ("Pi", 2**50))
_SECONDS = (("s", 1), ("min", 60), ("h", 3600), ("d", 86400))


def _table() -> dict[str, tuple[Dimension, int, int]]:
    """Unit -> (dimension, numerator, denominator) of one unit in base units."""
    table: dict[str, tuple[Dimension, int, int]] = {
        "B": (BYTES, 1, 1),
        "B/s": (BANDWIDTH, 1, 1),
        "bit/s": (BANDWIDTH, 1, 8),
    }
    for prefix, factor in _DECIMAL + _BINARY:
        table[prefix + "B"] = (BYTES, factor, 1)
        table[prefix + "B/s"] = (BANDWIDTH, factor, 1)
    for prefix, factor in _DECIMAL[:4]:
        table[prefix + "bit/s"] = (BANDWIDTH, factor // 8, 1)
    for prefix, factor in (("us", 10**6), ("ms", 10**3)):
        table[prefix] = (TIME, 1, factor)
    for unit, factor in _SECONDS:
        table[unit] = (TIME, factor, 1)
    for prefix, factor in (("G", 10**9), ("T", 10**12), ("P", 10**15)):
        table[prefix + "FLOPS"] = (RATE, factor, 1)
    table["W"], table["kW"] = (POWER, 1, 1), (POWER, 1000, 1)
    for unit, dimension in (("tokens", TOKENS), ("steps", STEPS), ("samples", SAMPLES), ("epochs", EPOCHS)):
        table[unit] = (dimension, 1, 1)
    for currency in CURRENCIES:
        table[currency] = (((currency, 1),), 1, 1)
        table[currency + "/h"] = (((currency, 1), ("second", -1)), 1, 3600)
        table[currency + "/kWh"] = (((currency, 1), ("second", -1), ("watt", -1)), 1, 3_600_000)
    table["%"] = (PLAIN, 1, 100)
    return table


UNITS = _table()
del UNITS["B"], UNITS["B/s"], UNITS["bit/s"]  # a bare B is the suffix for 10^9: `70 B` has its own message

#: Units with which a count suffix may stand: `4Mi tokens`.
COUNTED = frozenset(("tokens", "steps", "samples"))


def money_kinds(per: str) -> tuple[Dimension, ...]:
    """What an amount of money may be, or its price per `h` or `kWh`: the same in each currency."""
    return tuple(UNITS[f"{currency}/{per}" if per else currency][0] for currency in CURRENCIES)


def times(left: Dimension, right: Dimension, sign: int = 1) -> Dimension:
    """The dimension of a product, or with sign -1 of a quotient."""
    powers = dict(left)
    for base, exponent in right:
        powers[base] = powers.get(base, 0) + sign * exponent
    return tuple(sorted((base, exponent) for base, exponent in powers.items() if exponent))


def name_of(dimension: Dimension) -> str:
    """What a value of this dimension is called: "a size", "a price per hour"."""
    if dimension in NAMES:
        return NAMES[dimension]
    powers = dict(dimension)
    money = [base for base in powers if base in CURRENCIES]
    if money and powers[money[0]] == 1:
        if len(powers) == 1:
            return f"an amount of {money[0]}"
        if len(powers) == 2 and powers.get("second") == -1:
            return f"a price in {money[0]} per time"
        if len(powers) == 3 and powers.get("second") == -1 and powers.get("watt") == -1:
            return f"a price in {money[0]} per energy"
    return "a quantity in " + " ".join(base if power == 1 else f"{base}^{power}" for base, power in dimension)


def name_of_several(kinds: tuple[Dimension, ...]) -> str:
    """What a value is called of which only some dimensions are known that it may have."""
    return next((name for name, per in _OF_MONEY.items() if money_kinds(per) == kinds), "a quantity")


_OF_MONEY = {"an amount of money": "", "a price per time": "h", "a price per energy": "kWh"}


def exact(numerator: int, denominator: int) -> Any:
    """numerator / denominator as an int if it is whole, else as a Fraction."""
    if numerator % denominator == 0:
        return numerator // denominator
    from fractions import Fraction  # 4 ms to import, and most plans hold few fractions

    return Fraction(numerator, denominator)

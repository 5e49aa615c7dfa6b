"""A written value as the type of its field, or what is wrong with it, at the smallest span."""

from __future__ import annotations

from typing import Any

from planc.diagnostics.amounts import count_text, number_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix
from planc.plan import faults
from planc.plan.evaluate import FAULTY, VERSION, Env, Val, described, evaluate, is_word, no_version, unescaped, word_of
from planc.plan.model import Unknown
from planc.plan.naming import for_certain, instead
from planc.plan.null import is_null, null_for_none
from planc.plan.schema import Type
from planc.plan.target_names import target_names
from planc.plan.units import BANDWIDTH, BYTES, CURRENCIES, EXAMPLES, PLAIN, UNITS, Amount, Dimension, name_of
from planc.source import Span
from planc.syntax import nodes

_PER: dict[str, Dimension] = {"h": (("second", -1),), "kWh": (("second", -1), ("watt", -1))}


def coerce(node: Any, want: Type, env: Env) -> Any:
    """The value of a node as a type; Unknown, with a report, where it is none."""
    if isinstance(node, nodes.Bad):
        return FAULTY
    if isinstance(node, nodes.Range):
        help = ("write `in` before it, or one value",)
        env.report(faults.MISPLACED.at(node.span, "a range is a choice, not a value", help=help))
        return FAULTY
    if is_null(node):
        env.report(null_for_none(node))
        return FAULTY
    if isinstance(node, nodes.Narrowed):
        env.report(faults.WRONG_TYPE.at(node.head.span, f"a section where {_due(want)} is due"))
        return FAULTY
    if want.form == "list":
        return _list(node, want, env)
    if want.form == "word":
        return _word(node, want, env)
    if want.form == "target":
        return _word(node, want._replace(words=target_names()), env)
    if want.form in ("text", "version"):
        return _text(node, want, env)
    if want.form == "flag" or (want.flag and _is_nearly_flag(node)):
        return _flag(node, env)
    if isinstance(node, nodes.String):
        env.report(_quoted(node, want))
        return FAULTY
    digit = node.names[0].text[-1] if want.words and is_word(node) else ""
    if digit in want.words:  # `ZeRO-3`
        message, fixes = f"a word where {_due(want)} is due", for_certain(node.span, digit)
        env.report(faults.WRONG_TYPE.at(node.span, message, help=(f"write `{digit}`",), fixes=fixes))
        return FAULTY
    val = evaluate(node, env)
    if want.flag and val.form == "flag":
        return val.value
    return number(val, want, node.span, env)


def number(val: Val, want: Type, span: Span, env: Env) -> Any:
    """A number as a type: its dimension, whether it is whole, and its range."""
    if val.form == "any":
        return FAULTY
    if val.form != "number":
        env.report(faults.WRONG_TYPE.at(span, f"{described(val)} where {_due(want)} is due", help=_example(want)))
        return FAULTY
    allowed = want.dimensions or _money(want)
    if val.dimension not in allowed:
        env.report(
            faults.WRONG_TYPE.at(
                span,
                f"{name_of(val.dimension)} where {_due(want)} is due",
                help=_meant(val, want, span) or _example(want),
                fixes=instead(span, _bandwidths(val, want, span)),
            )
        )
        return FAULTY
    if isinstance(val.value, Unknown):
        return val.value
    if val.value is None:
        return Unknown("not set", unset=True)
    fault = _range_fault(val, want, span)
    if fault is not None:
        env.report(fault)
        return FAULTY
    return Amount(val.value, val.dimension) if 1 < len(allowed) else val.value


def _range_fault(val: Val, want: Type, span: Span) -> Diagnostic | None:
    value = val.value
    counted = want.form == "count" or (
        want.form == "quantity" and val.dimension and val.dimension[0][0] in ("token", "step", "sample")
    )
    if (counted or (want.form == "quantity" and val.dimension == PLAIN and 1 == want.minimum)) and not isinstance(
        value, int
    ):
        low = value // 1
        above = f"`{count_text(low + 1)}`"
        near = (
            f"write `{count_text(low)}` or {above}" if want.minimum is None or want.minimum <= low else f"write {above}"
        )
        whole = (low, low + 1) if want.minimum is None or want.minimum <= low else (low + 1,)
        fixes = instead(span, map(count_text, whole)) if val.dimension == PLAIN else ()
        message = f"{_shown(value)} is not a whole number"
        return faults.OUT_OF_RANGE.at(span, message, "a count is whole", help=(near,), fixes=fixes)
    if want.words and count_text(value) not in want.words:
        listed = ", ".join(f"`{word}`" for word in want.words)
        return faults.OUT_OF_RANGE.at(
            span, f"{_shown(value)} is none of {', '.join(want.words)}", help=(f"write one of {listed}",)
        )
    if want.minimum is not None and value < want.minimum:
        least = _shown(want.minimum)
        return faults.OUT_OF_RANGE.at(span, f"{_shown(value)} is less than {least}", f"at least {least}")
    if want.positive and value == 0:
        return faults.OUT_OF_RANGE.at(span, "0 is out of range", "more than 0")
    share = want.form == "share" or (want.form == "quantity" and val.dimension == PLAIN and 0 == want.minimum)
    if share and 1 < value:
        text = f"{_shown(value)} %"
        help = f"write `{text}` if per cent are meant"
        if want.form == "quantity":
            text = f"{_shown(value)} {name_of(want.dimensions[0]).rpartition(' ')[2]}"
            help = f"write `{text}`"
        fits = isinstance(value, int) if want.form == "quantity" else value <= 100
        return faults.OUT_OF_RANGE.at(
            span,
            f"the share {_shown(value)} is more than 1",
            "a share is from 0 to 1",
            help=(help,),
            fixes=instead(span, (text,)) if fits else (),
        )
    return None


def _shown(value: Any) -> str:
    return count_text(value) if isinstance(value, int) else number_text(value)


def _money(want: Type) -> tuple[Dimension, ...]:
    per = _PER[want.of]
    return tuple(tuple(sorted(((currency, 1), *per))) for currency in CURRENCIES)


def _due(want: Type) -> str:
    """What is due, in words: "a bandwidth", "a count", "a number of steps or a time"."""
    if want.form == "quantity":
        names = [name_of(dimension) if dimension != PLAIN else "a count" for dimension in want.dimensions]
        names = [*names, "a flag"] if want.flag else names
        if 2 < len(names):  # "a number of steps, tokens or samples"
            names = [names[0], *(name.removeprefix("a number of ") for name in names[1:])]
        return " or ".join((", ".join(names[:-1]), names[-1])) if 1 < len(names) else names[0]
    return {
        "count": "a count", "number": "a number", "share": "a share", "flag": "a flag", "text": "a quoted text",
        "word": "a word",
        "version": "a quoted version", "list": "a list", "target": "a target", "money": f"a price per {want.of}",
        "reference": "a name", "record": "a section", "variant": "a word", "map": "a map",
    }[want.form]  # fmt: skip


def _example(want: Type) -> tuple[str, ...]:
    if want.form == "quantity":
        return (f"write it as in `{EXAMPLES[want.dimensions[0]]}`",)
    if want.form == "money":
        return (f"write it as in `2.4 USD/{want.of}`",)
    return ()


def _meant(val: Val, want: Type, span: Span) -> tuple[str, ...]:
    """What a size in place of a bandwidth, or a bare number in place of a quantity, may have meant."""
    rates = _bandwidths(val, want, span)
    in_bits = f", or `{rates[1]}` if bits are meant" if 1 < len(rates) else ""
    return (f"write `{rates[0]}`{in_bits}",) if rates else ()


def _bandwidths(val: Val, want: Type, span: Span) -> tuple[str, ...]:
    """The bandwidths of so many bytes a second, and of so many bits, where a size stands in place of one."""
    text = span.text
    if val.dimension != BYTES or want.dimensions != (BANDWIDTH,) or text[-1:] != "B":
        return ()
    bits = f"{text[:-1]}bit/s"
    return (f"{text}/s", bits) if bits.lstrip("0123456789._ \t") in UNITS else (f"{text}/s",)


def _quoted(node: nodes.String, want: Type) -> Diagnostic:
    bare = node.value if node.value.replace(".", "").replace("_", "").isdigit() else None
    fixes = (Fix("remove the quotes", (Edit(node.span, bare),), safe=True),) if bare else ()
    return faults.WRONG_TYPE.at(
        node.span,
        f"a text where {_due(want)} is due",
        help=(f"write `{bare}` without quotes",) if bare else _example(want),
        fixes=fixes,
    )


def _words_of(node: nodes.String) -> str:
    """The words of a text, split as a shell splits them, as a list of texts."""
    import shlex

    try:
        words = shlex.split(node.value)
    except ValueError:  # a quotation that does not end
        words = node.value.split()
    escaped = (word.replace("\\", "\\\\").replace('"', '\\"') for word in words)
    return "[" + ", ".join(f'"{word}"' for word in escaped) + "]"


def _list(node: Any, want: Type, env: Env) -> Any:
    if not isinstance(node, nodes.List):
        if isinstance(node, nodes.Path) and 1 < len(node.names):
            val = evaluate(node, env)
            if val.form in ("list", "any"):
                return val.value
        listed = f"[{node.span.text}]"
        message, help, fixes = "one value where a list is due", f"write `{listed}`", for_certain(node.span, listed)
        if isinstance(node, nodes.String) and 1 < len(node.value.split()):  # one text, or a line of several words
            help, fixes = f"write `{_words_of(node)}`, or `{listed}` if it is one text", ()
        if want.length:
            message, help, fixes = f"one value where {want.length} are due", _BOTH, ()
        env.report(faults.WRONG_TYPE.at(node.span, message, help=(help,), fixes=fixes))
        return FAULTY
    if MAX_ITEMS < len(node.items):
        env.report(
            faults.TOO_COMPLEX.at(node.span, f"the list has {len(node.items):,} items; the limit is {MAX_ITEMS:,}")
        )
        return FAULTY
    if want.length and len(node.items) != want.length:
        message = f"{plural(len(node.items), 'value')} where {want.length} are due"
        env.report(faults.OUT_OF_RANGE.at(node.span, message, help=(_BOTH,)))
        return FAULTY
    items = tuple(coerce(item, want.item, env) for item in node.items)
    return next((item for item in items if isinstance(item, Unknown)), items)


MAX_ITEMS = 10_000


#: Help for a list of a certain length: the only ones are the two decays of an optimizer.
_BOTH = "write both, as in `[0.9, 0.95]`"


def _word(node: Any, want: Type, env: Env) -> Any:
    if isinstance(node, nodes.Literal) and node.word in want.words:
        return node.word
    if is_word(node):
        return word_of(node.names[0], want.words, env).value
    if isinstance(node, nodes.Path):
        val = evaluate(node, env)
        if val.form == "any" or (val.form == "word" and set(val.words) <= set(want.words)):
            return val.value
        env.report(faults.WRONG_TYPE.at(node.span, f"{described(val)} where a word is due"))
        return FAULTY
    if isinstance(node, nodes.String) and node.value in want.words:
        fix = Fix("remove the quotes", (Edit(node.span, node.value),), safe=True)
        env.report(
            faults.WRONG_TYPE.at(
                node.span, "a text where a word is due", help=(f"write `{node.value}` without quotes",), fixes=(fix,)
            )
        )
        return FAULTY
    listed = ", ".join(f"`{word}`" for word in want.words)
    env.report(faults.WRONG_TYPE.at(node.span, "a word is due here", help=(f"write one of {listed}",)))
    return FAULTY


def _text(node: Any, want: Type, env: Env) -> Any:
    if isinstance(node, nodes.String):
        if want.form == "version" and not VERSION.fullmatch(node.value):
            env.report(no_version(node.span))
            return FAULTY
        return unescaped(node, env.report)
    if isinstance(node, nodes.Path):
        quiet: list[Diagnostic] = []
        val = evaluate(node, env._replace(report=quiet.append))
        if val.form == "text" and not quiet:
            return val.value
        fix = Fix("put it in quotes", (Edit(node.span, f'"{node.span.text}"'),), safe=True)
        env.report(
            faults.WRONG_TYPE.at(
                node.span, f"{_due(want)} is due here", help=(f'write `"{node.span.text}"`',), fixes=(fix,)
            )
        )
        return FAULTY
    text = node.span.text
    is_short = "\n" not in text and '"' not in text
    help = (f'write `"{text}"`',) if is_short else ()
    fixes = for_certain(node.span, f'"{text}"') if is_short and isinstance(node, nodes.Number) else ()
    env.report(faults.WRONG_TYPE.at(node.span, f"{_due(want)} is due here", help=help, fixes=fixes))
    return FAULTY


def _is_nearly_flag(node: Any) -> bool:
    """Whether a node is what other languages take for a flag: `True`, `yes`, `off`."""
    return is_word(node) and node.names[0].text.lower() in ("true", "false", "yes", "no", "on", "off")


def _flag(node: Any, env: Env) -> Any:
    if _is_nearly_flag(node):
        meant = "true" if node.names[0].text.lower() in ("true", "yes", "on") else "false"
        fix = Fix(f"write `{meant}`", (Edit(node.span, meant),), safe=True)
        env.report(
            faults.WRONG_TYPE.at(
                node.span, f"`{node.names[0].text}` is no flag", help=(f"write `{meant}`",), fixes=(fix,)
            )
        )
        return FAULTY
    val = evaluate(node, env)
    if val.form in ("flag", "any"):
        return val.value
    env.report(
        faults.WRONG_TYPE.at(node.span, f"{described(val)} where a flag is due", help=("write `true` or `false`",))
    )
    return FAULTY

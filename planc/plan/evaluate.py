"""Expressions: a node of the tree to a value with its type. Always ends, and reports each fault once.

A value that is not to be had is `Unknown` and spreads: arithmetic with it is Unknown, and so is a comparison, while
`and` and `or` are three-valued. The type is worked out all the same, so a policy is checked before any plan is judged
by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic
from planc.diagnostics.names import all_nearest, did_you_mean, guesses
from planc.plan import faults
from planc.plan.model import Record, Unknown
from planc.plan.naming import instead
from planc.plan.null import is_null, null_for_none
from planc.plan.quantities import amount
from planc.plan.units import EXAMPLES, PLAIN, Dimension, exact, name_of, name_of_several, times
from planc.source import Span
from planc.syntax import nodes

#: Operators that may stand one inside the other.
MAX_DEPTH = 200

#: Digits that the result of a calculation may have; more is no number of anything, and takes ever longer.
MAX_RESULT_DIGITS = 10_000
_MAX_BITS = MAX_RESULT_DIGITS * 3322 // 1000

#: Dimensions that a product of such quantities is followed through.
_MAX_KINDS = 64

FAULTY = Unknown("faulty")


#: A version as it is written.
VERSION = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){0,5}([-+.]?[A-Za-z][A-Za-z0-9.]{0,40})?")


class Val(NamedTuple):
    """A value and its type.

    form: `number`, `flag`, `text`, `word`, `name` (of a block), `version`, `list`, `none`, `record`, or `any`
        where a fault hides it, or nothing says which quantity it would be.
    dimension: of a number; `exact` unless it is a float, which `==` refuses; `flag` if it may be compared with `true`.
    words: those that a word is one of. item: the form of a list's items, where it is known; `mixed` if they differ.
    kinds: where `any` stands for a number all the same, the dimensions of which it has one.
    """

    value: Any
    form: str
    dimension: Dimension = PLAIN
    words: tuple[str, ...] = ()
    exact: bool = True
    flag: bool = False
    item: str = ""
    kinds: tuple[Dimension, ...] = ()


ANY = Val(FAULTY, "any")


Report = Callable[[Diagnostic], None]


class Env(NamedTuple):
    """Where an expression is evaluated: how its paths are looked up, and where faults go."""

    lookup: Callable[[nodes.Path, Report], Val]
    report: Report


def evaluate(node: Any, env: Env) -> Val:
    """The value of an expression."""
    if MAX_DEPTH < depth(node):
        env.report(faults.TOO_COMPLEX.at(node.span, f"the expression is more than {MAX_DEPTH} operators deep"))
        return ANY
    return _evaluate(node, env)


def _evaluate(node: Any, env: Env) -> Val:
    return _BY_NODE[type(node)](node, env)


def depth(node: Any) -> int:
    """How many operators an expression nests one inside the other, counted up to one more than may be evaluated."""
    level, found = list(_operands(node)), 0
    while level and found <= MAX_DEPTH:
        found += 1
        level = [part for parent in level for part in _operands(parent)]
    return found


def _operands(node: Any) -> tuple[Any, ...]:
    if isinstance(node, nodes.Binary):
        return node.left, node.right
    if isinstance(node, nodes.Unary):
        return (node.operand,)
    if isinstance(node, nodes.Member):
        return node.item, node.container
    if isinstance(node, nodes.List):
        return node.items
    if isinstance(node, nodes.Call):
        return node.arguments
    return (node.low, node.high) if isinstance(node, nodes.Range) else ()


def is_word(node: Any) -> bool:
    """Whether a node is a single name, which may be a word of the language."""
    return isinstance(node, nodes.Path) and len(node.names) == 1


def word_of(name: nodes.Name, words: tuple[str, ...], env: Env) -> Val:
    """A single name as one of the given words."""
    if name.text in words:
        return Val(name.text, "word", words=words)
    if is_null(name):
        env.report(null_for_none(name))
        return Val(FAULTY, "word", words=words)
    advice = did_you_mean(name.text, words)
    listed = f"one of {', '.join(f'`{word}`' for word in words)}" if words else ""
    env.report(
        faults.UNKNOWN_WORD.at(
            name.span,
            f"unknown word `{name.text}`",
            "none of the words known here",
            help=advice,
            notes=(listed,) if listed else (),
            fixes=instead(name.span, guesses(name.text, words)),
        )
    )
    return Val(FAULTY, "word", words=words)


def unescaped(node: nodes.String, report: Callable[[Diagnostic], None]) -> Any:
    """The value of a string, or FAULTY where it holds an unknown escape or a control character."""
    text = node.span.text[1:-1]
    at = 0
    while at < len(text):
        if text[at] == "\\":
            if text[at + 1] not in '"\\nt':
                place = node.span._replace(start=node.span.start + 1 + at, end=node.span.start + 3 + at)
                report(
                    faults.MALFORMED_STRING.at(
                        place,
                        f"unknown escape `{text[at : at + 2]}`",
                        help=('the escapes are `\\"`, `\\\\`, `\\n`, `\\t`',),
                    )
                )
                return FAULTY
            at += 2
            continue
        if (ord(text[at]) < 32 and text[at] != "\t") or ord(text[at]) == 127 or 128 <= ord(text[at]) < 160:
            place = node.span._replace(start=node.span.start + 1 + at, end=node.span.start + 2 + at)
            report(
                faults.MALFORMED_STRING.at(
                    place,
                    f"control character U+{ord(text[at]):04X} in a string",
                    help=("write `\\n` or `\\t`, or leave it out",),
                )
            )
            return FAULTY
        at += 1
    return node.value


def described(val: Val) -> str:
    """What a value is, in words."""
    names = {
        "flag": "a flag",
        "text": "a text",
        "word": "a word",
        "name": "a name",
        "version": "a version",
        "list": "a list",
        "none": "`none`",
        "record": "a section",
    }
    if val.kinds:
        return name_of_several(val.kinds)
    return names.get(val.form) or name_of(val.dimension)


def _kinds(val: Val) -> tuple[Dimension, ...]:
    """The dimensions that a value may have; none where it is no number, or a fault hides what it is."""
    return (val.dimension,) if val.form == "number" else val.kinds


def _may_meet(left: Val, right: Val) -> bool:
    """Whether two values may be of one kind, as far as it is known; what a fault hides may be of any."""
    if any(side.form == "any" and not side.kinds for side in (left, right)):
        return True
    return not set(_kinds(left)).isdisjoint(_kinds(right))


def _of_kinds(kinds: Iterable[Dimension]) -> Val:
    """A number that is not known, of one of these dimensions; of too many nothing can be said."""
    known = tuple(dict.fromkeys(kinds))
    return ANY._replace(kinds=known if len(known) <= _MAX_KINDS else ())


def _number(node: nodes.Number, env: Env) -> Val:
    result = amount(node)
    if isinstance(result, Diagnostic):
        env.report(result)
        return ANY
    return Val(result.value, "number", result.dimension)


def _string(node: nodes.String, env: Env) -> Val:
    return Val(unescaped(node, env.report), "text")


def _literal(node: nodes.Literal, env: Env) -> Val:
    if node.word == "auto":
        env.report(faults.MISPLACED.at(node.span, "`auto` stands alone as a value", help=("write the number here",)))
        return ANY
    return Val(None, "none") if node.word == "none" else Val(node.word == "true", "flag")


def _path(node: nodes.Path, env: Env) -> Val:
    return env.lookup(node, env.report)


def _list(node: nodes.List, env: Env) -> Val:
    items = [_evaluate(item, env) for item in node.items]
    unknown = next((item.value for item in items if isinstance(item.value, Unknown)), None)
    first = items[0] if items else Val((), "list")
    form = "" if first.form == "any" or not items else first.form
    if form and any((item.form, item.dimension) not in ((form, first.dimension), ("any", PLAIN)) for item in items):
        form = "mixed"
    value = unknown or tuple(item.value for item in items)
    is_exact = all(item.exact for item in items)
    return Val(value, "list", first.dimension, first.words, exact=is_exact, item=form)


def _range(node: nodes.Range, env: Env) -> Val:
    env.report(faults.MISPLACED.at(node.span, "a range is a choice, not a value", help=("write `in` before it",)))
    return ANY


def _narrowed(node: nodes.Narrowed, env: Env) -> Val:
    env.report(faults.MISPLACED.at(node.span, "a section stands here in place of a number"))
    return ANY


def _bad(node: nodes.Bad, env: Env) -> Val:
    return ANY


def _unary(node: nodes.Unary, env: Env) -> Val:
    operand = _evaluate(node.operand, env)
    if node.operator == "not":
        truth = _truth(operand, node.operand.span, env)
        return Val(truth if isinstance(truth, Unknown) else not truth, "flag")
    if operand.form == "any":
        return operand
    if operand.form != "number":
        env.report(faults.WRONG_TYPE.at(node.operand.span, f"{described(operand)} where a number is due"))
        return ANY
    if node.operator == "+" or isinstance(operand.value, Unknown):
        return operand
    return operand._replace(value=-operand.value)


def _truth(val: Val, span: Span, env: Env) -> Any:
    """True, False or Unknown; anything else is a fault."""
    if val.form not in ("flag", "any"):
        env.report(faults.WRONG_TYPE.at(span, f"{described(val)} where a condition is due"))
        return FAULTY
    return val.value


def _binary(node: nodes.Binary, env: Env) -> Val:
    if node.operator in ("and", "or"):
        left = _truth(_evaluate(node.left, env), node.left.span, env)
        right = _truth(_evaluate(node.right, env), node.right.span, env)
        settles = node.operator == "or"
        if left is settles or right is settles:
            return Val(settles, "flag")
        return Val(next((side for side in (left, right) if isinstance(side, Unknown)), not settles), "flag")
    if node.operator in ("+", "-", "*", "/"):
        return _arithmetic(node, _evaluate(node.left, env), _evaluate(node.right, env), env)
    left, right = _sides(node.left, node.right, env)
    return _compare(node, left, right, env)


def _sides(left_node: Any, right_node: Any, env: Env) -> tuple[Val, Val]:
    """Both sides of a comparison; a single name beside a word is a word of the same kind, and so in a list of words."""
    quiet: list[Diagnostic] = []
    left = _evaluate(left_node, env._replace(report=quiet.append) if _may_be_word(left_node) else env)
    if not quiet and _names_words(left) and _may_be_word(right_node):
        return left, _as_word(right_node, left, env)
    right = _evaluate(right_node, env)
    if quiet and _names_words(right):
        return _as_word(left_node, right, env), right
    for diagnostic in quiet:
        env.report(diagnostic)
    return left, right


def _names_words(val: Val) -> bool:
    return val.form in ("word", "name") or (val.form == "list" and val.item in ("word", "name"))


def _may_be_word(node: Any) -> bool:
    """Whether beside a word this is one: a single name, what reads as a number (`1f1b`), or a list of such."""
    if isinstance(node, nodes.List):
        return all(_may_be_word(item) for item in node.items)
    return is_word(node) or isinstance(node, nodes.Number)


def _as_word(node: Any, like: Val, env: Env) -> Val:
    """A node that may be a word as one of those that the other side of the comparison has."""
    form = like.item if like.form == "list" else like.form
    if isinstance(node, nodes.List):
        items = [_as_word(item, like._replace(form=form), env) for item in node.items]
        unknown = next((item.value for item in items if isinstance(item.value, Unknown)), None)
        return Val(unknown or tuple(item.value for item in items), "list", words=like.words, item=form)
    name = node.names[0] if isinstance(node, nodes.Path) else nodes.Name(node.span, node.text)
    return Val(name.text, "name") if form == "name" else word_of(name, like.words, env)


def _compare(node: nodes.Binary, left: Val, right: Val, env: Env) -> Val:
    equality = node.operator in ("==", "!=")
    if equality and "none" in (left.form, right.form):
        return _absence(right if left.form == "none" else left, node.operator == "==")
    if "any" in (left.form, right.form):
        if not _may_meet(left, right):
            env.report(_unlike(node, left, right))
        return Val(FAULTY, "flag")
    left, right = _as_flag(left, right), _as_flag(right, left)
    # A version is written as a text; beside another version it is one.
    if {left.form, right.form} == {"version", "text"}:
        for side, part in ((left, node.left), (right, node.right)):
            if side.form == "text" and isinstance(side.value, str) and not VERSION.fullmatch(side.value):
                env.report(no_version(part.span))
                return Val(FAULTY, "flag")
        left, right = left._replace(form="version"), right._replace(form="version")
    if {left.form, right.form} == {"name", "text"}:
        left, right = left._replace(form="name"), right._replace(form="name")
    if left.form != right.form or (left.form == "number" and left.dimension != right.dimension):
        env.report(_unlike(node, left, right))
        return Val(FAULTY, "flag")
    if not equality and left.form not in ("number", "version"):
        env.report(faults.WRONG_TYPE.at(node.span, f"{described(left)} has no order", help=("compare with `==`",)))
        return Val(FAULTY, "flag")
    if equality and left.form == "number" and not (left.exact and right.exact):
        env.report(faults.WRONG_TYPE.at(node.span, "`==` on a rounded number", help=("compare with `<` or `<=`",)))
        return Val(FAULTY, "flag")
    for side in (left, right):
        if isinstance(side.value, Unknown):
            return Val(side.value, "flag")
    a, b = left.value, right.value
    if a is None or b is None:
        return Val(Unknown("not set", unset=True), "flag")
    if left.form == "version":
        a, b = version_key(a), version_key(b)
    outcomes = {
        "==": lambda: a == b,
        "!=": lambda: a != b,
        "<": lambda: a < b,
        "<=": lambda: a <= b,
        ">": lambda: b < a,
        ">=": lambda: b <= a,
    }
    return Val(bool(outcomes[node.operator]()), "flag")


def _unlike(node: nodes.Binary, left: Val, right: Val) -> Diagnostic:
    """The fault of a comparison of two values that are never of one kind."""
    is_left = _with_unit(node.left, left, right) or (right.kinds and not left.kinds)
    wrong, other, at = (left, right, node.left) if is_left else (right, left, node.right)
    help = _unquoted(node.left, right) or _unquoted(node.right, left) or _with_unit(at, wrong, other)
    return faults.WRONG_TYPE.at(at.span, f"{described(wrong)} compared with {described(other)}", help=help)


def no_version(span: Span) -> Diagnostic:
    """The fault of a quoted text that is no version."""
    return faults.WRONG_TYPE.at(span, f"{span.text} is no version", help=('write it as in `"2.13"`',))


def _unquoted(node: Any, other: Val) -> tuple[str, ...]:
    """Help for a word that stands in quotes."""
    is_quoted_word = isinstance(node, nodes.String) and node.value in other.words
    return (f"write `{node.value}` without quotes",) if is_quoted_word else ()


def _with_unit(node: Any, val: Val, other: Val) -> tuple[str, ...]:
    """Help for a number that is written without a unit beside a quantity that has one."""
    if not isinstance(node, nodes.Number) or val.form != "number" or val.dimension != PLAIN:
        return ()
    examples = [EXAMPLES[kind] for kind in _kinds(other) if kind in EXAMPLES]
    if PLAIN in _kinds(other) or not examples:
        return ()
    return (f"{described(other)} has a unit, as in {either([f'`{example}`' for example in examples])}",)


def _absence(other: Val, positive: bool) -> Val:
    """Whether a value is not there; `none` may be one of the words of a field."""
    if isinstance(other.value, Unknown) and not other.value.unset:
        return Val(other.value, "flag")
    absent = other.value is None or isinstance(other.value, Unknown)
    if other.form == "word" and "none" in other.words:
        absent = absent or other.value == "none"
    return Val(absent == positive, "flag")


def _as_flag(val: Val, beside: Val) -> Val:
    """A rate beside `true` or `false`: whether the card has it."""
    if not (val.flag and val.form == "number" and beside.form == "flag"):
        return val
    return Val(val.value if isinstance(val.value, Unknown) or val.value is None else True, "flag")


def version_key(text: str) -> tuple[int, ...]:
    """The numbers of a version, for order: `2.13` is later than `2.6`, and `2.6` is `2.6.0`."""
    numbers = [int(part) for part in re.findall(r"\d+", text.partition("+")[0])]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _arithmetic(node: nodes.Binary, left: Val, right: Val, env: Env) -> Val:
    for side, part in ((left, node.left), (right, node.right)):
        if side.form not in ("number", "any"):
            env.report(faults.WRONG_TYPE.at(part.span, f"{described(side)} where a number is due"))
            return ANY
    if node.operator in ("+", "-"):
        if not _may_meet(left, right):
            verb = "added to" if node.operator == "+" else "subtracted from"
            message = f"{described(right)} {verb} {described(left)}"
            help = _with_unit(node.right, right, left) or _with_unit(node.left, left, right)
            env.report(faults.WRONG_TYPE.at(node.right.span, message, help=help))
            return ANY
    elif node.operator == "/" and right.form == "number" and right.value == 0:
        env.report(faults.DIVISION_BY_ZERO.at(node.right.span, "division by zero", "this is 0"))
        return ANY
    if "any" in (left.form, right.form):
        return _of_any(node.operator, left, right)
    dimension = _dimensions(node.operator, left, right)[0]
    is_exact = left.exact and right.exact
    for side in (left, right):
        if isinstance(side.value, Unknown) or side.value is None:
            return Val(side.value or Unknown("not set", unset=True), "number", dimension, exact=is_exact)
    if _MAX_BITS < _bits(left.value) + _bits(right.value):
        env.report(faults.TOO_COMPLEX.at(node.span, f"the result has more than {MAX_RESULT_DIGITS:,} digits"))
        return ANY
    if node.operator == "/":
        value = _quotient(left.value, right.value)
    else:
        value = {
            "+": lambda: left.value + right.value,
            "-": lambda: left.value - right.value,
            "*": lambda: left.value * right.value,
        }[node.operator]()
    return Val(whole(value), "number", dimension, exact=is_exact)


def _of_any(operator: str, left: Val, right: Val) -> Val:
    """A result that is not known, with the dimensions that it may have."""
    if any(side.form == "any" and not side.kinds for side in (left, right)):
        return ANY
    return _of_kinds(_dimensions(operator, left, right))


def _dimensions(operator: str, left: Val, right: Val) -> list[Dimension]:
    """Those that a result may have, by those of its operands."""
    if operator in ("+", "-"):
        return [kind for kind in _kinds(left) if kind in _kinds(right)]
    sign = 1 if operator == "*" else -1
    return [times(one, other, sign) for one in _kinds(left) for other in _kinds(right)]


def _bits(value: Any) -> int:
    """Binary digits of an exact number, with those of its denominator; 0 of a float."""
    if isinstance(value, int):
        return value.bit_length()
    return 0 if isinstance(value, float) else int(value.numerator.bit_length() + value.denominator.bit_length())


def _quotient(left: Any, right: Any) -> Any:
    if isinstance(left, float) or isinstance(right, float):
        return float(left) / float(right)
    if isinstance(left, int) and isinstance(right, int):
        return exact(left, right)
    return left / right


def whole(value: Any) -> Any:
    """A fraction that is whole as an int; anything else as it is."""
    return int(value) if getattr(value, "denominator", 0) == 1 and not isinstance(value, bool) else value


def _member(node: nodes.Member, env: Env) -> Val:
    if isinstance(node.container, nodes.Range):
        low, high = _evaluate(node.container.low, env), _evaluate(node.container.high, env)
        item = _evaluate(node.item, env)
        for side, part in ((low, node.container.low), (high, node.container.high)):
            if not _may_meet(side, item):
                help = _with_unit(part, side, item)
                message = f"{described(side)} compared with {described(item)}"
                env.report(faults.WRONG_TYPE.at(part.span, message, help=help))
                return Val(FAULTY, "flag")
        known = all(side.form == "number" and side.value is not None for side in (low, high))
        if known and low.dimension == high.dimension and high.value < low.value:
            env.report(empty_range(node.container))
        if any(side.form == "any" for side in (item, low, high)):
            return Val(FAULTY, "flag")
        for side in (item, low, high):
            if isinstance(side.value, Unknown) or side.value is None:
                return Val(side.value or Unknown("not set", unset=True), "flag")
        return Val((low.value <= item.value <= high.value) != node.negated, "flag")
    if isinstance(node.container, nodes.List):
        if not node.container.items:
            env.report(faults.OUT_OF_RANGE.at(node.container.span, "the list is empty", "nothing is in it"))
        outcomes = []
        for choice in node.container.items:
            equal = nodes.Binary(choice.span, "==", node.item, choice)  # type: ignore[arg-type]
            left, right = _sides(node.item, choice, env)
            outcomes.append(_compare(equal, left, right, env).value)
        if True in outcomes:
            return Val(not node.negated, "flag")
        return Val(next((outcome for outcome in outcomes if isinstance(outcome, Unknown)), node.negated), "flag")
    container = _evaluate(node.container, env)
    word = _names_words(container) and container.form == "list" and _may_be_word(node.item)
    item = _as_word(node.item, container, env) if word else _evaluate(node.item, env)
    if container.form not in ("list", "any"):
        env.report(faults.WRONG_TYPE.at(node.container.span, f"{described(container)} where a list is due"))
        return Val(FAULTY, "flag")
    if container.item and item.form not in (container.item, "any") and {container.item, item.form} != {"name", "text"}:
        due = described(Val(None, container.item, container.dimension))
        help = _unquoted(node.item, container)
        env.report(faults.WRONG_TYPE.at(node.item.span, f"{described(item)} where {due} is due", help=help))
        return Val(FAULTY, "flag")
    for side in (item, container):
        if isinstance(side.value, Unknown) or side.value is None:
            return Val(side.value or Unknown("not set", unset=True), "flag")
    return Val((item.value in container.value) != node.negated, "flag")


def empty_range(node: nodes.Range) -> Diagnostic:
    """The fault of a range that begins above its end."""
    text = f"{node.high.span.text}..{node.low.span.text}"
    help, fixes = (f"write `{text}`",), instead(node.span, (text,))
    return faults.OUT_OF_RANGE.at(node.span, "the range is empty", "the low end first", help=help, fixes=fixes)


def _call(node: nodes.Call, env: Env) -> Val:
    name = node.function.text
    if name not in FUNCTIONS:
        near = all_nearest(name, FUNCTIONS)
        listed = ", ".join(f"`{function}`" for function in FUNCTIONS)
        env.report(
            faults.UNKNOWN_FUNCTION.at(
                node.function.span,
                f"unknown function `{name}`",
                help=(f"did you mean `{near[0]}`?",) if near else (),
                notes=(f"the functions are {listed}",),
                fixes=instead(node.function.span, near),
            )
        )
        return ANY
    arguments = [_evaluate(argument, env) for argument in node.arguments]
    problem, result = FUNCTIONS[name](arguments)
    if problem:
        env.report(faults.UNKNOWN_FUNCTION.at(node.span, f"`{name}` {problem}"))
    elif name in ("any", "all") and any(isinstance(part, nodes.List) and not part.items for part in node.arguments):
        env.report(faults.UNKNOWN_FUNCTION.at(node.span, f"`{name}` of an empty list", "the same for every plan"))
    elif name == "divides" and arguments[0].form == "number" and arguments[0].value == 0:
        place = node.arguments[0].span
        env.report(faults.DIVISION_BY_ZERO.at(place, "division by zero", "0 divides no number"))
    return result


def _known(arguments: list[Val]) -> Unknown | None:
    for argument in arguments:
        if isinstance(argument.value, Unknown):
            return argument.value
        if argument.value is None:
            return Unknown("not set", unset=True)
    return None


def _divides(arguments: list[Val]) -> tuple[str, Val]:
    if len(arguments) != 2 or any(argument.form not in ("number", "any") for argument in arguments):
        return "takes two numbers", Val(FAULTY, "flag")
    if not _may_meet(*arguments):
        return "takes two numbers of one kind", Val(FAULTY, "flag")
    if any(argument.form == "any" for argument in arguments):
        return "", Val(FAULTY, "flag")
    unknown = _known(arguments)
    if unknown is not None:
        return "", Val(unknown, "flag")
    divisor, dividend = (argument.value for argument in arguments)
    return "", Val(divisor != 0 and dividend % divisor == 0, "flag")


def _rounded(up: bool) -> Callable[[list[Val]], tuple[str, Val]]:
    def function(arguments: list[Val]) -> tuple[str, Val]:
        if len(arguments) != 1 or arguments[0].form not in ("number", "any"):
            return "takes one number", ANY
        if arguments[0].form == "any":
            return "", arguments[0]
        unknown = _known(arguments)
        value = (
            unknown
            if unknown is not None
            else (int(-(-arguments[0].value // 1)) if up else int(arguments[0].value // 1))
        )
        return "", Val(value, "number", arguments[0].dimension)

    return function


def _over(due: str, reduce: Callable[[tuple[Any, ...]], Any], least: int = 0) -> Callable[[list[Val]], tuple[str, Val]]:
    """A function of values that are given one by one or as one list; `due`: the form of each, if it matters."""

    def function(arguments: list[Val]) -> tuple[str, Val]:
        if any(argument.form == "any" for argument in arguments):
            return _of_quantities(due, arguments)
        listed = len(arguments) == 1 and arguments[0].form == "list"
        forms = {arguments[0].item} - {""} if listed else {argument.form for argument in arguments}
        unknown = _known(arguments)
        if not arguments or forms - {due or form for form in forms}:
            return f"takes {'flags' if due == 'flag' else 'numbers'}, or one list of them", ANY
        if due and 1 < len({argument.dimension for argument in arguments}):
            return "takes numbers of one kind", ANY
        items = tuple(arguments[0].value if listed and unknown is None else (one.value for one in arguments))
        if unknown is None and len(items) < least:
            return "takes numbers, or one list of them", ANY
        if due == "flag":
            return "", Val(reduce(items), "flag")
        value = reduce(items) if unknown is None else unknown
        is_exact = all(argument.exact for argument in arguments)
        return "", Val(value, "number", arguments[0].dimension if due else PLAIN, exact=is_exact)

    return function


def _of_quantities(due: str, arguments: list[Val]) -> tuple[str, Val]:
    """What is wrong with arguments of which one is of a kind that nothing says, and what comes out."""
    known = [set(_kinds(argument)) for argument in arguments if argument.form == "number" or argument.kinds]
    if due != "number" or len(known) < len(arguments):
        return "", ANY
    kinds = [kind for kind in _kinds(arguments[0]) if all(kind in each for each in known)]
    return ("", _of_kinds(kinds)) if kinds else ("takes numbers of one kind", ANY)


def _settled(items: tuple[Any, ...], by: bool) -> Any:
    """What flags come to of which one settles it, known or not."""
    unknown = [item for item in items if item not in (True, False)]
    if by in items or not unknown:
        return by if by in items else not by
    return unknown[0] if isinstance(unknown[0], Unknown) else Unknown("not set", unset=True)


#: The functions of the language; each gives what is wrong with its arguments, or "", and the result.
FUNCTIONS: dict[str, Callable[[list[Val]], tuple[str, Val]]] = {
    "divides": _divides,
    "ceil": _rounded(up=True),
    "floor": _rounded(up=False),
    "min": _over("number", min, least=1),
    "max": _over("number", max, least=1),
    "sum": _over("number", lambda items: whole(sum(items))),
    "count": _over("", len),
    "any": _over("flag", lambda items: _settled(items, True)),
    "all": _over("flag", lambda items: _settled(items, False)),
}

_BY_NODE: dict[type, Callable[[Any, Env], Val]] = {
    nodes.Number: _number,
    nodes.String: _string,
    nodes.Literal: _literal,
    nodes.Path: _path,
    nodes.List: _list,
    nodes.Range: _range,
    nodes.Narrowed: _narrowed,
    nodes.Bad: _bad,
    nodes.Unary: _unary,
    nodes.Binary: _binary,
    nodes.Member: _member,
    nodes.Call: _call,
}

__all__ = [
    "ANY",
    "FAULTY",
    "FUNCTIONS",
    "VERSION",
    "Env",
    "Record",
    "Val",
    "described",
    "empty_range",
    "evaluate",
    "is_word",
    "no_version",
    "unescaped",
    "whole",
    "word_of",
]

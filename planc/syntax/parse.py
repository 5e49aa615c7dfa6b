"""Text to syntax tree: a small LALR driver over the tables that lark made of the grammar.

A driver of our own, and not lark's, for three reasons. Start-up: importing lark costs 45 ms, this file and the tables
4. Recovery: a file with three faults gets three diagnostics and keeps all that was read, which needs the parser's
stack. Speed: no tree is built that would then be walked again. lark still analyses the grammar (`build_tables.py`),
and a test holds this driver against lark's own parser.

Reading never stops at a fault. The text is first cut at the lines that open a block, so that a missing brace costs
one block; inside a block, reading goes on at the next entry, and a `Bad` node stands for what was skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from planc.diagnostics.diagnostic import Diagnostic
from planc.source import MAX_BYTES, Source, Span
from planc.syntax import errors, nodes
from planc.syntax.conditions import conditions, may_hold_rules
from planc.syntax.faults import FILE_TOO_LARGE, NESTED_TOO_DEEPLY
from planc.syntax.lexer import END, ERROR, MAX_NESTING, Lexer, Token

#: Faults reported in one file; reading stops there, as what follows says nothing new.
MAX_FAULTS = 100

#: Tokens after skipped text in which a further error is not reported.
_QUIET = 3

_OPENS_SEGMENT = ("KIND", "USE", "LANGUAGE")


class Parsed(NamedTuple):
    """A file's tree and the faults found while reading it."""

    file: nodes.File
    diagnostics: tuple[Diagnostic, ...]


def parse(source: Source) -> Parsed:
    """The syntax tree of a text, as far as it can be read, and a diagnostic for each fault."""
    whole = Span(source, 0, len(source.text))
    empty = nodes.File(whole, (), (), (), complete=False)
    if MAX_BYTES < len(source.text):
        limit = f"{len(source.text):,} characters; the limit is {MAX_BYTES:,}"
        return Parsed(empty, (FILE_TOO_LARGE.at(Span(source, 0, 0), "the file is larger than 1 MiB", limit),))
    tables = _tables()
    tokens, too_deep = tables.lexer.scan(source.text)
    if too_deep is not None:
        message = f"brackets are nested more than {MAX_NESTING} deep"
        return Parsed(empty, (NESTED_TOO_DEEPLY.at(Span(source, too_deep, too_deep + 1), message, "one too many"),))
    diagnostics: list[Diagnostic] = []
    found: list[Any] = []
    for segment in _segments(source, tokens):
        if MAX_FAULTS <= len(diagnostics):
            break
        found.extend(_read_segment(source, tables, segment, diagnostics))
    complete = not any(isinstance(node, nodes.Bad) for node in found)
    settings = tuple(node for node in found if isinstance(node, nodes.Setting))
    uses = tuple(node for node in found if isinstance(node, nodes.Use))
    blocks = tuple(node for node in found if isinstance(node, nodes.Block))
    return Parsed(nodes.File(whole, settings, uses, blocks, complete), tuple(diagnostics))


def scan(text: str) -> list[Token]:
    """The tokens of a text, closed by `$END`, as far as brackets are not nested too deeply."""
    return _tables().lexer.scan(text).tokens


def parse_value(source: Source, start: int) -> tuple[Any, tuple[Diagnostic, ...]]:
    """The value that stands from an offset to the end of a text, as after `field =`, and what is wrong with it."""
    tables = _tables()
    tokens, _ = tables.lexer.scan(source.text)
    value = [token for token in tokens if start <= token.start and token.type != END]
    # The value is read as that of a field of a block, whose other tokens have no text of their own.
    frame = [Token(kind, start, start) for kind in ("KIND", "NAME", "LBRACE", "KEY", "EQUAL")]
    end = len(source.text)
    diagnostics: list[Diagnostic] = []
    read = _run(source, tables, [*frame, *value, Token("RBRACE", end, end), Token(END, end, end)], diagnostics)
    entries = read[0].body.entries if read and isinstance(read[0], nodes.Block) and read[0].body else ()
    if len(entries) == 1 and isinstance(entries[0], nodes.Field):
        return entries[0].value, tuple(diagnostics)
    return nodes.Bad(Span(source, start, end), ()), tuple(diagnostics)


def cut(source: Source, tokens: list[Token]) -> list[list[Token]]:
    """The tokens of a text, cut as `parse` cuts them into parts, of which each is read by itself."""
    return _segments(source, tokens)


def parse_part(source: Source, part: list[Token]) -> tuple[list[Any], tuple[Diagnostic, ...]]:
    """The nodes of one part, as `parse` finds them, and a diagnostic for each fault in it."""
    diagnostics: list[Diagnostic] = []
    return _read_segment(source, _tables(), part, diagnostics), tuple(diagnostics)


def parse_block(source: Source, start: int, end: int) -> nodes.Block:
    """The one block that stands between two offsets of a text that is known to be sound."""
    tables = _tables()
    tokens, _ = tables.lexer.scan(source.text, start, end)
    block: nodes.Block = _run(source, tables, tokens, [])[0]
    return block


class Skipped(NamedTuple):
    """A token in place of text that could not be read; `names` are the fields that it may have been meant to write."""

    type: str
    start: int
    end: int
    names: tuple[str, ...]


#: Makes the node of a rule of its children; None where the one child stands for the rule.
_Make = Callable[[Source, Span, list[Any]], Any]


class _Tables(NamedTuple):
    lexer: Lexer
    actions: tuple[dict[str, int], ...]
    steps: tuple[tuple[str, int, tuple[int, ...], _Make | None], ...]
    start: int
    end: int


_loaded: list[_Tables] = []


def _tables() -> _Tables:
    """The parser's tables: those shipped with the package, or new ones where a checkout's grammar was edited."""
    if not _loaded:
        from planc.resources import parser_tables

        tables = parser_tables()
        steps = tuple(_step(*rule) for rule in tables["rules"])
        _loaded.append(_Tables(Lexer(tables), tables["actions"], steps, tables["start"], tables["end"]))
    return _loaded[0]


def _step(
    origin: str, handler: str, length: int, kept: tuple[int, ...], transparent: bool
) -> tuple[str, int, tuple[int, ...], _Make | None]:
    """What reducing by a rule does: the symbol that it makes, of how many, of which children, and how."""
    if transparent and len(kept) == 1:
        # `( expr )` keeps one child of three, so the stack has to shrink; a true single child leaves it as it is.
        return origin, length, kept, None if length == 1 else _first
    if handler.startswith("_") or handler == "start":
        return origin, length, kept, _flat
    return origin, length, kept, _HANDLERS[handler]


def _first(source: Source, span: Span, children: list[Any]) -> Any:
    return children[0]


def _segments(source: Source, tokens: list[Token]) -> list[list[Token]]:
    """The tokens cut before each block, `use` or setting, also where a line opens a block inside another one."""
    segments: list[list[Token]] = []
    depth = 0
    for at, token in enumerate(tokens):
        opens = token.type in _OPENS_SEGMENT and (depth <= 0 or _is_first_on_line(source, token))
        mistyped = token.type in ("NAME", ERROR) and _is_header(source, tokens, at)
        if opens or (mistyped and _is_first_on_line(source, token)):
            segments.append([])
            depth = 0
        depth += (token.type == "LBRACE") - (token.type == "RBRACE")
        if not segments:
            segments.append([])
        if token.type != END:
            segments[-1].append(token)
    return segments


def _is_header(source: Source, tokens: list[Token], at: int) -> bool:
    """Whether the tokens read like the opening of a block whose kind is mistyped: `modle small {`."""
    types = [token.type for token in tokens[at : at + 4]]
    first = at + (types[:1] == [ERROR])
    types = types[first - at :]
    if types[:1] != ["NAME"] or (at and tokens[at - 1].type == ERROR and tokens[at - 1].end == tokens[at].start):
        return False
    # A kind and its name stand on one line; on two, the first may end the entry above the second.
    return (
        types[1:2] in (["NAME"], ["STRING"])
        and types[2:3] in (["LBRACE"], ["FROM"])
        and "\n" not in source.text[tokens[first].end : tokens[first + 1].start]
    )


def _is_first_on_line(source: Source, token: Token) -> bool:
    start = source.text.rfind("\n", 0, token.start) + 1
    return source.text[start : token.start].strip(" \t\ufeff") == ""


def _read_segment(source: Source, tables: _Tables, segment: list[Token], diagnostics: list[Diagnostic]) -> list[Any]:
    """The nodes of one top-level segment. A block whose braces do not match is known by its name only."""
    if not segment:
        return []
    for token in segment:
        if token.type == "ELSE":
            diagnostics.append(errors.else_for_because(_span(source, token)))
    unmatched = errors.unmatched_brace(source, segment)
    if unmatched is None:
        end = segment[-1].end
        tokens = _without_slips(source, segment, diagnostics)
        found = _run(source, tables, [*tokens, Token(END, end, end)], diagnostics)
        if any(not isinstance(node, nodes.Bad) for node in found):
            return found
    else:
        # A string that is not closed swallows the braces after it in its line, and is then what is wrong.
        diagnostics.append(errors.unclosed_string(source, segment) or unmatched)
    span = Span(source, segment[0].start, segment[-1].end)
    if segment[0].type != "KIND" or len(segment) < 2 or segment[1].type not in ("NAME", "STRING", "KEY"):
        return [nodes.Bad(span, ())]
    kind = source.text[segment[0].start : segment[0].end]
    return [nodes.Block(span, kind, _name(source, segment[1]), None, None, broken=True)]


def _without_slips(source: Source, segment: list[Token], diagnostics: list[Diagnostic]) -> list[Token]:
    """The tokens with one BAD in place of each condition of a rule that has a slip in it, which is reported."""
    if not may_hold_rules(source, segment):
        return segment
    tokens: list[Any] = []
    at = 0
    for condition in conditions(source, segment):
        if condition.slip is not None:
            diagnostics.append(condition.slip)
            start, end = segment[condition.start].start, segment[condition.end - 1].end
            tokens.extend((*segment[at : condition.start], Skipped("BAD", start, end, ())))
            at = condition.end
    return [*tokens, *segment[at:]]


def _run(source: Source, tables: _Tables, tokens: list[Token], diagnostics: list[Diagnostic]) -> list[Any]:
    """The nodes that the tokens, closed by `$END`, reduce to; faults go into `diagnostics`, and reading goes on."""
    actions, steps = tables.actions, tables.steps
    state = tables.start
    states: list[int] = [state]
    values: list[Any] = []
    spans: list[tuple[int, int]] = []
    at = 0
    while True:
        token = tokens[at]
        kind = token.type
        action = actions[state].get(kind)
        while action is not None and action < 0:
            origin, length, kept, make = steps[~action]
            if make is None:  # a single child stands for the rule: eight such rules lie between a value and its number
                state = states[-1] = actions[states[-2]][origin]
            else:
                if length:
                    children = values[-length:]
                    start, end = spans[-length][0], spans[-1][1]
                    del states[-length:], values[-length:], spans[-length:]
                else:
                    children, start, end = [], token.start, token.start
                state = actions[states[-1]][origin]
                states.append(state)
                spans.append((start, end))
                values.append(make(source, Span(source, start, end), [children[i] for i in kept]))
            action = actions[state].get(kind)
        if action is not None:
            state = action
            states.append(state)
            values.append(token)
            spans.append((token.start, token.end))
            at += 1
        elif kind == END and state == tables.end:
            found: list[Any] = values[0]
            return found
        else:
            at = _recover(source, tables, tokens, at, states, values, spans, diagnostics)
            state = states[-1]


def _flat(source: Source, span: Span, children: list[Any]) -> list[Any]:
    """The items of a repetition."""
    if not children:
        return []
    # The list so far is on the parser's stack alone, so it may grow in place: copying it would cost its square.
    flat: list[Any] = children[0] if isinstance(children[0], list) else [children[0]]
    for child in children[1:]:
        if isinstance(child, list):
            flat.extend(child)
        else:
            flat.append(child)
    return flat


def _recover(
    source: Source,
    tables: _Tables,
    tokens: list[Token],
    at: int,
    states: list[int],
    values: list[Any],
    spans: list[tuple[int, int]],
    diagnostics: list[Diagnostic],
) -> int:
    """Report the token that does not fit, and put a Bad node in place of the least that lets reading go on.

    Where commas are missing in a list, these are put in. Else the stack is cut back to a place where a Bad node fits
    and after which the next entry (or the brace that closes the body, or the end) can be read. Returns the index of the
    token to go on with.
    """
    commas = errors.missing_commas(source, tokens, at, values)
    if commas is not None and _fits(tables, states, ("COMMA", tokens[at].type)):
        diagnostics.append(commas.fault)
        for place in reversed(commas.places):
            tokens.insert(place, Token("COMMA", tokens[place - 1].end, tokens[place - 1].end))
        return at
    if not _follows_another(source, tokens, at):
        diagnostics.append(errors.unexpected(source, tokens, at, values, _acceptable(tables, states)))
    # Text that goes on in the same line breaks the entry before it; if it begins a new line, that entry stays.
    same_line = 0 < at and "\n" not in source.text[tokens[at - 1].end : tokens[at].start]
    go_on = at
    while len(diagnostics) < MAX_FAULTS:
        go_on = errors.next_entry(tokens, go_on)
        for height in range(len(states) - 1, -1, -1):
            if same_line and tables.actions[states[height]].get("BAD", -1) < 0:
                continue
            if _fits(tables, states[: height + 1], ("BAD", tokens[go_on].type)):
                return _put_bad(source, tokens, at, go_on, height, states, values, spans)
        if tokens[go_on].type == END:
            break
        go_on += 1
    # Nothing fits even at the end, or it is enough: give the segment up.
    return _put_bad(source, tokens, at, len(tokens) - 1, 0, states, values, spans)


def _follows_another(source: Source, tokens: list[Token], at: int) -> bool:
    """Whether text was skipped just before in the same line: an error there says nothing new."""
    return any(
        isinstance(token, Skipped) and "\n" not in source.text[token.end : tokens[at].start]
        for token in tokens[max(0, at - _QUIET) : at]
    )


def _put_bad(
    source: Source,
    tokens: list[Token],
    at: int,
    go_on: int,
    height: int,
    states: list[int],
    values: list[Any],
    spans: list[tuple[int, int]],
) -> int:
    """Cut the stack back to a height, and the tokens up to `go_on` to one BAD; returns the index of that token."""
    start = spans[height][0] if height < len(spans) else tokens[at].start
    end = max(start, tokens[go_on - 1].end if at < go_on else start)
    names = errors.written_names(source, [*values[height:], *tokens[at:go_on]])
    del states[height + 1 :], values[height:], spans[height:]
    tokens[at:go_on] = [Skipped("BAD", start, end, names)]  # type: ignore[list-item]
    return at


def _fits(tables: _Tables, states: list[int], types: tuple[str, ...]) -> bool:
    """Whether the terminals can be read one after the other from this stack of states."""
    states = list(states)
    for kind in types:
        while True:
            action = tables.actions[states[-1]].get(kind)
            if action is None:
                if kind == END and states[-1] == tables.end:
                    break
                return False
            if 0 <= action:
                states.append(action)
                break
            origin, length, _, _ = tables.steps[~action]
            if length:
                del states[-length:]
            states.append(tables.actions[states[-1]][origin])
    return True


def _acceptable(tables: _Tables, states: list[int]) -> frozenset[str]:
    """The terminals that could come next."""
    return frozenset(
        kind for kind in tables.actions[states[-1]] if kind[0].isupper() and _fits(tables, states, (kind,))
    )


def _text(source: Source, token: Token) -> str:
    return source.text[token.start : token.end]


def _span(source: Source, token: Token) -> Span:
    return Span(source, token.start, token.end)


_ESCAPES = {'\\"': '"', "\\\\": "\\", "\\n": "\n", "\\t": "\t"}


def unquoted(text: str) -> str:
    """The value of a quoted string. Unknown escapes are left as they stand; the resolver reports them."""
    inner = text[1:-1]
    if "\\" not in inner:
        return inner
    out, at = [], 0
    while at < len(inner):
        pair = inner[at : at + 2]
        out.append(_ESCAPES.get(pair, pair) if pair[0] == "\\" else pair[0])
        at += 2 if pair[0] == "\\" else 1
    return "".join(out)


def _name(source: Source, value: Any) -> nodes.Name:
    if isinstance(value, Token):
        text = _text(source, value)
        return nodes.Name(_span(source, value), unquoted(text) if value.type == "STRING" else text)
    return nodes.Name(value.span, "") if isinstance(value, nodes.Bad) else value


def _string(source: Source, token: Token) -> nodes.String:
    return nodes.String(_span(source, token), unquoted(_text(source, token)))


def _use(source: Source, span: Span, children: list[Any]) -> Any:
    return children[0] if isinstance(children[0], nodes.Bad) else nodes.Use(span, _string(source, children[0]))


def _block(source: Source, span: Span, children: list[Any]) -> nodes.Block:
    return nodes.Block(span, _text(source, children[0]), _name(source, children[1]), None, children[2], broken=False)


def _derived(source: Source, span: Span, children: list[Any]) -> nodes.Block:
    parent = children[2] if isinstance(children[2], nodes.Call) else _name(source, children[2])
    body = children[3] if len(children) == 4 else None
    return nodes.Block(span, _text(source, children[0]), _name(source, children[1]), parent, body, broken=False)


def _body(source: Source, span: Span, children: list[Any]) -> nodes.Body:
    entries = (child for group in children for child in (group if isinstance(group, list) else [group]))
    return nodes.Body(span, tuple(entry for entry in entries if not isinstance(entry, Token)))


def _field(source: Source, span: Span, children: list[Any]) -> nodes.Field:
    return nodes.Field(span, _name(source, children[0]), children[1], children[0].type == "STRING")


def _rule(source: Source, span: Span, children: list[Any]) -> nodes.Rule:
    verb, condition, rest = children[0], children[1], children[2:]
    because = rest[-1] if rest and isinstance(rest[-1], Token) else None
    guard = next((child for child in rest if not isinstance(child, Token)), None)
    reason = None if because is None else _string(source, because)
    return nodes.Rule(span, _text(source, verb), condition, guard, reason)


def _bad(source: Source, span: Span, children: list[Any]) -> nodes.Bad:
    return nodes.Bad(span, children[0].names)


def _binary(operator: str) -> Callable[[Source, Span, list[Any]], nodes.Binary]:
    return lambda source, span, children: nodes.Binary(span, operator, children[0], children[1])


def _infix(source: Source, span: Span, children: list[Any]) -> nodes.Binary:
    return nodes.Binary(span, _text(source, children[1]), children[0], children[2])


def _path(source: Source, span: Span, children: list[Any]) -> nodes.Path:
    flat = [token for child in children for token in (child if isinstance(child, list) else [child])]
    return nodes.Path(span, tuple(_name(source, token) for token in flat))


def _list(source: Source, span: Span, children: list[Any]) -> nodes.List:
    flat = [item for child in children for item in (child if isinstance(child, list) else [child])]
    return nodes.List(span, tuple(flat))


def _call(source: Source, span: Span, children: list[Any]) -> nodes.Call:
    flat = [item for child in children[1:] for item in (child if isinstance(child, list) else [child])]
    return nodes.Call(span, _name(source, children[0]), tuple(flat))


_HANDLERS: dict[str, _Make] = {
    "setting": lambda source, span, c: nodes.Setting(span, nodes.Number(_span(source, c[1]), _text(source, c[1]))),
    "use": _use,
    "block": _block,
    "derived": _derived,
    "body": _body,
    "field": _field,
    "section": lambda source, span, c: nodes.Section(span, _name(source, c[0]), c[1]),
    "candidates": lambda source, span, c: nodes.Candidates(span, _name(source, c[0]), c[1]),
    "rule": _rule,
    "bad": _bad,
    "narrowed": lambda source, span, c: nodes.Narrowed(span, _name(source, c[0]), c[1]),
    "range": lambda source, span, c: nodes.Range(span, c[0], c[1]),
    "either": _binary("or"),
    "both": _binary("and"),
    "negation": lambda source, span, c: nodes.Unary(span, "not", c[0]),
    "comparison": _infix,
    "arithmetic": _infix,
    "member": lambda source, span, c: nodes.Member(span, c[0], c[1], False),
    "stranger": lambda source, span, c: nodes.Member(span, c[0], c[1], True),
    "signed": lambda source, span, c: nodes.Unary(span, _text(source, c[0]), c[1]),
    "number": lambda source, span, c: nodes.Number(span, _text(source, c[0])),
    "string": lambda source, span, c: _string(source, c[0]),
    "literal": lambda source, span, c: nodes.Literal(span, _text(source, c[0])),
    "path": _path,
    "list": _list,
    "call": _call,
    "name": lambda source, span, c: _name(source, c[0]),
}

__all__ = ["Parsed", "parse", "parse_block", "scan"]

"""Turns grammar/plan.lark into plain tables, once, when the package is built; `parse.py` reads a file with them.

lark analyses the grammar and reports its conflicts; what it found is written out as a Python module of literals, which
byte-compiles to something that loads in a fifth of a millisecond. Importing lark at every start would cost 45 ms, more
than all the rest of `planc lint`, and its own cache is a pickle in a shared temporary folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def build(grammar: str) -> dict[str, Any]:
    """The tables of a grammar.

    grammar: its text, by which a checkout notices that it was edited.
    pattern: one regular expression with a named group for each terminal.
    keywords: words that would be a NAME -> their terminal.
    ignored: terminals that only separate.
    actions: for each state, symbol -> next state, or ~(number of the rule to reduce by).
    rules: (origin, handler, length, positions of the symbols that a node keeps, whether a single child stands for it).
    start, end: numbers of the first and of the accepting state.
    """
    from lark import Lark
    from lark.parsers.lalr_analysis import Shift

    parser = Lark(grammar, parser="lalr", lexer="basic")
    table = parser.parser.parser._parse_table
    numbers = _numbered(table)
    rules = {rule: number for number, rule in enumerate(parser.rules)}
    actions = tuple(
        {
            symbol: numbers[target] if action is Shift else ~rules[target]
            for symbol, (action, target) in sorted(table.states[state].items())
        }
        for state in numbers
    )
    terminals = parser.parser.lexer.terminals
    keywords = {
        term.pattern.value: term.name
        for term in terminals
        if term.pattern.type == "str" and term.pattern.value.isalpha()
    }
    pattern = "|".join(
        f"(?P<{term.name}>{term.pattern.to_regexp()})" for term in terminals if term.name not in keywords.values()
    )
    return {
        "grammar": grammar,
        "pattern": pattern,
        "keywords": keywords,
        "ignored": tuple(sorted(parser.ignore_tokens)),
        "actions": actions,
        "rules": tuple(
            (
                str(rule.origin.name),
                str(rule.alias or rule.origin.name),
                len(rule.expansion),
                tuple(at for at, symbol in enumerate(rule.expansion) if not getattr(symbol, "filter_out", False)),
                bool(rule.options.expand1 and not rule.alias),
            )
            for rule in parser.rules
        ),
        "start": numbers[table.start_states["start"]],
        "end": numbers[table.end_states["start"]],
    }


def _numbered(table: Any) -> dict[Any, int]:
    """lark's states, numbered as they are met from the start; lark's own order changes from run to run."""
    order = [table.start_states["start"]]
    for state in order:
        for _, (_, target) in sorted(table.states[state].items()):
            if target in table.states and target not in order:
                order.append(target)
    return {state: number for number, state in enumerate(order)}


def as_module(tables: dict[str, Any]) -> str:
    """The tables as the text of a Python module."""
    from pprint import pformat

    body = pformat(tables, width=118, sort_dicts=False)
    return f'"""Parser tables, made of grammar/plan.lark by build_tables.py, not by hand."""\n\nTABLES = {body}\n'


def main(output: str, grammar: str | None = None) -> None:
    """Write the tables as a Python module to `output`; the grammar is the checkout's unless another file is named."""
    source = Path(grammar) if grammar else Path(__file__).parents[2] / "grammar" / "plan.lark"
    Path(output).write_text(as_module(build(source.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main(str(Path(__file__).with_name("_tables.py")))

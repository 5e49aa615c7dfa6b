"""What the editors' grammars take from planc: `python -m tests.editors.grammars` writes it.

The TextMate grammar is made whole: its tokens are the terminals of `grammar/plan.lark`, so it can only differ from the
lexer in how an editor puts them together, which the tests compare. Vim's expressions are of another dialect and written
by hand; only its lists of words are made.
"""

from __future__ import annotations

import json
import re
from typing import Any

from planc.plan.evaluate import FUNCTIONS
from planc.plan.policies import QUOTED_PATH
from planc.plan.units import SUFFIXES, UNITS
from tests.shared import ROOT

TEXTMATE = ROOT / "editors" / "vscode" / "syntaxes" / "planc.tmLanguage.json"
VIM = ROOT / "editors" / "vim" / "syntax" / "planc.vim"

#: What may not follow a word that is read as a keyword: it would be part of a longer name.
_WORD_END = r"(?![A-Za-z0-9_]|-[A-Za-z0-9_]|\.[0-9])"
_MADE = re.compile(r'(" made: (\w+)\n)[^\n]*\n')


def main() -> None:
    """Writes what is made."""
    TEXTMATE.write_text(textmate(), encoding="utf-8")
    VIM.write_text(with_words(VIM.read_text(encoding="utf-8")), encoding="utf-8")


def terminals() -> dict[str, str]:
    """The expression of each terminal of the language."""
    from lark import Lark

    parser = Lark((ROOT / "grammar" / "plan.lark").read_text(encoding="utf-8"), parser="lalr", lexer="basic")
    return {terminal.name: terminal.pattern.to_regexp().replace("\n", r"\n") for terminal in parser.terminals}


def with_words(text: str) -> str:
    """Vim's syntax file with its lists of words made anew."""
    lists = {"units": _spelt(UNITS), "suffixes": _spelt(SUFFIXES), "functions": _spelt((*FUNCTIONS, "hf"))}
    return _MADE.sub(lambda match: f"{match[1]}let s:{match[2]} = '{lists[match[2]]}'\n", text)


def _spelt(words: Any) -> str:
    """Words as alternatives, longest first, so that no word hides a longer one."""
    return "|".join(sorted((word for word in words if word != "%"), key=lambda word: (-len(word), word)))


def textmate() -> str:
    """The TextMate grammar."""
    tokens = terminals()
    keywords = "|".join(sorted(value for value in tokens.values() if value.isalpha()))
    others = "|".join(tokens[other] for other in ("KIND", "VERB", "LITERAL", "KEY"))
    name = rf"(?!(?:{keywords}){_WORD_END}|{others}){tokens['NAME']}"
    name_or_string = rf"{name}|{tokens['STRING']}"
    grammar = {
        "information_for_contributors": ["Made by `python -m tests.editors.grammars`, not by hand."],
        "name": "planc",
        "scopeName": "source.planc",
        "fileTypes": ["plan"],
        "patterns": [{"include": "#entries"}],
        "repository": {
            "entries": _all("comment", "brackets", "header", "parent", "narrowing", "key", "section", "value"),
            "items": _all("comment", "brackets", "header", "narrowed", "key", "value"),
            "value": _all("because", "words", "string", "quantity", "name", "operators", "unreadable"),
            "comment": _comment(tokens["COMMENT"]),
            "brackets": _brackets(tokens["KIND"]),
            "header": {
                "match": rf"({tokens['KIND']})(?:[ \t]+({name_or_string}))?",
                "captures": {"1": _scope("storage.type.block"), "2": _named("entity.name.type")},
            },
            "parent": {
                "match": rf"(from){_WORD_END}[ \t]+({name_or_string})(?![A-Za-z0-9_]|[ \t]*\()",
                "captures": {"1": _scope("keyword.other.from"), "2": _named("entity.other.inherited-class")},
            },
            "narrowing": {
                "match": rf"({tokens['KEY']})[ \t]*(=)[ \t]*({name_or_string})(?=[ \t]*\{{)",
                "captures": {
                    "1": _scope("support.type.property-name"),
                    "2": _scope("keyword.operator.assignment"),
                    "3": _named("entity.other.inherited-class"),
                },
            },
            "narrowed": {
                "match": rf"({name_or_string})(?=[ \t]*\{{)",
                "captures": {"1": _named("entity.other.inherited-class")},
            },
            "key": {
                "patterns": [
                    _match(tokens["LANGUAGE"], "keyword.other.language"),
                    _match(tokens["KEY"], "support.type.property-name"),
                ]
            },
            "section": _match(rf"{name}(?=[ \t]*\{{)", "entity.name.section"),
            "because": {
                "begin": rf"because{_WORD_END}",
                "beginCaptures": {"0": _scope("keyword.control.because")},
                "end": r"""(?<=")|(?=[^ \t\r\n"#])""",
                "patterns": [{"include": "#comment"}, {"include": "#reason"}, {"include": "#unclosed"}],
            },
            "reason": _string(tokens["STRING"], [{"include": "#quote"}, {"include": "#escape"}]),
            "quote": {
                "match": QUOTED_PATH.pattern,
                "name": "meta.template.expression.planc",
                "captures": {
                    "0": {
                        "patterns": [
                            _match(r"\{", "punctuation.definition.template-expression.begin"),
                            _match(r"\}", "punctuation.definition.template-expression.end"),
                            _match(r"\.", "punctuation.accessor"),
                            _match(r"[A-Za-z_][A-Za-z0-9_-]*", "variable.other"),
                        ]
                    }
                },
            },
            "string": {"patterns": [_string(tokens["STRING"], [{"include": "#escape"}])]},
            "escape": {
                "patterns": [
                    _match(r"""\\[\\"nt]""", "constant.character.escape"),
                    _match(r"\\.", "invalid.illegal.escape"),
                ]
            },
            "words": _words(tokens),
            "quantity": _quantity(tokens["QUANTITY"]),
            "name": {
                "patterns": [
                    _match(rf"(?:{_spelt((*FUNCTIONS, 'hf'))}){_WORD_END}(?=[ \t]*\()", "support.function"),
                    _match(rf"{tokens['NAME']}(?=[ \t]*\()", "entity.name.function"),
                    _match(tokens["NAME"], "variable.other"),
                ]
            },
            "operators": _operators(tokens),
            "unclosed": _match(r'"[^\n]*', "invalid.illegal"),
            "unreadable": _match(r""""[^\n]*|'[^'\n]*'?|[^\x00-\x7f]+|[^ \t\r\n]""", "invalid.illegal"),
        },
    }
    return json.dumps(grammar, indent=2) + "\n"


def _all(*names: str) -> dict[str, Any]:
    return {"patterns": [{"include": f"#{name}"} for name in names]}


def _scope(name: str) -> dict[str, Any]:
    return {"name": f"{name}.planc"}


def _match(pattern: str, scope: str) -> dict[str, Any]:
    return {"match": pattern, "name": f"{scope}.planc"}


def _named(scope: str) -> dict[str, Any]:
    """A name of the user's, which may be written as a string."""
    return {"name": f"{scope}.planc", "patterns": [{"include": "#string"}]}


def _string(pattern: str, inside: list[dict[str, Any]]) -> dict[str, Any]:
    return {"match": pattern, "name": "string.quoted.double.planc", "captures": {"0": {"patterns": inside}}}


def _comment(pattern: str) -> dict[str, Any]:
    """A comment; `# planc: allow NAME, NAME -- reason` with what it allows."""
    names = r"(?!--)[^ \t,]+(?:[ \t]*,[ \t]*[^ \t,]+)*"
    return {
        "patterns": [
            {
                "match": rf"((?i:#+[ \t]*planc[ \t]*:)[ \t]*allow)(?:[ \t]+({names}))?[ \t]*(?:(--)[^\n]*)?$",
                "name": "comment.line.number-sign.planc",
                "captures": {
                    "1": _scope("keyword.other.directive"),
                    "2": {"patterns": [_match("[^ \t,]+", "constant.other.rule")]},
                    "3": _scope("punctuation.separator.reason"),
                },
            },
            _match(pattern, "comment.line.number-sign"),
        ]
    }


def _brackets(kind: str) -> dict[str, Any]:
    """Bodies and lists; one that is not closed ends where a block is opened, as it does for planc."""
    return {
        "patterns": [
            {
                "begin": r"\{",
                "beginCaptures": {"0": _scope("punctuation.section.block.begin")},
                "end": rf"(\}})|(?={kind})",
                "endCaptures": {"1": _scope("punctuation.section.block.end")},
                "patterns": [{"include": "#entries"}],
            },
            {
                "begin": r"\[",
                "beginCaptures": {"0": _scope("punctuation.section.list.begin")},
                "end": rf"(\])|(?=\}}|{kind})",
                "endCaptures": {"1": _scope("punctuation.section.list.end")},
                "patterns": [{"include": "#items"}],
            },
        ]
    }


def _words(tokens: dict[str, str]) -> dict[str, Any]:
    groups = {
        "keyword.control": ("WHEN", "BECAUSE"),
        "keyword.control.import": ("USE",),
        "keyword.other.from": ("FROM",),
        "keyword.operator.logical": ("AND", "OR", "NOT", "IN"),
        "invalid.illegal.else": ("ELSE",),
    }
    rows = [
        _match(rf"(?:{'|'.join(tokens[name] for name in names)}){_WORD_END}", scope) for scope, names in groups.items()
    ]
    return {
        "patterns": [
            _match(tokens["VERB"], "keyword.control.rule"),
            _match(tokens["LITERAL"], "constant.language"),
            *rows,
        ]
    }


def _quantity(pattern: str) -> dict[str, Any]:
    """A number with its suffix and its unit; a unit that planc does not know is shown as wrong."""
    end = "(?![A-Za-z0-9_/])"
    return {
        "match": pattern,
        "captures": {
            "0": {
                "patterns": [
                    _match(r"[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9]+)?", "constant.numeric"),
                    _match(rf"(?<=[0-9_])(?:{_spelt(SUFFIXES)}){end}", "keyword.other.unit.suffix"),
                    _match(rf"(?:{_spelt(UNITS)}){end}|%", "keyword.other.unit"),
                    _match("[^ \t]+", "invalid.illegal.unit"),
                ]
            }
        },
    }


def _operators(tokens: dict[str, str]) -> dict[str, Any]:
    scopes = {
        "COMPARE": "keyword.operator.comparison",
        "EQUAL": "keyword.operator.assignment",
        "__ANON_0": "keyword.operator.range",
        "SIGN": "keyword.operator.arithmetic",
        "STAR": "keyword.operator.arithmetic",
        "SLASH": "keyword.operator.arithmetic",
        "DOT": "punctuation.accessor",
        "COMMA": "punctuation.separator",
        "LPAR": "punctuation.section.group.begin",
        "RPAR": "punctuation.section.group.end",
        "RBRACE": "punctuation.section.block.end",
        "RSQB": "punctuation.section.list.end",
    }
    return {"patterns": [_match(tokens[name], scope) for name, scope in scopes.items()]}


if __name__ == "__main__":
    main()

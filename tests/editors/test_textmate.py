"""The TextMate grammar, in the engine that VS Code has, against planc's own lexer."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.editors.agreement import CLASSES, differences, texts
from tests.editors.grammars import TEXTMATE, textmate

#: Beginnings of scopes and what they are shown as; of several scopes the first row that fits counts.
_SCOPES = (
    ("comment.", "comment"),
    ("string.", "string"),
    ("constant.numeric", "number"),
    ("keyword.other.unit", "number"),
    ("invalid.illegal.unit", "number"),
    ("invalid.", "illegal"),
    ("storage.type.block", "kind"),
    ("support.type.property-name", "key"),
    ("keyword.other.language", "language"),
    ("keyword.control.rule", "verb"),
    ("keyword.control", "keyword"),
    ("keyword.other.from", "keyword"),
    ("keyword.operator.logical", "keyword"),
    ("keyword.operator", "operator"),
    ("constant.language", "literal"),
    ("variable.other", "name"),
    ("entity.", "name"),
    ("support.function", "name"),
    ("punctuation.", "bracket"),
)

Tokens = list[list[tuple[str, list[str]]]]


def tokens(node: Path, *texts: str) -> list[Tokens]:
    """For each text and line, the pieces with their scopes."""
    script = node / "test" / "tokens.mjs"
    outcome = subprocess.run(
        ["node", script], input=json.dumps(texts), capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert outcome.returncode == 0, outcome.stderr
    found: list[Tokens] = json.loads(outcome.stdout)
    return found


def shown(lines: Tokens) -> list[str]:
    """What each character is shown as."""
    found: list[str] = []
    for line in lines:
        for piece, scopes in line:
            found += [_class_of(scopes)] * len(piece)
        found.append("")
    return found


def _class_of(scopes: list[str]) -> str:
    return next((name for begin, name in _SCOPES if any(scope.startswith(begin) for scope in scopes)), "")


def test_the_grammar_is_as_it_is_made() -> None:
    assert TEXTMATE.read_text(encoding="utf-8") == textmate(), "run `python -m tests.editors.grammars`"


def test_every_token_is_shown_as_the_lexer_reads_it(node: Path) -> None:
    given = texts()
    met: set[str] = set()
    for text, lines in zip(given, tokens(node, *given), strict=True):
        classes = shown(lines)
        assert list(differences(text, classes)) == []
        met.update(classes)
    assert set(CLASSES) <= met


TEXT = """\
use "planc/gpus"
plan "7B chat" from base {  # planc: allow PLN101, slow-links -- until the new switch
  model = small { layers = 16 }
  shard { stage = 3 }
  batch { global = 4Mi tokens  time = 24 hours  size = 8Gi }
  emit = [deepspeed { trainer = hf }]
  env { A = "b\\n\\q" }
}
model m from hf("config.json")
policy house { fast = require min(a.b, 2) <= 8  because "uses {a.b} of {1}" }
plan open {
  emit = [ slurm
plan next { seed = 1 }
"""


@pytest.fixture(scope="module")
def lines(node: Path) -> Tokens:
    """The tokens of TEXT."""
    return tokens(node, TEXT)[0]


@pytest.mark.parametrize(
    ("line", "piece", "scope"),
    [
        (1, '"7B chat"', "entity.name.type"),
        (1, "base", "entity.other.inherited-class"),
        (1, "# planc: allow", "keyword.other.directive"),
        (1, "PLN101", "constant.other.rule"),
        (1, "slow-links", "constant.other.rule"),
        (1, " until the new switch", "comment.line.number-sign"),
        (2, "model", "support.type.property-name"),
        (2, "small", "entity.other.inherited-class"),
        (3, "shard", "entity.name.section"),
        (4, "Mi", "keyword.other.unit.suffix"),
        (4, "tokens", "keyword.other.unit"),
        (4, "hours", "invalid.illegal.unit"),
        (4, "Gi", "keyword.other.unit.suffix"),
        (5, "deepspeed", "entity.other.inherited-class"),
        (5, "trainer", "support.type.property-name"),
        (6, "env", "entity.name.section"),
        (6, "\\n", "constant.character.escape"),
        (6, "\\q", "invalid.illegal.escape"),
        (8, "hf", "support.function"),
        (9, "min", "support.function"),
        (9, "{", "punctuation.definition.template-expression.begin"),
        (9, "a", "variable.other"),
        (9, "because", "keyword.control.because"),
        (12, "plan", "storage.type.block"),
        (12, "next", "entity.name.type"),
        (12, "}", "punctuation.section.block.end"),
    ],
)
def test_what_a_piece_is(lines: Tokens, line: int, piece: str, scope: str) -> None:
    found = [scopes for text, scopes in lines[line] if text == piece]
    assert any(f"{scope}.planc" in scopes for scopes in found), lines[line]


def test_a_quote_is_one_in_a_reason_only(node: Path) -> None:
    [lines] = tokens(node, 'script = "{a.b}"\nrequire x because\n  # why\n  "{a.b} {1} {a b}"\n  name = "{a.b}"\n')
    quoted = [any("meta.template.expression.planc" in scopes for _, scopes in line) for line in lines]
    assert quoted == [False, False, False, True, False, False]
    assert [text for text, scopes in lines[3] if "meta.template.expression.planc" in scopes] == list("{a.b}")

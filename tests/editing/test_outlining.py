"""The outline of a text, and what can be folded."""

from __future__ import annotations

from planc.editing.outlining import Fold, Symbol, folds, symbols
from tests.editing.shown import marked

TEXT = """\
# A comment
# of two lines.
gpu card { memory = 80 GiB }   # one line

policy house {
  limit = require parallel.tensor <= 8  because "wide"
  forbid precision == fp16
}

plan run from base {
  batch { global = min(4,
                       8)  micro = 1 }
  optimizer = adamw { betas = [0.9, 0.95] }
  launch { env { A = "b"  "c d" = "e" } }
  shard { stage in [
    2,
    3
  ] }
}
|plan "" {
"""


def tree(symbol: Symbol) -> object:
    return symbol.name if not symbol.children else (symbol.name, *map(tree, symbol.children))


def test_symbols() -> None:
    document, _, _ = marked(TEXT)
    found = symbols(document)
    assert [tree(symbol) for symbol in found] == [
        ("card", "memory"),
        ("house", "limit"),
        (
            "run",
            ("batch", "global", "micro"),
            ("optimizer", "betas"),
            ("launch", ("env", "A", "c d")),
            ("shard", "stage"),
        ),
        '""',
    ]
    assert [(symbol.type, symbol.detail) for symbol in found] == [
        ("gpu", ""), ("policy", ""), ("plan", "from base"), ("plan", "")
    ]  # fmt: skip
    batch = found[2].children[0]
    assert batch.span.text.endswith("micro = 1 }") and batch.name_span.text == "batch"
    assert batch.children[0].detail == "min(4, 8)"
    assert found[1].children[0].span.text.endswith('"wide"')


def test_folds() -> None:
    document, _, _ = marked(TEXT)
    assert folds(document) == (Fold(4, 6, False), Fold(14, 16, False), Fold(9, 17, False), Fold(0, 1, True))

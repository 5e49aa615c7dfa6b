"""What each token stands for, in text that is whole: then the parser knows it too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planc.editing.document import Document, Kept
from planc.plan.schema import DERIVED
from planc.source import Source, Span
from planc.syntax import nodes
from planc.syntax.lexer import END
from planc.syntax.parse import parse, scan
from tests.shared import ROOT

FILES = [
    *(path for path in (ROOT / "examples").glob("*.plan") if path.stem != "broken"),
    *(ROOT / "planc" / "catalogue").glob("*.plan"),
    *(path for path in (ROOT / "tests").rglob("ok_*.plan")),
]  # fmt: skip

#: Tokens that mean something by themselves.
MEANINGFUL = ("KIND", "NAME", "KEY", "STRING", "QUANTITY", "LITERAL")


def entries(node: Any) -> Iterator[Any]:
    """Every entry below a node of the tree."""
    for child in node if isinstance(node, tuple) else ():
        if isinstance(child, (nodes.Field, nodes.Section, nodes.Candidates)):
            yield child
        if isinstance(child, tuple) and not isinstance(child, Span):
            yield from entries(child)


@pytest.mark.parametrize("path", sorted(FILES), ids=lambda path: str(path.relative_to(ROOT)))
def test_roles_agree_with_the_tree(path: Path) -> None:
    source = Source(path.name, path.read_text(encoding="utf-8").removeprefix("\ufeff"))
    tree = parse(source).file
    document = Document(source, Kept({}, {}))
    roles = document.all_roles()
    tokens = [token for token in scan(source.text) if token.type != END and token.type in MEANINGFUL]
    settings = {setting.value.span.start for setting in tree.settings}
    assert [token.start for token in tokens if token.start not in settings] == [role.start for role in roles]
    keys = {role.start: role for role in roles if role.type in ("field", "key", "rule")}
    for block in tree.blocks:
        for entry in entries(block):
            key = entry.key if isinstance(entry, nodes.Field) else entry.name
            assert keys.pop(key.span.start).text == key.text
    assert keys == {}
    assert [(role.kinds[0], role.text) for role in document.definitions()] == [
        (block.kind, block.name.text) for block in tree.blocks
    ]
    assert [role.text for role in roles if role.type == "parent"] == [
        block.parent.text for block in tree.blocks if isinstance(block.parent, nodes.Name)
    ]
    unknown = [role for role in roles if role.type in ("field", "path") and role.field is None]
    derived = [".".join(role.path or ()) for role in unknown]
    assert [path for path in derived if not any(f"{known}.".startswith(f"{path}.") for known in DERIVED)] == []

"""Names of blocks across files, without a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.commands.buffers import Buffers
from planc.diagnostics.diagnostic import Edit
from planc.editing.checking import Checker
from planc.editing.linking import Linked
from planc.editing.names import Target, renamed, targets_of, uses_of
from planc.plan.naming import is_plain, written
from planc.source import Source


class Files:
    """Open files of one project, by name."""

    def __init__(self, folder: Path, **texts: str) -> None:
        self.files = Buffers()
        self.checker = Checker(self.files.load)
        (folder / "planc.toml").touch()
        self.sources = {name: self.files.open(str(folder / f"{name}.plan"), text) for name, text in texts.items()}

    def linked(self) -> list[Linked]:
        return [self.checker.linked(source) for source in self.sources.values()]

    def targets(self, name: str, marked: str) -> tuple[Target, ...]:
        """The blocks that the name at the mark means."""
        before, _, after = marked.partition("|")
        source = self.sources[name]
        role = self.checker.document(source).role_at(source.text.index(before + after) + len(before))
        assert role is not None
        return targets_of(role, self.checker.linked(source))

    def uses(self, target: Target) -> list[tuple[str, int]]:
        """The file and line of each place that means a block."""
        names = {source: name for name, source in self.sources.items()}
        return [(names[span.source], span.line) for span, _ in uses_of(target, self.linked(), self.checker.document)]

    def renamed(self, target: Target, name: str) -> tuple[Edit, ...] | str:
        """The edits that rename a block, or why it cannot be."""
        return renamed(target, name, self.linked(), self.checker.document)


PARTS = 'cluster pair { nodes = 2 }\ncluster "two racks" from pair {}\ntemplate base { cluster = pair }\n'
USER = """\
use "parts.plan"
policy house { forbid cluster == pair  require cluster in [pair, "two racks"] }
plan a from base { cluster = pair { nodes = 4 }  resume { saved_by = b } }
plan b from a { cluster { nodes in [1, 2] } }
cluster all { groups = [pair, pair { nodes = 3 }] }
"""
HIDING = 'use "parts.plan"\ncluster pair { nodes = 1 }\nplan c from base { cluster = pair }\n'
STRANGER = "cluster pair { nodes = 9 }\nplan d { cluster = pair }\n"


def test_uses_are_those_that_mean_the_block(tmp_path: Path) -> None:
    files = Files(tmp_path, parts=PARTS, user=USER, hiding=HIDING, stranger=STRANGER)
    (pair,) = files.targets("user", "cluster = pa|ir {")
    wanted = [("parts", line) for line in (1, 2, 3)] + [("user", line) for line in (2, 2, 3, 5, 5)]
    assert files.uses(pair) == wanted
    (own,) = files.targets("hiding", "cluster pai|r")
    assert files.uses(own) == [("hiding", 2), ("hiding", 3)]
    (base,) = files.targets("hiding", "from ba|se")
    assert files.uses(base) == [("parts", 3), ("user", 3), ("hiding", 3)]
    (plan,) = files.targets("user", "saved_by = |b }")
    assert files.uses(plan) == [("user", 3), ("user", 4)]
    (quoted,) = files.targets("user", '"two| racks"')
    assert files.uses(quoted) == [("parts", 2), ("user", 2)]


def test_a_name_that_two_used_files_define_means_both(tmp_path: Path) -> None:
    files = Files(
        tmp_path, parts=PARTS, other=STRANGER, user='use "parts.plan"\nuse "other.plan"\nplan p { cluster = pair }'
    )
    assert [target.file.scope.source.name for target in files.targets("user", "= pai|r")] == [
        files.sources["parts"].name, files.sources["other"].name
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "bare", "quoted"),
    [
        ("one", "one", '"one"'), ("7B chat", '"7B chat"', '"7B chat"'), ("x-3.1-8b", "x-3.1-8b", '"x-3.1-8b"'),
        ("auto", '"auto"', '"auto"'), ("plan", '"plan"', '"plan"'), ('a"b', '"a\\"b"', '"a\\"b"'),
        ("a\\b", '"a\\\\b"', '"a\\\\b"'),
    ],
)  # fmt: skip
def test_a_new_name_is_written_as_it_has_to_be(tmp_path: Path, name: str, bare: str, quoted: str) -> None:
    files = Files(tmp_path, parts=PARTS, user=USER.replace("cluster == pair", 'cluster == "pair"'))
    (pair,) = files.targets("parts", "cluster pa|ir {")
    edits = files.renamed(pair, name)
    assert isinstance(edits, tuple) and {edit.text for edit in edits} == {bare, quoted}
    texts = {}
    for source in files.sources.values():
        text = source.text
        for edit in sorted(edits, key=lambda edit: -edit.span.start):
            if edit.span.source is source:
                text = text[: edit.span.start] + edit.text + text[edit.span.end :]
        texts[source.name] = text
    again = Files(tmp_path, **{Path(name).stem: text for name, text in texts.items()})
    (pair,) = again.targets("parts", f"cluster {bare[0]}|{bare[1:]} {{")
    assert pair.name == name and len(again.uses(pair)) == len(edits)


def test_a_name_that_is_taken_anywhere_it_would_be_used_is_refused(tmp_path: Path) -> None:
    taking = HIDING.replace("cluster pair", "cluster taken") + "template other {}\n"
    files = Files(tmp_path, parts=PARTS + "plan late from base {}\n", user=USER, taking=taking)
    (pair,) = files.targets("parts", "cluster pa|ir {")
    assert files.renamed(pair, "taken") == f"{files.sources['taking'].name} has a cluster `taken` already"
    assert files.renamed(pair, "two racks") == f"{files.sources['parts'].name} has a cluster `two racks` already"
    (base,) = files.targets("parts", "template ba|se")
    assert files.renamed(base, "late") == f"{files.sources['parts'].name} has a plan `late` already"
    assert files.renamed(base, "base") == ()
    assert isinstance(files.renamed(pair, "small"), tuple)


def test_plain_names() -> None:
    assert [name for name in ("a", "a-b", "a.1", "_x9") if not is_plain(name)] == []
    assert [
        name for name in ("", "1a", "a b", "a.b", "none", "use", "gpu", "\u00e9", "a\n", "a#") if is_plain(name)
    ] == []
    assert written("x", True) == '"x"'


def test_a_role_that_is_no_name_means_nothing(tmp_path: Path) -> None:
    files = Files(tmp_path, user=USER)
    assert files.targets("user", "nod|es = 4") == () and files.targets("user", "= pa|ir {") == ()
    assert isinstance(files.sources["user"], Source)

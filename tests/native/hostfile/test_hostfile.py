"""Hostfiles: recognised by their lines, judged as DeepSpeed's launcher takes them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from planc.diagnostics.diagnostic import Diagnostic
from planc.native.kind import Recognised
from planc.source import Source
from tests.native.judging import found_in, plan_text, recognised

LINES = (
    "a slots=8\nb slots=8\n", "# c\na slots=8\n\n", "a slots=8 # gpu\n", "a slots=8\na slots=8\n", "a\n", "a slots=x\n",
    "a slots=-1\n", "a:22 slots=8\n", "a slots = 8\n", "a max_slots=8\n", "a slots=8 max_slots=8\n", "a:8\n",
    "10.0.0.1 slots=4\n", "node[1-4] slots=8\n", "", "# nothing\n", "a\tslots=8\n", " a slots=8\n",
    "a slots=8,b slots=8", "slots=8\n", "a slots=08\n", "a  slots=8\r\nb  slots=8\r\n", "a slot=8\n",
    "a slots=8x\n", "\x0ca slots=8\n",
)  # fmt: skip


@pytest.mark.consumer
@pytest.mark.parametrize("text", LINES)
def test_what_deepspeed_refuses_is_refused(text: str) -> None:
    runner = pytest.importorskip("deepspeed.launcher.runner", reason="DeepSpeed is not installed")
    try:
        runner._parse_hostfile(text.split("\n"))
        refused = False
    except ValueError:
        refused = True
    assert bool(found_in("hostfile", text)) == refused


def test_the_shape_of_the_cluster_is_said() -> None:
    said = plan_text("hostfile", "# mine\na slots=4\nb slots=4\nc slots=4\n")
    assert said.split("\n") == ["cluster {", "nodes = 3", "gpus_per_node = 4", "}"]


def test_unlike_hosts_have_no_number_of_cards() -> None:
    assert plan_text("hostfile", "a slots=4\nb slots=8\n").split("\n") == ["cluster {", "nodes = 2", "}"]


def test_nothing_is_said_of_a_faulty_file() -> None:
    assert plan_text("hostfile", "a slots=4\nb\n") == ""


@pytest.mark.parametrize("name", ["hostfile", "my_hostfile", "cluster.hostfile", "hosts", "hosts.txt", "machines"])
def test_a_hostfile_is_recognised_by_its_lines(name: str) -> None:
    found = recognised(name, "\n# the cluster\nnode-1 slots=8\n")
    assert isinstance(found, Recognised)
    assert found.kind.name == "hostfile"


@pytest.mark.parametrize("text", ["node1\nnode2\n", "127.0.0.1 localhost\n", "int slots = 8;\n"])
def test_other_lists_are_none(text: str) -> None:
    found = recognised("hosts.txt", text)
    assert isinstance(found, Diagnostic)
    assert found.code == "PLN061"


def test_the_help_writes_the_line_that_was_meant() -> None:
    found = found_in("hostfile", "a slots=8\nb slots = 4 # four\nc:2\nd\n")
    assert [each.help for each in found] == [
        ("write `b slots=4`",), ("write `c slots=2`",), ("write `d slots=8`, with the number of its cards",),
    ]  # fmt: skip
    assert [edit.text for each in found for fix in each.fixes for edit in fix.edits] == ["b slots=4", "c slots=2"]


@pytest.mark.parametrize(
    "text",
    [
        "a slots=" + "9" * 5000, "a" * 500_000, "a slots" + " " * 500_000 + "x", "x y\n" * 50_000, "\0 slots=8",
        "a slots=8\n" + ":" * 300_000, "\ufeffa slots=8", "a slots=\u0668",
    ],
    ids=["digits", "word", "blanks", "lines", "nul", "colons", "mark", "arabic"],
)  # fmt: skip
def test_hostile_texts_end(text: str) -> None:
    start = time.monotonic()
    found_in("hostfile", text, "hostfile")
    assert time.monotonic() - start < 10


def test_the_cases_are_texts_that_deepspeed_takes_as_they_say() -> None:
    runner = pytest.importorskip("deepspeed.launcher.runner", reason="DeepSpeed is not installed")
    for path in Path(__file__).parent.glob("ok_*.hostfile"):
        source = Source(path.name, path.read_text(encoding="utf-8"))
        assert len(runner._parse_hostfile(source.text.splitlines())) >= 2

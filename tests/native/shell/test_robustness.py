"""Whatever a text is, reading it ends soon, and what can be read of it is."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planc.native.shell import nodes, parsing
from planc.native.shell.launching import launches
from planc.native.shell.model import Script
from planc.source import MAX_BYTES
from tests.compiling import ROOT
from tests.native.shell.scripts import script, words_of

#: Seconds that no text of this size may take, also on a machine that has other things to do.
SOON = 120
SIZE = 20_000

TOKENS = [
    "a", "|", "&&", "||", ";", "\n", "(", ")", "{", "}", "[[", "]]", "$", "${", "$(", "$((", "))", '"', "'", "`", "<",
    ">", "<<E", "<(", "=", "A=", "A+=(", "if ", "then ", "fi ", "for ", "in ", "do ", "done ", "case ", "esac ", "!",
    "#", "\\", "\\\n", "&", "1", "export ", "E\n", ";;", "é", "\0", "\r", "\t", " ", "%", "/", ":-", "*", "@",
    "bash -c '", "eval ",
]  # fmt: skip


def read_soon(text: str) -> Script:
    started = time.monotonic()
    found = script(text)
    launches(found)
    assert time.monotonic() - started < SOON
    return found


@pytest.mark.parametrize(
    "unit",
    [
        "\0", "<", "a|", "a=(", "${", "<<", "${x#", ")", "'", '"', "`", "$(", "((", "if x; then ", "a<<E ", "{ ",
        "f() {", "a && ", "a\n", "A=$A$A\n", "A+=($A $A)\n", "E\n==|", ':"|', "then ;;fi $", "\\&&1]]  ", "case x in ",
        '"$(',
    ],
)  # fmt: skip
def test_texts_that_are_hard_to_read(unit: str) -> None:
    read_soon(unit * (SIZE // len(unit)))


def test_the_parser_is_stopped_where_it_would_not_end() -> None:
    """Found by mutation: tree-sitter-bash 0.25.1 goes round and round on this."""
    text = (
        "'>&;;while \"..@||esac   esac -[`((in }>esac ##%;done @\\\n))@unset a:0x{\\\nfor &&E\n\xe9\t:-done -eli"
        "f ..;<<<a+=[[$:}do /]]]])$(%case E\nfunction done ())${..>{&\xe9%\nlocal @'==%&$((E\nuntil \xe9## >$((\ta=sele"
        "ct *1<<E+>==!while 1((\\-<<E$declare $(while select "
    )
    assert read_soon(text).broken


def test_long_scripts_are_read_whole() -> None:
    text = "export A=1\npython train.py --lr $A\n" * 2_000
    found = read_soon(text)
    assert (len(found.commands), len(found.exports)) == (4_000, 2_000) and not found.broken
    statement = "f() {\n" + "  a b\n" * 1_500 + "}\n"
    assert not read_soon(statement * 2 + "c").broken
    heredoc = "cat > f <<'E'\n" + "some text\n" * 9_000 + "E\ntorchrun x.py\n"
    found = read_soon(heredoc)
    assert words_of(found.commands[-1]) == ["torchrun", "x.py"]
    assert len(found.heredocs[0].body.text) == 90_000


def test_a_text_that_is_no_script_is_not_read_to_its_end() -> None:
    found = read_soon("<" * MAX_BYTES)
    assert [each.text for each in found.broken][-1] == "too tangled to be read"


def test_what_is_nested_too_deep_makes_the_rest_unknown() -> None:
    text = "A=1\n" + "if a; then\n" * 200 + "A=2\n" + "fi\n" * 200 + "x $A"
    found = read_soon(text)
    assert "nested too deep" in [each.text for each in found.broken]
    value = found.commands[-1].words[-1].value
    assert not isinstance(value, str) and value.reason == "nested too deep"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=60).map("".join) | st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    found = read_soon(text)
    for command in found.commands:
        assert 0 <= command.span.start <= command.span.end <= len(text)
    for heredoc in found.heredocs:
        assert heredoc.body.outer(0, len(heredoc.body.text)).source is found.source


ORDINARY = (
    "python train.py --a 1\nA=3\nexport X=\"$A\"\nfor i in 1 2; do\n echo $i | tee x\ndone\ncat <<EOF\nabc $A\nEOF\n"
    "f() {\n a b\n}\nif x; then\n y=1\nelse\n y=2\nfi\na && b \\\n || c\nD=(1\n2)\n"
)  # fmt: skip


@pytest.mark.parametrize("step", [30, 64, 100, 1000])
def test_pieces_make_no_difference(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = parsing.parse(ORDINARY * 8)
    monkeypatch.setattr(parsing, "STEP", step)
    assert parsing.parse(ORDINARY * 8) == whole
    assert not any(node.broken for node in nodes.descend(whole.statements))


def test_tree_sitter_is_known_to_one_file() -> None:
    users = []
    for path in sorted((ROOT / "planc").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.startswith("tree_sitter") for name in names):
                users.append(path)
    assert {*users} == {Path(parsing.__file__)}

"""What is said to be known is what bash makes of it, in scripts whose every part may be run."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planc.native.shell.model import Script
from planc.native.shell.reading import read
from planc.source import Source

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="not installed: bash")

NAMES = st.sampled_from(("A", "B", "C"))
LISTS = st.sampled_from(("L", "M"))
PLAIN = st.text("abz019_./=:@%+-,", min_size=1, max_size=5)
DIGITS = st.integers(0, 20).map(str)
ESCAPED = st.sampled_from((r"\ ", r"\$", r"\"", r"\'", r"\\", r"\a", r"\*", "\\\n"))
RAW = st.text('ab \t$"`\\*{},', max_size=5).map(lambda text: f"'{text}'")
CODED = st.sampled_from((r"$'a\tb'", r"$'\'x'", r"$'\n'", "$''"))
TEXT = st.text("ab 'é{},*~#\t", max_size=4)

SUMS = st.recursive(
    DIGITS | NAMES | NAMES.map(lambda name: f"${name}") | LISTS.map(lambda name: f"${{#{name}[@]}}"),
    lambda inner: (
        st.tuples(inner, st.sampled_from(("+", "-", "*", "/", "%", " + ")), inner).map("".join)
        | inner.map(lambda text: f"({text})")
    ),
    max_leaves=4,
)
SUM = SUMS.map(lambda text: f"$(({text}))")
PARAMETER = (
    NAMES.map(lambda name: f"${name}")
    | NAMES.map(lambda name: f"${{{name}}}")
    | NAMES.map(lambda name: f"${{#{name}}}")
    | LISTS.map(lambda name: f"${{#{name}[@]}}")
    | st.tuples(NAMES, st.sampled_from((":-", "-", ":+", "+", ":=", "=")), PLAIN).map(
        lambda p: f"${{{p[0]}{p[1]}{p[2]}}}"
    )
    | st.tuples(LISTS, st.sampled_from(("@", "*", "0", "1", "7"))).map(lambda p: f"${{{p[0]}[{p[1]}]}}")
)
QUOTED = st.lists(TEXT | PARAMETER | SUM | st.sampled_from((r"\"", r"\$", r"\\", r"\a", "\\\n")), max_size=4)
STRING = QUOTED.map(lambda parts: '"' + "".join(parts) + '"')
WORD = (
    st.lists(PLAIN | ESCAPED | RAW | CODED | PARAMETER | SUM | STRING, min_size=1, max_size=3)
    .map("".join)
    .filter(lambda word: not word.endswith("\n"))
)
WORDS = st.lists(WORD, max_size=3).map(" ".join)

SETTING = st.one_of(
    st.tuples(NAMES, st.sampled_from(("=", "+=")), WORD).map("".join),
    st.tuples(LISTS, st.sampled_from(("=", "+=")), WORDS).map(lambda p: f"{p[0]}{p[1]}({p[2]})"),
    NAMES.map(lambda name: f"{name}="),
    NAMES.map(lambda name: f"unset {name}"),
    st.tuples(NAMES, WORD).map(lambda p: f"export {p[0]}={p[1]}"),
    st.tuples(NAMES, NAMES, STRING, STRING).map(lambda p: f"{p[0]}={p[2]} {p[1]}={p[3]}"),
    st.tuples(NAMES, PLAIN).map(lambda p: f": ${{{p[0]}:={p[1]}}}"),
)
SHOWN = WORDS.map(lambda words: f"printf '%s\\0' x {words}; printf '\\1'")


OPERAND = STRING | NAMES.map(lambda name: f"${name}") | DIGITS
COMPARED = st.tuples(
    OPERAND, st.sampled_from(("=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge")), OPERAND
).map(" ".join) | st.tuples(st.sampled_from(("-z", "-n", "! -z")), OPERAND).map(" ".join)
CONDITION = (
    st.sampled_from(("true", "false"))
    | COMPARED.map(lambda text: f"[ {text} ]")
    | COMPARED.map(lambda text: f"[[ {text} ]]")
    | st.tuples(COMPARED, st.sampled_from(("&&", "||")), COMPARED).map(lambda p: f"[[ {' '.join(p)} ]]")
)


def block(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Statements that may not run, run often, or run in another shell."""
    body = st.lists(inner, min_size=1, max_size=3).map("\n".join)
    return st.one_of(
        st.tuples(CONDITION, body).map(lambda p: f"if {p[0]}; then\n{p[1]}\nfi"),
        st.tuples(CONDITION, body, body).map(lambda p: f"if {p[0]}; then\n{p[1]}\nelse\n{p[2]}\nfi"),
        st.tuples(CONDITION, body, CONDITION, body).map(
            lambda p: f"if {p[0]}; then\n{p[1]}\nelif {p[2]}; then\n{p[3]}\nfi"
        ),
        st.tuples(NAMES, body).map(lambda p: f"for {p[0]} in 1 2; do\n{p[1]}\ndone"),
        body.map(lambda text: f"(\n{text}\n)"),
        body.map(lambda text: f"{{\n{text}\n}}"),
        st.tuples(st.sampled_from(("true", "false")), st.sampled_from(("&&", "||")), inner).map(
            lambda p: f"{p[0]} {p[1]} {{ {p[2]}\n}}"
        ),
        st.tuples(st.sampled_from("ab"), body, body).map(
            lambda p: f"case {p[0]} in\na) {p[1]}\n;;\n*) {p[2]}\n;;\nesac"
        ),
        st.tuples(st.sampled_from(("f", "g")), body, WORDS).map(lambda p: f"{p[0]}() {{\n{p[1]}\n}}\n{p[0]} {p[2]}"),
        st.tuples(st.sampled_from(("f", "g")), NAMES, body).map(
            lambda p: f"{p[0]}() {{\nlocal {p[1]}=loc\n{p[2]}\n}}\n{p[0]}"
        ),
    )


BRANCHED = st.lists(SETTING | SHOWN | block(SETTING | SHOWN | block(SETTING | SHOWN)), min_size=1, max_size=8)


def shown(text: str) -> list[list[str]] | None:
    """The words of each `printf` in the order in which bash runs them; None if bash refuses the script."""
    assert BASH is not None
    done = subprocess.run([BASH, "--norc", "-c", f"set -f\n{text}\n"], capture_output=True, env={}, timeout=60)
    if done.stderr:
        return None
    output = done.stdout.decode("utf-8", "surrogateescape")
    return [each.split("\0")[1:-1] for each in output.split("\1")[:-1]]


def known(script: Script) -> list[list[str | None]]:
    """The same as planc reads it, with None for what is unknown, in the order of the text."""
    printed = [command for command in script.commands if command.name == "printf" and 2 < len(command.words)]
    return [[None if word.many else word.known for word in command.words[3:]] for command in printed]


@settings(max_examples=300, deadline=None)
@given(st.lists(SETTING, max_size=6), st.lists(SHOWN, min_size=1, max_size=4))
def test_constants_are_what_bash_makes_of_them(before: list[str], printed: list[str]) -> None:
    text = "unset A B C L M\n" + "\n".join([*before, *printed])
    expected = shown(text)
    if expected is None:
        return
    for words, own in zip(expected, known(read(Source("a.sh", text))), strict=True):
        if None in own:
            continue
        assert own == words, text


@settings(max_examples=300, deadline=None)
@given(BRANCHED)
def test_what_may_not_run_is_never_taken_for_certain(statements: list[str]) -> None:
    marked: list[str] = []
    for number, line in enumerate("\n".join(["unset A B C L M", *statements]).split("\n")):
        marked.append(line.replace("printf '%s\\0' x", f"printf '%s\\0' n{number}"))
    text = "\n".join(marked)
    expected = shown_by_number(text)
    if expected is None:
        return
    script = read(Source("a.sh", text))
    for command in script.commands:
        mark = command.words[2].known if command.name == "printf" and 2 < len(command.words) else None
        words = [word.known for word in command.words[3:]]
        if mark is None or None in words or mark not in expected:
            continue
        assert all(each == words for each in expected[mark]), text


def shown_by_number(text: str) -> dict[str, list[list[str]]] | None:
    """The words that each `printf` gets, once for every time that it runs."""
    assert BASH is not None
    done = subprocess.run([BASH, "--norc", "-c", f"set -f\n{text}\n"], capture_output=True, env={}, timeout=60)
    if done.stderr:
        return None
    found: dict[str, list[list[str]]] = {}
    for each in done.stdout.decode("utf-8", "surrogateescape").split("\1")[:-1]:
        number, *words = each.split("\0")[:-1]
        found.setdefault(number, []).append(words)
    return found

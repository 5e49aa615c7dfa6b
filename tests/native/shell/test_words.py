"""What words expand to, and why some are unknown."""

from __future__ import annotations

import pytest

from planc.native.shell.embedded import outermost
from planc.native.shell.values import MOST_TEXT, Unknown
from tests.native.shell.scripts import last, reason, script, text_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x a\\ b 'c d' \"e f\" g'h'\"i\"j", ["a b", "c d", "e f", "ghij"]),
        ("x a \\\n  b\\\nc", ["a", "bc"]),
        ("A=5; x $A ${A} \"$A\" '$A' \\$A", ["5", "5", "5", "$A", "$A"]),
        ("A='a  b'; x $A \"$A\" c$A", ["a", "b", "a  b", "ca", "b"]),
        ("A=1; B=$A-$A; A=2; x $B $A", ["1-1", "2"]),
        ("A=; x $A \"$A\" '' end", ["", "", "end"]),
        ("x ${A:-4} ${A-4} \"${A:-a b}\" ${A:-a b} ${A:=7} $A", ["4", "4", "a b", "a", "b", "7", "7"]),
        ("A=1; x ${A:-4} ${A:+set} ${A:?gone}", ["1", "set", "1"]),
        ("unset A; x ${A:-4} a$A ${A:+set}", ["4", "a"]),
        ("A=(a 'b c'); A+=(d); x \"${A[@]}\" ${A[1]} ${#A[@]}", ["a", "b c", "d", "b", "c", "3"]),
        ("A=(a 'b c'); x \"${A[*]}\"", ["a b c"]),
        ("A=(\n  --a 1  # why\n  --b 2\n)\nx \"${A[@]}\"", ["--a", "1", "--b", "2"]),
        ("A=4; x $((A*2)) $(( ($A + 1) % 3 )) $((2**10)) $((-7/2)) $((0x10))", ["8", "2", "1024", "-3", "16"]),
        ("A=abc; x ${#A}", ["3"]),
        ("A=a; A+=b; x $A", ["ab"]),
        ("A=1 B=2\nx $A$B", ["12"]),
        ("A=\nB=2\nx \"$A\" $B", ["", "2"]),
        ("declare -r A=1; readonly B=2; typeset C=3; export D=4 E; x $A$B$C$D", ["1234"]),
        ("x $'a\\tb'", ["a\tb"]),
        ("x --lr=\"1e-4\" --é=ü", ["--lr=1e-4", "--é=ü"]),
    ],
)  # fmt: skip
def test_constants_are_followed(text: str, expected: list[str]) -> None:
    assert last(text) == expected


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        ("x $A", "?$A*", "set by the environment"),
        ("x \"$A\"", "?$A", "set by the environment"),
        ("x $1", "?$1*", "an argument of the script"),
        ("x \"$@\"", "?$@*", "an argument of the script"),
        ("x $?", "?$?*", "known to the run alone"),
        ("x $(nproc)", "?$(nproc)*", "the output of a command"),
        ("x `hostname`", "?`hostname`*", "the output of a command"),
        ("x \"$(a \"b\")\"", "?$(a \"b\")", "the output of a command"),
        ("x *.py", "?*.py*", "a pattern of file names"),
        ("A='*'; x $A", "?$A*", "a pattern of file names"),
        ("x {a,b}", "?{a,b}*", "braces"),
        ("x a{1..3}", "?a{1..3}*", "braces"),
        ("x ~/a", "?~/a", "a home folder"),
        ("A=~/a; x $A", "?~/a*", "a home folder"),
        ("x <(a)", "?<(a)", "a file that the shell makes"),
        ("x $((A+1))", "?$((A+1))*", "arithmetic"),
        ("A=1; x $((A/0))", "?$((A/0))*", "arithmetic"),
        ("A=1; x $((A++))", "?$((A++))*", "arithmetic"),
        ("A=a.b; x ${A%.b}", "?${A%.b}*", "not followed"),
        ("A=1; if y; then A=2; fi; x $A", "?$A*", "set in a branch"),
        ("A=1; y && A=2; x $A", "?$A*", "set in a branch"),
        ("case $y in a) A=1;; b) A=2;; esac; x $A", "?$A*", "set in a branch"),
        ("for A in 1 2; do x $A; done", "?$A*", "set in a loop"),
        ("A=1; while y; do x $A; A=2; done", "?$A*", "set in a loop"),
        ("A=1; while read A; do y; done; x $A", "?$A*", "set in a loop"),
        ("A=1; read A; x $A", "?$A*", "set by read"),
        ("A=1; f() { A=2; }; f; f; x $A", "?$A*", "set in a function"),
        ("f() { x $A; }; A=1; f; A=2; f", "?$A*", "set elsewhere"),
        ("A=1; ((A++)); x $A", "?$A*", "arithmetic"),
        ("A=1; let A=2; x $A", "?$A*", "set by let"),
        ("A[1]=2; x ${A[1]}", "?${A[1]}*", "an item of a list"),
        ("IFS=,; A='1 2'; x $A", "?1 2*", "split by IFS"),
    ],
)  # fmt: skip
def test_what_the_text_does_not_say_is_unknown(text: str, expected: str, why: str) -> None:
    commands = [command for command in script(text).commands if command.name == "x"]
    word = commands[-1].words[-1]
    assert text_of(word) == expected
    assert isinstance(word.value, Unknown) and word.value.reason == why


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if y; then A=1; else A=1; fi; x $A", ["1"]),
        ("if y; then A=1; x $A; fi", ["1"]),
        ("A=1; if y; then echo usage; A=2; exit 1; fi; x $A", ["1"]),
        ("A=1; (A=2); x $A", ["1"]),
        ("A=1; A=2 y; x $A", ["1"]),
        ("A=1; echo | read A; x $A", ["1"]),
        ("A=1; { A=2; }; x $A", ["2"]),
        ("f() { local A=1; B=2; x $A $1; }; A=0; f b; x $A $B", ["0", "2"]),
        ("for i in 1 2; do A=3; x $A; done", ["3"]),
        ("f() { declare -g A=1; declare B=2; }; B=0; f; x $A $B", ["1", "0"]),
        ("A=0; if y; then\nA=1 B=2\nelse\nx $A\nfi", ["0"]),
        ("A=0; if y; then\nA=1 B='2'\nC=  # why\nelse\nx $A\nfi", ["0"]),
        ("A=0 B=1\n# why\nfor i in 1; do A=2; done\nx $B", ["1"]),
        ("A=1; y $(A=2); x $A", ["1"]),
        ("A=1; A=2 & x $A", ["1"]),
    ],
)
def test_what_runs_for_certain_is_known(text: str, expected: list[str]) -> None:
    assert last(text) == expected


def test_what_a_branch_adds_leaves_the_rest_known() -> None:
    lists = 'A=(--a 1); if y; then A+=(--b 2); fi; A+=(--c 3); x "${A[@]}"'
    assert last(lists) == ["--a", "1", "?$A*", "--c", "3"]
    texts = 'A=\'--a 1\'; if y; then A="$A --b 2"; fi; A="$A --c 3"; x $A'
    assert last(texts) == ["--a", "1", "?$A*", "--c", "3"]


def test_a_default_says_whose_place_it_takes() -> None:
    (word,) = script("N=${NNODES:-4}; x $N").commands[-1].words[1:]
    assert (word.known, word.default_of) == ("4", "NNODES")
    (word,) = script("NNODES=2; N=${NNODES:-4}; x $N").commands[-1].words[1:]
    assert (word.known, word.default_of) == ("2", "")


def test_a_word_knows_where_its_text_is_written() -> None:
    text = 'ARGS="--lr 1e-4"\nx $ARGS --nodes=4 "a"b \'q\''
    lr, value, nodes, quoted, raw = script(text).commands[-1].words[1:]
    assert (lr.span.text, lr.origin.text, lr.origin.line) == ("$ARGS", "--lr", 1)
    assert (value.origin.text, value.origin.column) == ("1e-4", 12)
    assert (nodes.origin.text, nodes.after(8).origin.text, nodes.after(8).span.text) == ("--nodes=4", "4", "4")
    assert quoted.origin == quoted.span, "in two pieces, with quotes between them"
    assert raw.origin.text == "q"


def test_the_reason_is_that_of_the_first_unknown_piece() -> None:
    assert reason("x a$(b)$C") == "the output of a command"


def test_values_that_grow_are_given_up() -> None:
    doubled = "A=0123456789\n" + "A=$A$A\n" * 40 + "x $A"
    assert last(doubled) == ["?...*"]
    known = "A=0123456789\n" + "A=$A$A\n" * 10 + "x $A"
    assert last(known) == ["0123456789" * 1024] and 1024 * 10 < MOST_TEXT
    lists = "A=(0 1 2 3 4 5 6 7)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 40 + 'x "${A[@]}"'
    assert set(last(lists)) == {"?...*"}


def test_a_place_in_a_text_within_a_text_is_one_of_the_file() -> None:
    text = 'N=8\nsrun bash -c "torchrun --nproc_per_node $N \\$X train.py"'
    inner = script(text).commands[-1].inner
    assert inner is not None
    (command,) = inner.commands
    assert [text_of(word) for word in command.words] == ["torchrun", "--nproc_per_node", "8", "?$X*", "train.py"]
    assert outermost(command.words[-1].span).text == "train.py"
    assert outermost(command.words[2].span).line == 1
    assert (command.words[-1].span.line, command.words[-1].span.column) == (2, 48)


def test_arguments_that_the_script_gives_itself_are_known() -> None:
    assert last('set -- a "b c" "$@"\nrun "$@" $2') == ["a", "b c", "?$@*", "b", "c"]
    assert last("set -e -- a\nrun $1 $#")[0] == "a"
    assert last('set --\nrun "$@" x') == ["x"]
    assert last('set -- a\nset -e\nrun "$@"') == ["a"]
    assert last('if test "$X"; then set -- a; fi\nrun "$1"') != ["a"]

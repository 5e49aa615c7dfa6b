"""What a script does: commands and what stands around them, files, exports, options, directives."""

from __future__ import annotations

import json

import pytest

from planc.native.shell.embedded import outermost
from planc.native.shell.model import Command
from tests.native.shell.scripts import script, text_of, words_of


def kinds(command: Command) -> list[str]:
    return [frame.kind for frame in command.context]


def test_commands_stand_in_the_order_in_which_they_run_with_what_is_around_them() -> None:
    text = """
a
if b; then c; elif d; then e; else f; fi
for i in 1 2; do g; done
while h; do i; done
case $x in y) j;; esac
k && l || m
(n; o)
p | q 2>&1 | tee r
! s
t &
u() { v; }
u
w $(aa | bb)
{ cc; } | dd
"""
    found = {command.name: kinds(command) for command in script(text).commands}
    assert found == {
        "a": [], "b": [], "c": ["if"], "d": ["if"], "e": ["if"], "f": ["if"], "g": ["loop"], "h": ["loop"],
        "i": ["loop"], "j": ["case"], "k": [], "l": ["and"], "m": ["or"], "n": ["subshell"], "o": ["subshell"],
        "p": ["pipe"], "q": ["pipe"], "tee": ["pipe"], "s": ["negated"], "t": ["background"], "u": [],
        "v": ["function"], "aa": ["substitution", "pipe"], "bb": ["substitution", "pipe"], "w": [], "cc": ["pipe"],
        "dd": ["pipe"],
    }  # fmt: skip


def test_a_pipe_knows_its_parts() -> None:
    text = "torchrun a.py 2>&1 | tee log | cat > out"
    first, tee, cat = script(text).commands
    assert [command.context[0].position for command in (first, tee, cat)] == [0, 1, 2]
    assert len({command.context[0].span for command in (first, tee, cat)}) == 1
    assert [(each.operator, each.descriptor, text_of(each.target)) for each in first.redirects] == [(">&", "2", "1")]
    assert [(each.operator, text_of(each.target)) for each in cat.redirects] == [(">", "out")]


def test_variables_for_one_command_are_its_environment() -> None:
    (command,) = script('A=1 B="$A" C= torchrun x.py').commands
    assert [(each.name, text_of(each.value)) for each in command.environment] == [("A", "1"), ("B", "?$A"), ("C", "")]
    assert not script("A=1 torchrun x.py").assignments


def test_assignments_and_exports() -> None:
    found = script("A=1\nexport B=2 C\ndeclare -x D=3\nL=(a b)\nL+=(c)\nexport -n E\nset -a; F=4; set +a\nG=5\nx")
    assert [(each.name, [text_of(word) for word in each.words], each.append) for each in found.assignments] == [
        ("A", ["1"], False), ("B", ["2"], False), ("D", ["3"], False), ("L", ["a", "b"], False), ("L", ["c"], True),
        ("F", ["4"], False), ("G", ["5"], False),
    ]  # fmt: skip
    assert [(each.name, text_of(each.value)) for each in found.exports] == [
        ("B", "2"), ("C", None), ("D", "3"), ("F", "4"),
    ]  # fmt: skip
    assert found.commands[-1].exported == {"B", "C", "D", "F"}
    assert [each.span.text for each in found.assignments][:2] == ["A=1", "B=2"]


def test_exports_in_a_branch_are_told_apart() -> None:
    (export,) = script("[[ -v X ]] || export X=1").exports
    assert [frame.kind for frame in export.context] == ["or"]


def test_options_of_the_shell() -> None:
    found = script("#!/bin/bash -e\nset -uo pipefail\nset +e -x\nset -- a b\nf() { set -e; }\nf")
    assert [(each.name, each.on, len(each.context)) for each in found.settings] == [
        ("errexit", True, 0), ("nounset", True, 0), ("pipefail", True, 0), ("errexit", False, 0), ("xtrace", True, 0),
        ("errexit", True, 1),
    ]  # fmt: skip


def test_sourced_files() -> None:
    found = script('source env.sh\n. "$HOME/x.sh"\nif a; then source b.sh; fi').sourced
    assert [text_of(each.path) for each in found] == ["env.sh", "?$HOME", "b.sh"]
    assert [len(each.context) for each in found] == [0, 0, 1]


def test_the_text_of_a_heredoc_is_expanded_and_knows_its_places() -> None:
    text = """BATCH=4
cat > "ds_$BATCH.json" <<EOF
{
  "train_batch_size": $BATCH,
  "steps": $STEPS, "name": "a\\$b \\"q\\""
}
EOF
"""
    (found,) = script(text).heredocs
    assert text_of(found.target) == "ds_4.json" and not found.literal
    body = found.body
    assert json.loads(body.text.replace("PLANC_UNKNOWN_0", "7")) == {
        "train_batch_size": 4, "steps": 7, "name": 'a$b "q"',
    }  # fmt: skip
    assert [doubt.text for doubt in body.gaps.values()] == ["$STEPS"]
    at = body.text.index('"steps"')
    assert body.position(at) == (5, 3)
    assert body.line(5).startswith('  "steps"')
    assert body.outer(at, at + 7).text == '"steps"'
    value = body.text.index("4,")
    assert outermost(body.outer(value, value + 1)).text == "4", "where the variable is set"
    assert body.position(value) == (1, 7)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cat <<EOF\nEOF\n", ""),
        ("cat <<EOF\n\n  a\n\nEOF\n", "\n  a\n\n"),
        ("cat <<'EOF'\n$A `b`\nEOF\n", "$A `b`\n"),
        ("cat <<\"E F\"\n$A\nE F\n", "$A\n"),
        ("cat <<-EOF\n\t\ta\n\t b\n\tEOF\n", "a\n b\n"),
        ("A=1\ncat <<-EOF\n\t$A\t$A\n\tEOF\n", "1\t1\n"),
        ("A=1\ncat <<EOF\n$A${A}$((A+1))\\\n\"$A\"\nEOF\n", "112\"1\"\n"),
        ("cat <<EOF | b\nx\nEOF\n", "x\n"),
        ("cat <<EOF && b\nx\nEOF\n", "x\n"),
        ("cat <<EOF > f\nx\nEOF\n", "x\n"),
        ("while read a; do b; done <<EOF\nx\nEOF\n", "x\n"),
    ],
)  # fmt: skip
def test_forms_of_heredocs(text: str, expected: str) -> None:
    (found,) = script(text).heredocs
    assert found.body.text == expected


def test_a_heredoc_may_stand_in_a_pipe_or_before_another_command() -> None:
    found = script("A=1\ncat <<EOF | tee f | b && c\n$A\nEOF\nd")
    assert [words_of(command) for command in found.commands] == [["cat"], ["tee", "f"], ["b"], ["c"], ["d"]]
    (heredoc,) = script("tee f <<EOF\nx\nEOF\n").heredocs
    assert text_of(heredoc.target) == "f"


def test_directives_of_schedulers() -> None:
    text = """#!/bin/bash
#SBATCH --nodes=4 -t 01:00:00   # four
#SBATCH -N4 --exclusive --job-name="a b"
##SBATCH --off=1
# SBATCH --gres=gpu:8
#SBTACH --mem=1
#Sbatch --mem 2
#PBS -l select=2:ngpus=4
#BSUB -n 4 -gpu "num=4"
#$ -pe mpi 8
# SBATCH is what this file has
cat <<EOF
#SBATCH --inner=1
EOF
#SBATCH --time=$T
"""
    found = script(text).directives
    assert [(each.scheduler, each.option, each.value, each.misspelt, each.late) for each in found] == [
        ("slurm", "--nodes", "4", False, False),
        ("slurm", "-t", "01:00:00", False, False),
        ("slurm", "-N", "4", False, False),
        ("slurm", "--exclusive", None, False, False),
        ("slurm", "--job-name", "a b", False, False),
        ("slurm", "--gres", "gpu:8", True, False),
        ("slurm", "--mem", "1", True, False),
        ("slurm", "--mem", "2", True, False),
        ("pbs", "-l", "select=2:ngpus=4", False, False),
        ("lsf", "-n", "4", False, False),
        ("lsf", "-gpu", "num=4", False, False),
        ("sge", "-pe", "mpi 8", False, False),
        ("slurm", "--time", "$T", False, True),
    ]
    nodes, time, short = found[:3]
    assert (nodes.span.text, nodes.value_span and nodes.value_span.text) == ("--nodes", "4")
    assert (time.span.text, time.value_span and time.value_span.text) == ("-t", "01:00:00")
    assert short.value_span is not None and (short.value_span.text, short.value_span.column) == ("4", 11)
    assert found[-1].variable and not nodes.variable
    assert found[5].mark == "# SBATCH" and found[5].line.text == "# SBATCH --gres=gpu:8"


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\nif b; then\n  c\n", 4), ("a\nb )\n", 2), ("a\nfor x; y\n", 2), ("a\necho ${\n", 2), ("a\nb &&\n", 2)],
)
def test_errors_have_a_place_and_leave_what_is_before_them(text: str, line: int) -> None:
    found = script(text)
    assert [each.span.line for each in found.broken] == [line]
    assert found.commands[0].name == "a"


def test_line_ends_and_bytes_that_no_shell_takes_are_told() -> None:
    found = script("#!/bin/bash\r\nA=1\r\ntorchrun --n $A \\\r\n  x.py\r\n")
    assert [each.text for each in found.broken] == ["a carriage return before the line end"]
    assert words_of(found.commands[-1]) == ["torchrun", "--n", "1", "x.py"]
    assert [each.text for each in script("a\0b").broken] == ["no text: it has a NUL"]
    marked = script("\ufeff#!/bin/bash\ntorchrun x.py")
    assert words_of(marked.commands[-1]) == ["torchrun", "x.py"]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ('[ "$A" = one ]', True),
        ('[ "$A" == two ]', False),
        ("[[ $A != two && $N -gt 1 ]]", True),
        ("[[ $A == two || -z $EMPTY ]]", True),
        ("! [ $N -le 1 ]", True),
        ("true", True),
        ('[ -n "$EMPTY" ]', False),
        ("[[ $A == o* ]]", None),
        ('[ "$OUTSIDE" = one ]', None),
        ('[ "${A:-x}" = one ]', True),
        ('[ "${OUTSIDE:-one}" = one ]', None),
        ("[ -f one ]", None),
        ("[ $EMPTY = one ]", None),
        ("grep -q x y", None),
    ],
)
def test_a_condition_of_constants_decides_what_runs(condition: str, holds: bool | None) -> None:
    text = f"A=one N=2 EMPTY=\nX=0\nif {condition}; then X=1; else X=2; fi\nprintf $X"
    assert script(text).commands[-1].words[-1].known == {True: "1", False: "2", None: None}[holds]


def test_a_chain_of_conditions() -> None:
    chain = "if [ $A = 1 ]; then f 1; elif [ $A = 2 ]; then f 2; elif [ $A = 3 ]; then f 3; else f 4; fi"
    for value, runs in (("1", ["1"]), ("2", ["2"]), ("9", ["4"])):
        sure = [each for each in script(f"A={value}\n{chain}").commands if each.name == "f" and not each.within("if")]
        assert [each.words[1].known for each in sure] == runs
    assert not [each for each in script(chain).commands if each.name == "f" and not each.within("if")]

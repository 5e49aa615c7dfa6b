"""`planc completion`: what it answers, and what the real shells make of it."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from planc.commands import completion
from planc.commands.completing import _OF_METAVAR, _OF_OPTION, PATHS, answers
from planc.commands.completion import SHELLS
from planc.commands.files import Files
from planc.commands.main import COMMANDS, module_of
from planc.compiler import analyse
from planc.kinds import all_kinds
from planc.plan.schema import SECTIONS
from planc.source import Source
from planc.targets import target_names
from tests.commands.cli import CLEAN, ROOT, environment, planc
from tests.commands.terminal import Terminal

#: Values that nobody can propose, as they are the user's own.
FREE = {
    "--against REVISION", "--dataset-digest DIGEST", "--global-batch N", "--gpus N", "--gpus-per-node N",
    "--network SPEED", "--sequence-length N", "--rank LIST", "--skip STEPS", "--step-time TIME", "--tokens AMOUNT",
    "--world N",
}  # fmt: skip

FORMATS = ("concise", "github", "gitlab", "json", "junit", "sarif", "text")


def asked(capsys: pytest.CaptureFixture[str], shell: str, *words: str) -> list[str]:
    """The words that are proposed, without what they mean."""
    assert completion.run([shell, "--words", *words]) == 0
    return [line.partition("\t")[0] for line in capsys.readouterr().out.splitlines()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with plan files and others."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "my plan.plan").write_text(CLEAN)
    (tmp_path / "two.plan").write_text(CLEAN + 'plan again from run\nplan "7B chat" from run\nplan broken {')
    (tmp_path / "twins.txt").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        ([], [*COMMANDS]),
        ([""], [*COMMANDS]),
        (["expl"], ["explain"]),
        (["--"], ["--help", "--version"]),
        (["no-command", ""], []),
        (["lint", ""], [":plans"]),
        (["lint", "a.plan", "b"], [":plans"]),
        (["import", "a.json", ""], [":files"]),
        (["import", "--cluster", "h200"], [":plans", "h200-sxm-141gb"]),
        (["lint", "--model", "llama-3-8b"], [":files", "llama-3-8b"]),
        (["lint", "--output-format", "s"], ["sarif"]),
        (["lint", "--output-format=gi"], ["--output-format=github", "--output-format=gitlab"]),
        (["lint", "--color", ""], ["auto", "always", "never"]),
        (["lint", "--col", "--colo"], ["--color"]),
        (["lint", "--color", "never", "--colo"], []),
        (["lint", "--color=never", "--colo"], []),
        (["lint", "--set", "a=1", "--se"], ["--select", "--set"]),
        (["lint", "--no-such=x"], []),
        (["lint", "--info=x"], []),
        (["lint", "--", "--col"], [":plans"]),
        (["lint", "--", "--", "--col"], [":plans"]),
        (["lint", "--baseline", ""], [":files"]),
        (["lint", "--baseline="], [":files"]),
        (["lint", "--stdin-filename", ""], [":plans"]),
        (["lint", "--select", "PLN101,PLN10"], [f"PLN101,PLN10{number}" for number in range(1, 10)]),
        (["lint", "--select", "all"], ["all"]),
        (["compile", "a.plan", ""], []),
        (["compile", "-o", ""], [":folders"]),
        (["compile", "a.plan", "-o", "b", "--outp"], ["--output-format"]),
        (["compile", "--target", ""], list(target_names())),
        (["compile", "two.plan", "--plan", ""], ["run", "again", "7B chat", "broken"]),
        (["compile", "--plan", "", "two.plan"][:3], []),
        (["compile", "no.plan", "--plan", ""], []),
        (["explain", "two.plan", "--plan=ag"], ["--plan=again"]),
        (["explain", "--step-time", ""], []),
        (["explain", "a.plan", "--why", "world.s"], ["world.size"]),
        (["explain", "a.plan", "--why", "parallel.te"], ["parallel.tensor"]),
        (["advise", "--model", "mixtral"], ["mixtral-8x7b"]),
        (["advise", "--gpu", "l4"], ["l4-24gb"]),
        (["advise", "--trainer", "m"], ["megatron"]),
        (["advise", "--precision", "fp1"], ["fp16"]),
        (["advise", "-o", ""], [":plans"]),
        (["calibrate", "run.plan", ""], [":files"]),
        (["calibrate", "run.plan", "--skip", ""], []),
        (["test", ""], [":folders"]),
        (["rule", "PLN10"], [f"PLN10{number}" for number in range(1, 10)]),
        (["rule", "indivisible-w"], ["indivisible-world-size"]),
        (["rule", ""], [kind.code for kind in all_kinds()]),
        (["targets", "slur"], ["slurm"]),
        (["targets", "-"], ["-h", "--help", "--output-format"]),
        (["lint", "--set", "para"], ["parallel."]),
        (["lint", "--set", "parallel.te"], ["parallel.tensor="]),
        (["lint", "--set", "precision"], ["precision.", "precision="]),
        (["lint", "--set", "precision=f"], [f"precision=fp{bits}" for bits in (32, 16, 8, 4)]),
        (["lint", "--set", "train.deterministic="], ["train.deterministic=true", "train.deterministic=false"]),
        (["lint", "--set", "cluster.gpu.mem"], ["cluster.gpu.memory=", "cluster.gpu.memory_bandwidth="]),
        (["lint", "--set", "no.such"], []),
        (["completion", ""], [*SHELLS]),
        (["completion", "bash", "--words", "--col"], []),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_proposed(capsys: pytest.CaptureFixture[str], words: list[str], proposed: list[str]) -> None:
    assert asked(capsys, "zsh", *words) == proposed
    assert asked(capsys, "fish", *words) == proposed


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        (["lint", "--output-format", "=", "s"], ["sarif"]),
        (["lint", "--color", "="], ["auto", "always", "never"]),
        (["lint", "--output-format=s"], ["--output-format=sarif"]),
        (["lint", "--set", "precision", "=", "b"], ["bf16"]),
        (["lint", "--set", "=", "precision", "=", "b"], ["bf16"]),
        (["lint", "--set", "parallel.te"], ["parallel.tensor="]),
        (["compile", "two.plan", "--plan", ""], ["run", "again", "'7B chat'", "broken"]),
        (["compile", "two.plan", "--plan", "'7"], []),
        (["compile", "'two.plan'", "--plan", "ag"], ["again"]),
        (["compile", "two\\.plan", "--plan", "ag"], ["again"]),
        (["compile", "'two.plan", "--plan", "ag"], []),
        (["lint", ""], [":plans"]),
    ],
)
@pytest.mark.usefixtures("folder")
def test_bash_cuts_at_equals_signs_and_leaves_quotes(
    capsys: pytest.CaptureFixture[str], words: list[str], proposed: list[str]
) -> None:
    assert asked(capsys, "bash", *words) == proposed


def test_an_answer_says_what_a_word_means(tmp_path: Path) -> None:
    outcome = planc("completion", "fish", "--words", "lin", cwd=tmp_path)
    assert outcome.stdout == f"lint\t{COMMANDS['lint']}\n"
    for command in COMMANDS:
        for answer in answers((command, "-")):
            assert answer.text
            assert not re.search(r"[\t\n%]", answer.text), answer


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_the_help_is_proposed(command: str, tmp_path: Path) -> None:
    text = planc(command, "--help", cwd=tmp_path, COLUMNS="200").stdout
    options = {name for line in re.findall(r"^  (-.*?)(?:  |$)", text, re.M) for name in re.findall(r"-[\w-]+", line)}
    assert "--help" in options
    assert {answer.word for answer in answers((command, "-"))} == options


def taking_values() -> Iterator[tuple[str, str]]:
    """Command and argument, as the tables of `completing` call it, of each argument that takes a value."""
    for command in COMMANDS:
        parser: argparse.ArgumentParser = import_module(module_of(command)).parser()
        for action in parser._actions:
            if action.nargs != 0 and action.choices is None and action.dest != "words":
                yield command, f"{' '.join(action.option_strings)} {action.metavar}".strip()


@pytest.mark.parametrize(("command", "argument"), tuple(taking_values()), ids=" ".join)
def test_every_value_is_known_or_free(command: str, argument: str) -> None:
    known = argument in _OF_OPTION or argument.rpartition(" ")[2] in _OF_METAVAR
    assert known != (argument in FREE), f"say in `completing` what {argument!r} is, or here that it is free"


def test_no_table_has_more_than_there_is() -> None:
    arguments = {argument for _, argument in taking_values()}
    assert set(_OF_OPTION) <= arguments
    assert set(_OF_METAVAR) <= {argument.rpartition(" ")[2] for argument in arguments}
    assert arguments >= FREE


def paths(beginning: str = "") -> Iterator[str]:
    """Every path that is proposed for `--set`."""
    for answer in answers(("lint", "--set", beginning)):
        if answer.word.endswith("."):
            yield from paths(answer.word)
        else:
            yield answer.word


def test_every_path_that_is_proposed_can_be_set() -> None:
    source, files = Source("a.plan", CLEAN), Files()
    found = list(paths())
    assert {"precision=", "parallel.tensor=", "cluster.gpu.memory=", "launch.container.image="} <= set(found)
    depending = {field.name for fields in SECTIONS.values() for field in fields if field.only}
    for path in found:
        if path.rstrip("=").rpartition(".")[2] in depending:
            continue  # a field of one variant only, which this plan may not have
        for answer in answers(("lint", "--set", path)) or (path + "1",):
            setting = answer if isinstance(answer, str) else answer.word
            codes = {found.code for found in analyse((source,), files.load, (setting,)).diagnostics}
            assert not codes & {"PLN001", "PLN011", "PLN016", "PLN024"}, setting


def test_paths_are_no_words() -> None:
    words = {answer.word for command in COMMANDS for answer in answers((command, "-"))} | set(COMMANDS)
    assert not [word for word in words if word.startswith(":")]
    assert all(answer.word.startswith(":") for answer in PATHS)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_is_as_it_is_shipped(tmp_path: Path, shell: str) -> None:
    outcome = planc("completion", shell, cwd=tmp_path)
    assert outcome.stdout == (ROOT / "templates" / "completion" / f"planc.{shell}").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "required"),
        (("csh",), "choose from"),
        (("bash", "zsh"), "unrecognized"),
        (("--words", "lint", ""), "required"),
        (("bash", "--word", "lint"), "unrecognized"),
    ],
)
def test_a_wrong_command_line_is_2(tmp_path: Path, arguments: tuple[str, ...], complaint: str) -> None:
    outcome = planc("completion", *arguments, cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert complaint in outcome.stderr


def test_shellcheck_finds_nothing(tmp_path: Path) -> None:
    program = Path(sysconfig.get_path("scripts"), "shellcheck")
    if not program.exists():
        pytest.skip("shellcheck is not installed")
    outcome = subprocess.run(
        [program, "--shell=bash", ROOT / "templates" / "completion" / "planc.bash"], capture_output=True, text=True
    )
    assert (outcome.returncode, outcome.stdout) == (0, "")


# --- in the real shells -----------------------------------------------------------------------------------------------


def shell_environment(shell: str, folder: Path) -> dict[str, str]:
    """An environment in which `planc` is this checkout, and nothing of the user's is read."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    program = folder / "programs" / "planc"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m planc "$@"\n')
    program.chmod(0o755)
    home = str(program.parent)
    path = f"{home}:{environment()['PATH']}"
    return environment(PATH=path, HOME=home, XDG_CONFIG_HOME=home, XDG_DATA_HOME=home)


SETUP = {
    "bash": r"""eval "$(planc completion bash)"; bind -x '"\C-x\C-p": printf "<<%s>>" "$READLINE_LINE"'""",
    "zsh": "autoload -U compinit; compinit -u -D; "
    r"""eval "$(planc completion zsh)"; show() print -rn -- "<<$BUFFER>>"; zle -N show; bindkey '^X^P' show""",
}
START = {"bash": ("bash", "--noprofile", "--norc", "-i"), "zsh": ("zsh", "-f", "-i")}


@pytest.mark.parametrize("shell", START)
def test_the_tab_key(folder: Path, shell: str) -> None:
    terminal = Terminal(START[shell], SETUP[shell], folder, shell_environment(shell, folder))
    try:
        for typed, due in (
            ("planc li", "planc lint "),
            ("planc lint --statis", "planc lint --statistics "),
            ("planc lint --output-format sa", "planc lint --output-format sarif "),
            ("planc lint --output-format=sa", "planc lint --output-format=sarif "),
            ("planc lint my", "planc lint my\\ plan.plan "),
            ('planc lint "my', 'planc lint "my plan.plan" '),
            ("planc lint tw", "planc lint two.plan "),
            ("planc lint --baseline twi", "planc lint --baseline twins.txt "),
            ("planc compile my\\ plan.plan -o ru", "planc compile my\\ plan.plan -o runs/"),
            ("planc compile --output=ru", "planc compile --output=runs/"),
            ("planc compile two.plan --plan ag", "planc compile two.plan --plan again "),
            ("planc lint --set parallel.te", "planc lint --set parallel.tensor="),
            ("planc lint --set recompute=sel", "planc lint --set recompute=selective "),
            ("planc rule indivisible-w", "planc rule indivisible-world-size "),
            ("programs/planc li", "programs/planc lint "),
        ):
            assert terminal.completed(typed) == due, typed
    finally:
        terminal.close()


def test_fish(folder: Path) -> None:
    asked = (
        "planc lin", "planc lint --statis", "planc lint --output-format=sa", "planc lint ", "planc lint my",
        "planc lint --baseline twi", "planc compile -o ", "planc compile --output=ru",
        "planc compile two.plan --plan ag", "planc lint --set parallel.te",
    )  # fmt: skip
    script = "planc completion fish | source\n" + "".join(f"echo '== {line}'; complete -C '{line}'\n" for line in asked)
    outcome = subprocess.run(
        ["fish", "--no-config", "-c", script],
        cwd=folder, env=shell_environment("fish", folder), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (outcome.returncode, outcome.stderr) == (0, "")
    found = [part.splitlines() for part in outcome.stdout.split("== ")[1:]]
    assert {line: [word.partition("\t")[0] for word in words] for line, *words in found} == {
        "planc lin": ["lint"],
        "planc lint --statis": ["--statistics"],
        "planc lint --output-format=sa": ["--output-format=sarif"],
        "planc lint ": ["my plan.plan", "programs/", "runs/", "two.plan"],
        "planc lint my": ["my plan.plan"],
        "planc lint --baseline twi": ["twins.txt"],
        "planc compile -o ": ["programs/", "runs/"],
        "planc compile --output=ru": ["--output=runs/"],
        "planc compile two.plan --plan ag": ["again"],
        "planc lint --set parallel.te": ["parallel.tensor="],
    }


@pytest.mark.parametrize(
    ("shell", "command"),
    [
        ("bash", ("bash", "-euo", "pipefail", "-c", "source /dev/stdin")),
        ("zsh", ("zsh", "-f", "-c", "autoload -U compinit; compinit -u -D; source /dev/stdin")),
        ("fish", ("fish", "--no-config", "-c", "source")),
    ],
)
def test_a_script_is_read_without_a_word(folder: Path, shell: str, command: tuple[str, ...]) -> None:
    script = planc("completion", shell, cwd=folder).stdout
    outcome = subprocess.run(
        command, cwd=folder, env=shell_environment(shell, folder), input=script, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")

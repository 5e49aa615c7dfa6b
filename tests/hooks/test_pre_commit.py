"""The hooks, as pre-commit runs them: installed from a repository, and at a real `git commit`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.cli import BROKEN, CLEAN, ROOT

pytest.importorskip("pre_commit", reason="pre-commit is not installed")

pytestmark = pytest.mark.slow

HOOKS = ("planc-lint", "planc-fmt", "planc-compile-check")

#: What an installation of planc is made of.
SHIPPED = (
    "planc", "grammar", "schemas", "templates", "docs", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE",
)  # fmt: skip

#: What pip says where it reaches no package index.
UNREACHABLE = ("No matching distribution found for hatchling", "Failed to establish a new connection", "NameResolution")


def environment(home: Path) -> dict[str, str]:
    """An environment in which pre-commit keeps what it installs in a folder of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON", "PRE_COMMIT"))}
    author = {f"GIT_{who}_{what}": "someone@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return kept | author | {"PRE_COMMIT_HOME": str(home), "XDG_CACHE_HOME": str(home), "PATH": path}


def run(*command: str | Path, cwd: Path, home: Path, expect: int | None = 0) -> str:
    """What a command prints."""
    outcome = subprocess.run(
        command, cwd=cwd, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=600, check=False,
    )  # fmt: skip
    assert expect is None or outcome.returncode == expect, outcome.stdout
    return outcome.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which pre-commit keeps its environments."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory, home: Path) -> str:
    """A configuration that takes the hooks from a repository with this checkout in it; they are installed."""
    hooks = tmp_path_factory.mktemp("hooks")
    for name in (*SHIPPED, ".pre-commit-hooks.yaml"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, hooks / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, hooks / name)
    run("git", "init", "--quiet", cwd=hooks, home=home)
    run("git", "add", "--all", cwd=hooks, home=home)
    run("git", "commit", "--quiet", "--message=x", cwd=hooks, home=home)
    revision = run("git", "rev-parse", "HEAD", cwd=hooks, home=home).strip()
    lines = ["repos:", f"- repo: {hooks}", f"  rev: {revision}", "  hooks:", *(f"  - id: {hook}" for hook in HOOKS)]
    text = "\n".join(lines) + "\n"
    first = tmp_path_factory.mktemp("first")
    run("git", "init", "--quiet", cwd=first, home=home)
    (first / ".pre-commit-config.yaml").write_text(text)
    printed = run("pre-commit", "install-hooks", cwd=first, home=home, expect=None)
    if any(said in printed for said in UNREACHABLE):
        pytest.skip("no package index is reached, from which a hook's environment is made")
    assert "An error has occurred" not in printed, printed
    return text


@pytest.fixture
def repository(tmp_path: Path, config: str, home: Path) -> Path:
    """A repository with the hooks in force."""
    run("git", "init", "--quiet", cwd=tmp_path, home=home)
    (tmp_path / ".pre-commit-config.yaml").write_text(config)
    run("pre-commit", "install", cwd=tmp_path, home=home)
    return tmp_path


def committed(repository: Path, home: Path, hook: str, expect: int) -> str:
    """What is printed at a commit of everything, for which only one of the hooks runs."""
    skipped = ",".join(other for other in HOOKS if other != hook)
    run("git", "add", "--all", cwd=repository, home=home)
    return run("env", f"SKIP={skipped}", "git", "commit", "--message=x", cwd=repository, home=home, expect=expect)


def commits(repository: Path, home: Path) -> int:
    printed = run("git", "rev-list", "--all", "--count", cwd=repository, home=home)
    return int(printed)


def test_the_manifest_of_the_hooks_is_one(home: Path, tmp_path: Path) -> None:
    run("pre-commit", "validate-manifest", ROOT / ".pre-commit-hooks.yaml", cwd=tmp_path, home=home)
    text = (ROOT / ".pre-commit-hooks.yaml").read_text()
    assert [line.removeprefix("- id: ") for line in text.splitlines() if line.startswith("- id: ")] == list(HOOKS)


def test_lint_refuses_a_plan_with_an_error(repository: Path, home: Path) -> None:
    (repository / "a.plan").write_text(CLEAN)
    (repository / "notes.txt").write_text(BROKEN)
    assert "planc lint...." in committed(repository, home, "planc-lint", 0)
    (repository / "a.plan").write_text(BROKEN)
    assert "error[PLN010]" in committed(repository, home, "planc-lint", 1)
    assert commits(repository, home) == 1


def test_fmt_lays_a_plan_out_and_refuses_the_commit(repository: Path, home: Path) -> None:
    (repository / "a.plan").write_text("language = 1\n")
    committed(repository, home, "planc-fmt", 0)
    (repository / "a.plan").write_text("language   =   1\n\n\n\n")
    assert "files were modified by this hook" in committed(repository, home, "planc-fmt", 1)
    assert (repository / "a.plan").read_text() == "language = 1\n"
    assert commits(repository, home) == 1


def test_compile_check_refuses_what_the_plan_does_not_give(repository: Path, home: Path) -> None:
    (repository / "a.plan").write_text(CLEAN)
    run(sys.executable, "-m", "planc", "compile", "a.plan", "-o", "built", cwd=repository, home=home)
    committed(repository, home, "planc-compile-check", 0)
    script = repository / "built" / "run" / "torchrun.sh"
    script.write_text(script.read_text() + "# mine\n")
    printed = committed(repository, home, "planc-compile-check", 1)
    assert "built/run/torchrun.sh: edited: it is not as planc wrote it" in printed
    assert commits(repository, home) == 1

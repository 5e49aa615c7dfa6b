"""docs/ci.md: its examples are what GitHub, GitLab and pre-commit take, and their commands do what the page says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from planc.resources import read_text
from tests.commands.cli import BROKEN, CLEAN, ROOT, environment, planc

PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
PRE_COMMIT, GITHUB, GITLAB = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.S | re.M)


def run(*command: str | Path, cwd: Path, expect: int = 0, **changes: str) -> str:
    """What a command prints."""
    outcome = subprocess.run(
        command, cwd=cwd, env=environment(**changes), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert outcome.returncode == expect, outcome.stdout
    return outcome.stdout


def tool(name: str) -> str:
    """The path of a program that this environment may hold; where it does not, the test is skipped."""
    path = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@pytest.fixture
def workflow(tmp_path: Path) -> Path:
    """A repository with the workflow for GitHub."""
    path = tmp_path / ".github" / "workflows" / "plans.yml"
    path.parent.mkdir(parents=True)
    path.write_text(GITHUB)
    run("git", "init", "--quiet", cwd=tmp_path)
    return path


def test_the_workflow_is_one(workflow: Path) -> None:
    run(tool("actionlint"), "-shellcheck=" + tool("shellcheck"), workflow, cwd=workflow.parent)
    (workflow.parent / "bad.yml").write_text(GITHUB.replace("runs-on", "run-on"))
    assert "run-on" in run(tool("actionlint"), workflow.parent / "bad.yml", cwd=workflow.parent, expect=1)


def test_the_workflow_gives_nothing_away(workflow: Path) -> None:
    pedantic = (tool("zizmor"), "--offline", "--no-config", "--persona=pedantic", "--no-progress")
    run(*pedantic, workflow, cwd=workflow.parent)
    workflow.write_text(GITHUB.replace('"$PLANC"', "${{ github.head_ref }}"))
    assert "template-injection" in run(*pedantic, workflow, cwd=workflow.parent, expect=14)


def test_the_pipeline_is_one(tmp_path: Path) -> None:
    (tmp_path / ".gitlab-ci.yml").write_text(GITLAB)
    command = (tool("check-jsonschema"), "--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci")
    run(*command, ".gitlab-ci.yml", cwd=tmp_path)
    (tmp_path / ".gitlab-ci.yml").write_text(GITLAB.replace("codequality:", "quality:"))
    run(*command, ".gitlab-ci.yml", cwd=tmp_path, expect=1)


def test_the_hooks_are_those_that_there_are(tmp_path: Path) -> None:
    config = PRE_COMMIT.replace("PLANC_REPOSITORY", "../planc").replace("PLANC_REVISION", "v1")
    (tmp_path / "config.yaml").write_text(config)
    run(tool("pre-commit"), "validate-config", "config.yaml", cwd=tmp_path)
    offered = [hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())]
    assert [hook["id"] for hook in yaml.safe_load(config)["repos"][0]["hooks"]] == offered


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a plan and what was compiled from it, and a folder with programs."""
    run("git", "init", "--quiet", cwd=tmp_path)
    (tmp_path / "a.plan").write_text(CLEAN)
    assert planc("fmt", "a.plan", cwd=tmp_path).returncode == 0
    assert planc("compile", "a.plan", "-o", "compiled", cwd=tmp_path).returncode == 0
    (tmp_path / "bin").mkdir()
    for name, line in (("planc", f'exec "{sys.executable}" -m planc "$@"'), ("python", 'echo "python $*"')):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def script(repository: Path, text: str, expect: int) -> str:
    """What the lines of an example print, as the runners start them."""
    path = f"{repository / 'bin'}:/usr/bin:/bin"
    return run("bash", "-e", "-o", "pipefail", "-c", text, cwd=repository, expect=expect, PATH=path, PLANC="a wheel")


def steps() -> dict[str, str]:
    """The commands of the workflow by the name of their step."""
    data: Any = yaml.safe_load(GITHUB)
    return {step["name"]: step["run"] for step in data["jobs"]["plans"]["steps"] if "run" in step}


def test_the_steps_pass_what_is_as_it_should_be(repository: Path) -> None:
    assert script(repository, steps()["Install planc"], 0) == "python -m pip install a wheel\n"
    assert script(repository, steps()["Lint"], 0) == ""
    script(repository, steps()["Compare layout"], 0)
    assert script(repository, steps()["Compare compiled files"], 0) == "Found no differences in 1 compiled folder.\n"
    script(repository, steps()["Write SARIF"], 0)
    assert json.loads((repository / "planc.sarif").read_text())["runs"][0]["results"] == []


def test_the_steps_refuse_a_plan_with_an_error(repository: Path) -> None:
    (repository / "a.plan").write_text(BROKEN)
    assert script(repository, steps()["Lint"], 1).startswith("::error file=a.plan,")
    assert "plan-faulty" in script(repository, steps()["Compare compiled files"], 1)
    script(repository, steps()["Write SARIF"], 0)
    [result] = json.loads((repository / "planc.sarif").read_text())["runs"][0]["results"]
    assert result["ruleId"] == "PLN010"


def test_the_steps_refuse_another_layout(repository: Path) -> None:
    (repository / "a.plan").write_text((repository / "a.plan").read_text().replace(" = ", "  =  ", 1))
    script(repository, steps()["Lint"], 0)
    assert "a.plan" in script(repository, steps()["Compare layout"], 1)


def test_the_pipeline_reports_and_refuses(repository: Path) -> None:
    lines = "\n".join(yaml.safe_load(GITLAB)["plans"]["script"])
    script(repository, lines, 0)
    assert json.loads((repository / "gl-code-quality-report.json").read_text()) == []
    with (repository / "compiled" / "run" / "torchrun.sh").open("a") as file:
        file.write("# mine\n")
    assert "-# mine\n" in script(repository, lines, 1)
    (repository / "a.plan").write_text(BROKEN)
    assert "error[PLN010]" in script(repository, lines, 1)
    assert [each["check_name"] for each in json.loads((repository / "gl-code-quality-report.json").read_text())]
    assert ElementTree.parse(repository / "planc-junit.xml").getroot().findall(".//failure")


def test_the_page_lists_what_a_check_says() -> None:
    schema = json.loads(read_text("schemas/check.schema.json"))
    finding = schema["properties"]["folders"]["items"]["properties"]["findings"]["items"]
    kinds = [each["const"] for each in finding["properties"]["kind"]["oneOf"]]
    table = PAGE.partition("| it says |")[2]
    assert re.findall(r"^\| `([a-z-]+)` \|", table, re.M) == kinds
    assert PAGE.isascii()
    assert max(map(len, PAGE.splitlines())) <= 120

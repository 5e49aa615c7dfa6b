"""What `planc lint` shows, and in which form: every output format and the options beside them."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.commands.cli import BROKEN, CLEAN, planc


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a.plan").write_text(BROKEN)
    (tmp_path / "b.plan").write_text(
        CLEAN.replace("bf16 = true", "bf16 = True").replace("model = small", "model = smal")
    )
    (tmp_path / "c.plan").write_text(CLEAN)
    return tmp_path


def test_formats(tree: Path) -> None:
    def printed(form: str) -> str:
        outcome = planc("lint", "--output-format", form, ".", cwd=tree)
        assert (outcome.returncode, outcome.stderr) == (1, ""), form
        return outcome.stdout

    assert printed("text").count("error[") == 3
    assert [line.split(":")[0] for line in printed("concise").splitlines()] == ["a.plan", "b.plan", "b.plan"]
    assert len(json.loads(printed("json"))["diagnostics"]) == 3
    assert len(json.loads(printed("sarif"))["runs"][0]["results"]) == 3
    assert [line.split(" ")[0] for line in printed("github").splitlines()] == ["::error"] * 3
    assert len({entry["fingerprint"] for entry in json.loads(printed("gitlab"))}) == 3
    suite = ElementTree.fromstring(printed("junit"))
    assert [suite.get("failures") or suite.find("testsuite").get("failures")] == ["3"]  # type: ignore[union-attr]


def test_no_file_and_no_fault_in_every_format(tmp_path: Path) -> None:
    for form in ("concise", "json", "sarif", "github", "gitlab", "junit"):
        outcome = planc("lint", "--output-format", form, ".", cwd=tmp_path)
        assert (outcome.returncode, outcome.stderr) == (0, ""), form


def test_quiet_shows_diagnostics_only(tree: Path) -> None:
    loud = planc("lint", ".", cwd=tree).stdout
    quiet = planc("lint", "--quiet", ".", cwd=tree).stdout
    assert loud.startswith(quiet) and loud[len(quiet) :].startswith("\nFound 3 errors in 3 files.\n")
    assert planc("lint", "-q", "c.plan", cwd=tree).stdout == ""


def test_statistics(tree: Path) -> None:
    outcome = planc("lint", "--statistics", ".", cwd=tree)
    assert outcome.returncode == 1
    assert outcome.stdout.splitlines() == [
        "2  PLN010  unknown-name",
        "1  PLN014  wrong-type    1 can be mended with `--fix`",
    ]
    data = json.loads(planc("lint", "--statistics", "--output-format=json", ".", cwd=tree).stdout)
    assert data[1] == {"code": "PLN014", "name": "wrong-type", "count": 1, "fixable": 1}
    assert planc("lint", "--statistics", "c.plan", cwd=tree).stdout == ""


def test_exit_zero(tree: Path) -> None:
    outcome = planc("lint", "--exit-zero", ".", cwd=tree)
    assert (outcome.returncode, outcome.stdout.count("error[")) == (0, 3)
    assert planc("lint", "--exit-zero", "gone.plan", cwd=tree).returncode == 2


def test_skipped_rules_and_what_they_lack(tree: Path) -> None:
    outcome = planc("lint", "--show-skipped", "a.plan", cwd=tree)
    assert outcome.returncode == 1
    assert "  PLN301 model-states-exceed-memory in plan `run`: `model" in outcome.stdout
    document = json.loads(planc("lint", "--show-skipped", "--output-format", "json", "a.plan", cwd=tree).stdout)
    entry = next(each for each in document["skipped"] if each["code"] == "PLN301")
    assert entry["plan"] == "run" and entry["missing"]
    assert "skipped" not in json.loads(planc("lint", "--output-format=json", "a.plan", cwd=tree).stdout)


def test_rules_of_policies_that_could_not_judge_are_listed_with_what_they_lack(tree: Path) -> None:
    policy = """policy house {
  cost   = require train.cost <= 5 USD
  tokens = require train.duration <= 1B tokens  # of another kind
  guard  = require 8 <= cluster.nodes when dataset.shards == 4
  other  = require train.cost <= 5 USD when 1 < cluster.nodes  # holds for no such plan
  known  = require dataset.shards == 1 or cluster.nodes == 1
  asked  = require dataset.shards == none
  warn versions.torch < "2.5"
}
"""
    plan = CLEAN.replace("precision = bf16", "precision = bf16  policies = [house]  train { duration = 5 steps }")
    (tree / "house.plan").write_text(policy + plan)
    outcome = planc("lint", "--show-skipped", "house.plan", cwd=tree)
    listed = [line for line in outcome.stdout.splitlines() if line.startswith(("  PLN090", "  PLN091"))]
    assert listed[0].startswith("  PLN090 house.cost in plan `run`: ") and "`cluster.price_per_gpu`" in listed[0]
    assert listed[1:] == [
        "  PLN090 house.tokens in plan `run`: `train.duration`",
        "  PLN090 house.guard in plan `run`: `dataset.shards`",
        "  PLN091 house in plan `run`: `versions.torch`",
    ]


def test_what_no_file_tells_is_listed_to_be_verified(tree: Path) -> None:
    """Never as a fault: the exit status is that of the findings, and each line has a command."""
    text = CLEAN.replace("nodes = 1", "nodes = 2") + 'gpu other { memory = 80 GiB  bf16 = true }\n'
    assert "nodes = 2" in text
    (tree / "two.plan").write_text(text.replace("plan run {", 'plan run {\n  checkpoint { directory = "it\'s here" }'))
    outcome = planc("lint", "--show-skipped", "two.plan", cwd=tree)
    assert "\nVerify on the machines what no file tells:\n  plan `run`\n" in outcome.stdout
    document = json.loads(planc("lint", "--show-skipped", "--output-format", "json", "two.plan", cwd=tree).stdout)
    verify = {each["name"]: each for each in document["verify"]}
    assert {"ports", "cables", "locked memory", "packages"} <= set(verify)
    assert "driver" not in verify  # the card has no compute capability, so it need not be NVIDIA's
    assert verify["checkpoints"]["command"] == """df -hT -- 'it'"'"'s here'"""
    (tree / "one.plan").write_text(CLEAN)
    alone = planc("lint", "--show-skipped", "one.plan", cwd=tree).stdout
    assert "ibstat" not in alone and "    collectives: " in alone


def test_standard_input_under_a_name(tree: Path) -> None:
    (tree / "lib").mkdir()
    (tree / "lib" / "parts.plan").write_text(CLEAN.split("plan run")[0])
    (tree / "lib" / "planc.toml").write_text('policies = ["house.plan"]')
    (tree / "lib" / "house.plan").write_text("policy house { forbid precision == bf16 }\n")
    text = 'use "parts.plan"\nplan run' + CLEAN.split("plan run")[1]
    outcome = planc("lint", "-", "--stdin-filename", "lib/x.plan", cwd=tree, stdin=text.encode())
    assert outcome.stdout.startswith("error[PLN090]")
    assert " --> lib/x.plan:3:3" in outcome.stdout
    assert planc("lint", "-", cwd=tree, stdin=text.encode()).stdout.startswith("error[PLN022]")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--statistics", "--output-format=sarif", "."), "`--statistics` is shown as `text` or `json`"),
        (("--show-skipped", "--output-format=github", "."), "`--show-skipped` goes with"),
        (("--show-skipped", "--quiet", "."), "`--show-skipped` goes with"),
        (("--stdin-filename", "x.plan", "a.plan"), "`--stdin-filename` names standard input"),
    ],
)
def test_what_does_not_go_together_is_2(tree: Path, arguments: tuple[str, ...], said: str) -> None:
    outcome = planc("lint", *arguments, cwd=tree)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert said in outcome.stderr

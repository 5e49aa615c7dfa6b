"""`planc rule` with the rules of policies: planc's own, and those of the folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.cli import planc

HOUSE = """\
use "planc/policies/recommended"
policy house from recommended {
  fabric = require parallel.tensor <= 4  # pairs of four
    when 1 < cluster.nodes
    because "no # here"
  forbid precision == fp16
  headroom = none
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "house.plan").write_text(HOUSE)
    return tmp_path


def test_a_rule_with_its_text_reason_and_place(folder: Path) -> None:
    outcome = planc("rule", "house.fabric", cwd=folder)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert (
        outcome.stdout
        == """\
house.fabric (PLN090, error)

require parallel.tensor <= 4
when 1 < cluster.nodes
because "no # here"

Defined in: policies/house.plan:3:12
Reads: `parallel.tensor`, `cluster.nodes`
Allow at one place: `# planc: allow house.fabric -- REASON` in the line that is reported
Do without: `policy NAME from house { fabric = none }`
"""
    )


def test_a_policy_is_all_of_its_rules_inherited_ones_included(folder: Path) -> None:
    pages = planc("rule", "house", cwd=folder).stdout
    heads = [line for line in pages.splitlines() if line.endswith((", error)", ", warning)"))]
    own = [line.split(" ")[0].partition(".")[2] for line in planc("rule", "recommended", cwd=folder).stdout.splitlines()
           if line.endswith(", warning)")]  # fmt: skip
    assert "headroom" in own
    assert {f"house.{name} (PLN091, warning)" for name in own} - set(heads) == {"house.headroom (PLN091, warning)"}
    assert {"house.fabric (PLN090, error)", "house (PLN090, error)"} <= set(heads)
    assert "Defined in: planc/policies/recommended:" in pages
    assert ", and inherited\n" in pages


def test_where_policies_are_looked_for(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert planc("rule", "house.fabric", cwd=elsewhere).returncode == 2
    named = planc("rule", "--policies", str(folder / "policies"), "house.fabric", "PLN101", cwd=elsewhere)
    assert named.returncode == 0
    assert "\n\nPLN101 indivisible-world-size (error)\n" in named.stdout
    assert planc("rule", "strict.seed", cwd=elsewhere).stdout.startswith("strict.seed (PLN090, error)\n")
    nowhere = planc("rule", "--policies", "nowhere", "house.fabric", cwd=elsewhere)
    assert (nowhere.returncode, nowhere.stdout) == (2, "")
    assert nowhere.stderr.startswith("planc: cannot read `nowhere`: ")


def test_a_mistyped_name(folder: Path) -> None:
    outcome = planc("rule", "house.fabrik", cwd=folder)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("planc: no rule `house.fabrik`; did you mean `house.fabric`?")


def test_a_broken_policy_shows_what_of_it_is_sound(folder: Path) -> None:
    (folder / "broken.plan").write_text("policy odd { one = require parallel.tensr < 2  two = require }\npolicy odd2 {")
    (folder / "ok.plan").write_text("policy sound { one = warn 1 < parallel.tensor  bad = require parallel.tensr < 2 }")
    assert planc("rule", "odd.one", cwd=folder).returncode == 2
    assert planc("rule", "sound", cwd=folder).stdout.startswith("sound.one (PLN091, warning)\n")

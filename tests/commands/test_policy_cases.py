"""`planc test`: the cases beside a policy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.cli import CLEAN, planc

POLICY = """\
policy house {
  fabric = require parallel.tensor <= 4 because "uses {parallel.tensor} of {cluster.gpus_per_node}"
  forbid precision == fp16
}
"""


def case(tensor: int, mark: str = "", precision: str = "bf16") -> str:
    """A case of the policy: a plan with this tensor size, whose line carries a mark."""
    plan = CLEAN.replace("precision = bf16", f"precision = {precision}  policies = [house]").rstrip("}\n")
    return f'use "house.plan"\n{plan}\n  parallel {{ tensor = {tensor} }}{mark}\n}}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "house.plan").write_text(POLICY)
    (tmp_path / "ok_narrow.plan").write_text(case(2))
    (tmp_path / "err_wide.plan").write_text(case(8, "  # too wide <- house.fabric"))
    return tmp_path


def test_cases_that_hold(folder: Path) -> None:
    (folder / "err_any.plan").write_text(case(8))  # without a mark, any fault will do
    outcome = planc("test", cwd=folder)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert outcome.stdout.endswith("\n3 of 3 cases passed.\n")


def test_a_policy_stands_for_any_of_its_rules(folder: Path) -> None:
    (folder / "err_policy.plan").write_text(case(8, "  # <- house"))
    (folder / "err_fp16.plan").write_text(
        case(2, "", "fp16").replace("fp16  policies = [house]", "fp16  policies = [house]  # <- house")
    )
    assert planc("test", cwd=folder).stdout.endswith("\n4 of 4 cases passed.\n")
    (folder / "house.plan").write_text(POLICY.replace("policy house", "policy house-2.1"))
    for name, mark in (("err_wide.plan", "house-2.1.fabric"), ("err_policy.plan", "house-2.1")):
        (folder / name).write_text(case(8, f"  # <- {mark}").replace("[house]", "[house-2.1]"))
    assert planc("test", "err_wide.plan", "err_policy.plan", cwd=folder).stdout.endswith("\n2 of 2 cases passed.\n")
    (folder / "err_policy.plan").write_text(case(8, "  # <- house-2").replace("[house]", "[house-2.1]"))
    assert "line 9: `house-2` is not reported" in planc("test", "err_policy.plan", cwd=folder).stdout


def test_what_a_comment_allows_is_no_fault(folder: Path) -> None:
    (folder / "ok_allowed.plan").write_text(case(8, "  # planc: allow house.fabric -- one box pairs eight"))
    (folder / "err_unused.plan").write_text(case(2, "  # planc: allow house.fabric -- it is narrow"))
    assert planc("test", cwd=folder).stdout.endswith("\n4 of 4 cases passed.\n")


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("ok_wide.plan", case(8), "ok_wide.plan:9:14: error[PLN090] policy `house.fabric` requires"),
        ("err_narrow.plan", case(2), "nothing is found fault with"),
        ("err_other.plan", case(2, "  # <- house.fabric"), "line 9: `house.fabric` is not reported"),
        ("err_more.plan", case(8, "  # <- house.fabric", "fp16"), "not expected: err_more.plan:"),
        ("ok_binary.plan", "\0", "ok_binary.plan:1:1: error[PLN004]"),
    ],
)
def test_cases_that_do_not_hold(folder: Path, name: str, text: str, problem: str) -> None:
    (folder / name).write_text(text)
    outcome = planc("test", ".", cwd=folder)
    assert outcome.returncode == 1
    assert f"FAILED {name}\n" in outcome.stdout
    assert problem in outcome.stdout
    assert outcome.stdout.endswith("\n1 failed, 2 of 3 cases passed.\n")


def test_names_are_harmless_to_a_terminal(folder: Path) -> None:
    (folder / "ok_a\x1b[2J.plan").write_text(case(8))
    outcome = planc("test", cwd=folder)
    assert "FAILED ok_a\\x1b[2J.plan\n" in outcome.stdout
    assert "\n       ok_a\\x1b[2J.plan:9:14: error[PLN090]" in outcome.stdout
    assert "\x1b" not in outcome.stdout


def test_no_cases(tmp_path: Path) -> None:
    for arguments in (["test"], ["test", "nowhere"]):
        outcome = planc(*arguments, cwd=tmp_path)
        assert outcome.returncode == 2
        assert outcome.stderr.startswith("planc: no ")

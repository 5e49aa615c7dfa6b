"""The policies that come with planc: each rule was seen to fire, and none speaks where a plan gives no numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planc.commands.files import Files
from planc.compiler import analyse
from planc.plan.policy_list import Policy, policies_in
from planc.source import Source
from tests.commands.cli import planc
from tests.policies.page import PAGE, SHIPPED, page
from tests.shared import ROOT

CASES = Path(__file__).parent


def policy(name: str) -> Policy:
    """A policy that comes with planc."""
    files = Files()
    source = files.load(f"planc/policies/{name}", None)
    assert isinstance(source, Source), source
    (found,) = policies_in((source,), files.load)
    return found


def written_in(name: str) -> set[str]:
    """Names of the rules that stand in a policy's own file."""
    found = policy(name)
    return {rule.name for rule in found.rules if rule.span.source is found.span.source}


@pytest.mark.parametrize("name", SHIPPED)
def test_it_is_one_sound_policy_of_named_rules_with_reasons(name: str) -> None:
    files = Files()
    source = files.load(f"planc/policies/{name}", None)
    assert isinstance(source, Source)
    assert analyse((source,), files.load).diagnostics == ()
    found = policy(name)
    assert found.name == name
    assert len(found.rules) == len({rule.name for rule in found.rules})
    for rule in found.rules:
        assert rule.name.startswith(f"{name}."), rule.text
        assert rule.because, rule.name


def test_the_cases_hold() -> None:
    outcome = planc("test", str(CASES), cwd=ROOT)
    assert outcome.returncode == 0, outcome.stdout


@pytest.mark.parametrize("name", SHIPPED)
def test_every_rule_was_seen_to_fire_and_to_stay_silent(name: str) -> None:
    marks = " ".join(path.read_text(encoding="utf-8") for path in (CASES / name).glob("err_*.plan"))
    seen = {rule for mark in re.findall(r"# <- (.*)", marks) for rule in mark.split(", ")}
    assert written_in(name) <= seen
    assert {path.name for path in (CASES / name).glob("ok_*.plan")} >= {
        "ok_whole.plan" if name == "strict" else "ok_bare.plan"
    }


@pytest.mark.parametrize("name", ["finetune-8b", "pretrain-70b", "pretrain-h200", "study"])
def test_the_examples_keep_to_what_is_recommended_or_are_known_not_to(name: str) -> None:
    text = (ROOT / "examples" / f"{name}.plan").read_text(encoding="utf-8")
    text = re.sub(r"^  policies +=.*\n", "", text, flags=re.M)
    text = re.sub(r"^  emit ", "  policies = [recommended]\n  emit ", text, flags=re.M)
    files = Files()
    inside = files.read(str(ROOT / "examples" / f"{name}.plan"))
    assert isinstance(inside, Source)
    source = files.replace(inside, f'use "planc/policies/recommended"\n{text}')
    said = {
        found.message.split("`")[1]
        for found in analyse((source,), files.load).diagnostics
        if found.code in ("PLN090", "PLN091")
    }
    known = {"pretrain-h200": {"recommended.interval"}, "study": {"recommended.checkpoint"}}
    assert said == known.get(name, set())


def test_a_name_that_is_not_used_leads_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text("plan p { policies = [recommended] }")
    assert '= help: `use "planc/policies/recommended"` brings it in' in planc("lint", "a.plan", cwd=tmp_path).stdout
    (tmp_path / "b.plan").write_text('use "policies/strict"\nuse "planc/policies/stric"\n')
    said = planc("lint", "b.plan", cwd=tmp_path).stdout
    assert "did you mean `planc/policies/strict`?" in said
    assert "the catalogue has `planc/gpus`" in said


def test_a_configuration_may_name_them(tmp_path: Path) -> None:
    (tmp_path / "planc.toml").write_text('policies = ["planc/policies/single-node"]\n')
    case = (CASES / "single-node" / "err_each.plan").read_text(encoding="utf-8")
    (tmp_path / "a.plan").write_text(re.sub(r'use "planc/policies.*\n|^  policies.*\n', "", case, flags=re.M))
    assert "policy `single-node.nodes` requires" in planc("lint", "a.plan", cwd=tmp_path).stdout


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "`python -m tests.policies.page` writes it"


def test_the_first_example_of_the_page_is_clean(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text(re.findall(r"^```planc\n(.*?)^```$", page(), re.S | re.M)[0])
    outcome = planc("lint", "a.plan", cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (0, "Found no faults in 1 file.\n")


def test_the_examples_of_the_page_do_what_it_says(tmp_path: Path) -> None:
    blocks = re.findall(r"^`([^`]+\.plan)`:\n\n```planc\n(.*?)^```$", page(), re.S | re.M)
    assert len(blocks) == 3
    for name, text in blocks:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    outcome = planc("test", "policies", cwd=tmp_path)
    shown = re.search(r"^\$ planc test policies\n(.*?)^```$", page(), re.S | re.M)
    assert shown is not None and outcome.stdout == shown[1]
    asked = re.search(r"^\$ planc rule house.fabric\n(.*?)^```$", page(), re.S | re.M)
    assert asked is not None and planc("rule", "house.fabric", cwd=tmp_path).stdout == asked[1]

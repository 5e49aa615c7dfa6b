"""`planc rule` with several rules, and as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema

from planc.kinds import all_kinds
from planc.resources import read_text
from tests.commands.cli import ROOT, planc


def document(folder: Path, *arguments: str) -> Any:
    outcome = planc("rule", "--output-format", "json", *arguments, cwd=folder)
    assert outcome.returncode == 0, outcome.stderr
    data = json.loads(outcome.stdout)
    jsonschema.validate(data, json.loads(read_text("schemas/rules.schema.json")))
    return data


def test_several_pages_in_the_order_in_which_they_are_named(tmp_path: Path) -> None:
    outcome = planc("rule", "pln203", "unknown-field", "PLN101", cwd=tmp_path)
    assert outcome.returncode == 0
    heads = [line for line in outcome.stdout.splitlines() if line.startswith("PLN")]
    assert heads == [
        "PLN203 idle-pipeline (warning)",
        "PLN011 unknown-field (error)",
        "PLN101 indivisible-world-size (error)",
    ]
    alone = [planc("rule", name, cwd=tmp_path).stdout for name in ("PLN203", "PLN011", "PLN101")]
    assert outcome.stdout == "\n".join(alone)


def test_one_wrong_name_among_several_shows_none(tmp_path: Path) -> None:
    for options in ([], ["--output-format=json"]):
        outcome = planc("rule", *options, "PLN101", "PLN000", cwd=tmp_path)
        assert (outcome.returncode, outcome.stdout) == (2, "")
        assert outcome.stderr.startswith("planc: no rule `PLN000`")


def test_all_rules_as_data(tmp_path: Path) -> None:
    rules = document(tmp_path)["rules"]
    assert [(rule["code"], rule["name"]) for rule in rules] == [(kind.code, kind.name) for kind in all_kinds()]
    for rule in rules:
        assert (ROOT / rule["page"]).is_file()


def test_chosen_rules_as_data(tmp_path: Path) -> None:
    first, second = document(tmp_path, "PLN203", "PLN101")["rules"]
    assert (first["code"], second["code"], second["severity"]) == ("PLN203", "PLN101", "error")
    assert second["what"] == "The model-parallel size does not divide the world size."
    assert second["example"].startswith("gpu card {")
    assert second["example"].endswith("}\n")
    (tmp_path / "a.plan").write_text(second["example"])
    assert "error[PLN101]" in planc("lint", "a.plan", cwd=tmp_path).stdout

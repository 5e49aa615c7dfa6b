"""`planc explain --why`: the terms of a number, down to the fields and the places where they are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from planc.facts.facts import FACTS
from planc.resources import read_text
from tests.commands.cli import BROKEN, CLEAN, ROOT, planc


def why(folder: Path, path: str, text: str = CLEAN, *arguments: str) -> str:
    (folder / "a.plan").write_text(text)
    outcome = planc("explain", "a.plan", "--why", path, *arguments, cwd=folder)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    return outcome.stdout


def tree(folder: Path, path: str, text: str = CLEAN, *arguments: str) -> Any:
    document = json.loads(why(folder, path, text, "--output-format", "json", *arguments))
    jsonschema.validate(document, json.loads(read_text("schemas/explain.schema.json")))
    return document["plans"][0]["why"]


def every_term(term: Any) -> list[Any]:
    return [term, *(below for child in term["terms"] for below in every_term(child))]


def test_a_number_leads_to_the_fields_and_their_places(tmp_path: Path) -> None:
    assert why(tmp_path, "world.size") == (
        "world.size = 8 ranks\n"
        "|  Ranks in the job.\n"
        "|  formula: nodes x gpus_per_node\n"
        "|  source:  torchrun, WORLD_SIZE = nnodes x nproc-per-node.\n"
        "|- cluster.nodes = 1  from a.plan:2:35\n"
        "`- cluster.gpus_per_node = 8  from a.plan:2:54\n"
    )


def test_what_is_worked_out_leads_to_the_other_fields_of_its_equation(tmp_path: Path) -> None:
    lines = why(tmp_path, "parallel.data").splitlines()
    assert lines[:2] == [
        "parallel.data = 8  worked out",
        "|  formula: cluster.nodes x cluster.gpus_per_node = parallel.tensor x parallel.pipeline x",
    ]
    assert "|- cluster.gpus_per_node = 8  from a.plan:2:54" in lines
    assert lines[-1] == "`- parallel.context = 1  default"


def test_a_subtree_is_written_once(tmp_path: Path) -> None:
    terms = every_term(tree(tmp_path, "memory.total")[0]["term"])
    grown = [term["path"] for term in terms if term["terms"]]
    assert len(grown) == len(set(grown))
    repeated = [term for term in terms if term["repeated"]]
    assert repeated
    assert all(term["path"] in grown and not term["terms"] for term in repeated)
    lines = why(tmp_path, "memory.total").splitlines()
    assert sum(line.endswith("  (see above)") for line in lines) == len(repeated)


def test_every_number_of_a_plan_has_a_tree_that_ends_in_fields(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "workstation.plan").read_text()
    others = [word for path in list(FACTS)[1:] for word in ("--why", path)]
    found = tree(tmp_path, next(iter(FACTS)), text, *others)
    assert {each["term"]["path"] for each in found} == set(FACTS)
    for term in (term for each in found for term in every_term(each["term"])):
        is_field = term["path"] not in FACTS
        assert (term["meaning"] and term["formula"]) or is_field, term["path"]
        assert term["origin"] or not is_field or not term["known"], term["path"]


def test_engines_with_other_terms_have_trees_of_their_own(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "finetune-8b.plan").read_text()
    assert [found["engines"] for found in tree(tmp_path, "memory.weights", text)] == [["fsdp2"], ["deepspeed"]]
    assert [found["engines"] for found in tree(tmp_path, "world.size", text)] == [["fsdp2", "deepspeed"]]
    lines = why(tmp_path, "memory.weights", text).splitlines()
    assert lines[0].endswith(" [fsdp2]")
    assert any(line.startswith("memory.weights = ") and line.endswith(" [deepspeed]") for line in lines[1:])


def test_what_is_not_known_says_why_and_where(tmp_path: Path) -> None:
    text = CLEAN.replace("link = 450 GB/s", "")
    first, *lines = why(tmp_path, "communication.data.bandwidth", text).splitlines()
    assert first == "communication.data.bandwidth = unknown: `cluster.intra_node` is not set"
    assert any("cluster.intra_node = unknown: `cluster.intra_node` is not set" in line for line in lines)
    (tmp_path / "a.plan").write_text(BROKEN)
    outcome = planc("explain", "a.plan", "--why", "memory.total", cwd=tmp_path)
    assert outcome.returncode == 1
    assert outcome.stdout.startswith("memory.total = unknown: ")


def test_several_numbers_of_several_plans(tmp_path: Path) -> None:
    text = CLEAN + "plan second from run { cluster { nodes = 2 } }\n"
    shown = why(tmp_path, "world.size", text, "--why", "parallel.tensor")
    heads = [line for line in shown.splitlines() if line and line[0] not in "|` "]
    assert heads == [
        "plan run (a.plan:4:6)", "world.size = 8 ranks", "parallel.tensor = 1  default",
        "plan second (a.plan:9:6)", "world.size = 16 ranks", "parallel.tensor = 1  default",
    ]  # fmt: skip


SLIPS = [("memory.totl", "memory.total"), ("parallel.tensr", "parallel.tensor"), ("wrld.size", "world.size")]


@pytest.mark.parametrize(("path", "meant"), SLIPS)
def test_a_name_that_there_is_not(tmp_path: Path, path: str, meant: str) -> None:
    (tmp_path / "a.plan").write_text(CLEAN)
    outcome = planc("explain", "a.plan", "--why", path, cwd=tmp_path)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    start = f"planc: no number and no field `{path}`; did you mean `{meant}`?; "
    assert outcome.stderr.startswith(start)
    assert outcome.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("mfu", "`step.mfu` or `step.mfu_full_attention`"), ("energy_cost", "`train.energy_cost`"),
        ("cost", "`train.cost`, `train.energy_cost` or `checkpoint.run_cost`"),
    ],
)  # fmt: skip
def test_a_part_of_a_name_leads_to_the_names_that_have_it(tmp_path: Path, path: str, meant: str) -> None:
    (tmp_path / "a.plan").write_text(CLEAN)
    outcome = planc("explain", "a.plan", "--why", path, cwd=tmp_path)
    assert outcome.returncode == 2
    assert f"`{path}`; did you mean {meant}?; " in outcome.stderr


def test_a_field_that_is_not_set_leads_to_what_is_derived(tmp_path: Path) -> None:
    assert (
        why(tmp_path, "model.parameters")
        .splitlines()[0]
        .startswith("model.parameters = unknown: `model.parameters` is not set; derived: `model.total_parameters`, ")
    )


def test_numbers_of_experts_are_left_out_where_there_are_none(tmp_path: Path) -> None:
    experts = CLEAN.replace("heads =", "experts { count = 8  top_k = 2  ffn = 512 }  heads =", 1)
    assert experts != CLEAN
    paths = [
        [term["path"] for term in every_term(tree(tmp_path, "memory.total", text)[0]["term"])]
        for text in (CLEAN, experts)
    ]
    assert not any("moe" in path or "expert" in path.replace("parallel.expert", "") for path in paths[0])
    assert any("moe" in path for path in paths[1])
    assert why(tmp_path, "model.moe_layers").startswith("model.moe_layers = 0 layers")


def test_a_constant_is_told_once_with_its_source(tmp_path: Path) -> None:
    lines = why(tmp_path, "memory.total").splitlines()
    assert len([line for line in lines if "768 MiB = CONTEXT_BYTES: " in line]) == 1
    (formula,) = (line for line in lines if "formula: 768 MiB + 768 MiB x (1 for the group" in line)
    assert formula


def test_lines_are_wrapped_to_the_terminal(tmp_path: Path) -> None:
    assert all(len(line) <= 100 for line in why(tmp_path, "memory.weights").splitlines())

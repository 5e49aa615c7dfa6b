"""A plan as a text and back: the same values, the same facts, the same files."""

from __future__ import annotations

import json
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from planc import manifest
from planc.facts.facts import FACTS
from planc.plan import plain
from planc.plan.model import Located, Plan, Record, Unknown
from tests.compiling import ROOT, analysed, errors, facts_of, files_of, read

PATHS = sorted((*ROOT.glob("examples/*.plan"), *ROOT.glob("tests/targets/*/ok_*.plan")))

TEXT = """
gpu card { memory = 80 GiB  bf16 = true }
model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }
plan run {
  model = small
  cluster { gpu = card  nodes = 1  gpus_per_node = 8 }
  batch { global = 64  micro = 1 }
  precision = bf16
  optimizer = adamw { learning_rate = 3e-4 }
  train { duration = 1_000_000_000_000_000_000_000 tokens }
  launch { script = "t.py"  env { kind = "a"  map = "b"  integer = "0x1"  fraction = "c" } }
  emit = [torchrun]
}
"""


def leaves(record: Record, path: str = "") -> dict[str, tuple[Any, bool]]:
    """Every field that is no record, with its value and whether it is written."""
    found: dict[str, tuple[Any, bool]] = {}
    for name, located in record.fields.items():
        if isinstance(located.value, Record):
            found |= {f"{path}{name}": (located.value.word, record.is_written(name))}
            found |= leaves(located.value, f"{path}{name}.")
        elif name not in ("emit", "policies"):
            found[f"{path}{name}"] = (located.value, record.is_written(name))
    return found


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_plan_that_is_read_again_is_the_same(path: Path) -> None:
    analysis = read(path)
    if errors(analysis):
        pytest.skip("an example of a broken plan")
    for plan in analysis.plans:
        again = plain.plan_in(plain.text_of(plan))
        assert manifest.resolved(again) == manifest.resolved(plan)
        assert leaves(again) == leaves(plan)
        if plan.targets and not plan.open:
            assert files_of(again) == files_of(plan)
        facts, others = facts_of(plan), facts_of(again)
        assert [name for name in FACTS if not _same(facts[name], others[name])] == []


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and (one == other or one != one)


def plan() -> Plan:
    """A plan with values of every kind."""
    analysis = analysed(TEXT)
    assert errors(analysis) == []
    return analysis.plans[0]


def test_values_that_json_does_not_have_keep_their_kind() -> None:
    again = plain.plan_in(plain.text_of(plan()))
    assert again["optimizer.learning_rate"].value == Fraction(3, 10000)
    assert again["train.duration"].value == plan()["train.duration"].value
    assert 64 < again["train.duration"].value.value.bit_length()
    assert again["launch.env"].value == {"kind": "a", "map": "b", "integer": "0x1", "fraction": "c"}
    assert again.is_written("launch.script")
    assert not again.is_written("launch.restarts")
    fields = {**plan().fields, "schedule": plan()["schedule"]._replace(value=Unknown("not said", ("schedule",), True))}
    unknown = plain.plan_in(plain.text_of(Plan("run", plan().span, fields)))["schedule"]
    assert isinstance(unknown, Located)
    assert unknown.value == Unknown("not said", ("schedule",), True)


def test_a_text_that_was_edited_is_told() -> None:
    text = plain.text_of(plan())
    assert plain.plan_in(text).name == "run"
    with pytest.raises(plain.Unreadable, match="it was edited; compile the plan again"):
        plain.plan_in(text.replace('"layers": 8', '"layers": 9'))
    with pytest.raises(plain.Unreadable, match="it has another form than 1"):
        plain.plan_in(text.replace('"version": 1', '"version": 2'))
    for other in ("", "[]", "{}", "null", "[" * 100_000, text + " ", text.replace("\n", ""), '{"version": 1}'):
        with pytest.raises(plain.Unreadable, match="it is not in the form that planc writes"):
            plain.plan_in(other)


@pytest.mark.parametrize("part", ["fields", "written", "targets", "plan"])
@pytest.mark.parametrize("value", [None, 1, [], {}, [1], {"a": {"kind": 1}}, {"a": {"fraction": ["0x1", "0x0"]}}])
def test_a_text_of_another_form_is_refused_also_with_its_digest(part: str, value: Any) -> None:
    document = json.loads(plain.text_of(plan()))
    document[part] = value
    del document["sha256"]
    document["sha256"] = sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    with pytest.raises(plain.Unreadable):
        plain.plan_in(json.dumps(document))

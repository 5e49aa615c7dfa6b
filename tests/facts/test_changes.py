"""Facts with changes: what is kept of the facts that do not depend on a change is what would be computed anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planc.facts.engine import engines
from planc.facts.facts import FACTS, STAGED, Facts
from planc.plan.model import Unknown
from tests.analysis import analysis_of_file
from tests.shared import ROOT

GIVEN: dict[str, dict[str, Any]] = {
    "batch": {"batch.micro": 2},
    "recompute": {"recompute": "none"},
    "pipeline": {"parallel.pipeline": 2, "parallel.data": 8},
    "shard": {"shard.stage": 0},
    "fact": {"memory.capacity": 1},
    "nothing": {},
}


def everything(facts: Facts) -> list[object]:
    """All facts, and all of every judged stage."""
    stages = () if isinstance(facts.stages, Unknown) else facts.stages
    return [facts[path] for path in FACTS] + [stage[path] for stage in stages for path in STAGED]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.plan")), ids=lambda path: path.stem)
@pytest.mark.parametrize("change", GIVEN)
def test_facts_with_changes_are_those_of_a_plan_that_has_them(path: Path, change: str) -> None:
    for plan in analysis_of_file(path).plans:
        for engine in engines(plan):
            facts, fresh = Facts(plan, engine), Facts(plan, engine, GIVEN[change])
            before = everything(facts)
            assert everything(facts.changed(GIVEN[change])) == everything(fresh)
            assert everything(facts) == before


def test_changes_add_up() -> None:
    (plan, *_) = analysis_of_file(ROOT / "examples" / "pretrain-70b.plan").plans
    (engine,) = engines(plan)
    facts = Facts(plan, engine, {"batch.micro": 2})
    everything(facts)
    both = {"batch.micro": 2, "recompute": "none"}
    assert everything(facts.changed({"recompute": "none"})) == everything(Facts(plan, engine, both))

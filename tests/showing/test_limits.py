"""What would help most is a change that can be made: the plan with it is as it was said to be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planc.commands.files import Files
from planc.compiler import Analysis, analyse
from planc.diagnostics.diagnostic import Severity
from planc.facts.engine import engines
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.showing.limits import limits_of
from planc.source import Source
from planc.targets import load_target

BASE = """\
use "planc/gpus"
use "planc/models"
plan run {
  model = llama-3-8b  cluster { gpu = h100-sxm-80gb  nodes = 2  gpus_per_node = 8  inter_node = 50 GB/s }
  shard { stage = 3 }  batch { global = 64  micro = 1  sequence_length = 4Ki }
  precision = bf16  recompute = full  launch { script = "train.py" }  emit = [deepspeed]
}
"""

#: Changes of the plan that is tried; each has another best change.
CASES = {
    "deepspeed": {},
    "fsdp2": {"emit = [deepspeed]": "emit = [accelerate]"},
    "both": {"emit = [deepspeed]": "emit = [accelerate, deepspeed]"},
    "copies": {"stage = 3": "stage = 1", "llama-3-8b": "llama-3.2-1b"},
    "written": {"micro = 1 ": "micro = 1  accumulation = 4 "},
    "pipeline": {"stage = 3 }": "stage = 1 }  parallel { pipeline = 4 }", "[deepspeed]": "[megatron]"},
    "tensor": {"stage = 3 }": "stage = 1 }  parallel { tensor = 8 }", "[deepspeed]": "[megatron]"},
    "policy": {"[deepspeed]": "[deepspeed]  policies = [house]",
               "plan run": "policy house { require batch.micro == 1 }  plan run"},
    "slow": {"50 GB/s": "1 GB/s", "stage = 3": "stage = 1"},
}  # fmt: skip


def analysed(text: str, settings: tuple[str, ...] = ()) -> Analysis:
    return analyse((Source("case.plan", text),), Files().load, settings)


def case(name: str) -> str:
    text = BASE
    for before, after in CASES[name].items():
        assert before in text
        text = text.replace(before, after)
    return text


def errors(analysis: Analysis) -> set[str]:
    return {found.code for found in analysis.diagnostics if found.severity is Severity.ERROR}


def facts_of(plan: Plan) -> tuple[Facts, ...]:
    return tuple(Facts(plan, engine) for engine in engines(plan))


def paths_of(plan: Plan) -> set[str]:
    """The files that are written."""
    every = facts_of(plan)
    targets = [load_target(choice.name) for choice in plan.targets]
    return {file.path for target in targets for file in target.emit(plan, every[0])}


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_to_help_does(name: str) -> None:
    text = case(name)
    analysis = analysed(text)
    (plan,) = analysis.plans
    assert not errors(analysis)
    every = facts_of(plan)
    for at, found in enumerate(limits_of(every)):
        assert not isinstance(found, Unknown)
        if found.change is None:
            continue
        changed = analysed(text, tuple(re.findall("`([^`]*)`", found.change.text)))
        (other,) = changed.plans
        assert not errors(changed)
        assert engines(other) == engines(plan)
        assert paths_of(other) == paths_of(plan)
        after = facts_of(other)
        assert 1 - after[at]["step.time"] / every[at]["step.time"] == pytest.approx(found.change.saving)
        assert all(facts["memory.total"] <= 0.95 * facts["memory.capacity"] for facts in after)


def test_most_of_the_cases_have_a_change() -> None:
    found = [limit for name in CASES for limit in limits_of(facts_of(analysed(case(name)).plans[0]))]
    changes = [limit.change.text for limit in found if not isinstance(limit, Unknown) and limit.change is not None]
    assert 4 <= len(set(changes)), changes


def test_a_policy_that_forbids_the_best_change_is_heeded() -> None:
    (free,), (bound,) = (limits_of(facts_of(analysed(case(name)).plans[0])) for name in ("deepspeed", "policy"))
    assert not isinstance(free, Unknown) and free.change is not None
    assert not isinstance(bound, Unknown)
    assert free.change.text == "`batch.micro = 2`"
    assert bound.change != free.change


def test_a_file_that_a_change_would_leave_out_makes_it_none() -> None:
    (plan,) = analysed(case("fsdp2")).plans
    (found,) = limits_of(facts_of(plan))
    assert not isinstance(found, Unknown)
    assert found.change is None or "selective" not in found.change.text
    (other,) = analysed(case("fsdp2"), ("recompute=selective",)).plans
    assert "accelerate_fsdp2.yaml" in paths_of(plan) - paths_of(other)


def test_a_fault_that_the_plan_has_already_is_no_reason_against_a_change(tmp_path: Path) -> None:
    faulty = case("deepspeed").replace("precision = bf16", "precision = bf16  optimizer = adamw { betas = [2, 0.9] }")
    analysis = analysed(faulty)
    assert errors(analysis)
    (plan,) = analysis.plans
    (found,) = limits_of(facts_of(plan))
    assert not isinstance(found, Unknown)
    assert found.change is not None

"""The files of every target say what the facts say: over random valid plans, each read back from its text."""

from __future__ import annotations

import random
from collections import Counter
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from planc.plan.model import Plan, Unknown
from planc.targets import target_names
from tests.compiling import analysed, errors, facts_of, files_of
from tests.targets.truth.plans import TRUTHS, random_plan, truths

VALID = 300
TRIED = 6000
PLANS = 60


def reader_of(target: str) -> ModuleType:
    """The module that reads the target's files; every target has one."""
    return import_module(f"tests.targets.truth.{target.replace('-', '_')}")


def valid_plans(target: str, reader: ModuleType) -> list[Plan]:
    """Plans without an error that emit the target, always the same."""
    dice, found = random.Random(target), []
    for _ in range(TRIED):
        analysis = analysed(random_plan(dice, target, reader))
        if not errors(analysis):
            found.append(analysis.plans[0])
        if len(found) == VALID:
            break
    return found


def said(plan: Plan, reader: ModuleType) -> dict[str, Any]:
    """What the plan's files say."""
    return dict(reader.values({file.path: file.text for file in files_of(plan)}))


@pytest.mark.parametrize("target", target_names())
def test_files_say_what_the_facts_say(target: str) -> None:
    reader, compared = reader_of(target), Counter[str]()
    plans = valid_plans(target, reader)
    assert len(plans) == VALID, "too few of the plans tried are valid"
    for plan in plans:
        facts = truths(plan, facts_of(plan))
        for name, value in said(plan, reader).items():
            assert name in TRUTHS
            if facts[name] is None or isinstance(facts[name], Unknown):
                assert value is None, (name, value, plan)
                continue
            fact = float(facts[name]) if isinstance(value, float) else facts[name]
            assert value == fact, (name, value, fact)
            compared[name] += 1
    assert compared and VALID // 8 <= min(compared.values()), compared


def test_targets_of_one_plan_agree() -> None:
    """Whatever a layout is written for, the files say the same; most layouts suit more than one target."""
    targets, together = target_names(), 0
    for seed in range(PLANS):
        words: dict[str, tuple[str, Any]] = {}
        for target in targets:
            reader = reader_of(target)
            analysis = analysed(random_plan(random.Random(seed), target, reader, drawn_for_it=False))
            if errors(analysis):
                continue
            for name, value in said(analysis.plans[0], reader).items():
                by, before = words.setdefault(name, (target, value))
                assert value == before, (name, by, target)
                together += by != target
    assert PLANS < together

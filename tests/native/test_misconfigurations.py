"""Reported misconfigurations that files of other tools show: each is told of at its place, and its near miss is not."""

from __future__ import annotations

import csv

import pytest

from planc.diagnostics.diagnostic import Severity
from tests.native.misconfigured import clusters, configs, layouts, scripts
from tests.native.misconfigured.case import Case, judged_as, near_texts_of, texts_of
from tests.shared import shared

CASES: tuple[Case, ...] = (*configs.CASES, *layouts.CASES, *clusters.CASES, *scripts.CASES)
IDS = [f"{case.id}-{case.code}-{at}" for at, case in enumerate(CASES)]

#: Kinds that no file of keys shows, and why.
_CODE = "it lies in the program's code"
NOT_SHOWN = {
    "B03": f"{_CODE}: whether ranks know of each other before the model is loaded",
    "B07": "no file says which global batch was wanted",
    "B17": "releases of transformers since 4.31 take such a file; a placeholder of an optimizer lies in the program",
    "B27": f"{_CODE}: which optimizer it makes",
    "B30": f"{_CODE}, or in a flag of its command line",
    "B32": "the Trainer saves DeepSpeed's own checkpoint then, of which a script that it writes makes the weights",
    "B34": "it takes a look into a checkpoint",
    "B36": "nobody has established from which size on it happens",
    "B45": f"{_CODE}: in which dtypes it loads weights",
    "B46": "the Trainer wraps adapters by themselves, as `peft` has a policy for that; else it lies in the program",
    "B51": f"{_CODE}: what it clips by",
    "B79": f"{_CODE}: in which dtype it loads weights",
    "B83": "it takes a look into a checkpoint",
    "B84": "it takes a look into a checkpoint",
    "B85": "a file of DeepSpeed says nothing of stages, and gpt-neox trains by a release of its own",
    "B86": f"{_CODE}: nothing in the file tells that Lightning reads it",
    "L18": "many clusters let a job reach its nodes by ssh, and no file says whether this one does",
    "L21": "no file says how long the data takes to prepare",
    "L31": "no file of keys says whether the program goes on from what it saved",
    "L34": f"{_CODE}: who prepares the scheduler",
    "L35": f"{_CODE}: how samplers are seeded",
    "L36": "no file of keys says into how many parts the data is split",
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_it_is_reported_at_its_place(case: Case) -> None:
    found = judged_as(case, texts_of(case))
    places = [f"{each.primary.span.source.name}: {each.primary.span.text}" for each in found if each.code == case.code]
    assert places == [case.at], [(each.code, each.message) for each in found]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_its_near_miss_is_not(case: Case) -> None:
    found = judged_as(case, near_texts_of(case))
    told = [(each.code, each.message) for each in found if each.code == case.code or each.severity is Severity.ERROR]
    assert told == []


def test_every_kind_is_shown_or_has_a_reason() -> None:
    shown = {case.id for case in CASES}
    assert shown.isdisjoint(NOT_SHOWN)
    with shared("facts/misconfigurations.csv").open(newline="", encoding="utf-8") as file:
        assert {row["id"] for row in csv.DictReader(file)} == shown | set(NOT_SHOWN)

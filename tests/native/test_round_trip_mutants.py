"""Mutants of clean plans to their files and back: what scripts, pods and flags say is what the mutant says.

A plan of `tests/mutation` is changed one field at a time; those that stay without an error are written, and read again.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from planc.diagnostics.diagnostic import Severity
from planc.native.faults import RENAMED_KEY
from planc.native.job import Beside, Job
from planc.native.job import read as read_job
from planc.native.kind import Options, Recognised
from planc.native.recognising import recognise
from planc.plan.model import Plan, Record, Unknown
from planc.source import Source
from tests.compiling import analysed, errors, files_of, load
from tests.mutation.grid import mutants
from tests.mutation.judging import plan_of
from tests.mutation.plans import PLANS, Clean, text_of
from tests.native.test_round_trip import OTHERWISE

#: One of so many mutants of a plan is read back.
SHARE = 83

#: Fields that come back in other words, beside those that the cases of targets show.
_OTHERWISE = {**OTHERWISE, ("megatron", "schedule"): "no schedule is a constant rate"}

#: What a plan is written for, beside what it is a plan for, and what it has to say then.
_BESIDE = {
    "megatron": ("", ", slurm", ", kubernetes { kind = pytorchjob }"), "slurm": ("",),
    "torchrun": ("", ", kubernetes { kind = jobset }"),
}  # fmt: skip
_MORE = {"": {}, "slurm": {"launch.script": '"train.py"'}}
_MORE["kubernetes"] = {**_MORE["slurm"], "launch.kubernetes.image": '"registry.example/train:1"'}

CASES = [
    clean._replace(emit=clean.emit + more, fields={**_MORE[more[2:].partition(" ")[0]], **clean.fields})
    for clean in PLANS
    for more in _BESIDE.get(clean.trainer, ())
]


def sound(clean: Clean) -> Iterator[tuple[str, Plan]]:
    """A sample of the mutants of a plan that have no error, by what was changed."""
    for at, mutant in enumerate(mutants(clean, plan_of(clean))):
        if at % SHARE:
            continue
        analysis = analysed(text_of(clean, mutant.fields))
        if not errors(analysis):
            yield mutant.name, analysis.plans[0]


def jobs(plan: Plan) -> Iterator[Job]:
    """Each file of a plan that planc reads, as a job of its own."""
    files = [recognise(Source(file.path, file.text), None, False) for file in files_of(plan)]
    known = [file for file in files if isinstance(file, Recognised)]
    for file in known:
        yield read_job([file], load, Beside(options=Options("hf")))


def differences(plan: Plan, job: Job) -> Iterator[tuple[str, object, object]]:
    """What a file says otherwise than the plan, but for what is listed."""
    kind = job.files[0].kind.name
    for said in job.said:
        given, known = (_word(each.value(said.path)) for each in (job.plans[0], plan))
        is_open = known is None or isinstance(known, Unknown) or isinstance(given, Unknown)
        if not said.assumed and not is_open and given != known and (kind, said.path) not in _OTHERWISE:
            yield said.path, given, known


def _word(value: object) -> object:
    return value.word if isinstance(value, Record) else value


def _loud(job: Job) -> list[str]:
    shown = (each for each in job.diagnostics if each.severity is not Severity.INFO)
    return [each.message for each in shown if each.code != RENAMED_KEY.code]


@pytest.mark.slow
@pytest.mark.parametrize("clean", CASES, ids=lambda clean: f"{clean.name}-{clean.emit}")
def test_a_mutant_says_the_same_when_it_is_read_back(clean: Clean) -> None:
    count = 0
    for name, plan in sound(clean):
        for job in jobs(plan):
            count += 1
            assert list(differences(plan, job)) == [], (name, job.files[0].tree.source.name)
            assert _loud(job) == [], (name, job.files[0].tree.source.name)
    assert count

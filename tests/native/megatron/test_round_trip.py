"""From a plan to Megatron's flags and back: what planc writes for Megatron says, in YAML, what the plan says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planc.diagnostics.diagnostic import Severity
from planc.native.job import Job
from planc.native.job import read as read_job
from planc.native.kind import Recognised
from planc.native.recognising import recognise
from planc.plan.model import Plan, Record, Unknown
from planc.source import Source
from planc.targets._megatron_flags import Flag, flags
from tests.compiling import ROOT, facts_of, load, read

CASES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests/targets/megatron").glob("ok_*.plan"))

#: Fields that flags say otherwise, with the reason.
OTHERWISE = {
    "train.duration": "a length in tokens or epochs is written as iterations, or samples beside a batch that grows",
    "schedule.total": "as the length of the run",
    "schedule.warmup": "as the length of the run",
    "pipeline": "a stated split over more parts than stages is a layout, whose chunks are counted",
    "pipeline.chunks": "as the schedule",
    "pipeline.layout": "Megatron takes no blanks in it",
    "pipeline.layers": "a split that is listed is written as a layout",
    "schedule": "no schedule is a constant rate",
    "model.max_sequence_length": "it is at least the length of a sample",
    "resume.directory": "a run that saves goes on from there",
    "model.experts.shared": "several shared experts are one of their whole width",
    "model.experts.shared_ffn": "as their number",
    "log.directory": "it is TensorBoard's, where that is asked for",
}  # fmt: skip


def _text(flag: Flag) -> str:
    """A flag as a line of the file, as people write it there."""
    if flag.value is True:
        return f"  --{flag.name}: true\n"
    if isinstance(flag.value, tuple):
        return f"  --{flag.name}: '[{' '.join(map(str, flag.value))}]'\n"
    value = flag.words()[0].partition("=")[2]
    return f"  --{flag.name}: {json.dumps(value) if isinstance(flag.value, str) else value}\n"


def _job(plan: Plan) -> Job:
    found = [flag for part in flags(plan, facts_of(plan)).values() for flag in part]
    text = "MODEL_ARGS:\n" + "".join(map(_text, found))
    file = recognise(Source("model_config.yaml", text), None, True)
    assert isinstance(file, Recognised)
    return read_job([file], load)


def _word(value: Any) -> Any:
    return value.word if isinstance(value, Record) else value


@pytest.mark.parametrize("case", CASES)
def test_flags_say_what_their_plan_says(case: str) -> None:
    for plan in read(ROOT / case).plans:
        job = _job(plan)
        for said in job.said:
            given, known = _word(job.plans[0].value(said.path)), _word(plan.value(said.path))
            is_open = known is None or isinstance(known, Unknown) or isinstance(given, Unknown)
            if not is_open and said.path not in OTHERWISE:
                assert given == known, (plan.name, said.path)


@pytest.mark.parametrize("case", CASES)
def test_planc_finds_no_fault_in_its_own_flags(case: str) -> None:
    for plan in read(ROOT / case).plans:
        found = [each for each in _job(plan).diagnostics if each.severity is not Severity.INFO]
        assert found == [], plan.name


@pytest.mark.parametrize("case", CASES)
def test_every_flag_with_a_field_is_read(case: str) -> None:
    """A field that is written, and of which the plan's flags speak, is said again or has a reason not to be."""
    for plan in read(ROOT / case).plans:
        every = [flag for part in flags(plan, facts_of(plan)).values() for flag in part]
        spoken = {flag.path for flag in every if "$" not in str(flag.value)}  # that may be a variable
        said = {each.path for each in _job(plan).said}
        silent = {path for path in spoken - said if plan.find(path) is not None and plan.is_written(path)}
        assert silent <= {"pipeline.layers", "shard.size", "profile.ranks", "profile"} | set(OTHERWISE), (
            plan.name,
            silent,
        )

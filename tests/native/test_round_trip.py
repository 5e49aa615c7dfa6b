"""From a plan to the files of its targets and back: every file that planc can read says what the plan says.

What the format of a kind does not carry stands in `NOT_CARRIED`, with the reason; what it carries in other words, in
`OTHERWISE`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from planc.diagnostics.diagnostic import Severity
from planc.native.faults import RENAMED_KEY
from planc.native.importing import plan_of
from planc.native.job import Beside, Job
from planc.native.job import read as read_job
from planc.native.kind import Options, Recognised, Said
from planc.native.recognising import recognise
from planc.plan.model import Located, Origin, Plan, Record, Unknown
from planc.source import Source
from tests.compiling import ROOT, analysed, files_of, load, read

CASES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests" / "targets").glob("*/ok_*.plan"))

#: What is not in any file of keys: it is in the scripts beside them, in the program, or of planc alone.
_NOWHERE = {
    "emit": "it says which files there are",
    "cluster.gpu": "no file names the card",
    "cluster.cpu_cores": "it is asked of the scheduler",
    "cluster.cpu_memory": "it is asked of the scheduler",
    "launch": "it is in the script that starts the job",
}
_BY_OTHERS = {
    "batch.global": "it follows from micro batch, accumulation and replicas",
    "cluster.nodes": "the launcher has it",
    "cluster.gpus_per_node": "the launcher has it",
}
_DECIDED = ("batch.sequence_length", "checkpoint", "dataset", "log", "model", "resume", "train", "recompute")
_OF_THE_PROGRAM = dict.fromkeys(_DECIDED, "the program decides it")
_OF_PROGRAMS = (
    "adapter", "batch", "checkpoint", "context", "dataset", "expert", "log", "model", "offload", "optimizer",
    "parallel", "pipeline", "precision", "profile", "recompute", "resume", "schedule", "shard", "train", "versions",
)  # fmt: skip
_RUN = ("batch", "cluster.gpu", "emit", "launch", "model", "precision", "shard")
_STEPS = "a length in tokens or samples is written as steps"
_GRADIENTS = "the kind says the dtype of training alone"

#: Where an imported plan lists what it leaves out: some variables of a launcher are its own matter.
_LEFT = "# Not in this plan"

#: Fields, or sections as a whole, that a plan writes and the file of a kind does not give back.
NOT_CARRIED: dict[str, dict[str, str]] = {
    "deepspeed": {
        **_NOWHERE, **_BY_OTHERS, **_OF_THE_PROGRAM,
        "cluster.nics": "the launcher's environment has it", "context": "the program shares out the sequence",
        "offload.activations": "the program asks for it", "optimizer.momentum": "its optimizer has other fields, too",
        "optimizer.states": "it follows from other keys", "parallel.context": "the program shares out the sequence",
        "parallel.pipeline": "the program builds the stages", "parallel.tensor": "the program may split the layers",
        "precision.gradients": _GRADIENTS, "precision.master": _GRADIENTS,
        "schedule": "the schedules of DeepSpeed are made of other parameters",
        "optimizer": "without a learning rate the program makes it",
    },
    "accelerate": {
        **_NOWHERE, **_BY_OTHERS, **_OF_THE_PROGRAM, "batch.micro": "the program has it",
        "context": "it is a setting of the program", "offload.activations": "the program asks for it",
        "optimizer": "the program makes it", "precision.gradients": _GRADIENTS,
    },
    "transformers": {
        **_NOWHERE, **_BY_OTHERS, "batch.sequence_length": "the program has it", "model": "the program loads it",
        "checkpoint": "the file has what the Trainer writes", "dataset": "the program loads it",
        "log": "the file has it in other words", "resume.step": "it is part of the folder's name",
        "offload": "the file of DeepSpeed or accelerate has it", "shard.stage": "the file of DeepSpeed has it",
        "optimizer.momentum": "it is a text of arguments", "precision.gradients": _GRADIENTS,
        "schedule.minimum": "it is an argument of the schedule", "schedule.warmup": "a share has no field of its own",
    },
    "hostfile": dict.fromkeys(_RUN, "a hostfile has hosts alone"),
    "gpt-neox": _NOWHERE,
    "nanotron": {
        **_NOWHERE, **_BY_OTHERS, "dataset.path": "it is part of the data's settings",
        "resume.directory": "a folder of nanotron's own holds it",
    },
    "torchtitan": {
        **_NOWHERE, "dataset.path": "the folder is that of the data set", "versions": "the form of the file shows it",
        "expert.dispatch": "it is a setting of the model",
        "log": "the folder is one in that of the job", "pipeline.chunks": "it follows from the layers of a stage",
        "pipeline.layers": "the stages list modules", "precision.format": "it follows from the recipe",
        "resume.directory": "it is the folder of the checkpoints",
    },
    "megatron": {
        **_NOWHERE, "cluster.nodes": "the launcher has it", "cluster.gpus_per_node": "the launcher has it",
        "dataset.path": "a path with blanks may be several", "log.to": "TensorBoard has a folder of its own",
        "pipeline.layers": "a split that is listed is written as a layout", "profile.ranks": "it is a list of ranks",
        "shard.size": "it follows from the number of instances",
    },
    "kubernetes": {
        **_NOWHERE, **_OF_THE_PROGRAM, **dict.fromkeys(("batch", "optimizer", "schedule"), "the program has it"),
        "cluster.nics": "it is asked of the cluster",
    },
    "shell": {
        **_NOWHERE, **dict.fromkeys(_OF_PROGRAMS, "the program has it, or a file beside the script"),
        "cluster.nics": "it is in variables", "cluster.nodes": "a variable of the script has it, or the scheduler",
        "cluster.gpus_per_node": "a variable of the script has it, or the scheduler",
    },
}  # fmt: skip

#: Fields that come back in other words, or as another value, with the reason.
OTHERWISE: dict[tuple[str, str], str] = {
    **{(kind, "train.duration"): _STEPS for kind in ("gpt-neox", "nanotron", "transformers")},
    **{(kind, "schedule.total"): _STEPS for kind in ("gpt-neox", "nanotron")},
    **{(kind, "schedule.warmup"): f"{_STEPS}, or a share of them" for kind in ("gpt-neox", "nanotron", "torchtitan")},
    ("transformers", "schedule.warmup"): "a share of the steps is written as steps",
    ("transformers", "resume.directory"): "the step is part of the folder's name",
    ("nanotron", "schedule"): "a constant rate is a linear one whose end is its peak",
    ("torchtitan", "model.ffn"): "of a flavor with experts their width is taken",
    ("torchtitan", "model.family"): "a flavor with experts is of the family without them",
    ("torchtitan", "model.attention.qk_norm"): "it is that of the family",
    **{("megatron", path): _STEPS for path in ("train.duration", "schedule.total", "schedule.warmup")},
    ("megatron", "model.experts.shared"): "several shared experts are one of their whole width",
    ("megatron", "model.experts.shared_ffn"): "as their number",
    ("megatron", "pipeline.layout"): "Megatron takes no blanks in it",
    **{("shell", path): _STEPS for path in ("train.duration", "schedule.total", "schedule.warmup")},
    ("shell", "launch.args"): "the launcher's own argument is one of the program",
    ("shell", "launch.script"): "a name that begins with a dash gets a folder",
    ("shell", "model.ffn"): "of a flavor of torchtitan with experts their width is taken",
    ("shell", "model.family"): "a flavor with experts is of the family without them",
    ("shell", "model.attention.qk_norm"): "it is that of the family",
}


@cache
def read_files(case: str) -> tuple[tuple[Plan, tuple[Recognised, ...]], ...]:
    """The plans of a case, each with those of its files that planc reads."""
    found = []
    for plan in read(ROOT / case).plans:
        files = (recognise(Source(file.path, file.text), None, False) for file in files_of(plan))
        found.append((plan, tuple(file for file in files if isinstance(file, Recognised))))
    return tuple(found)


def jobs(case: str) -> Iterator[tuple[Plan, Job]]:
    """Each file that a case gives and planc reads, as a job of its own, with its plan."""
    for plan, files in read_files(case):
        for file in files:
            if file.kind.name in NOT_CARRIED and _is_of(plan, file):
                yield plan, read_job([file], load, Beside(options=Options("hf")))


def _is_of(plan: Plan, file: Recognised) -> bool:
    """Whether a file is of the kind that one of the plan's targets writes; megatron-bridge's YAML is of none."""
    return not file.kind.targets or bool(set(file.kind.targets) & {target.name for target in plan.targets})


def _word(value: Any) -> Any:
    return value.word if isinstance(value, Record) else value


def _differences(plan: Plan, job: Job) -> Iterator[tuple[str, Any, Any]]:
    """What a file says and the plan says otherwise; what the plan leaves open, a target may write out."""
    for said in job.said:
        given, known = _word(job.plans[0].value(said.path)), _word(plan.value(said.path))
        is_open = known is None or isinstance(known, Unknown) or isinstance(given, Unknown)
        if not said.assumed and not is_open and given != known:
            yield said.path, given, known


def _written(fields: Mapping[str, Located], path: str = "") -> Iterator[str]:
    """The fields that a plan writes, without sections as such."""
    for name, located in fields.items():
        if isinstance(located.value, Record):
            yield from _written(located.value.fields, f"{path}{name}.")
        elif located.origin is Origin.WRITTEN and located.value is not None:
            yield path + name


def _loud(job: Job) -> list[str]:
    """Errors and warnings; the targets write names that older releases know as well."""
    shown = (each for each in job.diagnostics if each.severity is not Severity.INFO)
    return [each.message for each in shown if each.code != RENAMED_KEY.code]


def _is_listed(path: str, kind: str) -> bool:
    parts = path.split(".")
    return any(".".join(parts[:length]) in NOT_CARRIED[kind] for length in range(1, len(parts) + 1))


@pytest.mark.parametrize("case", CASES)
def test_a_file_says_what_its_plan_says(case: str) -> None:
    for plan, job in jobs(case):
        kind = job.files[0].kind.name
        found = [each for each in _differences(plan, job) if (kind, each[0]) not in OTHERWISE]
        assert found == [], (plan.name, kind)


@pytest.mark.parametrize("case", CASES)
def test_what_a_file_does_not_say_is_listed(case: str) -> None:
    for plan, job in jobs(case):
        kind, said = job.files[0].kind.name, {each.path for each in job.said}
        silent = [path for path in _written(plan.fields) if path not in said and not _is_listed(path, kind)]
        assert silent == [], (plan.name, kind)


@pytest.mark.parametrize("case", CASES)
def test_planc_finds_no_fault_in_its_own_files(case: str) -> None:
    for plan, job in jobs(case):
        assert _loud(job) == [], (plan.name, job.files[0].tree.source.name)


@pytest.mark.parametrize("case", CASES)
def test_an_imported_plan_says_what_the_files_say(case: str) -> None:
    for plan, job in jobs(case):
        text = plan_of(job, "imported", load).text
        assert text is not None
        (imported,) = analysed(text).plans
        for said in job.said:
            given = job.plans[0].value(said.path)
            listed = said.path.startswith("launch.") and said.key in text.partition(_LEFT)[2]
            is_left = listed or said.path == "launch.modules"  # which not every target takes
            if not isinstance(given, Unknown) and not is_left:
                assert _word(imported.value(said.path)) == _word(given), (plan.name, said.path, text)


def test_every_kind_that_reads_a_target_is_looked_at() -> None:
    seen = {job.files[0].kind.name for case in CASES for _, job in jobs(case)}
    assert seen == set(NOT_CARRIED)


def test_what_is_listed_is_not_said() -> None:
    said: set[tuple[str, str]] = set()
    for case in CASES:
        for plan, job in jobs(case):
            differing = {path for path, _, _ in _differences(plan, job)}
            said |= {(job.files[0].kind.name, path) for path in differing}
    assert not set(OTHERWISE) - said


#: What torchtitan's flags do not carry, which are all of its settings, with the reason.
_NO_FLAGS = {
    "checkpoint.format": "it has one", "dataset.packed": "it always is", "emit": "it says which files there are",
    "expert.dispatch": "the model has it", "log.directory": "it is one in that of the job",
    "log.to": "each has a flag of its own", "optimizer.states": "it follows from the implementation",
    "parallel.expert_tensor": "experts are whole", "precision.format": "it follows from the recipe",
    "resume.directory": "it may be the folder of the checkpoints", "resume.step": "it may be part of the folder's name",
    **dict.fromkeys(("launch", "profile"), "they are no settings of the model"),
    **dict.fromkeys((f"pipeline.{name}" for name in (
        "chunks", "layers", "embedding_as_layer", "loss_as_layer", "first_stage_layers", "last_stage_layers",
    )), "it follows from the layers of a stage, or the modules that are listed"),
}  # fmt: skip


@pytest.mark.parametrize("case", [case for case in CASES if case.split("/")[2] == "torchtitan"])
def test_flags_of_torchtitan_say_all_that_their_plan_says(case: str) -> None:
    for plan, job in jobs(case):
        if job.files[0].tree.source.name != "torchtitan.sh" or "--module" not in job.files[0].tree.source.text:
            continue
        said = {each.path for each in job.said}
        assert "parallel.tensor" in said, plan.name
        silent = [path for path in _written(plan.fields) if path not in said]
        listed = [path for path in silent if path in _NO_FLAGS or path.split(".")[0] in _NO_FLAGS]
        assert silent == listed, plan.name


def test_a_difference_is_noticed() -> None:
    plan, job = next(jobs("tests/targets/deepspeed/ok_stages.plan"))
    first = next(each for each in job.said if each.path == "batch.micro")
    other: Said = first._replace(path="batch.accumulation")
    value = job.plans[0].value("batch.accumulation")
    assert value == plan.value("batch.accumulation")
    assert list(_differences(plan, job._replace(said=(other,), plans=(_other(job),)))) != []


def _other(job: Job) -> Plan:
    """The plan of a job with another accumulation."""
    text = job.composed.source.text.replace("accumulation = ", "accumulation = 7")
    return analysed(text, Path("other.plan").name).plans[0]


@pytest.mark.parametrize("case", CASES)
def test_the_files_of_a_plan_agree(case: str) -> None:
    for plan, files in read_files(case):
        known = [file for file in files if file.kind.name in NOT_CARRIED and _is_of(plan, file)]
        if len({file.kind.name for file in known}) == len(known) and 1 < len(known):
            job = read_job(known, load, Beside())
            assert _loud(job) == [], plan.name


def test_a_file_of_a_tool_that_is_not_read_is_of_no_kind() -> None:
    names = {file.kind.name for _, files in read_files("tests/targets/megatron-bridge/ok_runs.plan") for file in files}
    assert "deepspeed" not in names

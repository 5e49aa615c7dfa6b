"""torchtitan's TOML files: what they say, and that no value in them stops planc."""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.diagnostics.diagnostic import Severity
from planc.native.job import Beside, judge
from planc.native.kind import Recognised
from tests.compiling import file_of, plan_of, read
from tests.native.judging import (
    corpus,
    found_in,
    is_known_good,
    judged,
    loud,
    plan_text,
    recognised,
    with_other_values,
)

FOLDER = Path(__file__).parent
PLAN = FOLDER.parents[1] / "targets" / "torchtitan" / "ok_toml.plan"

#: Errors on files that somebody ran, or so it is said, and why they are right.
TRUE_ERRORS = {
    # One micro batch of the default size for four stages: Schedule1F1B of PyTorch refuses fewer than there are stages.
    "torchtitan/pytorch_torchtitan--torchtitan_models_llama4_train_configs_llama4_17bx128e.toml": {"PLN202"},
}


def said(text: str) -> str:
    return plan_text("x.toml", f'[model]\nname = "llama4"\nflavor = "17bx16e"\n{text}')


@pytest.mark.parametrize(
    ("text", "stage"),
    [
        ("data_parallel_shard_degree = -1", "stage = 3"),
        ("data_parallel_shard_degree = 8", "stage = 3"),
        ('fsdp_reshard_after_forward = "always"\npipeline_parallel_degree = 2', "stage = 3"),
        ('fsdp_reshard_after_forward = "default"\npipeline_parallel_degree = 2', "stage = 2"),
        ('fsdp_reshard_after_forward = "never"', "stage = 2"),
        ("data_parallel_shard_degree = 1\ndata_parallel_replicate_degree = 8", "stage = 0"),
        ("data_parallel_shard_degree = 1\ncontext_parallel_degree = 8", "stage = 3"),
    ],
)
def test_what_is_shared(text: str, stage: str) -> None:
    found = said(f"[training]\nlocal_batch_size = 4\n[parallelism]\n{text}\n")
    assert [line for line in found.split("\n") if line.startswith("stage")] == [stage]


def test_copies_of_shards() -> None:
    text = "[training]\nlocal_batch_size = 4\n[parallelism]\ndata_parallel_replicate_degree = 2\n"
    assert "size = parallel.data / 2" in said(text)
    assert "size = 4" in said(f"{text}data_parallel_shard_degree = 4\n")
    assert "data = 8" in said(f"{text}data_parallel_shard_degree = 4\n")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("local_batch_size = 4", ["micro = 4", "accumulation = 1"]),
        ("batch_size = 4", ["micro = 4", "accumulation = 1"]),
        ("local_batch_size = 4\nglobal_batch_size = 64", ["global = 64", "micro = 4"]),
        ("local_batch_size = 8\n[parallelism]\npipeline_parallel_degree = 2", ["micro = 1", "accumulation = 8"]),
        ("local_batch_size = 8\n[parallelism]\npipeline_parallel_degree = 2\npipeline_parallel_microbatch_size = 4",
         ["micro = 4", "accumulation = 2"]),
        ("local_batch_size = 8\nglobal_batch_size = 64\n[parallelism]\npipeline_parallel_degree = 2",
         ["global = 64", "micro = 1"]),
    ],
)  # fmt: skip
def test_the_batch(text: str, lines: list[str]) -> None:
    found = said(f"[training]\n{text}\n").split("\n")
    batch = found[found.index("batch {") + 1 :]
    assert [line for line in batch[: batch.index("}")] if not line.startswith("sequence")] == lines


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("warmup_steps = 10", "schedule = linear {"), ('decay_type = "cosine"', "schedule = cosine {"),
        ("warmup_steps = 10\ndecay_ratio = 0.0", "schedule = constant {"), ("decay_ratio = 0.1", "schedule = wsd {"),
        ('decay_ratio = 1.0\ndecay_type = "cosine"', "schedule = cosine {"), ('decay_type = "sqrt"', None),
    ],
)  # fmt: skip
def test_the_schedule(text: str, line: str | None) -> None:
    found = said(f"[training]\nsteps = 100\nlocal_batch_size = 1\n[lr_scheduler]\n{text}\n").split("\n")
    assert [each for each in found if each.startswith("schedule")] == ([] if line is None else [line])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[training]\nlocal_batch_size = 1", "precision = bf16"),
        ('[training]\nlocal_batch_size = 1\nmixed_precision_param = "float32"', "precision = fp32"),
        ('[training]\nlocal_batch_size = 1\ndtype = "bfloat16"', "precision = bf16 {"),
        ("[training]\nlocal_batch_size = 1\n[parallelism]\ndata_parallel_shard_degree = 1\ntensor_parallel_degree = 2",
         None),
        ("[training]\nlocal_batch_size = 1\nfp8_linear = 'dynamic'", None),
    ],
)  # fmt: skip
def test_the_precision(text: str, line: str | None) -> None:
    found = said(f"{text}\n").split("\n")
    assert [each for each in found if each.startswith("precision")] == ([] if line is None else [line])


def test_the_world_judges_the_sizes() -> None:
    text = '[model]\nflavor = "8B"\n[training]\nlocal_batch_size = 1\n[parallelism]\ntensor_parallel_degree = 4\n'
    file = recognised("x.toml", f"{text}data_parallel_shard_degree = 8\ncontext_parallel_degree = 8\n")
    assert isinstance(file, Recognised)
    load = lambda name, importer: f"no file {name}"  # noqa: E731
    for world, codes in ((256, []), (8, ["PLN101"])):
        found = loud(judge([file], load, Beside(world=world)).diagnostics)
        assert [each.code for each in found] == codes, world


def test_a_fix_writes_the_number_alone() -> None:
    text = '[model]\nname = "llama3"\nflavor = "8B"\n[lr_scheduler]\nwarmup_steps = 200\n[training]\nsteps = 100\n'
    (found,) = (each for each in found_in("x.toml", text) if each.code == "PLN701")
    assert found.help == ("use at most `warmup_steps = 100`",)
    assert [edit.text for fix in found.fixes for edit in fix.edits] == ["100"]


@pytest.mark.parametrize("name", [plan.name for plan in read(PLAN).plans])
def test_what_planc_writes_is_read_as_it_was_meant(name: str) -> None:
    plan = plan_of(PLAN, name)
    result = judged("torchtitan.toml", file_of(plan, "torchtitan.toml"))
    assert [(each.code, each.message) for each in loud(result.diagnostics) if each.severity is Severity.ERROR] == []
    (other,) = result.plans
    for path in (
        "parallel.tensor", "parallel.pipeline", "parallel.context", "parallel.expert", "parallel.data", "batch.micro",
        "batch.sequence_length", "optimizer.learning_rate", "optimizer.betas", "checkpoint.directory", "shard.stage",
        "precision", "precision.recipe", "train.duration", "train.seed", "schedule", "schedule.minimum", "context",
    ):  # fmt: skip
        if plan.is_written(path):
            assert other.value(path) == plan.value(path), path


@pytest.mark.parametrize("name", ["ok_sharded.toml", "ok_pipeline.toml"])
def test_no_value_stops_planc(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    for what, other in with_other_values(name, text):
        for found in found_in(name, other):
            assert found.message, what


@pytest.mark.parametrize(
    "text",
    [
        "[model",
        "[model]\nname = 'x'\nname = 'y'\n",
        "\t[model]\nflavor = [",
        "[model]\nflavor = nan\nlocal_batch_size=1",
    ],
)
def test_broken_files_are_told(text: str) -> None:
    assert found_in("x.toml", f"{text}\n# local_batch_size", "torchtitan")


def test_the_corpus() -> None:
    for row, text in corpus("torchtitan toml"):
        found = recognised(row["file"], text)
        assert isinstance(found, Recognised), row["file"]
        assert found.kind.name == "torchtitan", row["file"]
        errors = {each.code for each in found_in(row["file"], text) if each.severity is Severity.ERROR}
        if is_known_good(row):
            assert errors == TRUE_ERRORS.get(row["file"], set()), row["file"]

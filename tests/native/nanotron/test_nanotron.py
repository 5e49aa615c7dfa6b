"""nanotron's YAML files: what they say, and that no value in them stops planc."""

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
PLANS = sorted((FOLDER.parents[1] / "targets" / "nanotron").glob("ok_*.plan"))
LLAMA = (FOLDER / "ok_llama.yaml").read_text(encoding="utf-8")

#: Errors on files that somebody ran, or so it is said, and why they are right.
TRUE_ERRORS = {
    # The first `moe_config` is null, the second an object: whoever edits the first one changes nothing.
    "nanotron/huggingface_nanotron--examples_config_qwen_with_moe.yaml": {"PLN064"},
}


def changed(*changes: tuple[str, str]) -> str:
    text = LLAMA
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def test_what_a_file_says() -> None:
    said = plan_text("x.yaml", LLAMA).split("\n")
    for line in (
        "data = 64", "tensor = 2", "sequence = true", "recompute = full", "stage = 1", "micro = 4", "accumulation = 4",
        "sequence_length = 4096", "precision = bf16 {", "gradients = fp32", "master = fp32", "layers = 24",
        "kv_heads = 8", 'family = "llama"', "betas = [0.9, 0.95]", "schedule = wsd {", "warmup = 2000 steps",
        "total = 50000 steps", "duration = 50000 steps", "every = 2000 steps",
    ):  # fmt: skip
        assert line in said, line


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (("accumulate_grad_in_fp32: true", "accumulate_grad_in_fp32: false"), "master = bf16"),
        (("zero_stage: 1", "zero_stage: 3"), "stage = 1"),
        (("    lr_decay_starting_step: 40000\n", ""), None),
        (("lr_decay_style: 1-sqrt\n    lr_decay_starting_step: 40000",
          "lr_decay_style: cosine\n    lr_decay_starting_step: 2000"), "schedule = cosine {"),
        (("tp_mode: REDUCE_SCATTER", "tp_mode: all_reduce"), "sequence = false"),
    ],
)  # fmt: skip
def test_what_another_value_says(change: tuple[str, str], line: str | None) -> None:
    said = plan_text("x.yaml", changed(change)).split("\n")
    if line is None:
        assert not any(each.startswith("schedule") for each in said)
    else:
        assert line in said


def test_experts_stand_beside_the_replicas() -> None:
    text = changed(("  tp: 2\n", "  tp: 2\n  expert_parallel_size: 2\n"))
    assert "data = 64" not in plan_text("x.yaml", text).split("\n")


def test_a_model_of_experts_is_not_told() -> None:
    text = changed(("    vocab_size: 49152\n    tie", "    tie")) if "vocab_size: 49152\n    tie" in LLAMA else LLAMA
    text = text.replace("    rms_norm_eps", "    moe_config:\n      num_experts: 8\n    rms_norm_eps")
    assert "layers = 24" not in plan_text("x.yaml", text)


def test_the_world_judges_the_sizes() -> None:
    file = recognised("x.yaml", LLAMA)
    assert isinstance(file, Recognised)
    for world, codes in ((128, set()), (64, {"PLN102"})):
        found = loud(judge([file], lambda name, importer: f"no file {name}", Beside(world=world)).diagnostics)
        assert {each.code for each in found} == codes, world


def test_a_hostfile_beside_it() -> None:
    file, hosts = recognised("x.yaml", LLAMA), recognised("hostfile", "a slots=8\nb slots=8\n")
    assert isinstance(file, Recognised)
    assert isinstance(hosts, Recognised)
    found = loud(judge([file, hosts], lambda name, importer: f"no file {name}").diagnostics)
    assert [(each.code, each.primary.span.source.name) for each in found] == [("PLN102", "x.yaml")]
    assert "hostfile" in {label.span.source.name for label in found[0].related}
    assert found[0].help == ("write `dp: 8`",), "`data = auto` is a plan's"


@pytest.mark.parametrize(
    ("path", "name"),
    [(path, plan.name) for path in PLANS for plan in read(path).plans],
    ids=lambda each: str(each)[-24:],
)
def test_what_planc_writes_is_read_as_it_was_meant(path: Path, name: str) -> None:
    plan = plan_of(path, name)
    result = judged("nanotron.yaml", file_of(plan, "nanotron.yaml"))
    assert [(each.code, each.message) for each in loud(result.diagnostics) if each.severity is Severity.ERROR] == []
    (other,) = result.plans
    for field in (
        "parallel.tensor", "parallel.pipeline", "parallel.data", "parallel.sequence", "batch.micro",
        "batch.accumulation", "batch.sequence_length", "optimizer.learning_rate", "optimizer.betas", "optimizer.clip",
        "optimizer.epsilon", "checkpoint.directory", "checkpoint.every", "shard.stage", "precision", "train.seed",
        "recompute", "model.layers", "model.hidden", "model.kv_heads", "model.ffn", "model.vocab", "model.tied",
    ):  # fmt: skip
        if plan.is_written(field) and (field != "parallel.sequence" or 1 < plan.value("parallel.tensor")):
            assert other.value(field) == plan.value(field), field


def test_no_value_stops_planc() -> None:
    for what, other in with_other_values("x.yaml", LLAMA):
        for found in found_in("x.yaml", other):
            assert found.message, what


@pytest.mark.parametrize(
    "text",
    ["parallelism: [", "parallelism:\n\tdp: 1\n", "parallelism: &x [*x]\n", "- parallelism\n", "", "a: 'b\n"],
)
def test_broken_files_are_told_or_say_nothing(text: str) -> None:
    found = recognised("x.yaml", f"{text}\n# data_stages model_config", "nanotron")
    assert isinstance(found, Recognised) is (text in ("", "- parallelism\n")), found
    if isinstance(found, Recognised):
        assert judged("x.yaml", text, "nanotron").composed.ranges == ()


def test_the_corpus() -> None:
    for row, text in corpus("nanotron yaml"):
        found = recognised(row["file"], text)
        assert isinstance(found, Recognised), row["file"]
        assert found.kind.name == "nanotron", row["file"]
        errors = {each.code for each in found_in(row["file"], text) if each.severity is Severity.ERROR}
        if is_known_good(row):
            assert errors == TRUE_ERRORS.get(row["file"], set()), row["file"]

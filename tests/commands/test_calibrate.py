"""`planc calibrate`: which measurement is of which plan, what is shown, and what is said of files of no use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from planc.compiler import plan_facts
from planc.plan.model import Plan
from planc.resources import read_text
from tests.analysis import analysis_of
from tests.commands.cli import planc
from tests.measuring.logs import deepspeed, megatron, megatron_memory, torchtitan

PLAN = """\
gpu card {
  memory = 80 GiB  bf16 = 989 TFLOPS  memory_bandwidth = 3.35 TB/s  link = 450 GB/s
}
cluster two { gpu = card  nodes = 2  gpus_per_node = 8  nics { count = 8  speed = 400 Gbit/s } }
model small { layers = 32  hidden = 4096  heads = 32  kv_heads = 8  ffn = 14_336  vocab = 128_256 }
plan run {
  model     = small
  cluster   = two
  parallel { tensor = 2  pipeline = 2 }
  shard { stage = 1 }
  batch { global = 64  micro = 1  sequence_length = 8Ki }
  precision = bf16
  recompute = none
}
"""
SECOND = PLAN.replace("plan run", "plan first") + PLAN[PLAN.index("plan run") :].replace("tensor = 2", "tensor = 8")


def calibrate(folder: Path, *arguments: str) -> Any:
    """The outcome as data."""
    outcome = planc("calibrate", *arguments, "--output-format=json", cwd=folder)
    assert outcome.returncode == 0, outcome.stderr
    data = json.loads(outcome.stdout)
    jsonschema.validate(data, json.loads(read_text("schemas/calibrate.schema.json")))
    return data


def refused(folder: Path, *arguments: str) -> str:
    """Why nothing was done, in one line."""
    outcome = planc("calibrate", *arguments, cwd=folder)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.count("\n") == 1
    return outcome.stderr


def parsed(text: str) -> Plan:
    """The first plan of a text."""
    return analysis_of(text).plans[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a plan."""
    (tmp_path / "run.plan").write_text(PLAN)
    return tmp_path


def test_memory_of_each_stage_beside_what_was_measured(folder: Path) -> None:
    facts = plan_facts(parsed(PLAN))
    peaks = [facts.at_stage(stage)["stage.peak"] for stage in (0, 1)]
    reserves = [facts.at_stage(stage)["stage.reserve"] for stage in (0, 1)]
    lines = [
        megatron_memory(rank, *((number * factor / 2**20) for number in (peaks[stage], peaks[stage] + reserves[stage])))
        for rank, stage, factor in ((0, 0, 0.9), (1, 0, 1.1), (8, 1, 1.1))
    ]
    (folder / "train.log").write_text("".join(lines))
    rows = calibrate(folder, "run.plan", "train.log")["measurements"]
    kinds = [f"memory {kind}, stage {stage}" for stage in (0, 1) for kind in ("allocated", "reserved")]
    assert [row["what"] for row in rows] == kinds
    assert [row["num_values"] for row in rows] == [2, 2, 1, 1]
    assert [row["error"] for row in rows] == [pytest.approx(1 / 1.1 - 1, abs=1e-6)] * 4
    assert all(abs(row["calibrated"] / row["measured"] - 1) < 0.05 for row in rows)


def test_the_factor_of_memory_goes_into_the_plan(folder: Path) -> None:
    factor = 1.25
    calibrated = PLAN.replace("  precision", f"  calibration {{ memory = {factor} }}\n  precision")
    peak = float(plan_facts(parsed(calibrated))["memory.peak"])
    (folder / "m.csv").write_text(f"memory_allocated\n{peak:.0f}\n")
    found = calibrate(folder, "run.plan", "m.csv")
    assert found["calibration"] == {"memory": pytest.approx(factor, abs=1e-4)}
    (folder / "run.plan").write_text(calibrated)
    again = calibrate(folder, "run.plan", "m.csv")
    assert again["measurements"][0]["error"] == pytest.approx(0, abs=1e-6)
    assert again["calibration"] == {"memory": pytest.approx(factor, abs=1e-4)}  # the whole factor, not one on top


def with_factors(compute: float, communication: float, text: str = PLAN) -> str:
    """The plan with factors of the time."""
    section = f"calibration {{ compute = {compute}  communication = {communication} }}"
    return text.replace("  precision", f"  {section}\n  precision")


def step_time(text: str) -> float:
    """The predicted time of a step, in seconds."""
    return float(plan_facts(parsed(text))["step.time"])


def test_two_layouts_give_both_factors_of_the_time(folder: Path) -> None:
    far = PLAN.replace("tensor = 2  pipeline = 2", "tensor = 8  pipeline = 2")
    times = [step_time(with_factors(1.2, 1.6, text)) for text in (PLAN, far)]
    (folder / "m.csv").write_text(f"parallel.tensor,step_time\n2,{times[0]}\n8,{times[1]}\n")
    found = calibrate(folder, "run.plan", "m.csv")
    assert found["calibration"] == {
        "compute": pytest.approx(1.2, rel=1e-3),
        "communication": pytest.approx(1.6, rel=1e-3),
    }
    assert found["notes"] == []
    for row, text in zip(found["measurements"], (PLAN, far), strict=True):
        assert row["predicted"] == pytest.approx(step_time(text))
        assert row["calibrated"] == pytest.approx(row["measured"], rel=1e-3)


def test_one_layout_gives_one_factor_and_says_so(folder: Path) -> None:
    (folder / "run.plan").write_text(with_factors(1, 1.5))
    (folder / "m.csv").write_text(f"step_time\n{step_time(with_factors(1.3, 1.5))}\n")
    found = calibrate(folder, "run.plan", "m.csv")
    assert found["calibration"] == {"compute": pytest.approx(1.3, rel=1e-3), "communication": 1.5}
    assert found["notes"][0].startswith(
        "there is one layout, so the times give one factor, which is laid to computation"
    )


def test_a_factor_out_of_reach_leaves_the_other_to_be_fitted_again(folder: Path) -> None:
    texts = [PLAN.replace("tensor = 2", f"tensor = {size}") for size in (2, 4, 8)]
    # More tensor ranks take more time, yet here the runs with more of them were the faster ones.
    times = [step_time(text) * share for text, share in zip(texts, (1.05, 0.9, 0.75), strict=True)]
    rows = "".join(f"{size},{seconds}\n" for size, seconds in zip((2, 4, 8), times, strict=True))
    (folder / "m.csv").write_text(f"parallel.tensor,step_time\n{rows}")
    found = calibrate(folder, "run.plan", "m.csv")
    assert list(found["calibration"]) == ["compute"]
    assert found["notes"][0].startswith("no pair of factors from 0.0625 to 16 fits the layouts, so the times give one")
    rows = found["measurements"]
    without, with_it = (
        sum(error**2 for error in errors)
        for errors in ([row["error"] for row in rows], [row["calibrated"] / row["measured"] - 1 for row in rows])
    )
    assert with_it < without


@pytest.mark.parametrize("seconds", [1e-9, 1e-3, 1e4, 1e15])
def test_what_does_not_belong_to_the_plan_gives_no_factor(folder: Path, seconds: float) -> None:
    (folder / "a.log").write_text("".join(megatron(step, seconds * 1000) for step in range(1, 10)))
    found = calibrate(folder, "run.plan", "a.log")
    assert found["calibration"] == {}
    assert found["notes"][1].startswith(
        "step time of a.log is more than 16 times off and is left out of the factors: plan and meas"
    )
    outcome = planc("calibrate", "run.plan", "a.log", cwd=folder)
    assert (outcome.returncode, "calibration {" in outcome.stdout) == (0, False)


def test_a_factor_at_the_end_of_its_range_is_not_given(folder: Path) -> None:
    facts = plan_facts(parsed(PLAN))
    peak = float(facts["memory.peak"])
    (folder / "m.csv").write_text(f"memory_allocated\n{peak * 12:.0f}\n")
    found = calibrate(folder, "run.plan", "m.csv")
    assert found["calibration"] == {} and found["measurements"][0]["calibrated"] is None
    assert found["notes"] == [
        "`memory` would be at the end of what is looked for, 0.0625 to 16: plan and measurement do not belong together"
    ]


def test_rates_become_times_of_the_plan(folder: Path) -> None:
    (folder / "titan.log").write_text("".join(torchtitan(step, "6,000") for step in range(1, 10)))
    (folder / "deep.log").write_text("".join(deepspeed(step, 16.0) for step in range(1, 10)))
    found = calibrate(folder, "run.plan", "titan.log", "deep.log")["measurements"]
    times = {row["form"]: row["measured"] for row in found if row["what"] == "step time"}
    assert times == {"torchtitan": pytest.approx(64 * 8192 / (6000 * 16)), "DeepSpeed": pytest.approx(64 / 16)}


def test_columns_set_fields(folder: Path) -> None:
    (folder / "m.csv").write_text("parallel.tensor,memory_used\n2,60 GiB\n4,40 GiB\n")
    two, four = calibrate(folder, "run.plan", "m.csv")["measurements"]
    assert (two["settings"], four["settings"]) == (["parallel.tensor=2"], ["parallel.tensor=4"])
    assert four["predicted"] < two["predicted"]
    again = calibrate(folder, "run.plan", "m.csv", "--set=recompute=full")["measurements"][0]
    assert again["predicted"] < two["predicted"]


def test_several_plans_and_files(folder: Path) -> None:
    (folder / "two.plan").write_text(SECOND)
    (folder / "m.csv").write_text("memory_used\n60 GiB\n")
    (folder / "n.jsonl").write_text('{"plan": "first", "memory_used": "60 GiB"}\n')
    found = calibrate(folder, "run.plan", "m.csv", "two.plan", "n.jsonl")["measurements"]
    assert [(row["file"], row["plan"], row["source"]) for row in found] == [
        ("run.plan", "run", "m.csv"),
        ("two.plan", "first", "n.jsonl"),
    ]
    (found,) = calibrate(folder, "two.plan", "m.csv", "--plan", "run")["measurements"]
    assert found["plan"] == "run"
    assert "has several plans, `first`, `run`: name the one" in refused(folder, "two.plan", "m.csv")
    assert "no plan `rnu`; did you mean `run`?" in refused(folder, "two.plan", "m.csv", "--plan=rnu")


def test_the_text_ends_in_a_section_to_paste(folder: Path) -> None:
    (folder / "m.csv").write_text("memory_used\n60 GiB\n")
    outcome = planc("calibrate", "run.plan", "m.csv", cwd=folder)
    assert outcome.returncode == 0, outcome.stderr
    assert "plan run, engine generic; table: m.csv\n  memory used" in outcome.stdout
    section = outcome.stdout[outcome.stdout.index("calibration {") :]
    (folder / "run.plan").write_text(PLAN.replace("  precision", f"{section}\n  precision"))
    assert planc("lint", "run.plan", cwd=folder).returncode == 0


def of_engines(targets: str, more: str = "") -> str:
    """The plan without tensor and pipeline ranks, emitted for targets."""
    text = PLAN.replace("  parallel { tensor = 2  pipeline = 2 }\n", "").replace("stage = 1", "stage = 2")
    return text.replace("  recompute = none\n", f"  recompute = none\n  emit = [{targets}]\n{more}")


def test_a_log_is_compared_with_the_engine_that_writes_such_logs(folder: Path) -> None:
    more = '  launch { script = "train.py" }\n'
    (folder / "run.plan").write_text(of_engines("accelerate, deepspeed", more))
    (folder / "deep.log").write_text("".join(deepspeed(step, 16.0) for step in range(1, 10)))
    (folder / "titan.log").write_text("".join(torchtitan(step, "6,000") for step in range(1, 10)))
    (folder / "m.csv").write_text("engine,memory_used\n,60 GiB\nfsdp2,60 GiB\ndeepspeed,60 GiB\n")
    found = calibrate(folder, "run.plan", "deep.log", "titan.log", "m.csv")
    rows = found["measurements"]
    engines = [(row["source"], row["engine"]) for row in rows]
    assert list(dict.fromkeys(engines)) == [
        ("deep.log", "deepspeed"),
        ("titan.log", "fsdp2"),
        ("m.csv", "fsdp2"),
        ("m.csv", "deepspeed"),
    ]
    used = [row["predicted"] for row in rows if row["source"] == "m.csv"]
    assert used[0] == used[1] != used[2]
    assert "titan.log is of torchtitan, and the plan is predicted for fsdp2" in found["notes"]
    assert (
        "the plan is emitted for fsdp2 and deepspeed, and fsdp2 was taken; `--engine` or a column `engine` chooses for "
        "m.csv" in found["notes"]
    )
    rows = calibrate(folder, "run.plan", "titan.log", "m.csv", "--engine=deepspeed")["measurements"]
    assert [row["engine"] for row in rows if row["unit"] == "bytes"] == ["deepspeed", "deepspeed", "fsdp2", "deepspeed"]
    text = refused(folder, "run.plan", "titan.log", "--engine=torchtitan")
    assert text == "planc: plan `run` is not emitted for an engine `torchtitan`; it has `fsdp2`, `deepspeed`\n"


def test_what_a_plan_does_not_say_is_named(folder: Path) -> None:
    (folder / "run.plan").write_text(PLAN.replace("  sequence_length = 8Ki", ""))
    (folder / "m.csv").write_text("memory_used\n60 GiB\n")
    (row,) = calibrate(folder, "run.plan", "m.csv")["measurements"]
    assert (row["known"], row["predicted"], row["missing"]) == (False, None, ["batch.sequence_length"])
    assert "unknown" in planc("calibrate", "run.plan", "m.csv", cwd=folder).stdout


def test_a_plan_with_errors_is_compared_all_the_same(folder: Path) -> None:
    (folder / "run.plan").write_text(PLAN.replace("memory = 80 GiB", "memory = 8 GiB"))
    (folder / "m.csv").write_text("memory_used\n60 GiB\n")
    outcome = planc("calibrate", "run.plan", "m.csv", "--color=always", cwd=folder)
    assert outcome.returncode == 1
    assert "PLN301" in outcome.stderr and "\x1b[" in outcome.stderr
    assert "memory used" in outcome.stdout
    assert "\x1b[" not in planc("calibrate", "run.plan", "m.csv", "--color=never", cwd=folder).stderr


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.log", b"", "`a.log` has no line in which Megatron-LM, torchtitan or DeepSpeed gives the time of a step"),
        ("a.log", b"text\n" * 1000, "`a.log` has no line in which"),
        ("a.log", b"\x7fELF\0\0\0", "`a.log`: the file is binary, not text"),
        ("a.log", "\ufeffiteration".encode("utf-16"), "`a.log`: the file looks like UTF-16; save it as UTF-8"),
        ("a.log", megatron(3, "nan").encode(), "`a.log:1`: the time of an iteration is `nan`"),
        ("a.log", megatron(3, "1e200").encode(), "`a.log:1`: the time of an iteration is `1e200`"),
        ("a.log", megatron(3, "1e-200").encode(), "`a.log:1`: the time of an iteration is `1e-200`"),
        ("a.csv", b"step_time\n1e300\n", "`a.csv:2`: `step_time` is `1e300`"),
        ("a.log", megatron(3, 5.0).encode(), "`a.log`: each of its 1 value holds some of the first 5 steps"),
        ("a.csv", b"step_time\n1\nx\n", "`a.csv:3`: `step_time` is `x`"),
        ("a.csv", b"step_time\n\xff\n", "`a.csv:2`: the line is not text in UTF-8: byte 0xff"),
        ("a.csv", b"step_time\n" + b"1" * 70_000, "`a.csv:2`: the line is longer than 64 KiB"),
        ("a.csv", b"step_time\n1\n" * 400 + b"\0", "`a.csv:3`: `step_time` is `step_time`"),
        ("a.csv", b"step_time,parallel.tensr\n1,2\n", "`a.csv` sets `parallel.tensr=2`: unknown field `tensr`"),
        ("a.csv", b"step_time,batch.micro\n1,1 GiB\n", "`a.csv` sets `batch.micro=1 GiB`: a size where a count is due"),
        ("a.jsonl", b"{}\n", "`a.jsonl:1`: the row measures nothing"),
        ("a.csv", b"plan,step_time\nother,1\n", "no plan `other`; there are `run`"),
    ],
)
def test_a_file_that_is_of_no_use(folder: Path, name: str, content: bytes, reason: str) -> None:
    (folder / name).write_bytes(content)
    assert refused(folder, "run.plan", name).startswith(f"planc: {reason}")


def test_files_in_the_wrong_order_or_not_there(folder: Path) -> None:
    (folder / "a.log").write_text(megatron(1, 5.0))
    expected = "planc: `a.log` stands before any plan; write `run.plan LOG`\n"
    assert refused(folder, "a.log", "run.plan") == expected
    assert refused(folder, "run.plan").startswith("planc: no measurement follows `run.plan`")
    assert refused(folder, "run.plan", "b.log") == "planc: cannot read `b.log`: no such file or directory\n"
    assert refused(folder, "run.plan", ".") == "planc: cannot read `.`: is a directory\n"
    assert refused(folder, "run.plan", "a.log", "--skip=-1") == "planc: --skip takes a number of steps from 0\n"


def test_a_log_from_standard_input_and_in_another_encoding(folder: Path) -> None:
    log = "".join(torchtitan(step, "6,123") for step in (1, 10, 20)).encode() + b"caf\xe9 tps: memory\n"
    outcome = planc("calibrate", "run.plan", "-", cwd=folder, stdin=log)
    assert outcome.returncode == 0, outcome.stderr
    assert "torchtitan: -\n" in outcome.stdout


def test_a_long_line_is_passed_over(folder: Path) -> None:
    lines = [megatron(step, 1000.0 + step) for step in range(1, 10)]
    (folder / "a.log").write_text("x" * 300_000 + "elapsed memory\n" + "".join(lines))
    (row,) = calibrate(folder, "run.plan", "a.log", "--skip", "7")["measurements"]
    assert (row["what"], row["measured"], row["num_values"]) == ("step time", pytest.approx(1.0085), 2)

"""What a plan comes to on one page: the header, the stages, the card, the step, the run, and what is not known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planc.compiler import plan_facts
from planc.explanation import STEP_TIME
from planc.facts.dominant import sentence
from planc.facts.memory import PARTS
from planc.plan.model import Plan, Unknown
from planc.showing.card import card_lines
from planc.showing.limits import limits_of
from planc.showing.page import page_text
from planc.showing.stages import COLUMNS, stages_data, stages_of
from tests.analysis import analysis_of, analysis_of_file
from tests.commands.cli import BROKEN, ROOT

#: Four stages of unlike size: the first and the last hold the ends of the model.
DEEP = """\
gpu card { memory = 80 GiB  bf16 = 400 TFLOPS  memory_bandwidth = 2 TB/s  link = 300 GB/s }
cluster two { gpu = card  nodes = 2  gpus_per_node = 8  inter_node = 25 GB/s  price_per_gpu = 2 USD/h }
model deep { layers = 32  hidden = 4096  heads = 32  ffn = 11_008  vocab = 128_000 }
plan run { model = deep  cluster = two  parallel { tensor = 2  pipeline = 4 }  shard { stage = 1 }
  batch { global = 64  micro = 1  sequence_length = 4Ki }  precision = bf16  train { duration = 1_000 steps }
  emit = [megatron]
}
"""


def plan_of(text: str) -> Plan:
    (plan,) = analysis_of(text).plans
    return plan


def page(text: str, width: int = 100) -> list[str]:
    return page_text(plan_of(text), {}, width).splitlines()


def rows(lines: list[str]) -> list[list[str]]:
    """Cells of the rows of the table of stages."""
    at = next(number for number, line in enumerate(lines) if line.split()[:2] == ["stage", "layers"])
    table = lines[at : lines.index("", at)]
    return [line.replace(" *", "").split() for line in table if line.split()[0].isdigit()]


def bar(lines: list[str]) -> str:
    (found,) = (line.strip() for line in lines if line.strip().startswith("["))
    return found


def test_the_header_says_what_is_trained_on_what() -> None:
    lines = page(DEEP)
    assert lines[0] == "plan run (case.plan:4:6)"
    assert lines[1].startswith("model    deep: ") and lines[1].endswith("B parameters, 32 layers")
    assert lines[2:6] == [
        "cards    2 x 8 card, 16 ranks",
        "split    tensor 2 x pipeline 4 x data 2; ZeRO stage 1 over 2 ranks; 1f1b",
        "batch    64 samples of 4096 tokens, 262_144 tokens; 32 micro batches of 1",
        "mode     bf16, recompute none, adamw",
    ]


def test_each_stage_has_a_row_whose_parts_add_up() -> None:
    lines = page(DEEP)
    found = rows(lines)
    assert [row[0] for row in found] == ["0", "1", "2", "3"]
    assert [row[1] for row in found] == ["8"] * 4
    facts = plan_facts(plan_of(DEEP))
    for row, stage in zip(found, stages_of(facts).views, strict=True):
        assert len(row) == 3 + len(COLUMNS) + 1
        assert float(row[-1]) == pytest.approx(stage["stage.total"] / 2**30, abs=0.051)
        assert sum(map(float, row[3:-1])) == pytest.approx(float(row[-1]), abs=0.05 * len(COLUMNS) + 0.01)
    marked = [line for line in lines if line.endswith(" *")]
    assert [line.split()[0] for line in marked] == [str(facts["memory.worst_stage"])]


def test_the_columns_are_all_parts_of_memory() -> None:
    assert sorted(part for parts in COLUMNS.values() for part in parts) == sorted(PARTS)


def test_one_stage_needs_no_table_and_many_are_cut_short() -> None:
    alone = page(DEEP.replace("pipeline = 4", "pipeline = 1"))
    assert not any(line.split()[:1] == ["stage"] for line in alone)
    long = DEEP.replace("pipeline = 4", "pipeline = 64").replace("layers = 32", "layers = 128")
    long = long.replace("nodes = 2", "nodes = 16")
    lines = page(long)
    found = rows(lines)
    assert [found[0][0], found[-1][0]] == ["0", "63"]
    assert len(found) < 17
    assert "  the stages between are like their neighbours" in lines
    assert not stages_data(plan_facts(plan_of(long)))["complete"]
    assert stages_data(plan_facts(plan_of(DEEP)))["complete"]


def test_the_bar_shows_the_parts_in_proportion() -> None:
    facts = plan_facts(plan_of(DEEP))
    shown = bar(page(DEEP))
    inside = shown[1:-1]
    assert shown[0] + shown[-1] == "[]"
    assert inside.count("W") / len(inside) == pytest.approx(
        facts["memory.weights"] / facts["memory.capacity"], abs=0.02
    )
    assert inside.count(".") / len(inside) == pytest.approx(facts["memory.headroom"], abs=0.02)
    assert re.fullmatch(r"W*G*O*S*B*A*T*C*R*\.*", inside)


def test_a_card_that_is_too_small_ends_within_the_bar() -> None:
    small = DEEP.replace("memory = 80 GiB", "memory = 16 GiB")
    facts = plan_facts(plan_of(small))
    lines = page(small)
    assert any(line.startswith("card     ") and line.endswith(" GiB too much") for line in lines)
    inside = bar(lines)[1:-1]
    assert "." not in inside
    assert inside.index("|") / len(inside) == pytest.approx(facts["memory.capacity"] / facts["memory.total"], abs=0.02)


def test_the_parts_of_the_step_are_named_and_add_up() -> None:
    lines = page(DEEP)
    shares = {}
    for line in lines:
        match = re.fullmatch(r" {9}((?:  )?[a-z ]+?) +[\d.]+ \w+ +([\d.]+) %(?:  #+)?", line)
        if match:
            shares[match[1]] = float(match[2])
    assert list(shares) == [
        "compute",
        "exposed communication",
        "  tensor",
        "  pipeline",
        "  data",
        "bubble",
        "optimizer",
        "beside passes",
    ]
    whole = sum(share for name, share in shares.items() if name[0] != " ")
    assert whole == pytest.approx(100, abs=1)
    axes = sum(share for name, share in shares.items() if name[0] == " ")
    assert axes == pytest.approx(shares["exposed communication"], abs=0.2)


def test_the_run_and_a_measured_step() -> None:
    lines = page_text(plan_of(DEEP), {STEP_TIME: 3.6}, 100).splitlines()
    step = next(line for line in lines if line.startswith("step     "))
    assert re.match(r"step     3\.6 s measured, [\d.]+ m?s predicted; ", step)
    run = next(line for line in lines if line.startswith("run      "))
    assert run == "run      1000 steps, 262_144_000 tokens: 1 h, 16 GPU-hours, 32 USD"
    assert not any("with saves" in line for line in lines)
    assert " predicted; " in next(line for line in page(DEEP) if line.startswith("step     "))


def test_saves_and_failures_stand_beside_the_run_without_them() -> None:
    saved = DEEP.replace(
        "duration = 1_000 steps }", "duration = 1_000k steps }  checkpoint { every = 100 steps  write_time = 20 s }"
    )
    saved = saved.replace("price_per_gpu", "mtbf_per_gpu = 10_000 h  price_per_gpu")
    plan = plan_of(saved)
    lines = page_text(plan, {STEP_TIME: 3.6}, 100).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("run      "))
    assert lines[at] == "run      1_000_000 steps, 262_144_000_000 tokens: 41.67 d, 16_000 GPU-hours, 32_000 USD"
    match = re.fullmatch(r" {9}with saves and failures: ([\d.]+) d, ([\d_]+) GPU-hours, ([\d_]+) USD", lines[at + 1])
    assert match
    overhead = plan_facts(plan).changed({STEP_TIME: 3.6})["checkpoint.overhead"]
    assert float(match[1]) == pytest.approx(41.67 / (1 - overhead), rel=1e-3)
    assert int(match[3]) == pytest.approx(32_000 / (1 - overhead), rel=1e-3)


def test_one_of_a_thing_is_no_several() -> None:
    alone = (
        DEEP.replace("tensor = 2  pipeline = 4", "tensor = 8")
        .replace("global = 64", "global = 2")
        .replace("layers = 32", "layers = 1")
    )
    lines = page(alone)
    assert lines[1].endswith(" parameters, 1 layer")
    assert lines[4] == "batch    2 samples of 4096 tokens, 8192 tokens; 1 micro batch of 1"
    assert page(alone.replace("nodes = 2", "nodes = 1").replace("global = 2", "global = 1"))[4].startswith(
        "batch    1 sample of "
    )


def test_many_tokens_are_rounded_as_people_say_them() -> None:
    text = DEEP.replace("1_000 steps", "15_000_000M tokens")
    run = next(line for line in page(text) if line.startswith("run      "))
    assert ", 15T tokens: " in run
    assert re.search(r"\d[\d_]* steps", run)


def test_a_field_that_is_set_is_not_said_to_be_needed() -> None:
    text = (
        DEEP.replace("[megatron]", "[deepspeed]")
        .replace("pipeline = 4", "pipeline = 1")
        .replace("bf16  train", "bf16  recompute = selective  train")
    )
    (unknown,) = (line for line in page(text, 1000) if line.startswith("unknown  memory.total"))
    assert unknown.endswith("; it is known for another `recompute`")


def test_the_limit_is_said_with_what_would_help() -> None:
    facts = plan_facts(plan_of(DEEP))
    (found,) = limits_of((facts,))
    assert not isinstance(found, Unknown)
    (limit,) = (line for line in page(DEEP, 1000) if line.startswith("limit    "))
    assert limit == f"limit    {sentence(found)}"
    assert not any(line.startswith("limit") for line in page(DEEP.replace("bf16 = 400 TFLOPS", "bf16 = true")))


def test_what_is_not_known_is_said_with_what_would_supply_it() -> None:
    lines = page(DEEP.replace("bf16 = 400 TFLOPS", "bf16 = true"))
    assert any(line.startswith("unknown  step.time: ") and "`cluster.gpu.bf16`" in line for line in lines)
    assert not any(line.startswith("step     ") for line in lines)
    assert not any(line.startswith("unknown") for line in page(DEEP))
    broken = page(BROKEN)
    assert broken[1] == "model    ?: ?, ? layers"
    assert any(line.startswith("unknown  memory.total: the plan has errors; it needs ") for line in broken)


def test_what_follows_from_an_unknown_step_is_not_said_again() -> None:
    lines = page(DEEP.replace("bf16 = 400 TFLOPS", "bf16 = true"))
    assert [line.split()[1] for line in lines if line.startswith("unknown")] == ["step.time:"]


def test_what_is_offloaded_lies_in_the_memory_of_a_node() -> None:
    away = DEEP.replace("precision", "offload { optimizer = cpu }  precision").replace(
        "price_per_gpu", "cpu_memory = 2 TiB  price_per_gpu"
    )
    away = away.replace("pipeline = 4", "pipeline = 1").replace("megatron", "deepspeed")
    facts = plan_facts(plan_of(away))
    (host,) = (line for line in page(away) if line.startswith("host "))
    assert (
        host == f"host     {facts['memory.host'] / 2**30:.1f} of 2048.0 GiB of a node's memory hold what is offloaded"
    )
    assert not any(line.startswith("host") for line in page(DEEP))


def test_cards_without_a_known_size_have_no_bar() -> None:
    (plan,) = analysis_of(BROKEN).plans
    assert card_lines(plan_facts(plan), 60) == []


def test_each_engine_has_its_part() -> None:
    plan = analysis_of_file(ROOT / "examples" / "finetune-8b.plan").plans[0]
    lines = page_text(plan, {}, 100).splitlines()
    assert [line.split()[1] for line in lines if line.startswith("engine")] == ["fsdp2:", "deepspeed:"]
    assert len([line for line in lines if line.startswith("card ")]) == 2


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.plan")), ids=lambda path: path.stem)
def test_no_line_is_wider_than_the_terminal(path: Path, width: int) -> None:
    for plan in analysis_of_file(path).plans:
        for line in page_text(plan, {}, width).splitlines():
            assert len(line) <= width
            assert line.isascii()
    for line in page(DEEP, width):
        assert len(line) <= width


ABSURD = {
    "layers = 32": "layers = 1_000_000_000", "nodes = 2": "nodes = 1_000_000", "hidden = 4096": "hidden = 4096k",
    "pipeline = 4": "pipeline = 1_000_000", "memory = 80 GiB": "memory = 1 B", "micro = 1": "micro = 1_000_000_000",
}  # fmt: skip


@pytest.mark.parametrize("sane", ABSURD)
def test_absurd_plans_have_a_page(sane: str) -> None:
    lines = page(DEEP.replace(sane, ABSURD[sane]))
    assert lines[0] == "plan run (case.plan:4:6)"
    assert not any("nan" in line or "inf" in line for line in lines)

"""The functions of conditions, on written numbers, fields, lists and derived numbers, and what they refuse."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from planc.plan.evaluate import FUNCTIONS
from planc.plan.schema import DERIVED, SECTIONS
from tests.analysis import analysis_of, faults

PLAN = """\
gpu card { memory = 80 GiB  bf16 = 989 TFLOPS  link = 450 GB/s  memory_bandwidth = 3350 GB/s  power = 700 W }
cluster one {
  gpu = card  nodes = 2  gpus_per_node = 8  inter_node = 50 GB/s  storage = 5 GB/s
  mtbf_per_gpu = 8000 h  price_per_gpu = 3 USD/h  energy_price = 0.2 EUR/kWh
}
model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }
plan run {
  model     = small
  cluster   = one
  parallel  { pipeline = 4 }
  pipeline  = 1f1b { layers = [1, 2, 3, 2] }
  shard     { stage = 1 }
  batch     { global = 64  micro = 1  sequence_length = 1024 }
  precision = bf16
  optimizer = adamw { betas = [0.9, 0.95] }
  train     { duration = 2000 steps }
  checkpoint { every = 500 steps }
  profile   { start = 10 steps  ranks = [0, 8] }
  log       { to = [wandb] }
  policies  = [house]
  emit      = [torchrun, slurm]
  launch    { script = "t.py" }
}
"""


def said(condition: str, reason: str = "") -> list[tuple[str, str]]:
    """Code and message of what is said where a policy requires a condition."""
    because = f'because "{reason}"' if reason else ""
    found = faults(analysis_of(f"{PLAN}policy house {{ require {condition}  {because} }}"))
    return [(one.code, one.message) for one in found]


CASES = {
    "divides": (
        "divides(3, 9)", "not divides(4, 9)", "not divides(parallel.tensor - 1, 9)", "divides(8, world.size)",
        "divides(parallel.pipeline, count(pipeline.layers))", "divides(world.size, batch.tokens / 1 tokens)",
        "divides(1 GiB, cluster.gpu.memory)",
    ),
    "floor": (
        "floor(7 / 2) == 3", "floor(-0.5) == -1", "floor(3) == 3", "floor(10 * pipeline.bubble) == 1",
        "floor(train.steps / checkpoint.every) <= 4",
    ),
    "ceil": ("ceil(7 / 2) == 4", "ceil(-0.5) == 0", "ceil(3) == 3", "ceil(10 * memory.headroom) in 1..10"),
    "min": (
        "min(4, 5) == 4", "min(pipeline.layers) == 1", "min(optimizer.betas) == 0.9", "min(profile.ranks) == 0",
        "min(memory.weights, memory.gradients, memory.optimizer) < memory.total",
        "min(step.compute, 1 h) < 1 h",
    ),
    "max": (
        "max(4, 5) == 5", "max(pipeline.layers) == 3", "max([1, 2, 3]) == 3",
        "max(pipeline.layers) <= 2 * min(pipeline.layers) + 1",
        "max(communication.data.exposed, communication.pipeline.exposed) <= step.time",
        "max(memory.weights, 1 GB) >= 1 GB",
    ),
    "sum": (
        "sum(pipeline.layers) == model.layers", "sum([1, 2]) == 3", "sum([]) == 0", "sum(1, 2, 3) == 6",
        "sum(memory.weights, memory.gradients, memory.optimizer) <= memory.total",
        "sum(step.compute, step.communication, step.bubble, step.optimizer) <= step.time",
        "sum(optimizer.betas) < 2",
    ),
    "count": (
        "count([1, 2, 3]) == 3", "count(pipeline.layers) == parallel.pipeline", "count(log.to) == 1",
        "count(emit) == 2", "count([]) == 0", "count(profile.ranks) <= world.size", "count(policies) == 1",
    ),
    "any": (
        "any(false, true)", "not any(false, false)", "any(slurm in emit, deepspeed in emit)",
        "any([cluster.nodes == 2, false])", "any(dataset.workers == 1, true)",
        "any(memory.headroom < 1 %, pipeline.bubble > 1 %)",
    ),
    "all": (
        "all(true, true)", "not all(true, false)", "all(slurm in emit, torchrun in emit)",
        "not all(dataset.workers == 1, false)",
        "all([cluster.nodes == 2, 1 < parallel.pipeline])", "all(memory.headroom > 1 %, step.mfu < 100 %)",
    ),
}  # fmt: skip


def test_every_function_has_cases() -> None:
    assert set(CASES) == set(FUNCTIONS)


@pytest.mark.parametrize("condition", [condition for cases in CASES.values() for condition in cases])
def test_holds(condition: str) -> None:
    assert said(condition) == []
    assert [code for code, _ in said(f"not ({condition})")] == ["PLN090"]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("divides(8)", "`divides` takes two numbers"),
        ("divides(8, log.to)", "`divides` takes two numbers"),
        ("ceil(1, 2) == 1", "`ceil` takes one number"),
        ("floor(pipeline.layers) == 1", "`floor` takes one number"),
        ("max([]) == 1", "`max` takes numbers, or one list of them"),
        ("min(precision, 3) == 1", "`min` takes numbers, or one list of them"),
        ("max(1 GB, 1 h) < 2 GB", "`max` takes numbers of one kind"),
        ("sum(memory.weights, step.time) < 2 GB", "`sum` takes numbers of one kind"),
        ("max(memory.weights, 1 GB) < 3", "a plain number compared with a size"),
        ("max([1 GB, 1 h]) == 1 GB", "`max` takes numbers, or one list of them"),
        ("max([step.time, 1 s]) == 1 s", "`==` on a rounded number"),
        ("max(step.time, 1 s) == 1 s", "`==` on a rounded number"),
        ("median(pipeline.layers) == 2", "unknown function `median`"),
        ("sum([[1]]) == 1", "`sum` takes numbers, or one list of them"),
        ("any(log.to)", "`any` takes"),
        ("all(1, 2)", "`all` takes"),
        ("sum(log.to) == 1", "`sum` takes"),
        ("min(true, false) == 1", "`min` takes"),
        ("divides(1 GB, 4 h)", "`divides` takes"),
        ("train.energy < 3 h", "a time compared with an energy"),
        ("any([])", "`any` of an empty list"),
        ("all([])", "`all` of an empty list"),
        ("divides(0, model.layers)", "division by zero"),
        ("divides(5, checkpoint.every)", "`divides` takes two numbers of one kind"),
        ("max(train.duration, 5) == 1", "`max` takes numbers of one kind"),
        ("ceil(train.duration) <= 100", "a plain number compared with a quantity"),
        ("min(train.cost, train.energy_cost) <= 5", "a plain number compared with an amount of money"),
    ],
)
def test_refuses(condition: str, message: str) -> None:
    assert any(message in text for _, text in said(condition)), said(condition)
    assert "PLN090" not in [code for code, _ in said(condition)]


@pytest.mark.parametrize(
    "condition",
    [
        "any(dataset.workers == 1, false)", "all(dataset.workers == 1, true)", "max(dataset.workers, 1) == 1",
        "divides(dataset.shards, 8)",
        "ceil(dataset.workers / 2) == 1", "sum(dataset.workers) == 1",
    ],
)  # fmt: skip
def test_is_silent_on_what_is_not_set(condition: str) -> None:
    assert said(condition) == []
    assert said(f"not ({condition})") == []


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("train.cost < 1 USD", "{train.cost}"),
        ("train.energy_cost < 0.01 EUR", "{train.energy_cost}"),
        ("train.gpu_time < 1 s", "{train.gpu_time}"),
        ("train.energy < 1 kW * 1 s", "{train.energy}"),
        ("train.cost / (train.tokens / 1B tokens) < 1 USD", "{train.cost}"),
        ("checkpoint.failures > 10", "{checkpoint.failures}"),
        ("step.tokens_per_second_per_card < 1 tokens / 1 s", "{step.tokens_per_second_per_card}"),
    ],
)
def test_what_a_run_costs_can_be_limited(condition: str, text: str) -> None:
    found = faults(analysis_of(f'{PLAN}policy house {{ require {condition}  because "it is {text}" }}'))
    assert [one.code for one in found] == ["PLN090"]
    assert said(f"not ({condition})") == []
    shown = found[0].related[-1].text
    units = {"train.cost": "USD", "train.energy_cost": "EUR", "train.gpu_time": "GPU-hours", "train.energy": "Wh"}
    assert shown.startswith("it is ") and shown.endswith(units.get(text.strip("{}"), "")), shown


def test_money_of_another_currency_is_not_judged() -> None:
    for condition in ("train.cost < 1 EUR", "not (train.cost < 1 EUR)"):
        assert said(condition) == []


def paths(kind: str, prefix: str = "") -> Iterator[str]:
    """Every field below a kind of block, by its path from there."""
    for field in SECTIONS[kind]:
        yield f"{prefix}{field.name}"
        if field.type.form in ("record", "variant", "reference") and field.type.of not in ("plan", "policy"):
            yield from paths(field.type.of, f"{prefix}{field.name}.")


def test_every_field_and_every_derived_number_can_be_asked_for() -> None:
    asked = [f"{path} == none or {path} != none" for path in paths("plan")]
    asked += [f"min({path}, {path}) <= max({path}, {path})" for path in DERIVED]
    assert 200 < len(asked)
    rules = "\n".join(f'require {condition}  because "{{{condition.split()[0]}}}"' for condition in asked[:200])
    assert faults(analysis_of(f"{PLAN}policy house {{\n{rules}\n}}\n")) == []
    rules = "\n".join(f"forbid {condition}" for condition in asked)
    found = faults(analysis_of(f"{PLAN}policy house {{\n{rules}\n}}\n"))
    assert {one.code for one in found} == {"PLN090"}
    judged = {one.related[-1].span.text.removeprefix("forbid ") for one in found}
    assert [condition for condition in asked if condition not in judged and "bubble_with_head" not in condition] == []


def test_candidates_that_break_different_rules_have_no_fault_in_common() -> None:
    text = PLAN.replace("nodes = 2", "nodes in [2, 4]")

    def said_of(*rules: str) -> list[str]:
        lines = "\n".join(f"  require {rule}" for rule in rules)
        return [one.code for one in faults(analysis_of(f"{text}policy house {{\n{lines}\n}}\n"))]

    assert said_of("cluster.nodes <= 2", "cluster.nodes != 2") == ["PLN035"]
    assert said_of("cluster.nodes < 2", "cluster.nodes != 2") == ["PLN090"]


def test_two_rules_without_a_name_are_two_faults_at_one_place() -> None:
    longer = "parallel.pipeline <= 2 and parallel.tensor <= 8 and cluster.nodes"
    text = f"{PLAN}policy house {{\n  require {longer} == 2\n  require {longer} == 2 and 1 < cluster.nodes\n}}\n"
    first, second = faults(analysis_of(text))
    assert first.primary.span == second.primary.span
    assert (first.message, second.message) == (
        "policy `house` requires `parallel.pipeline <= 2` in its line 25",
        "policy `house` requires `parallel.pipeline <= 2` in its line 26",
    )

"""What a policy's condition may compare, and with what: words, names, quantities of several kinds, what is unset."""

from __future__ import annotations

import pytest

from tests.analysis import analysis_of, faults

PLAN = """\
gpu card { memory = 80 GiB  fp16 = true  bf16 = 989 TFLOPS  fp8 = false }
cluster one { gpu = card  nodes = 2  gpus_per_node = 8  price_per_gpu = 2.4 USD/h  energy_price = 0.2 EUR/kWh }
model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000  family = "llama" }
plan run {
  model     = small
  cluster   = one
  batch     { global = 64  micro = 1 }
  precision = bf16
  optimizer = adamw { learning_rate = 2e-4 }
  train     { duration = 2000 steps }
  log       { to = [wandb] }
  versions  { torch = "2.13" }
  launch    { script = "t.py"  walltime = 90 min  env { A = "x" } }
  policies  = [house]
  emit      = [torchrun]
}
"""


def said(condition: str) -> list[tuple[str, str]]:
    """Code and message of what is said where a policy requires a condition."""
    found = faults(analysis_of(f"{PLAN}policy house {{ require {condition} }}"))
    return [(one.code, one.message) for one in found]


@pytest.mark.parametrize(
    "condition",
    [
        "precision == bf16",
        "precision in [bf16, fp32] and optimizer not in [sgd, lion]",
        "pipeline == 1f1b",
        "pipeline in [interleaved, 1f1b] and 1f1b == pipeline",
        "log.to == [wandb]",
        "wandb in log.to and tensorboard not in log.to",
        "torchrun in emit and deepspeed not in emit",
        "emit == [torchrun]",
        "cluster == one and model in [small, large]",
        "house in policies",
        "cluster.gpu.bf16 == true and cluster.gpu.fp16 == true and cluster.gpu.fp8 == false",
        "cluster.gpu.bf16 != false and cluster.gpu.bf16 >= 900 TFLOPS",
        "cluster.gpu.fp4 == none and cluster.gpu.bf16 != none",
        "cluster.price_per_gpu <= 3 USD/h and cluster.price_per_gpu * 8 == 19.2 USD/h",
        "cluster.energy_price < 0.3 EUR/kWh",
        "train.duration <= 2000 steps",
        "schedule == none and schedule.warmup == none and train.duration != none",
        "recompute == none and model.bias == none and adapter == none",
        "dataset.name == none",
        "versions.torch >= \"2.6\" and versions.torch < \"2.20\" and versions.numpy == none",
        "launch.env.A == \"x\"",
        "launch.walltime == 1.5 h and launch.walltime <= 1 d",
        "divides(8, world.size) and max(parallel.tensor, 3) == 3 and ceil(7 / 2) == 4 and floor(7 / 2) == 3",
        "sum([1, 2]) == 3 and count([1, 2, 3]) == 3 and min(4, 5) == 4",
        "any(parallel.sequence, true) and all(true, not parallel.sequence)",
        "parallel.tensor in 1..8 and parallel.tensor not in [3, 5]",
        "optimizer.learning_rate == 0.0002 and memory.states > 1 MB and batch.sequence_length == none",
    ],
)  # fmt: skip
def test_holds(condition: str) -> None:
    assert said(condition) == []
    assert [code for code, _ in said(f"not ({condition})")] == ["PLN090"]


@pytest.mark.parametrize(
    "condition",
    [
        "train.duration <= 1B tokens",
        "batch.sequence_length > 0",
        "schedule.warmup < 10 %",
        "checkpoint.keep <= 3",
        "cluster.price_per_gpu < 3 EUR/h",
        "cluster.gpu.fp16 >= 900 TFLOPS",
        "batch.tokens > 0 tokens",
        "versions.deepspeed >= \"0.10\"",
        "train.cost <= 5 USD",
        "train.cost / train.tokens * 1B tokens <= 5 USD",
        "checkpoint.every * 2 <= train.duration",
        "max(checkpoint.every, 10 steps) <= 100 steps",
        "model.layers in 1..model.experts.count",
        "checkpoint.every <= 500 steps or checkpoint.every <= 10 steps",
        "checkpoint.every <= 1 h or train.duration <= 1B tokens",
    ],
)  # fmt: skip
def test_stays_silent_where_it_cannot_be_judged(condition: str) -> None:
    assert said(condition) == []
    assert said(f"not ({condition})") == []


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("precision == bf15", "unknown word `bf15`"),
        ("pipeline == 2f2b", "unknown word `2f2b`"),
        ("wandbb in log.to", "unknown word `wandbb`"),
        ("log.to == [wandbb]", "unknown word `wandbb`"),
        ("torchrum in emit", "unknown word `torchrum`"),
        ("\"torchrun\" in emit", "a text where a word is due"),
        ("memory.headroom == 8 %", "`==` on a rounded number"),
        ("parallel.tensor <= 8 GB", "a size compared with a plain number"),
        ("cluster.nodes", "the condition is no yes or no"),
        ("precision < bf16", "a word has no order"),
        ("cluster.nodes + cluster.cpu_memory > 3", "a size added to a plain number"),
        ("train.cost <= 5", "a plain number compared with an amount of money"),
        ("not 5 < train.cost", "a plain number compared with an amount of money"),
        ("train.cost * 2 <= 5", "a plain number compared with an amount of money"),
        ("train.cost / train.tokens <= 5 USD", "an amount of USD compared with a quantity"),
        ("train.cost in 1..5", "a plain number compared with an amount of money"),
        ("cluster.price_per_gpu <= 5", "a plain number compared with a price per time"),
        ("cluster.price_per_gpu <= 5 USD", "an amount of USD compared with a price per time"),
        ("train.duration <= 100", "a plain number compared with a quantity"),
        ("train.duration <= 100 h", "a time compared with a quantity"),
        ("train.duration in [100]", "a plain number compared with a quantity"),
        ("train.duration == \"100\"", "a text compared with a quantity"),
        ("checkpoint.every + 5 <= 1 h", "a plain number added to a quantity"),
        ("checkpoint.every <= train.cost", "an amount of money compared with a quantity"),
        ("versions.torch >= \"latest\"", "\"latest\" is no version"),
        ("versions.torch in [\"2.6\", \"main\"]", "\"main\" is no version"),
        ("model.layers / 0 == 1", "division by zero"),
        ("model.layers in 8..1", "the range is empty"),
        ("train.cost not in 8 USD..1 USD", "the range is empty"),
        ("model.layers in []", "the list is empty"),
        ("checkpoint.every <= 1 h or checkpoint.every <= 500 steps", "no plan can break this rule"),
        ("any(checkpoint.every <= 1 h, checkpoint.every <= 500 steps)", "no plan can break this rule"),
        ("not (1 h < checkpoint.every and 500 steps < checkpoint.every)", "no plan can break this rule"),
        ("train.cost <= 5 USD or train.cost <= 5 EUR", "no plan can break this rule"),
        ("train.duration <= 9 steps when train.duration <= 9 epochs", "no plan can break this rule"),
    ],
)  # fmt: skip
def test_is_a_fault_of_the_policy(condition: str, message: str) -> None:
    assert message in [text for _, text in said(condition)]


def test_two_kinds_may_be_asked_for_with_and() -> None:
    assert said("checkpoint.every <= 1 h and checkpoint.every <= 500 steps") == []
    assert said("schedule.warmup <= 100 steps and schedule.warmup <= 10 %") == []


@pytest.mark.parametrize("verb", ["forbid", "warn"])
def test_no_plan_breaks_what_two_kinds_would_have_to_hold_for(verb: str) -> None:
    rule = f"{verb} 1 h < checkpoint.every and 500 steps < checkpoint.every"
    found = faults(analysis_of(f"{PLAN}policy house {{ {rule} }}"))
    assert [one.message for one in found] == ["no plan can break this rule"]
    rules = f"{verb} 1 h < train.duration or 500 steps < train.duration"
    found = faults(analysis_of(f"{PLAN}policy house {{ {rules.replace('1 h', '9 epochs')} }}"))
    assert [one.code for one in found] == ["PLN090" if verb == "forbid" else "PLN091"]


@pytest.mark.parametrize(
    ("reason", "message", "help"),
    [
        ("{unclosed", "`{` is not closed", ()),
        ("{model.layers", "`{` is not closed", ("write `{model.layers}`",)),
        ("{model.layers and {model.heads}", "`{` is not closed", ("write `{model.layers}`",)),
        ("{ model.layers }", "blanks within the braces of a value", ("write `{model.layers}`",)),
    ],
)
def test_a_reason_says_where_it_reads_no_value(reason: str, message: str, help: tuple[str, ...]) -> None:
    (found,) = faults(analysis_of(f'{PLAN}policy house {{ require model.layers == 7 because "{reason}" }}'))
    assert (found.code, found.message, found.help) == ("PLN033", message, help)


def test_a_reason_may_hold_braces_that_name_no_value() -> None:
    text = "{a, b} {} {1} x}"
    (found,) = faults(analysis_of(f'{PLAN}policy house {{ require model.layers == 7 because "{text}" }}'))
    assert found.related[-1].text == text


def test_values_are_shown_in_their_units() -> None:
    condition = 'train.duration == none  because "{train.duration}, {cluster.price_per_gpu}, {launch.walltime}"'
    (found,) = faults(analysis_of(f"{PLAN}policy house {{ require {condition} }}"))
    assert found.primary.text == "`train.duration` is 2000 steps"
    assert found.related[-1].text == "2000 steps, 2.4 USD/h, 1.5 h"


def test_a_warmup_without_a_unit_is_a_share() -> None:
    def help(warmup: str) -> list[tuple[str, ...]]:
        text = PLAN.replace("policies", f"schedule = cosine {{ warmup = {warmup} }}  #")
        return [one.help for one in faults(analysis_of(text)) if one.code == "PLN015"]

    assert help("100") == [("write `100 steps`",)]
    assert help("5 %") == []

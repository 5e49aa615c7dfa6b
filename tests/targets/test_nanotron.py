"""What nanotron makes of nanotron.yaml: the keys that it knows, and the learning rate of each step."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from planc.plan.model import Plan
from planc.targets.target import EmittedFile
from tests.compiling import ROOT, analysed, errors, file_of
from tests.shared import shared
from tests.targets.test_targets import EXAMPLES, OK, emitted

SCHEMA = Draft202012Validator(json.loads((ROOT / "schemas" / "nanotron.schema.json").read_text(encoding="utf-8")))

PEAK = 1e-4


def faults(data: dict[str, Any]) -> list[str]:
    """What the schema says of a file."""
    return [error.message for error in SCHEMA.iter_errors(data)]


def schedule(text: str) -> dict[str, Any]:
    """The schedule in nanotron.yaml of a plan of 1000 steps with this schedule."""
    analysis = analysed(f"""
gpu card {{ memory = 80 GiB  bf16 = true }}
model small {{ layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000  family = "llama" }}
plan run {{
  model = small
  cluster {{ gpu = card  nodes = 1  gpus_per_node = 8 }}
  batch {{ global = 64  micro = 1  sequence_length = 2048 }}
  precision = bf16
  optimizer {{ learning_rate = {PEAK}  betas = [0.9, 0.95]  epsilon = 1e-8  weight_decay = 0.1 }}
  {text}
  train {{ duration = 1000 steps }}
  dataset {{ path = "tokens" }}
  checkpoint {{ every = 100 steps  directory = "out" }}
  launch {{ script = "run_train.py" }}
  emit = [nanotron]
}}
""")
    assert errors(analysis) == []
    data = yaml.safe_load(file_of(analysis.plans[0], "nanotron.yaml"))
    found: dict[str, Any] = data["optimizer"]["learning_rate_scheduler"]
    return found


def rate(said: dict[str, Any], step: int) -> float:
    """The learning rate that nanotron takes a step with (helpers.py, lr_scheduler_builder)."""
    peak, least, warmup = said["learning_rate"], said["min_decay_lr"], said["lr_warmup_steps"]
    begin, length = said["lr_decay_starting_step"], said["lr_decay_steps"]
    assert warmup or length  # else it takes the rate for a factor of itself
    if step <= warmup:
        return float(peak * step / max(warmup, 1) if said["lr_warmup_style"] == "linear" else peak)
    if step < begin + length:
        done = (step - begin) / length
        share = 1 - done if said["lr_decay_style"] == "linear" else (1 + math.cos(math.pi * done)) / 2
        return float(least + (peak - least) * share)
    return float(least)


@pytest.mark.parametrize(("plan", "file"), emitted([*OK, *EXAMPLES], "nanotron.yaml"))
def test_keys_are_those_of_nanotron(plan: Plan, file: EmittedFile) -> None:
    assert faults(yaml.safe_load(file.text)) == []


def test_files_of_nanotron_follow_the_schema() -> None:
    """All but those of nanotron that were left behind when it gave optimizers a section: it refuses them itself."""
    paths = sorted(shared("corpus/nanotron").iterdir())
    data = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths}
    old = {name for name in data if "optimizer_factory" not in data[name]["optimizer"]}
    assert {name for name in data if faults(data[name])} == old
    assert len(old) < 8 < 20 <= len(data) - len(old)


def test_a_misspelt_key_and_a_quoted_number_are_no_nanotron() -> None:
    whole = {
        "general": {"project": "x"},
        "model": {"model_config": {"is_llama_config": True}, "init_method": {"std": 1}},
    }
    sizes = {"dp": 1, "pp": 1, "tp": 1}
    assert faults({**whole, "parallelism": sizes}) == []
    assert faults({**whole, "parallelism": {**sizes, "tp_size": 2}})
    assert faults({**whole, "parallelism": {**sizes, "tp": "2"}})


def test_without_a_schedule_the_rate_is_the_same_from_the_first_step() -> None:
    assert {rate(schedule(""), step) for step in (0, 1, 500, 999, 1000)} == {PEAK}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("schedule = constant { warmup = 100 steps }", {0: 0.0, 50: PEAK / 2, 100: PEAK, 999: PEAK}),
        ("schedule = linear { warmup = 100 steps  minimum = 1e-5 }", {100: PEAK, 550: 5.5e-5, 1000: 1e-5}),
        ("schedule = linear {}", {0: PEAK, 500: PEAK / 2, 1000: 0.0}),
        ("schedule = cosine { warmup = 10 % }", {50: PEAK / 2, 550: PEAK / 2, 1000: 0.0}),
        ("schedule = cosine { total = 600 steps  minimum = 1e-5 }", {0: PEAK, 300: 5.5e-5, 600: 1e-5, 900: 1e-5}),
    ],
)
def test_the_rate_takes_the_course_of_the_plan(text: str, expected: dict[int, float]) -> None:
    said = schedule(text)
    assert {step: rate(said, step) for step in expected} == pytest.approx(expected)

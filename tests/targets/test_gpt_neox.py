"""What gpt-neox makes of gpt_neox.yml: the keys that it knows, the widths that it builds, what DeepSpeed gets of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from planc.plan.model import Plan
from planc.targets.target import EmittedFile
from tests.compiling import ROOT, analysed, errors, file_of
from tests.shared import shared
from tests.targets.test_targets import EXAMPLES, OK, emitted

SCHEMA = Draft202012Validator(json.loads((ROOT / "schemas" / "gpt_neox.schema.json").read_text(encoding="utf-8")))

#: Files of gpt-neox's own that do not follow the schema, with the reason.
WRONG = {
    "EleutherAI_gpt-neox--configs_gmlp_small.yml": "a slip of the pen: `1.0e_8`, which YAML reads as a word",
}


def faults(data: dict[str, Any]) -> list[str]:
    """What the schema says of a file; gpt-neox takes `-` for `_` in keys, and any case of a word."""
    return [error.message for error in SCHEMA.iter_errors({key.replace("-", "_"): data[key] for key in data})]


def plan_text(model: str = "", rest: str = "") -> str:
    """A plan that emits gpt-neox, with fields of the model and of the plan in it."""
    return f"""
gpu card {{ memory = 80 GiB  bf16 = true  fp16 = true }}
model small {{ layers = 8  hidden = 1024  heads = 16  vocab = 32_000  {model}  family = "llama" }}
plan run {{
  model = small
  cluster {{ gpu = card  nodes = 1  gpus_per_node = 8 }}
  batch {{ global = 64  micro = 1  sequence_length = 2048 }}
  precision = bf16
  train {{ duration = 1000 steps }}
  launch {{ script = "train.py" }}
  emit = [gpt-neox]
  {rest}
}}
"""


def config(model: str, rest: str) -> dict[str, Any]:
    """gpt_neox.yml of such a plan, read back."""
    analysis = analysed(plan_text(model, rest))
    assert errors(analysis) == []
    data: dict[str, Any] = yaml.safe_load(file_of(analysis.plans[0], "gpt_neox.yml"))
    return data


@pytest.mark.parametrize(("plan", "file"), emitted([*OK, *EXAMPLES], "gpt_neox.yml"))
def test_keys_are_those_of_gpt_neox(plan: Plan, file: EmittedFile) -> None:
    assert faults(yaml.safe_load(file.text)) == []


def test_files_of_gpt_neox_follow_the_schema() -> None:
    paths = sorted(shared("corpus/gpt-neox").iterdir())
    wrong = {path.name for path in paths if faults(yaml.safe_load(path.read_text(encoding="utf-8")))}
    assert wrong == set(WRONG)
    assert 40 < len(paths)


def test_a_misspelt_key_and_a_quoted_number_are_no_gpt_neox() -> None:
    assert faults({"pipe_parallel_sise": 1})
    assert faults({"model_parallel_size": "2"})


@pytest.mark.parametrize("ffn", [2816, 4096, 11008, 14336])
def test_a_gated_mlp_gets_the_width_of_the_plan(ffn: int) -> None:
    """ParallelMLP scales the width by 2 / 3, rounds it up, and gives each half of the gate one half of it."""
    data = config(f"ffn = {ffn}", "optimizer { learning_rate = 1e-4 }")
    both = int(data["intermediate_size"] * 2 / 3)
    assert "mlp_multiple_of" not in data  # 1 by default, so that nothing is rounded
    assert (both, both // 2) == (2 * ffn, ffn)


@pytest.mark.parametrize(("clip", "expected"), [("", 0.0), ("clip = 1.0", 1.0), ("clip = 0.5", 0.5)])
def test_clipping_reaches_deepspeed_whatever_its_default(clip: str, expected: float) -> None:
    """gpt-neox leaves 1.0 out of what it hands on, as its own default; what stands in the extra arguments it adds."""
    data = config("ffn = 4096", f"optimizer {{ learning_rate = 1e-4  {clip} }}")
    assert data["deepspeed_extra_args"]["gradient_clipping"] == data["gradient_clipping"] == expected


@pytest.mark.parametrize("steps", [1, 7, 20, 333])
def test_warmup_lasts_as_many_steps_as_the_plan_says(steps: int) -> None:
    """gpt-neox warms up while the step is at most the share times the steps of the decay."""
    data = config("ffn = 4096", f"optimizer {{ learning_rate = 1e-4 }}  schedule = cosine {{ warmup = {steps} steps }}")
    assert data["warmup"] * data["lr_decay_iters"] == pytest.approx(steps, rel=1e-12)


def test_the_file_ends_as_deepy_wants_it() -> None:
    """deepy.py adds .yml to any other name, so that a file of another ending is not found."""
    plan = analysed(plan_text("ffn = 4096", "optimizer { learning_rate = 1e-4 }")).plans[0]
    assert '"${planc_here}/gpt_neox.yml"' in file_of(plan, "gpt_neox.sh")

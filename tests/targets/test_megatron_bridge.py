"""What planc tells Megatron-Bridge: every flag that Megatron-LM would be given, in words or in a file of them."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from planc.plan.model import Plan
from planc.targets import _megatron_flags, _megatron_lengths
from planc.targets._megatron_bridge_config import KEYS, OTHERWISE_SAID, REFUSED, overrides
from planc.targets._megatron_bridge_text import yaml_of
from tests.compiling import ROOT, analysed, errors, facts_of, file_of, files_of
from tests.targets.test_targets import EXAMPLES, OK, plans
from tests.targets.truth.megatron_bridge import of_file, of_script

SCHEMA = Draft202012Validator(
    json.loads((ROOT / "schemas" / "megatron_bridge.schema.json").read_text(encoding="utf-8"))
)
PLANS = [
    pytest.param(plan, id=f"{path.stem}-{plan.name}")
    for path in [*OK, *EXAMPLES]
    for plan in plans(path)
    if plan.emits("megatron-bridge")
]


def test_every_flag_of_megatron_is_said_or_refused() -> None:
    """The names stand in the source as texts: each is a key here, a part of another, or a reason for a fault."""
    found: set[str] = set()
    for module in (_megatron_flags, _megatron_lengths):
        assert module.__file__ is not None
        for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    told = {*KEYS, *OTHERWISE_SAID, *REFUSED}
    assert len(KEYS) + len(OTHERWISE_SAID) + len(REFUSED) == len(told)
    for plan in (plan for path in OK for plan in plans(path) if plan.emits("megatron")):
        for part in _megatron_flags.flags(plan, facts_of(plan)).values():
            assert {flag.name for flag in part} <= told
    built = {"decoder-first-pipeline-num-layers", "decoder-last-pipeline-num-layers", "adam-beta1", "adam-beta2",
             "account-for-embedding-in-pipeline-split", "account-for-loss-in-pipeline-split", "train-iters",
             "train-samples", "lr-decay-iters", "lr-decay-samples", "lr-warmup-iters", "lr-warmup-samples"}  # fmt: skip
    assert told - built <= found, "a flag that planc does not write"


@pytest.mark.parametrize("plan", PLANS)
def test_no_field_is_said_twice(plan: Plan) -> None:
    names = [override.name for override in overrides(plan, facts_of(plan))]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("plan", PLANS)
def test_a_file_follows_the_schema_and_says_what_the_words_say(plan: Plan) -> None:
    found = overrides(plan, facts_of(plan))
    text = yaml_of(found)
    assert [error.message for error in SCHEMA.iter_errors(yaml.safe_load(text))] == []
    read = of_file(text)
    assert read == {
        override.name: override.value for override in found if override.name not in ("mixed_precision", "comm_overlap")
    } | {"mixed_precision": read["mixed_precision"]}
    files = {file.path for file in files_of(plan)}
    if "megatron_bridge.yaml" not in files:
        words = of_script(file_of(plan, "megatron_bridge.sh"))
        assert words.keys() >= {override.name for override in found}


def test_a_misspelt_key_and_a_quoted_number_are_no_overrides() -> None:
    def faults(data: dict[str, Any]) -> list[str]:
        return [error.message for error in SCHEMA.iter_errors(data)]

    assert faults({"model": {"num_layers": 4}}) == []
    assert faults({"model": {"layers": 4}})
    assert faults({"model": {"num_layers": "4"}})
    assert faults({"trainer": {}})


def test_a_recipe_is_named_in_one_of_two_places() -> None:
    text = """
gpu card {{ memory = 80 GiB  bf16 = true }}
model small {{ layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }}
plan run {{
  model = small
  cluster {{ gpu = card  nodes = 1  gpus_per_node = 8 }}
  batch {{ global = 64  micro = 1  sequence_length = 1Ki }}
  precision = bf16
  optimizer {{ learning_rate = 1e-4 }}
  train {{ duration = 10 steps }}
  dataset {{ path = "data" }}
  checkpoint {{ directory = "ckpt" }}
  launch {{ script = "run_recipe.py"  args = {args} }}
  emit = [{emit}]
}}
"""
    named = 'megatron-bridge { recipe = "llama3_8b_pretrain_config" }'
    for emit, args, notes in (
        ("megatron-bridge", "[]", ["it decides which recipe it is (the option `recipe`)"]),
        (named, "[]", []),
        ("megatron-bridge", '["--recipe", "mine"]', []),
    ):
        analysis = analysed(text.format(emit=emit, args=args))
        assert errors(analysis) == []
        assert [note for found in analysis.diagnostics if found.code == "PLN969" for note in found.notes] == notes
    script = file_of(analysed(text.format(emit=named, args="[]")).plans[0], "megatron_bridge.sh")
    assert "  --recipe llama3_8b_pretrain_config \\\n" in script


_BASE = "`checkpoint.pretrained_checkpoint` (`launch.args`: the weights to start from, which recipes leave out)"
_LORA = 'adapter = lora { rank = 16  alpha = 32  modules = ["linear_qkv"] }'


@pytest.mark.parametrize(
    ("rest", "args", "named"),
    [
        (_LORA, "[]", True),
        ("", "[]", True),
        (f'{_LORA}  resume {{ directory = "ckpt" }}', "[]", True),  # adapters alone are saved
        ('resume { directory = "ckpt" }', "[]", False),
        (_LORA, '["checkpoint.pretrained_checkpoint=/weights"]', False),
    ],
)
def test_weights_that_a_finetuning_starts_from_are_asked_for(rest: str, args: str, named: bool) -> None:
    analysis = analysed(f"""
gpu card {{ memory = 80 GiB  bf16 = true }}
model small {{ layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000  family = "llama" }}
plan run {{
  model = small  cluster {{ gpu = card  nodes = 1  gpus_per_node = 8 }}  precision = bf16
  batch {{ global = 64  micro = 1  sequence_length = 1Ki }}  dataset {{ path = "records" }}  {rest}
  launch {{ script = "run_recipe.py"  args = {args} }}
  emit = [megatron-bridge {{ recipe = "llama3_8b_peft_config"  task = finetune }}]
}}""")
    notes = [note for found in analysis.diagnostics if found.code == "PLN969" for note in found.notes]
    assert any(_BASE in note for note in notes) == named
    assert any("`dataset` (its records: `dataset.path` names indexed data)" in note for note in notes)
    assert not any("the program sets" in note and "`dataset.path`" in note for note in notes)

"""training_args.json: its schema, and who shares the states by it."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from planc.diagnostics.diagnostic import Severity
from planc.targets.target import EmittedFile
from tests.compiling import ROOT, analysed, file_of, files_of, read, written_out
from tests.targets.stubs import Stubs
from tests.targets.truth.transformers import backend_in

HERE = Path(__file__).parent / "transformers"
VALIDATOR = Draft202012Validator(json.loads((ROOT / "schemas/training_args.schema.json").read_text(encoding="utf-8")))
PLAN = """
gpu card {{ memory = 80 GiB  bf16 = true }}
model small {{ layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000  family = "llama" }}
plan run {{
  model = small
  cluster {{ gpu = card  nodes = 1  gpus_per_node = 8 }}
  batch {{ global = 64  accumulation = 8 }}
  precision = bf16
  {rest}
}}
"""


def emitted() -> list[Any]:
    """Every file of the cases, as test parameters."""
    return [
        pytest.param(file, id=f"{path.stem}-{plan.name}")
        for path in sorted(HERE.glob("ok_*.plan"))
        for plan in read(path).plans
        for file in files_of(plan)
        if file.path == "training_args.json"
    ]


def arguments(rest: str) -> dict[str, Any]:
    """The arguments of a plan with these lines."""
    found: dict[str, Any] = json.loads(file_of(analysed(PLAN.format(rest=rest)).plans[0], "training_args.json"))
    return found


@pytest.mark.parametrize("file", emitted())
def test_the_file_follows_its_schema(file: EmittedFile) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(json.loads(file.text))] == []


def test_the_schema_refuses_what_the_trainer_would_not_do() -> None:
    data = arguments("shard { stage = 3 }  emit = [transformers]")
    assert VALIDATOR.is_valid(data)
    for other in (
        {"zero_stage": 3},
        {"fp16": True},
        {"deepspeed": {}},
        {"learning_rate": "1e-4"},
        {"fsdp": "full_shard"},
    ):
        assert not VALIDATOR.is_valid(data | other), other


@pytest.mark.parametrize(
    ("stage", "option", "backend"),
    [(0, "", "ddp"), (1, "", "deepspeed"), (2, "", "fsdp2"), (3, "", "fsdp2"),
     (3, "{ backend = deepspeed }", "deepspeed"), (0, "{ backend = deepspeed }", "deepspeed")],
)  # fmt: skip
def test_the_stage_decides_who_shares_unless_the_plan_does(stage: int, option: str, backend: str) -> None:
    found = arguments(f"shard {{ stage = {stage} }}  emit = [transformers {option}, deepspeed {{ trainer = hf }}]")
    assert backend_in(found) == backend


def test_where_nothing_is_clipped_the_trainer_is_told() -> None:
    """Its own limit is 1.0."""
    assert arguments("shard { stage = 3 }  emit = [transformers]")["max_grad_norm"] == 0


def test_what_the_program_does_is_advice() -> None:
    rest = 'shard { stage = 3 }  adapter = lora { rank = 8 }  log { directory = "logs" }  emit = [transformers]'
    (found,) = (one for one in analysed(PLAN.format(rest=rest)).diagnostics if one.code == "PLN959")
    assert found.severity is Severity.INFO
    assert found.notes == ("the program sets `adapter`, `adapter.rank`, `log.directory`",)


@pytest.mark.parametrize("script", ["torchrun.sh", "accelerate.sh", "deepspeed.sh", "job.sbatch"])
@pytest.mark.parametrize("passes", [True, False])
def test_scripts_hand_over_the_path(script: str, passes: bool, tmp_path: Path) -> None:
    """And no path of DeepSpeed's file, which stands in the arguments."""
    trainer = "transformers, deepspeed { trainer = hf }"
    if not passes:
        trainer = "transformers { pass_path = false }, deepspeed { trainer = hf  config_flag = [] }"
    rest = f"""
    shard {{ stage = 3 }}  launch {{ script = "t.py"  args = ["own"] }}
    emit = [{trainer}, torchrun, accelerate, deepspeed-launcher, slurm {{ launcher = torchrun }}]
    """
    folder = written_out(analysed(PLAN.format(rest=rest)).plans[0], tmp_path / "it's out")
    stubs = Stubs(tmp_path / "stubs")
    shutil.copy(stubs.programs / "torchrun", stubs.programs / "deepspeed")
    start = partial(stubs.submit, nodes=1) if script == "job.sbatch" else stubs.run
    outcome = start(folder / script, "more", cwd=tmp_path)
    assert outcome.status == 0, outcome.stderr
    call = next(call for call in outcome.calls if "t.py" in call.argv and call.name != "srun")
    given = [str(folder / "training_args.json")] if passes else []
    assert call.argv[call.argv.index("t.py") :] == ["t.py", *given, "own", "more"]
    (folder / "training_args.json").unlink()
    outcome = start(folder / script, "more", cwd=tmp_path)
    assert outcome.status == (2 if passes else 0)
    assert ("training_args.json" in outcome.stderr) == passes


@pytest.mark.parametrize(
    ("family", "stage", "label"),
    [
        ("lama", 3, "did you mean `llama`?"),
        ("my_model", 2, "the model has to name it"),
        ("my_model", 0, None),  # DDP wraps no layers
        ("qwen3", 3, None),
    ],
)
def test_a_family_without_a_known_class_is_advice(family: str, stage: int, label: str | None) -> None:
    text = PLAN.format(rest=f"shard {{ stage = {stage} }}  emit = [transformers]").replace("llama", family)
    found = [diagnostic for diagnostic in analysed(text).diagnostics if diagnostic.code == "PLN938"]
    assert [diagnostic.primary.text for diagnostic in found] == [label] * (label is not None)

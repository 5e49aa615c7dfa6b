"""Tasks of SkyPilot: their schema, which script they carry, and what a machine refuses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from planc.plan.model import Plan
from planc.targets._skypilot_cards import NAMES
from tests.compiling import ROOT, analysed, errors, file_of, files_of
from tests.consumers.emitted import plans_that_write
from tests.targets.truth.skypilot import carried

SCHEMA = Draft202012Validator(json.loads((ROOT / "schemas/skypilot.schema.json").read_text(encoding="utf-8")))


def text_of(emit: str, launch: str = 'script = "train.py"', rest: str = "shard { stage = 3 }") -> str:
    """The text of a plan of one machine."""
    return f"""
    use "planc/gpus"
    model small {{ layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000  family = "llama" }}
    plan run {{
      model = small
      cluster {{ gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8 }}
      batch {{ global = 64  micro = 1 }}
      precision = bf16
      {rest}
      launch {{ {launch} }}
      emit = [{emit}]
    }}
    """


def plan(emit: str, launch: str = 'script = "train.py"', rest: str = "shard { stage = 3 }") -> Plan:
    """A plan of one machine, without an error."""
    analysis = analysed(text_of(emit, launch, rest))
    assert errors(analysis) == []
    return analysis.plans[0]


@pytest.mark.parametrize("plan", plans_that_write("skypilot.yaml"))
def test_tasks_follow_their_schema(plan: Plan) -> None:
    task = yaml.safe_load(file_of(plan, "skypilot.yaml"))
    assert [error.message for error in SCHEMA.iter_errors(task)] == []


@pytest.mark.parametrize(("key", "value"), [("setpu", "x"), ("num_nodes", "2"), ("run", "")])
def test_the_schema_refuses_what_skypilot_would(key: str, value: str) -> None:
    task = yaml.safe_load(file_of(plan("skypilot"), "skypilot.yaml"))
    assert list(SCHEMA.iter_errors(task | {key: value}))


def test_names_are_of_cards_of_the_catalogue() -> None:
    catalogue = (ROOT / "planc/catalogue/gpus.plan").read_text(encoding="utf-8")
    assert [card for card in NAMES if f"\ngpu {card} " not in catalogue] == []


def test_every_file_is_carried_byte_for_byte(tmp_path: Path) -> None:
    """Also one that holds the line with which a here-document would end."""
    launch = 'script = "train.py"  args = ["a\\nPLANC_END\\nPLANC_END_\\nb"]'
    found = plan('skypilot, fsdp2, deepspeed { config_flag = ["--ds"] }', launch)
    run = yaml.safe_load(file_of(found, "skypilot.yaml"))["run"]
    unpacked = run.replace("rm -r --", "echo").replace('bash "${planc_files}/node.sh"', "true")
    subprocess.run(["bash", "-c", unpacked], env={"TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"}, check=True)
    (folder,) = tmp_path.iterdir()
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    others = {file.path: file.text for file in files_of(found) if not file.executable and file.path != "skypilot.yaml"}
    assert others.keys() == {"parallelize.py", "ds_config.json"}
    assert there == others | {name: there[name] for name in ("torchrun.sh", "node.sh")}
    assert "\nPLANC_END_\n" in there["torchrun.sh"]


@pytest.mark.parametrize(
    ("emit", "rest", "script"),
    [
        ("skypilot, torchrun, accelerate", "shard { stage = 3 }", "torchrun.sh"),
        ("skypilot, accelerate", "shard { stage = 3 }", "accelerate.sh"),
        ("skypilot { launcher = accelerate }, torchrun, accelerate", "shard { stage = 3 }", "accelerate.sh"),
        ("skypilot, megatron", "", "megatron.sh"),
        ("skypilot, torchrun, megatron", "", "megatron.sh"),
    ],
)
def test_the_script_is_that_of_the_trainer(emit: str, rest: str, script: str) -> None:
    found = plan(emit, rest=rest)
    run = yaml.safe_load(file_of(found, "skypilot.yaml"))["run"]
    assert carried(run, script) in [file.text for file in files_of(found)] or script == "torchrun.sh"
    assert f"planc_script={script}\n" in carried(run, "node.sh")


@pytest.mark.parametrize(
    ("emit", "rest"),
    [
        ("skypilot, gpt-neox", "shard { stage = 1 }"),
        ("skypilot { launcher = torchrun }, megatron", ""),
    ],
)
def test_a_trainer_that_no_machine_would_start_is_a_fault(emit: str, rest: str) -> None:
    found = [fault for fault in errors(analysed(text_of(emit, rest=rest))) if fault.code == "PLN994"]
    assert [fault.message.split("`")[0] for fault in found] == ["its machines do not start the command of "]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"SKYPILOT_NUM_NODES": "2", "SKYPILOT_NUM_GPUS_PER_NODE": "8"}, "2 x 8"),
        ({"SKYPILOT_NUM_NODES": "1", "SKYPILOT_NUM_GPUS_PER_NODE": "4"}, "1 x 4"),
        ({}, "no x no"),
    ],
)
def test_a_machine_refuses_another_number_of_them(given: dict[str, str], told: str) -> None:
    """As `sky launch --num-nodes` would have."""
    run = yaml.safe_load(file_of(plan("skypilot"), "skypilot.yaml"))["run"]
    ended = subprocess.run(
        ["bash", "-c", run], env={"PATH": "/usr/bin:/bin", **given}, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert f"planc: the task has {told} cards, the plan is for 1 x 8" in ended.stderr

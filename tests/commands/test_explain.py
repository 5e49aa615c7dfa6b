"""`planc explain` through its command line: each number with its formula, and why one is unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from planc.facts.facts import FACTS
from planc.resources import read_text
from tests.commands.cli import BROKEN, CLEAN, ROOT, planc

#: 7e9 parameters on 8 cards, as in the first table of the ZeRO paper, over the link of the issue.
SEVEN = """\
gpu card { memory = 80 GiB  bf16 = true  link = 400 GB/s }
model seven { layers = 32  hidden = 4096  heads = 32  ffn = 11008  vocab = 32_000 }
plan run { model = seven  cluster { gpu = card  nodes = 1  gpus_per_node = 8 }
  shard { stage = STAGE }  batch { global = 64  micro = 1 }  precision = bf16
}
"""


def explained(folder: Path, text: str, *arguments: str) -> Any:
    (folder / "a.plan").write_text(text)
    outcome = planc("explain", "a.plan", "--output-format", "json", *arguments, cwd=folder)
    document = json.loads(outcome.stdout)
    jsonschema.validate(document, json.loads(read_text("schemas/explain.schema.json")))
    return document


def numbers(document: Any) -> dict[str, Any]:
    return {number["path"]: number for number in document["plans"][0]["numbers"]}


def test_every_derived_number_is_there_with_its_evidence(tmp_path: Path) -> None:
    found = numbers(explained(tmp_path, CLEAN))
    assert list(found) == list(FACTS)
    for number in found.values():
        assert number["meaning"] and number["formula"] and number["source"]
        assert number["inputs"] or number["where"] or not number["known"]
    text = planc("explain", "a.plan", "--all", cwd=tmp_path).stdout
    assert "  world.size = 8 ranks\n      Ranks in the job.\n      formula: nodes x gpus_per_node\n" in text
    assert "      inputs:  cluster.nodes = 1, cluster.gpus_per_node = 8\n" in text
    assert "  cluster.nodes = 1 " in text and "a.plan:2:35\n" in text
    assert "its parts add up to `memory.total`" in text
    for path, number in found.items():
        assert f"\n  {path} = {number['text'] if number['known'] else 'unknown: '}" in text


def test_the_numbers_of_a_published_layout(tmp_path: Path) -> None:
    states = {}
    for stage in (0, 1, 2, 3):
        found = numbers(explained(tmp_path, SEVEN.replace("STAGE", str(stage)), "--step-time", "200ms"))
        parameters = found["model.total_parameters"]["value"]
        assert parameters == 6_738_415_616  # Llama 2 7B
        states[stage] = found["memory.states"]["value"] / parameters
    assert states == {0: 16, 1: 5.5, 2: 3.75, 3: 2}
    taken = found["step.taken"]
    assert taken["inputs"][0] == {"path": "step.measured", "value": 0.2, "text": "200 ms"}
    assert taken["value"] == 0.2


def test_a_step_time_gives_tokens_per_second_and_mfu(tmp_path: Path) -> None:
    """64 x 8192 tokens in 10 s, on 8 cards; 6 FLOPs for a weight of a product, 6 L h s for causal scores and values."""
    text = SEVEN.replace("STAGE", "0").replace("bf16 = true", "bf16 = 500 TFLOPS")
    text = text.replace("micro = 1", "micro = 1  sequence_length = 8Ki")
    found = numbers(explained(tmp_path, text, "--step-time", "10s"))
    assert found["step.tokens_per_second"]["text"] == "52_429 tokens/s"
    assert found["step.tokens_per_second_per_card"]["value"] == 6553.6
    weights = 6_738_415_616 - 32_000 * 4096 - 65 * 4096
    flops = 6 * weights + 6 * 32 * 8192 * 4096
    assert found["flops.per_token"]["value"] == flops
    assert found["step.mfu"]["value"] == pytest.approx(6553.6 * flops / 500e12)
    assert found["step.hfu"]["value"] == found["step.mfu"]["value"]
    assert found["flops.peak"]["text"] == "500 TFLOPS"
    fast = numbers(explained(tmp_path, text, "--step-time", "500ms"))["step.tokens_per_second"]
    assert fast["text"] == "1_048_576 tokens/s"


def test_a_step_time_beyond_the_peak_is_called_impossible(tmp_path: Path) -> None:
    plan = str(ROOT / "examples" / "finetune-8b.plan")
    for arguments in ((), ("--all",), ("--output-format", "json")):
        outcome = planc("explain", plan, "--step-time", "1us", *arguments, cwd=tmp_path)
        assert (outcome.returncode, outcome.stderr.count("\n")) == (0, 1)
        start = "planc: warning: --step-time `1us` is impossible: the FLOPs of plan `finetune` would be "
        assert outcome.stderr.startswith(start)
        assert outcome.stdout
    assert planc("explain", plan, "--step-time", "1min", cwd=tmp_path).stderr == ""


def test_an_unknown_number_says_what_would_supply_it(tmp_path: Path) -> None:
    found = numbers(explained(tmp_path, CLEAN.replace("link = 450 GB/s", "")))
    for path in ("communication.data.bandwidth", "communication.data.time"):
        assert (found[path]["known"], found[path]["value"]) == (False, None)
        assert "cluster.intra_node" in found[path]["missing"]
    text = planc("explain", "a.plan", "--all", cwd=tmp_path).stdout
    reason = "`cluster.intra_node` is not set; it needs `cluster.intra_node`"
    assert f"  communication.data.bandwidth = unknown: {reason}\n" in text
    found = numbers(explained(tmp_path, CLEAN))
    assert found["step.taken"]["missing"] == ["--step-time"]


def test_engines_that_disagree_are_told_apart(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "finetune-8b.plan").read_text()
    document = explained(tmp_path, text)
    weights = [number for number in document["plans"][0]["numbers"] if number["path"] == "memory.weights"]
    assert [(number["engines"], number["value"]) for number in weights] == [
        (["fsdp2"], 8_030_261_248 / 2),
        (["deepspeed"], 8_030_261_248 / 4),
    ]
    lines = planc("explain", "a.plan", "--all", cwd=tmp_path).stdout.splitlines()
    assert lines[0] == "plan finetune (a.plan:5:6)"
    assert lines[1].startswith("engine fsdp2: ") and lines[2].startswith("engine deepspeed: ")
    assert "  memory.weights = 4.015 GB (3.739 GiB) [fsdp2], 2.008 GB (1.87 GiB) [deepspeed]" in lines
    assert any(line.startswith("      inputs [fsdp2]: ") for line in lines)


def test_a_faulty_plan_is_explained_as_far_as_it_is_known(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text(BROKEN)
    outcome = planc("explain", "a.plan", "--all", cwd=tmp_path)
    assert outcome.returncode == 1
    assert outcome.stderr.startswith("error[PLN010]")
    assert "  world.size = 8 ranks\n" in outcome.stdout
    assert "  memory.total = unknown: " in outcome.stdout
    outcome = planc("explain", "a.plan", cwd=tmp_path)
    assert outcome.returncode == 1
    assert "\ncards    1 x 8 card, 8 ranks\n" in outcome.stdout
    assert not numbers(explained(tmp_path, BROKEN))["memory.total"]["known"]


def test_what_a_plan_comes_to_is_shown_unless_all_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text(CLEAN + "plan second from run { }\n")
    outcome = planc("explain", "a.plan", cwd=tmp_path)
    assert (outcome.returncode, outcome.stderr) == (0, "")
    lines = outcome.stdout.splitlines()
    assert [line for line in lines if line.startswith("plan ")] == ["plan run (a.plan:4:6)", "plan second (a.plan:9:6)"]
    assert sum(line.startswith("card     ") for line in lines) == 2
    assert lines[-1] == "`--all` shows every number with its formula, `--why NUMBER` the terms of one"
    assert "formula:" not in outcome.stdout


def test_the_data_hold_the_resolved_plan_and_the_stages(tmp_path: Path) -> None:
    (plan,) = explained(tmp_path, PAID.replace("seven  cluster", "seven  parallel { pipeline = 2 }  cluster"))["plans"]
    fields = plan["resolved"]["fields"]
    assert fields["model"]["name"] == "seven"
    assert fields["model"]["fields"]["layers"] == 32
    assert fields["parallel"]["fields"]["data"] == 4
    assert fields["cluster"]["fields"]["price_per_gpu"] == "2 USD/h"
    assert fields["adapter"] is None
    (found,) = plan["stages"]
    assert (found["engine"], found["complete"]) == ("generic", True)
    assert [stage["layers"] for stage in found["stages"]] == [16, 16]
    (fullest,) = (stage for stage in found["stages"] if stage["fullest"])
    assert fullest["weights"] == next(each["value"] for each in plan["numbers"] if each["path"] == "memory.weights")
    (plan,) = explained(tmp_path, CLEAN)["plans"]
    assert [each["target"] for each in plan["resolved"]["emit"]] == ["torchrun", "deepspeed"]


def test_a_plan_by_its_name(tmp_path: Path) -> None:
    text = CLEAN + "plan second from run { }\n"
    assert [plan["plan"] for plan in explained(tmp_path, text)["plans"]] == ["run", "second"]
    assert [plan["plan"] for plan in explained(tmp_path, text, "--plan", "second")["plans"]] == ["second"]
    outcome = planc("explain", "a.plan", "--plan", "secnd", cwd=tmp_path)
    assert outcome.returncode == 2
    assert outcome.stderr == "planc: no plan `secnd`; did you mean `second`?; there are `run`, `second`\n"


def test_a_file_without_a_plan(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text(CLEAN.partition("plan ")[0])
    outcome = planc("explain", "a.plan", cwd=tmp_path)
    assert (outcome.returncode, outcome.stderr) == (2, "planc: `a.plan` defines no plan\n")


@pytest.mark.parametrize("written", ["200ms", "200 ms", "0.2 s", "200_000us"])
def test_step_times_are_written_as_in_the_language(tmp_path: Path, written: str) -> None:
    found = numbers(explained(tmp_path, CLEAN, "--step-time", written))
    assert found["step.taken"]["inputs"][0]["value"] == 0.2


@pytest.mark.parametrize("written", ["200", "200 GB", "fast", "-1s", "0 s", "1 sec", "", "1 h 30 min"])
def test_other_step_times_are_refused(tmp_path: Path, written: str) -> None:
    (tmp_path / "a.plan").write_text(CLEAN)
    outcome = planc("explain", "a.plan", f"--step-time={written}", cwd=tmp_path)
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("planc: --step-time")
    assert "`200ms`" in outcome.stderr


def test_the_same_plan_gives_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text(CLEAN)
    assert len({planc("explain", "a.plan", cwd=tmp_path, PYTHONHASHSEED=str(seed)).stdout for seed in range(3)}) == 1


@pytest.mark.parametrize(("choice", "is_painted"), [("always", True), ("never", False)])
def test_its_diagnostics_are_painted_as_asked(tmp_path: Path, choice: str, is_painted: bool) -> None:
    (tmp_path / "a.plan").write_text(BROKEN)
    outcome = planc("explain", "a.plan", "--color", choice, cwd=tmp_path, FORCE_COLOR="1")
    assert ("\033[" in outcome.stderr) == is_painted


#: What a run costs, which fails and is saved.
PAID = """\
gpu card { memory = 80 GiB  bf16 = true  power = 500 W }
model seven { layers = 32  hidden = 4096  heads = 32  ffn = 11008  vocab = 32_000 }
cluster paid { gpu = card  nodes = 1  gpus_per_node = 8  price_per_gpu = 2 USD/h  energy_price = 0.5 EUR/kWh
  mtbf_per_gpu = 80_000 min }
plan run { model = seven  cluster = paid
  batch { global = 8  micro = 1  sequence_length = 1_000 }  precision = bf16
  train { duration = 28_800k tokens }  checkpoint { every = 30 steps  write_time = 200 s }
}
"""


def test_a_step_time_gives_the_cost_of_the_run(tmp_path: Path) -> None:
    """3600 steps of ten seconds on 8 cards; saves of 200 s every 300 s of work, M = 600,000 s:
    sqrt(2 200 M) (1 + sqrt(200 / 2 M) / 3) - 200 = 15,359 s."""
    found = numbers(explained(tmp_path, PAID, "--step-time", "10s"))
    assert (found["train.steps"]["value"], found["train.steps"]["text"]) == (3600, "3600 steps")
    assert found["train.time"]["text"] == "10 h"
    assert (found["train.gpu_time"]["text"], found["train.gpu_time"]["unit"]) == ("80 GPU-hours", "GPU s")
    assert (found["train.energy"]["text"], found["train.energy"]["value"]) == ("40 kWh", 40 * 3.6e6)
    for path, text, unit, value in (("cost", "160 USD", "USD", 160), ("energy_cost", "20 EUR", "EUR", 20)):
        money = found[f"train.{path}"]
        assert (money["text"], money["unit"], money["value"]) == (text, unit, pytest.approx(value))
    assert found["checkpoint.planned_interval"]["inputs"][1]["path"] == "step.taken"
    assert found["checkpoint.planned_interval"]["text"] == "5 min"
    assert found["checkpoint.overhead"]["value"] == pytest.approx(0.4, abs=0.001)
    assert found["checkpoint.best_interval"]["text"] == "4.266 h"
    for path, text in (("run_time", "16.67 h"), ("run_gpu_time", "133.4 GPU-hours"), ("run_cost", "266.8 USD")):
        assert found[f"checkpoint.{path}"]["text"] == text
    power = next(given for given in found["train.energy"]["inputs"] if given["path"] == "cluster.gpu.power")
    assert power["text"] == "500 W"


def test_without_a_step_time_a_run_has_steps_and_intervals(tmp_path: Path) -> None:
    found = numbers(explained(tmp_path, PAID))
    assert found["train.steps"]["value"] == 3600
    assert found["checkpoint.best_interval"]["known"]
    for path in ("train.cost", "train.energy", "checkpoint.lost", "checkpoint.planned_interval"):
        assert (found[path]["known"], found[path]["missing"]) == (False, ["--step-time"]), path
    unpriced = numbers(explained(tmp_path, PAID.replace("price_per_gpu = 2 USD/h", ""), "--step-time", "10s"))
    assert (unpriced["train.cost"]["unit"], unpriced["train.cost"]["missing"]) == ("money", ["cluster.price_per_gpu"])

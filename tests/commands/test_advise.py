"""`planc advise`: the split that a model needs, the plan that it ends in, and what is said where none would do."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import jsonschema
import pytest

from planc.commands.advise import parser
from planc.commands.arguments import parsed
from planc.commands.asking import asked_of
from planc.commands.files import Files
from planc.resources import read_text
from tests.commands.cli import ROOT, planc


def advice(folder: Path, *arguments: str) -> str:
    """What is printed, once the plan that it ends in was linted, laid out and compiled."""
    outcome = planc("advise", *arguments, cwd=folder)
    assert (outcome.returncode, outcome.stderr) == (0, ""), outcome.stdout + outcome.stderr
    plan = outcome.stdout[outcome.stdout.index('\nuse "') + 1 :]
    (folder / "found.plan").write_text(plan)
    linted = planc("lint", "found.plan", cwd=folder)
    assert (linted.returncode, linted.stdout) == (0, "Found no faults in 1 file.\n")
    assert planc("fmt", "--check", "found.plan", cwd=folder).returncode == 0
    compiled = planc("compile", "found.plan", "-o", "out", cwd=folder)
    assert (compiled.returncode, "wrote" in compiled.stdout) == (0, True), compiled.stderr
    return outcome.stdout


def question(model: str, gpu: str, gpus: int, *more: str) -> tuple[str, ...]:
    """The arguments of a question without a file."""
    return ("--model", model, "--gpu", gpu, "--gpus", str(gpus), *more)


def verdicts(text: str) -> dict[str, str]:
    """The verdict of each rung, by the word in brackets."""
    return dict(re.findall(r"^\d\. .*\((.*)\): ([a-z ]+)", text, re.M))


def refused(folder: Path, *arguments: str) -> str:
    """Why there is no advice, in one line."""
    outcome = planc("advise", *arguments, cwd=folder)
    assert (outcome.returncode, outcome.stdout, outcome.stderr.count("\n")) == (2, "", 1), outcome.stderr
    return outcome.stderr


def test_a_small_model_is_copied(tmp_path: Path) -> None:
    text = advice(tmp_path, *question("llama-3.2-1b", "h100-sxm-80gb", 8))
    assert verdicts(text)["data parallelism"] == "enough"
    assert "advice: data 8, stage 0," in text and "\n  limit: " in text
    assert "the same batch on more cards: 8 cards " in text
    assert re.search(r"samples a step feed no more than [\d,]+ replicas", text)


def test_eight_billion_parameters_are_shared(tmp_path: Path) -> None:
    text = advice(tmp_path, *question("llama-3-8b", "h100-sxm-80gb", 8))
    assert verdicts(text)["data parallelism"] == "not enough"
    assert "of model states" in text
    assert re.search(r"^advice: data 8, stage [23], .*trained by accelerate$", text, re.M)


def test_a_named_trainer_is_used(tmp_path: Path) -> None:
    text = advice(tmp_path, *question("llama-3-8b", "h100-sxm-80gb", 8, "--trainer", "megatron"))
    assert re.search(r"^advice: .*tensor \d.*trained by megatron$", text, re.M)
    assert "emit      = [megatron]\n" in text
    text = advice(tmp_path, *question("llama-3-8b", "h100-sxm-80gb", 8, "--trainer=deepspeed"))
    assert "emit      = [deepspeed, torchrun]\n" in text
    text = advice(tmp_path, *question("llama-3-8b", "h100-sxm-80gb", 8, "--trainer=torchtitan"))
    assert "emit      = [torchtitan]" in text


def test_one_card_is_not_enough_and_what_would_be(tmp_path: Path) -> None:
    outcome = planc("advise", *question("llama-3-8b", "h100-sxm-80gb", 1), cwd=tmp_path)
    assert (outcome.returncode, outcome.stderr) == (1, "")
    end = outcome.stdout[outcome.stdout.index("no layout would do") :]
    assert "the least that any layout needs is" in end
    assert re.search(r"\d+ cards of this kind: [\d.]+ GiB a card with ", end)
    assert "a larger card: `" in end
    assert "offload { optimizer = cpu  weights = cpu }" in end and "of each node's memory" in end
    more = re.search(r"(\d+) cards of this kind", end)
    assert more is not None
    assert planc("advise", *question("llama-3-8b", "h100-sxm-80gb", int(more[1])), cwd=tmp_path).returncode == 0


def test_a_very_large_model_is_split_in_depth(tmp_path: Path) -> None:
    text = advice(tmp_path, *question("llama-3.1-405b", "h100-sxm-80gb", 16_384))
    assert re.search(r"^advice: .*tensor 8, pipeline \d+", text, re.M)
    assert verdicts(text)["data parallelism"] == "not tried"
    assert verdicts(text)["context parallelism"] == "not tried"


def test_experts_are_split(tmp_path: Path) -> None:
    text = advice(tmp_path, *question("deepseek-v3", "h800-sxm-80gb", 2048, "--tokens", "14.8T"))
    assert re.search(r"^advice: .*expert \d+", text, re.M)
    assert re.search(r"^  run: [\d.]+ d, [\d,]+ GPU-hours$", text, re.M)
    text = advice(tmp_path, *question("mixtral-8x7b", "h100-sxm-80gb", 64))
    assert verdicts(text)["expert parallelism"] != "not tried"


def test_long_sequences_are_split(tmp_path: Path) -> None:
    long = ("--sequence-length", "128Ki", "--global-batch", "16Mi tokens")
    text = advice(tmp_path, *question("llama-3-8b", "h100-sxm-80gb", 128, *long))
    assert re.search(r"^advice: .*context \d+", text, re.M)
    assert "131,072 tokens" in text
    assert "\nthe model was made for 8,192 tokens; for longer samples its positions have to be scaled\n" in text


def test_what_is_not_given_is_assumed_and_said(tmp_path: Path) -> None:
    text = advice(tmp_path, *question("llama-3-70b", "h100-sxm-80gb", 512))
    assert "assumed: `--sequence-length 8192`, `--global-batch " in text and "`--network '400 Gbit/s'`" in text
    given = ("--sequence-length=4096", "--global-batch=1024", "--precision=bf16", "--network=100 Gbit/s")
    text = advice(tmp_path, *question("llama-3-70b", "h100-sxm-80gb", 512, *given, "--gpus-per-node=4"))
    assert "assumed" not in text
    assert "nodes = 128  gpus_per_node = 4" in text and "speed = 100 Gbit/s" in text
    assert "fp16" in advice(tmp_path, *question("llama-3.2-1b", "v100-sxm-32gb", 8))
    assert "gpus_per_node = 4  domain = 72" in advice(tmp_path, *question("llama-3-70b", "gb200-nvl72-186gb", 144))


@pytest.mark.parametrize(
    ("model", "cards", "samples"),
    [
        ("llama-3-70b", 8, 1024),  # 8Mi tokens
        ("llama-3-70b", 7, 896),  # 7 x 128, nearer to 1024 than 7 x 256
        ("llama-3-70b", 24, 768),
        ("llama-3-70b", 1536, 1536),  # a sample for each card
        ("llama-3.2-1b", 16_384, 2048),  # as far as 16Mi tokens go
        ("llama-3-70b", 8_000_000, 2048),  # the odd part, 15,625, is more than the samples
    ],
)
def test_the_batch_that_is_assumed(model: str, cards: int, samples: int) -> None:
    node = "7" if cards == 7 else "8"
    given = question(model, "h100-sxm-80gb", cards, "--gpus-per-node", node)
    asked = asked_of(Files(), parsed(parser(), list(given)))
    assert f"`--global-batch {samples}`" in asked.assumed


def test_a_deep_model_on_many_cards_is_answered(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text(
        'use "planc/gpus"\nplan run {\n'
        "  model { layers = 20_000  hidden = 4096  heads = 32  ffn = 16_384  vocab = 32_000 }\n"
        "  cluster { gpu = h100-sxm-80gb  nodes = 2500  gpus_per_node = 8  inter_node = 50 GB/s }\n"
        "  batch { global = 20_000  micro = 1  sequence_length = 4Ki }\n  precision = bf16\n  optimizer = adamw\n}\n"
    )
    outcome = planc("advise", "a.plan", "--trainer=megatron", "--output-format=json", cwd=tmp_path)
    layouts = [layout for rung in json.loads(outcome.stdout)["rungs"] for layout in rung["layouts"]]
    assert max(layout["chunks"] for layout in layouts) <= 16 and max(layout["pipeline"] for layout in layouts) <= 256


def test_a_plan_file_is_asked_for_its_own_question(tmp_path: Path) -> None:
    (tmp_path / "run.plan").write_text((ROOT / "examples" / "finetune-8b.plan").read_text())
    text = advice(tmp_path, "run.plan")
    assert 'use "run.plan"\n\nplan finetune-advised from finetune {' in text
    (tmp_path / "planc.toml").touch()
    (tmp_path / "deep").mkdir()
    outcome = planc("advise", "run.plan", "--plan", "finetune", "-o", "deep/found.plan", cwd=tmp_path)
    assert outcome.stdout.endswith("\nwrote deep/found.plan\n")
    assert (tmp_path / "deep" / "found.plan").read_text().startswith('use "../run.plan"\n')
    assert planc("lint", "deep/found.plan", cwd=tmp_path).returncode == 0
    again = planc("advise", "run.plan", "-o", "deep/found.plan", cwd=tmp_path)
    assert (again.returncode, again.stderr) == (
        2,
        "planc: `deep/found.plan` is there already; `--force` overwrites it\n",
    )
    assert planc("advise", "run.plan", "-o", "deep/found.plan", "--force", cwd=tmp_path).returncode == 0
    question = (tmp_path / "run.plan").read_text()
    os.mkfifo(tmp_path / "pipe")
    for name, reason in (("run.plan", "read to make it, so it is not"), ("pipe", "a pipe and no file")):
        refused = planc("advise", "run.plan", "-o", name, "--force", cwd=tmp_path)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.startswith(f"planc: `{name}` is {reason}")
    assert (tmp_path / "run.plan").read_text() == question


def test_a_plan_file_may_lie_anywhere(tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "plans" / "run.plan").write_text((ROOT / "examples" / "finetune-8b.plan").read_text())
    outcome = planc("advise", "../plans/run.plan", cwd=tmp_path / "elsewhere")
    assert outcome.returncode == 0, outcome.stdout
    assert 'use "../plans/run.plan"\n' in outcome.stdout


def test_sizes_that_divide_nothing(tmp_path: Path) -> None:
    text = advice(tmp_path, *question("llama-3-8b", "h100-sxm-80gb", 7))
    assert "(tensor parallelism): not tried, no power of two divides ranks, heads, layers" in text


def test_a_policy_of_the_plan_holds_for_the_advice(tmp_path: Path) -> None:
    for name in ("cluster-eu.plan", "pretrain-70b.plan"):
        (tmp_path / name).write_text((ROOT / "examples" / name).read_text())
    outcome = planc("advise", "pretrain-70b.plan", "--plan=pretrain", "-o", "found.plan", cwd=tmp_path)
    assert outcome.returncode == 0, outcome.stdout
    linted = planc("lint", "found.plan", cwd=tmp_path)
    assert linted.stdout.startswith("Found no faults")
    strict = (tmp_path / "pretrain-70b.plan").read_text().replace("memory.headroom >= 8 %", "memory.headroom >= 99 %")
    (tmp_path / "pretrain-70b.plan").write_text(strict)
    outcome = planc("advise", "pretrain-70b.plan", "--plan=pretrain", cwd=tmp_path)
    assert outcome.returncode == 1
    assert "no layout would do\n  the best that fits is faulty: policy `house` requires" in outcome.stdout


def test_the_rule_of_a_policy_that_decides_is_named(tmp_path: Path) -> None:
    text = (
        (ROOT / "examples" / "finetune-8b.plan").read_text().replace("  precision", "  policies = [house]\n  precision")
    )
    house = 'policy house { whole = require shard.stage == 1  because "restarts read whole weights" }\n'
    (tmp_path / "run.plan").write_text(text + house)
    shown = advice(tmp_path, "run.plan")
    assert "\nadvice: data 8, stage 1, " in shown
    (passed,) = re.findall(r"^  passed over: (.*)\n    (.*)$", shown, re.M)
    assert passed[0].endswith("of the ladder, whose plans are faulty")
    assert "policy `house.whole` requires `shard.stage == 1`" in passed[1]
    data = json.loads(planc("advise", "run.plan", "--output-format=json", cwd=tmp_path).stdout)
    jsonschema.validate(data, json.loads(read_text("schemas/advise.schema.json")))
    assert {each["layout"]["stage"] for each in data["passed_over"]} <= {0, 2, 3}
    (tmp_path / "run.plan").write_text((ROOT / "examples" / "finetune-8b.plan").read_text())
    assert "passed over" not in advice(tmp_path, "run.plan")


def test_some_layers_alone_are_computed_again_where_that_fits(tmp_path: Path) -> None:
    text = advice(tmp_path, *question("llama-3.1-405b", "h100-sxm-80gb", 2048))
    words = re.search(r"^advice: .*, recompute full of (\d+) layers? a chunk, trained by megatron$", text, re.M)
    assert words is not None
    assert f"recompute = full {{ method = block  layers = {words[1]} }}\n" in text
    outcome = planc("advise", *question("llama-3.1-405b", "h100-sxm-80gb", 2048), "--output-format=json", cwd=tmp_path)
    data = json.loads(outcome.stdout)
    jsonschema.validate(data, json.loads(read_text("schemas/advise.schema.json")))
    assert (data["advice"]["recompute"], data["advice"]["recompute_layers"]) == ("full", int(words[1]))
    assert "selective" in advice(tmp_path, *question("llama-3-8b", "h100-sxm-80gb", 8, "--trainer=torchtitan"))


def test_the_ladder_as_data(tmp_path: Path) -> None:
    schema = json.loads(read_text("schemas/advise.schema.json"))
    outcome = planc("advise", *question("llama-3-8b", "h100-sxm-80gb", 16), "--output-format=json", cwd=tmp_path)
    data = json.loads(outcome.stdout)
    jsonschema.validate(data, schema)
    assert (outcome.returncode, data["instead"]) == (0, [])
    assert data["plan"] in planc("advise", *question("llama-3-8b", "h100-sxm-80gb", 16), cwd=tmp_path).stdout
    layout = data["advice"]
    assert layout["fits"] and layout["data"] * layout["micro"] * layout["accumulation"] == data["question"]["samples"]
    assert [rung["name"] for rung in data["rungs"]][:3] == ["data", "shard", "recompute"]
    outcome = planc("advise", *question("llama-3-8b", "h100-sxm-80gb", 1), "--output-format=json", cwd=tmp_path)
    data = json.loads(outcome.stdout)
    jsonschema.validate(data, schema)
    assert (outcome.returncode, data["advice"], data["plan"]) == (1, None, "")
    assert data["instead"][0].startswith("the least that any layout needs is ")
    saved = planc("advise", *question("gpt2", "l4-24gb", 1), "--output-format=json", "-o", "a.plan", cwd=tmp_path)
    assert json.loads(saved.stdout)["plan"] == (tmp_path / "a.plan").read_text()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "give a plan file, or `--model`, `--gpu` and `--gpus`; `--model`, `--gpu`, `--gpus` is not given"),
        (
            question("llama-3-7b", "h100-sxm-80gb", 8),
            "no model `llama-3-7b` in the catalogue; did you mean `llama-2-7b`?",
        ),
        (
            question("llama-3-8b", "h100", 8),
            "no gpu `h100` in the catalogue; did you mean `h100-sxm-80gb` or `h100-pcie-80gb`?",
        ),
        (question("llama", "h100-sxm-80gb", 8), "no model `llama` in the catalogue; did you mean `llama-"),
        (
            question("gpt2", "v100-sxm-16gb", 8, "--precision", "bf16"),
            "no layout would do: the card v100-sxm-16gb has no bf16; it has fp32 and fp16",
        ),
        (
            question("llama-3-8b", "a100-sxm-80gb", 8, "--precision", "fp8"),
            "no layout would do: the card a100-sxm-80gb has no fp8; it has fp32, fp16 and bf16",
        ),
        (
            question("llama-3-8b", "a100-sxm-80gb", 16, "--precision", "fp4"),
            "no layout would do: the card a100-sxm-80gb has no fp4",
        ),
        (
            question("gpt2", "h100-sxm-80gb", 8, "--sequence-length", "4096"),
            "no layout would do: gpt2 has 1024 learned positions, and sequences have 4,096 tokens",
        ),
        (question("llama-3-8b", "h100-sxm-80gb", 16, "--network", "0 GB/s"), "`--network` `0 GB/s` is none"),
        (question("llama-3-8b", "h100-sxm-80gb", 0), "`--gpus` and `--gpus-per-node` are at least 1"),
        (question("llama-3-8b", "h100-sxm-80gb", 12), "12 cards are no whole number of nodes of 8"),
        (
            question("llama-3-8b", "h100-sxm-80gb", 8, "--sequence-length", "8 }"),
            "`--sequence-length` `8 }` cannot be read",
        ),
        (question("llama-3-8b", "h100-sxm-80gb", 8, "--global-batch", "4 GiB"), "a size where a count"),
        (question("llama-3-8b", "h100-sxm-80gb", 8, "--global-batch", "0"), "0 is less than 1"),
        (question("llama-3-8b", "h100-sxm-80gb", 8, "--tokens", "many"), "`--tokens` `many` cannot be read"),
        (question("llama-3-8b", "h100-sxm-80gb", 8, "--precision", "bf61"), "unknown "),
        (question("llama-3-8b", "h100-sxm-80gb", 8, "--network", "400 GB"), "a size where a bandwidth is due"),
        (
            question("llama-3-8b", "h100-sxm-80gb", 8, "--trainer", "megatro"),
            "no trainer `megatro`; did you mean `megatron`?",
        ),
        (question("llama-3-8b", "h100-sxm-80gb", 8, "--plan", "a"), "`--plan` names a plan of a file"),
        (question("llama-3-8b", "h100-sxm-80gb", 8, "--force"), "`--force` overwrites what `-o PLAN` names"),
        (("a.plan", "--gpus", "8"), "`--gpus` is for a question without a plan file"),
        (("-",), "the advised plan is made of the file's, so it needs a name"),
        (("b.plan",), "cannot read `b.plan`: no such file or directory"),
    ],
)
def test_a_question_that_cannot_be_answered(tmp_path: Path, arguments: tuple[str, ...], reason: str) -> None:
    assert refused(tmp_path, *arguments).startswith(f"planc: {reason}")


def plan_on_a_card(flag: str) -> str:
    """A plan on a card of which no rate is known; `flag` says whether it has bf16."""
    return (
        f'use "planc/models"\ngpu own {{ memory = 80 GiB  bf16 = {flag} }}\nplan run {{ model = llama-3-8b  '
        "cluster { gpu = own  nodes = 1  gpus_per_node = 8 }  batch { global = 64  micro = 1  sequence_length = 4Ki }\n"
        '  precision = bf16  optimizer = adamw  launch { script = "train.py" }  emit = [accelerate] }\n'
    )


def test_a_card_of_an_unknown_rate(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text(plan_on_a_card("true"))
    text = advice(tmp_path, "a.plan")
    reason = "the rate of `cluster.gpu.bf16` is not given"
    assert f"the time of a step is not known ({reason}), so memory alone decides" in text
    assert verdicts(text)["recomputation"] in ("enough", "not needed") and "pays" not in verdicts(text).values()
    assert f"whether it is faster is not known: {reason}" in text
    assert f"\n  step: unknown, {reason}\n" in text
    (tmp_path / "a.plan").write_text(plan_on_a_card("false"))
    assert refused(tmp_path, "a.plan") == "planc: no layout would do: the card own has no bf16\n"


def test_a_plan_that_lacks_numbers(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "finetune-8b.plan").read_text()
    (tmp_path / "a.plan").write_text(text.replace("  sequence_length = 8Ki", ""))
    assert "it needs `batch.sequence_length`" in refused(tmp_path, "a.plan")
    (tmp_path / "a.plan").write_text(
        text.replace("  precision = bf16", "  precision = bf16  adapter = lora { rank = 8 }")
    )
    assert refused(tmp_path, "a.plan").startswith("planc: no advice without numbers: the states of adapters are not")
    (tmp_path / "a.plan").write_text(text.replace("llama-3-8b", "llama-8b"))
    assert "llama-8b" in refused(tmp_path, "a.plan")
    (tmp_path / "a.plan").write_text(text + text[text.index("plan finetune") :].replace("plan finetune", "plan second"))
    assert "has several plans, `finetune`, `second`: use `--plan`" in refused(tmp_path, "a.plan")


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    outcome = planc("advise", *question("gpt2", "h100-sxm-80gb", 1), "-o", "no/such.plan", cwd=tmp_path)
    assert (outcome.returncode, outcome.stderr) == (
        2,
        "planc: cannot write `no/such.plan`: no such file or directory\n",
    )

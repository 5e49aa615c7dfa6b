"""`planc import`: a plan of the configurations that there are, marked where something was assumed or is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from planc.commands.main import main
from planc.native.kinds import kind_names, load_kind
from planc.resources import read_text
from tests.analysis import analysis_of, codes
from tests.commands.cli import CLEAN, ROOT, planc

NATIVE = ROOT / "tests" / "native"

DEEPSPEED = """\
{
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 4,
  "zero_optimization": {"stage": 3, "overlap_comm": false, "offload_optimizer": {"device": "cpu"}},
  "bf16": {"enabled": true},
  "gradient_clipping": 1.0,
  "optimizer": {"type": "AdamW", "params": {"lr": 2e-5}},
  "wall_clock_breakdown": true
}
"""
LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256,
}  # fmt: skip

#: A file of each kind, and a line of the plan that is made of it.
KINDS = {
    "accelerate": (
        "num_machines: 2\nnum_processes: 16\ndistributed_type: MULTI_GPU\nmain_process_ip: a\n",
        "nodes",
    ),
    "axolotl": ("base_model: a\ndatasets: [{path: b}]\nmicro_batch_size: 3\nlearning_rate: 1e-5\n", "micro"),
    "deepspeed": (DEEPSPEED, "micro"),
    "gpt-neox": ("num_layers: 12\nhidden_size: 768\nnum_attention_heads: 12\ntrain_iters: 10\n", "layers"),
    "hf-config": (json.dumps(LLAMA), "layers"),
    "hostfile": ("a slots=8\nb slots=8\n", "nodes"),
    "llama-factory": ((NATIVE / "llama_factory" / "ok_lora.yaml").read_text(encoding="utf-8"), "micro"),
    "megatron": ("MODEL_ARGS:\n  --num-layers: 12\n  --hidden-size: 512\n", "layers"),
    "nanotron": ((NATIVE / "nanotron" / "ok_llama.yaml").read_text(encoding="utf-8"), "tensor"),
    "kubernetes": ((NATIVE / "kubernetes" / "ok_pytorchjob.yaml").read_text(encoding="utf-8"), "nodes"),
    "shell": ("#!/bin/bash\ntorchrun --standalone --nproc-per-node=8 train.py\n", "gpus_per_node"),
    "torchtitan": ("[training]\nlocal_batch_size = 8\nseq_len = 2048\n[parallelism]\n", "micro"),
    "transformers": ("output_dir: a\nper_device_train_batch_size: 3\n", "micro"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a DeepSpeed file, in which commands run."""
    (tmp_path / "ds.json").write_text(DEEPSPEED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def imported(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a successful import prints."""
    assert main(["import", *arguments]) == 0
    return capsys.readouterr().out


def test_a_plan_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert imported(capsys, "ds.json").splitlines() == [
        "# Made by `planc import` of ds.json.",
        "plan ds {",
        "  shard {",
        "    stage  = 3",
        "    bucket = 500000000  # assumed: ds.json has no `reduce_bucket_size`",
        "  }",
        "  batch {",
        "    micro        = 2",
        "    accumulation = 4",
        "    # global = ...  # no file says it",
        "  }",
        "  precision = bf16",
        "  offload {",
        "    optimizer = cpu",
        "  }",
        "  optimizer = adamw {",
        "    learning_rate = 2e-5",
        "    clip          = 1",
        "  }",
        "  emit = [deepspeed]",
        "  # model = ...  # no file says it",
        "  # cluster = ...  # no file says it",
        "  # recompute = ...  # no file says it; `none` if it is left out",
        "}",
        "",
        "# Not in this plan, since no field stands for it:",
        "#   ds.json: zero_optimization.overlap_comm = false",
        "#   ds.json: wall_clock_breakdown = true",
    ]


def test_what_is_left_is_counted(folder: Path) -> None:
    outcome = planc("import", "ds.json", cwd=folder)
    assert outcome.stderr == "planc: no field stands for 2 keys, listed at the end of the plan\n"


def test_with_cluster_and_model_the_plan_is_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "parts.plan").write_text(CLEAN)
    text = imported(capsys, "ds.json", "--cluster", "parts.plan:one", "--model=parts.plan:small", "-o", "run.plan")
    assert text == "wrote `run.plan`\n"
    lines = (folder / "run.plan").read_text().splitlines()
    assert lines[:6] == [
        "# Made by `planc import` of ds.json.", 'use "parts.plan"', "", "plan run {", "  model   = small",
        "  cluster = one",
    ]  # fmt: skip
    assert "    global       = 64  # micro batch x accumulation x replicas" in lines
    outcome = planc("lint", "run.plan", "-q", cwd=folder)
    assert "PLN02" not in outcome.stdout, outcome.stdout


def test_the_world_tells_the_batch(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = imported(capsys, "ds.json", "--world", "16", "--cluster", "h100-sxm-80gb", "--model", "llama-3-8b")
    assert 'use "planc/gpus"\nuse "planc/models"\n' in text
    assert "global       = 128  # micro batch x accumulation x replicas" in text
    assert "# nodes = ...  # no file says it; `nodes` x `gpus_per_node` is 16" in text


def test_a_config_of_the_model_is_referred_to(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "models").mkdir()
    (folder / "models" / "config.json").write_text(json.dumps(LLAMA))
    (folder / "plans").mkdir()
    imported(capsys, "ds.json", "--model", "models/config.json", "-o", "plans/run.plan")
    assert 'model given from hf("../models/config.json")' in (folder / "plans" / "run.plan").read_text()


def test_what_the_consumer_takes_is_marked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "config.json").write_text(json.dumps(LLAMA | {"model_type": "gemma2"}))
    text = imported(capsys, "ds.json", "config.json")
    assert "head_dim = 256  # assumed: config.json has no `head_dim`" in text
    assert text.startswith("# Made by `planc import` of ds.json, config.json.\n")


@pytest.mark.parametrize("kind", kind_names())
def test_a_file_of_each_kind(kind: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, field = KINDS[kind]
    endings = {"json": "json", "toml": "toml", "text": "sh"}
    form = load_kind(kind).formats[0]
    name = f"settings.{endings.get(form, 'yaml') if text[0] in '[{#' else 'yaml'}"
    (folder / name).write_text(text)
    plan = imported(capsys, name, f"--kind={kind}")
    assert f"  {field} " in plan, plan
    analysis = analysis_of(plan)
    assert len(analysis.plans) == 1
    assert not [code for code in codes(analysis) if code.startswith("PLN00")], plan


def test_a_section_whose_word_nobody_says(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ds.json").write_text('{"zero_optimization": {"stage": 2}, "gradient_clipping": 1.0}')
    text = imported(capsys, "ds.json")
    assert "# no file says which optimizer it is; `adamw` if the word is left out" in text


def test_who_reads_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ds.json").write_text('{"train_batch_size": "auto", "zero_optimization": {"stage": 2}}')
    for trainer in ("hf", "accelerate"):
        assert "stage  = 2" in imported(capsys, "ds.json", "--trainer", trainer)
    assert main(["import", "ds.json", "--trainer", "deepspeed"]) == 1
    assert "PLN069" in capsys.readouterr().err


def test_standard_input(folder: Path) -> None:
    outcome = planc("import", "-", cwd=folder, stdin=DEEPSPEED.encode())
    assert outcome.returncode == 0
    assert "plan imported {" in outcome.stdout
    assert "stage  = 3" in outcome.stdout


def test_a_name_that_does_not_print_is_none_of_a_plan(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a\x1b[2J.json").write_text(DEEPSPEED)
    text = imported(capsys, "a\x1b[2J.json")
    assert "plan imported {" in text
    assert "\x1b" not in text
    assert analysis_of(text).plans


def test_files_that_disagree_give_no_plan(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "args.yaml").write_text("output_dir: a\nper_device_train_batch_size: 3\ndeepspeed: ds.json\n")
    assert main(["import", "args.yaml", "-o", "run.plan", "--color", "never"]) == 1
    shown = capsys.readouterr()
    assert "error[PLN071]" in shown.err
    assert shown.err.endswith("planc: nothing was written\n")
    assert shown.out == ""
    assert not (folder / "run.plan").exists()


@pytest.mark.parametrize(
    ("text", "code"),
    [('{"zero_optimization": ', "PLN060"), ('{"a": 1}', "PLN061"), (DEEPSPEED.replace("2,", '"two",', 1), "PLN063")],
)
def test_faulty_files_give_no_plan(text: str, code: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ds.json").write_text(text)
    assert main(["import", "ds.json", "--color=always"]) == 1
    shown = capsys.readouterr()
    assert (code in shown.err, shown.out) == (True, "")


def test_what_rules_find_is_shown_and_the_plan_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ds.json").write_text(DEEPSPEED.replace("{", '{"train_batch_size": 96,', 1))
    assert main(["import", "ds.json", "--world=8", "-o", "run.plan"]) == 1
    shown = capsys.readouterr()
    assert "error[PLN201]: micro 2 x accumulation 4 x 8 replicas = 64, not 96\n --> ds.json:1:2" in shown.err
    assert shown.out == "wrote `run.plan`\n"
    assert "global       = 96" in (folder / "run.plan").read_text()


def test_what_a_comment_allows_is_not_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ds.yaml").write_text(
        "train_batch_size: 96  # planc: allow PLN201 -- of another run\ntrain_micro_batch_size_per_gpu: 2\n"
        "gradient_accumulation_steps: 4\nzero_optimization: {stage: 1}\n"
    )
    assert main(["import", "ds.yaml", "--world=8"]) == 0
    assert "PLN201" not in capsys.readouterr().err


def test_the_plan_as_data(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(imported(capsys, "ds.json", "--world=8", "--output-format", "json"))
    _validate(data)
    assert data["plan"] == imported(capsys, "ds.json", "--world=8")
    (stage,) = (each for each in data["said"] if each["path"] == "shard.stage")
    assert (stage["value"], stage["key"], stage["assumed"]) == ("3", "stage", False)
    assert (stage["file"], stage["line"], stage["column"]) == ("ds.json", 4, 25)
    (size,) = (each for each in data["said"] if each["path"] == "batch.global")
    assert (size["value"], size["key"], size["file"], size["line"]) == ("64", None, None, None)
    assert {"path": "model", "reason": "no file says it"} in data["missing"]
    assert [(each["key"], each["line"]) for each in data["left"]] == [
        ("zero_optimization.overlap_comm", 4), ("wall_clock_breakdown", 8),
    ]  # fmt: skip
    assert (data["output"], data["refused"], data["diagnostics"], data["errors"]) == (None, [], [], 0)


def test_faulty_files_as_data(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ds.json").write_text(DEEPSPEED.replace("2,", '"two",', 1))
    assert main(["import", "ds.json", "-o", "run.plan", "--output-format=json"]) == 1
    shown = capsys.readouterr()
    data = json.loads(shown.out)
    _validate(data)
    assert (data["plan"], data["output"], data["said"], shown.err) == (None, None, [], "")
    assert [each["code"] for each in data["diagnostics"]] == ["PLN063"]
    assert not (folder / "run.plan").exists()


def _validate(data: object) -> None:
    schemas = [json.loads(read_text(f"schemas/{name}.schema.json")) for name in ("import", "diagnostics")]
    known = Registry().with_resources((each["$id"], Resource.from_contents(each)) for each in schemas)
    Draft202012Validator(schemas[0], registry=known).validate(data)


def test_a_warning_is_shown_and_the_plan_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ds.json").write_text(DEEPSPEED.replace('"wall_clock_breakdown"', '"my_own_setting"'))
    assert main(["import", "ds.json"]) == 0
    shown = capsys.readouterr()
    assert "warning[PLN062]" in shown.err
    assert "my_own_setting = true" in shown.out


def test_a_file_that_is_there_is_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "run.plan").write_text("mine")
    assert main(["import", "ds.json", "--output", "run.plan"]) == 2
    assert capsys.readouterr().err == "planc: `run.plan` is there already; `--force` overwrites it\n"
    assert (folder / "run.plan").read_text() == "mine"
    imported(capsys, "ds.json", "-o", "run.plan", "--force")
    assert (folder / "run.plan").read_text().startswith("# Made by")
    assert sorted(path.name for path in folder.iterdir()) == ["ds.json", "run.plan"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["ds.json", "-o", "ds.json", "--force"],
            "`ds.json` is read to make it, so it is not overwritten; name another",
        ),
        (["ds.json", "-o", "folder"], "`folder` names no file; write `-o run.plan`"),
        (["folder"], "`folder` is a folder; name the files of one job"),
        (["x.plan"], "`x.plan` is a plan already"),
        (["none.json"], "cannot read `none.json`: no such file or directory"),
        (["ds.json", "--cluster", "h1000"], "--cluster `h1000` is no file and no card of the catalogue"),
        (["ds.json", "--world", "0"], "argument --world"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    arguments: list[str], reason: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "folder").mkdir()
    assert main(["import", *arguments]) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert len(error.strip().splitlines()) == 1


def test_a_huge_file_lists_not_all_of_its_keys(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = {f"setting_{at}": at for at in range(300)}
    (folder / "ds.json").write_text(json.dumps({"train_batch_size": 8, "zero_optimization": {"stage": 1}} | more))
    assert imported(capsys, "ds.json").splitlines()[-1] == "#   and 100 more"

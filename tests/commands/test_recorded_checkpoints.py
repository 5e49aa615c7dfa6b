"""What a record says of checkpoints: what they are, whether they are those of the plan; `verify` looks again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands.cli import CLEAN
from tests.commands.evidence import attest, fill, statement, verify
from tests.evidence.folders import metadata, safetensors, saved, states

TINY = "model small { layers = 2  hidden = 16  heads = 2  ffn = 32  vocab = 64 }"
PLAN = CLEAN.replace(CLEAN.splitlines()[2], TINY)
#: Parameters of that model, as PyTorch counts them too, and of its token embedding.
COUNT, EMBEDDING = 7248, 1024


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of a tiny model, without a checkpoint as yet."""
    monkeypatch.chdir(tmp_path)
    fill(tmp_path)
    (tmp_path / "run.plan").write_text(PLAN)
    return tmp_path


def weights(path: Path, count: int = COUNT) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(safetensors({"a": ("BF16", (count,), 2 * count)}))


def zero(folder: Path, sharing: int = 8, count: int = COUNT, **more: Any) -> None:
    """A checkpoint of DeepSpeed, in `ckpt/global_step5`."""
    inside = folder / "ckpt" / "global_step5"
    inside.mkdir(parents=True)
    (inside / "mp_rank_00_model_states.pt").write_bytes(states({"a": (count,)}, sharing=sharing, **more))
    for rank in range(sharing):
        (inside / f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt").write_bytes(saved({}))


def recorded(folder: Path) -> dict[str, Any]:
    made: dict[str, Any] = statement(folder / "record.json")["predicate"]["checkpoint"]
    return made


def test_a_checkpoint_of_the_plan(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zero(folder)
    weights(folder / "ckpt" / "model.safetensors")
    assert attest() == 0
    assert "    safetensors, 7248 parameters\n    `global_step5`: deepspeed, step 5, 7248" in capsys.readouterr().out
    made = recorded(folder)
    layout = {"model_parallel": 1, "sharing": 8, "stage": 1}
    assert made["differences"] == []
    assert [each["format"] for each in made["found"]] == ["safetensors", "deepspeed"]
    assert made["found"][1]["layout"] == layout
    assert verify("--checkpoint", "ckpt", "--plan", "run.plan") == 0


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda folder: weights(folder / "ckpt/model.safetensors", 7),
            "it holds 7 parameters, and the plan's model has 7248",
        ),
        (
            lambda folder: zero(folder, ds_config={"zero_optimization": {"stage": 3}}),
            "`global_step5`: it was written with ZeRO stage 3, and the plan has stage 1",
        ),
        (lambda folder: zero(folder, 4), "`global_step5`: it was written by 4 sharing ranks, and the plan has 8"),
        (
            lambda folder: zero(folder, checkpoint_parallel_dimensions={"tp_degree": 2, "pp_degree": 1}),
            "`global_step5`: it was written by 2 tensor ranks, and the plan has 1",
        ),
        (
            lambda folder: (folder / "ckpt/model.safetensors").write_bytes(b"cut short"),
            "`model.safetensors`: it is no file of safetensors, or is cut short",
        ),
    ],
)  # fmt: skip
def test_a_checkpoint_of_another_plan(
    folder: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], None], told: str
) -> None:
    make(folder)
    assert attest() == 1
    assert capsys.readouterr().err == (
        f"planc: the checkpoint is not that of the plan: {told}\n"
        "planc: `--allow-differences` records it, and how it differs\nplanc: no record was written\n"
    )
    assert not (folder / "record.json").exists()
    assert attest("--allow-differences") == 0
    assert f"    differs: {told}\n" in capsys.readouterr().out
    assert recorded(folder)["differences"] == [told]
    assert verify("--checkpoint", "ckpt", "--plan", "run.plan") == 0


def test_ranks_that_the_plan_has_not(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ckpt" / ".metadata").write_bytes(metadata({"model.a": (COUNT,)}))
    (folder / "ckpt" / "__8_0.distcp").write_bytes(b"1")
    assert attest() == 1
    assert "not that of the plan: 9 ranks wrote it, and the plan has 8\n" in capsys.readouterr().err


@pytest.mark.parametrize(("ranks", "told"), [(1, ""), (2, "it was written by 2 expert ranks, and the plan has 1")])
def test_stages_or_expert_ranks(folder: Path, capsys: pytest.CaptureFixture[str], ranks: int, told: str) -> None:
    for rank in range(ranks):
        (folder / "ckpt" / f"mp_rank_00_{rank:03d}").mkdir()
        (folder / "ckpt" / f"mp_rank_00_{rank:03d}" / "model_optim_rng.pt").write_bytes(saved({}))
    assert attest() == (1 if told else 0)
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "count", "status"),
    [
        ("", COUNT - EMBEDDING, 1),
        ("tied = true", COUNT - EMBEDDING, 0),
        ("tied = true", COUNT, 0),
        ("tied = true", COUNT + 1, 1),
        ("mtp_layers = 1", 9, 0),
    ],
)
def test_what_may_be_counted_otherwise(folder: Path, change: str, count: int, status: int) -> None:
    (folder / "run.plan").write_text(PLAN.replace("vocab = 64", f"vocab = 64  {change}"))
    weights(folder / "ckpt" / "model.safetensors", count)
    assert attest() == status


def test_the_vocabulary_may_be_padded(folder: Path) -> None:
    emitted = PLAN.replace("[torchrun, deepspeed]", "[megatron]").replace("train.py", "pretrain_gpt.py")
    (folder / "run.plan").write_text(emitted)
    weights(folder / "ckpt" / "model.safetensors", COUNT + 2 * EMBEDDING)
    assert attest() == 0
    weights(folder / "ckpt" / "model.safetensors", COUNT + EMBEDDING)
    assert attest("--force") == 1


def test_verify_reads_a_checkpoint_anew(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights(folder / "ckpt" / "model.safetensors")
    assert attest() == 0
    weights(folder / "ckpt" / "model.safetensors", 7)
    zero(folder)
    capsys.readouterr()
    assert verify("--checkpoint", "ckpt") == 1
    told = capsys.readouterr().out
    assert "differs: checkpoint: in the folder `parameters` is `7`, recorded is `7248`\n" in told
    assert "differs: checkpoint: in `global_step5` is a checkpoint of a known format, recorded is none\n" in told


def test_a_record_that_says_otherwise(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights(folder / "ckpt" / "model.safetensors", 7)
    assert attest("--allow-differences") == 0
    content = (folder / "record.json").read_text()
    told = json.dumps(recorded(folder)["differences"], separators=(",", ":"))
    (folder / "record.json").write_text(content.replace(f'"differences":{told}', '"differences":["it is fine"]'))
    capsys.readouterr()
    assert verify("--plan", "run.plan") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "differs: checkpoint: it is not that of the plan: it holds 7 parameters, and the plan's model has 7248",
        "differs: checkpoint: it does not differ from the plan as recorded: `it is fine`",
    ]


def test_names_and_numbers_of_any_size(folder: Path) -> None:
    weights(folder / "ckpt" / "two\nlines" / "model.safetensors")
    (folder / "ckpt" / "large").mkdir()
    (folder / "ckpt" / "large" / ".metadata").write_bytes(metadata({"model.a": (1 << 40, 1 << 40)}))
    (folder / "ckpt" / "large" / "__0_0.distcp").write_bytes(b"1")
    assert attest("--allow-differences") == 0
    assert [each["parameters"] for each in recorded(folder)["found"]] == [str(1 << 80), COUNT]
    assert verify("--checkpoint", "ckpt", "--plan", "run.plan") == 0


def described(folder: Path, version: str) -> None:
    info = {"dataset_name": "corpus", "version": {"version_str": version}, "splits": {"train": {"num_examples": 3}}}
    (folder / "data" / "dataset_info.json").write_text(json.dumps(info))


def test_what_data_says_of_itself(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "run.plan").write_text(PLAN.replace("  launch", '  dataset { version = "1.2.0" }\n  launch'))
    described(folder, "1.3.0")
    assert attest("--dataset", "data") == 1
    assert "the plan's `dataset.version` is 1.2.0, and dataset_info.json says 1.3.0\n" in capsys.readouterr().err
    described(folder, "1.2.0")
    assert attest("--dataset", "data") == 0
    said = statement(folder / "record.json")["predicate"]["dataset"]["described"]
    assert said == [{"path": "", "name": "corpus", "version": "1.2.0", "splits": {"train": 3}}]
    assert verify("--dataset", "data", "--plan", "run.plan") == 0
    described(folder, "1.3.0")
    capsys.readouterr()
    assert verify("--dataset", "data") == 1
    told = "what `dataset_info.json` says: `version` is `1.3.0`, recorded is `1.2.0`"
    assert told in capsys.readouterr().out


def test_what_the_files_of_a_checkpoint_are_not(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights(folder / "data" / "weights")
    (folder / "ckpt" / "model.safetensors").symlink_to("/dev/zero")
    assert attest() == 2
    assert "leaves the folder" in capsys.readouterr().err

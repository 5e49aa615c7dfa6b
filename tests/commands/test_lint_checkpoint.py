"""`planc lint --checkpoint`: what a plan goes on from, looked at before a job is queued."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planc.commands.main import main
from tests.commands.cli import CLEAN
from tests.commands.test_recorded_checkpoints import COUNT, PLAN, weights
from tests.evidence.folders import metadata, saved, states

RESUMED = PLAN.replace("  launch {", '  resume { directory = "ckpt" }\n  launch {')


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan that goes on from `ckpt`, which is empty."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.plan").write_text(RESUMED)
    (tmp_path / "ckpt").mkdir()
    return tmp_path


def zero(folder: Path, sharing: int = 8, step: int = 5, **more: Any) -> Path:
    """A checkpoint of DeepSpeed of one step."""
    inside = folder / "ckpt" / f"global_step{step}"
    inside.mkdir()
    content = states({"a": (COUNT,)}, sharing=sharing, step=step, **more)
    (inside / "mp_rank_00_model_states.pt").write_bytes(content)
    for rank in range(sharing):
        (inside / f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt").write_bytes(saved({}))
    return inside


def dcp(folder: Path, rank: int = 0, **more: bytes) -> None:
    inside = folder / "ckpt" / "iter_0000005"
    inside.mkdir()
    (inside / ".metadata").write_bytes(metadata({"model.a": (COUNT,)}))
    (inside / f"__{rank}_0.distcp").write_bytes(b"1")


def change(folder: Path, old: str, new: str) -> None:
    text = (folder / "run.plan").read_text()
    assert old in text
    (folder / "run.plan").write_text(text.replace(old, new))


def found(capsys: pytest.CaptureFixture[str], *more: str) -> list[tuple[str, str, str]]:
    """Code, message and label of what is said about the checkpoint; the status says whether one is an error."""
    status = main(
        ["lint", "run.plan", "--checkpoint", "ckpt", "--min-severity", "info", "--output-format", "json", *more]
    )
    document = json.loads(capsys.readouterr().out)
    ours = [each for each in document["diagnostics"] if each["code"].startswith("PLN85")]
    assert status == int(any(each["severity"] == "error" for each in document["diagnostics"]))
    return [(each["code"], each["message"], each["label"]) for each in ours]


def test_a_checkpoint_that_fits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zero(folder)
    assert found(capsys) == []


def test_other_parameters(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights(folder / "ckpt" / "model.safetensors", 7)
    message = "the checkpoint holds 7 parameters, the model has 7248"
    assert found(capsys) == [("PLN854", message, "7241 fewer")]


def test_a_suppression_is_of_use_once_a_checkpoint_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("other-parameters-in-checkpoint", "PLN855", "pln857", "checkpoint-cut-anew"):
        (folder / "run.plan").write_text(f"# planc: allow {name} -- the old vocabulary\n{RESUMED}")
        assert main(["lint", "run.plan"]) == 0
        assert "unused-suppression" not in capsys.readouterr().out
    (folder / "run.plan").write_text(f"# planc: allow PLN101 -- no reason\n{RESUMED}")
    assert main(["lint", "run.plan"]) == 0
    assert "PLN058" in capsys.readouterr().out
    weights(folder / "ckpt" / "model.safetensors", 7)
    allowed = RESUMED.replace("plan run", "# planc: allow PLN854 -- the old vocabulary\nplan run")
    (folder / "run.plan").write_text(allowed)
    assert found(capsys) == []


@pytest.mark.parametrize("stage", [0, 1])
def test_zero_of_other_ranks(folder: Path, capsys: pytest.CaptureFixture[str], stage: int) -> None:
    zero(folder, 4, ds_config={"zero_optimization": {"stage": stage}})
    message, where = (
        "the checkpoint of 4 sharing ranks is read by 8",
        "`global_step5`: a checkpoint of format `deepspeed`",
    )
    wanted = ("PLN855", message, f"{where} cannot be cut anew")
    assert found(capsys) == [wanted if stage else ("PLN856", message, f"{where} is cut anew when it is read")]


def test_zero_of_tensor_ranks(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zero(folder, checkpoint_parallel_dimensions={"tp_degree": 2, "pp_degree": 1})
    (told,) = found(capsys)
    assert told[:2] == ("PLN855", "the checkpoint of 2 tensor ranks is read by 1")


def test_a_universal_checkpoint_is_cut_anew(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (zero(folder, 4) / "zero" / "a").mkdir(parents=True)
    (folder / "ckpt" / "global_step5" / "zero" / "a" / "fp32.pt").write_bytes(b"")
    assert [code for code, *_ in found(capsys)] == ["PLN856", "PLN857"]
    change(folder, "  resume", "  checkpoint { format = universal }\n  resume")
    assert [code for code, *_ in found(capsys)] == ["PLN856"]


def test_a_plain_checkpoint_where_a_universal_one_is_due(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zero(folder)
    change(folder, "  resume", "  checkpoint { format = universal }\n  resume")
    label = "`global_step5`: it is no universal checkpoint, which `format = universal` asks for"
    assert found(capsys) == [("PLN857", "the checkpoint cannot be read", label)]


def test_a_file_that_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (zero(folder) / "zero_pp_rank_3_mp_rank_00_optim_states.pt").unlink()
    label = "`global_step5`: `zero_pp_rank_3_mp_rank_00_optim_states.pt` is missing"
    assert found(capsys) == [("PLN857", "the checkpoint cannot be read", label)]


def test_steps(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for step in range(10, 80, 10):
        zero(folder, step=step)
    change(folder, 'directory = "ckpt"', 'directory = "ckpt"  step = 40')
    assert found(capsys) == []
    change(folder, "step = 40", "step = 45")
    told = ("PLN857", "there is no checkpoint of step 45", "the last are 30, 40, 50, 60 and 70")
    assert found(capsys) == [told]


def test_the_newest_is_what_latest_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zero(folder, 4, step=10)
    zero(folder, 8, step=20)
    assert found(capsys) == []
    (folder / "ckpt" / "latest").write_text("global_step10")
    assert [code for code, *_ in found(capsys)] == ["PLN855"]
    (folder / "ckpt" / "latest").write_text("gone")
    label = "`latest` names `gone`, and no checkpoint of that name is there"
    assert found(capsys) == [("PLN857", "there is no checkpoint to go on from", label)]


def test_one_that_states_no_step_may_be_of_any(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights(folder / "ckpt" / "model.safetensors")
    change(folder, 'directory = "ckpt"', 'directory = "ckpt"  step = 40')
    assert found(capsys) == []


def test_a_distributed_checkpoint(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dcp(folder, 15)  # of 16 ranks at least: any number reads it
    assert found(capsys) == []


def test_a_rule_can_be_allowed_and_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights(folder / "ckpt" / "model.safetensors", 7)
    assert found(capsys, "--ignore", "PLN854") == []
    change(folder, '"ckpt" }', '"ckpt" }  # planc: allow other-parameters-in-checkpoint -- heads are made anew')
    assert found(capsys) == []


@pytest.mark.parametrize(
    ("plan", "arguments", "reason"),
    [
        (RESUMED, ("--checkpoint", "ckpt"), "`ckpt` holds no checkpoint of a format that planc reads"),
        (RESUMED, ("--checkpoint", "run.plan"), "there is no folder `run.plan`, which `--checkpoint` names"),
        (
            CLEAN,
            ("--checkpoint", "ckpt"),
            "no plan has a `resume` section, which is what `--checkpoint` is compared with",
        ),
        (
            RESUMED,
            ("--checkpoint", "ckpt", "--fix"),
            "`--checkpoint` does not go with `--fix`, `--diff` or `--show-skipped`",
        ),
    ],
)
def test_what_cannot_be_compared(
    folder: Path, capsys: pytest.CaptureFixture[str], plan: str, arguments: tuple[str, ...], reason: str
) -> None:
    (folder / "run.plan").write_text(plan)
    assert main(["lint", "run.plan", *arguments]) == 2
    assert capsys.readouterr().err == f"planc: {reason}\n"


def test_what_the_plan_before_tells_is_told_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zero(folder, 4)
    header, plan = RESUMED.split("plan run")
    before = f"plan before{plan}".replace("  resume { directory", "  checkpoint { every = 5 steps  directory")
    before = before.replace("cluster = one", "cluster = one { gpus_per_node = 4 }").replace(
        "global = 64", "global = 32"
    )
    change(folder, RESUMED, header + before + "plan run" + plan.replace('"ckpt"', '"ckpt"  saved_by = before'))
    assert main(["lint", "run.plan", "--checkpoint", "ckpt", "--output-format", "concise"]) == 1
    codes = [line.partition("[")[2][:6] for line in capsys.readouterr().out.splitlines() if "error[" in line]
    assert codes == ["PLN809"]


def test_a_plan_with_errors_is_told_of_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zero(folder)
    change(folder, "model = small", "model = smal")
    assert main(["lint", "run.plan", "--checkpoint", "ckpt"]) == 1
    assert "PLN010" in capsys.readouterr().out

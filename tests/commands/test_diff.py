"""`planc diff` through its command line: fields, numbers and diagnostics of two states of plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from planc.facts.facts import of_experts
from planc.resources import read_text
from tests.commands.cli import BROKEN, CLEAN, ROOT, planc

WIDER = CLEAN.replace("shard { stage = 1 }", "shard { stage = 2 }  parallel { tensor = 2 }")


def shown(folder: Path, *arguments: str, status: int = 0) -> str:
    outcome = planc("diff", *arguments, cwd=folder)
    assert (outcome.returncode, outcome.stderr) == (status, "")
    return outcome.stdout


def data(folder: Path, *arguments: str) -> Any:
    document = json.loads(shown(folder, *arguments, "--output-format", "json"))
    jsonschema.validate(document, json.loads(read_text("schemas/diff.schema.json")))
    return document["comparisons"]


def changes(compared: Any, kind: str) -> dict[str, tuple[Any, Any]]:
    """Values of both sides by path, of the only plan."""
    (plan,) = compared["plans"]
    return {each["path"]: tuple(side and side["value"] for side in (each["old"], each["new"])) for each in plan[kind]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.plan").write_text(CLEAN)
    (tmp_path / "b.plan").write_text(WIDER)
    return tmp_path


def test_two_files(folder: Path) -> None:
    (compared,) = data(folder, "a.plan", "b.plan")
    assert (compared["old"], compared["new"], compared["differs"]) == ("a.plan", "b.plan", True)
    assert changes(compared, "fields") == {"shard.stage": (1, 2), "parallel.tensor": (1, 2)}
    assert changes(compared, "followed") == {
        "parallel.data": (8, 4), "shard.size": (8, 4), "batch.accumulation": (8, 16),
    }  # fmt: skip
    numbers = changes(compared, "numbers")
    assert numbers["world.replicas"] == (8, 4)
    assert "world.size" not in numbers
    assert not [path for path in numbers if path.startswith("stage.")]


def test_every_number_that_differs_is_one_that_explain_gives(folder: Path) -> None:
    values = []
    for name in ("a.plan", "b.plan"):
        outcome = planc("explain", name, "--output-format", "json", cwd=folder)
        (plan,) = json.loads(outcome.stdout)["plans"]
        values.append({number["path"]: number["value"] for number in plan["numbers"]})
    told = (path for path in values[0] if not path.startswith("stage.") and not of_experts(path))  # the model has none
    pairs = ((path, values[0][path], values[1][path]) for path in told)
    differ = {path: (old, new) for path, old, new in pairs if old != new}
    (compared,) = data(folder, "a.plan", "b.plan")
    assert changes(compared, "numbers") == differ


def test_the_text_has_a_line_for_each_with_its_place(folder: Path) -> None:
    lines = shown(folder, "a.plan", "b.plan").splitlines()
    assert lines[0] == "a.plan -> b.plan"
    assert "plan run" in lines
    stage = next(line for line in lines if "shard.stage" in line)
    assert stage.split() == ["~", "shard.stage", "1", "->", "2", "written", "at", "b.plan:4:58"]
    replicas = next(line for line in lines if "world.replicas" in line)
    assert replicas.split() == ["~", "world.replicas", "8", "->", "4", "-50", "%"]
    assert any(line.startswith("  2 fields and 3 that follow, ") for line in lines)


def test_what_a_reader_asks_first_stands_last(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text((ROOT / "examples" / "workstation.plan").read_text())
    lines = shown(tmp_path, "a.plan", "--set", "batch.micro=1").splitlines()
    short = lines[lines.index("  in short") + 1 : -2]
    assert [line.split()[0] for line in short] == ["memory", "step", "throughput", "MFU", "run"]
    (total,) = (line for line in lines if line.startswith("  ~ memory.total "))
    assert short[0].split()[1:] == total.split()[2:]


def test_what_is_new_and_what_is_gone(folder: Path) -> None:
    (folder / "b.plan").write_text(
        CLEAN.replace('launch { script = "train.py" }', "recompute = full  train { seed = 7 }")
    )
    (compared,) = data(folder, "a.plan", "b.plan")
    kinds = {each["path"]: each["kind"] for each in compared["plans"][0]["fields"]}
    assert kinds["launch.script"] == "gone"
    assert kinds["train.seed"] == "added"
    assert kinds["recompute"] == "changed"
    lines = shown(folder, "a.plan", "b.plan").splitlines()
    assert any(line.startswith("  - launch.script") and line.endswith("was written at a.plan:6:21") for line in lines)
    assert any(line.split()[:3] == ["+", "train.seed", "7"] for line in lines)


def test_texts_stand_in_quotes_and_faults_are_left_to_diagnostics(folder: Path) -> None:
    launch = 'launch { script = "train.py"  args = ["--lr", "1 e"]  env { A = "x y" } }'
    (folder / "b.plan").write_text(CLEAN.replace('launch { script = "train.py" }', launch))
    (compared,) = data(folder, "a.plan", "b.plan")
    texts = {each["path"]: each["new"]["text"] for each in compared["plans"][0]["fields"]}
    assert texts == {"launch.args": '["--lr", "1 e"]', "launch.env.A": '"x y"'}
    (folder / "b.plan").write_text(
        CLEAN.replace("[torchrun, deepspeed]", "[torchrun, deepspeed, slurm { lncher = x }]")
    )
    (compared,) = data(folder, "a.plan", "b.plan")
    assert not [each for each in compared["plans"][0]["followed"] if each["path"].startswith("emit.slurm")]


def test_a_file_beside_itself_does_not_differ(folder: Path) -> None:
    text = shown(folder, "a.plan", "a.plan", "--exit-code")
    assert text.splitlines()[2:4] == ["plan run", "  no difference"]
    (folder / "c.plan").write_text("# moved\n\n" + CLEAN.replace("{ gpu = card  nodes", "{ gpu = card      nodes"))
    assert "no difference" in shown(folder, "a.plan", "c.plan", "--exit-code")


def test_exit_code_is_asked_for(folder: Path) -> None:
    shown(folder, "a.plan", "b.plan")
    shown(folder, "a.plan", "b.plan", "--exit-code", status=1)
    shown(folder, "a.plan", "b.plan", "--exit-code", "--markdown", status=1)


def test_two_plans_of_a_file(folder: Path) -> None:
    (folder / "a.plan").write_text(CLEAN + "plan next from run { cluster { nodes = 2 }  parallel { tensor = 8 } }\n")
    (compared,) = data(folder, "a.plan", "--plan", "run", "--plan", "next")
    assert changes(compared, "fields") == {"cluster.nodes": (1, 2), "parallel.tensor": (1, 8)}
    assert [compared["plans"][0][side]["plan"] for side in ("old", "new")] == ["run", "next"]
    assert (compared["gone"], compared["added"]) == ([], [])
    assert "plan run -> plan next" in shown(folder, "a.plan", "--plan", "run", "--plan", "next")
    assert "plan next -> plan run" in shown(folder, "a.plan", "--plan", "next", "--plan", "run")


def test_what_if_a_field_were_set(folder: Path) -> None:
    (compared,) = data(folder, "a.plan", "--set", "parallel.tensor=4")
    assert changes(compared, "fields") == {"parallel.tensor": (1, 4)}
    assert (compared["old"], compared["new"]) == ("a.plan", "a.plan --set parallel.tensor=4")
    assert "set on the command line" in shown(folder, "a.plan", "--set", "parallel.tensor=4")


def test_plans_of_two_files_by_name(folder: Path) -> None:
    (folder / "a.plan").write_text(CLEAN + "plan old from run { }\nplan both from run { }\n")
    (folder / "b.plan").write_text(CLEAN + "plan both from run { shard { stage = 3 } }\nplan fresh from run { }\n")
    (compared,) = data(folder, "a.plan", "b.plan")
    assert [plan["new"]["plan"] for plan in compared["plans"]] == ["run", "both"]
    assert [plan["differs"] for plan in compared["plans"]] == [False, True]
    assert [plan["plan"] for plan in compared["gone"]] == ["old"]
    assert [plan["plan"] for plan in compared["added"]] == ["fresh"]
    text = shown(folder, "a.plan", "b.plan")
    assert "  - plan old is gone  a.plan:9:6\n" in text
    assert "  + plan fresh is new  b.plan:10:6\n" in text
    (compared,) = data(folder, "a.plan", "b.plan", "--plan", "both")
    assert [plan["new"]["plan"] for plan in compared["plans"]] == ["both"]
    assert (compared["gone"], compared["added"]) == ([], [])


def test_the_only_plan_of_each_file_whatever_it_is_called(folder: Path) -> None:
    (folder / "b.plan").write_text(WIDER.replace("plan run", "plan walk"))
    assert "plan run -> plan walk" in shown(folder, "a.plan", "b.plan")


def test_diagnostics_come_and_go(folder: Path) -> None:
    uneven = CLEAN.replace("shard { stage = 1 }", "parallel { tensor = 3 }")
    (folder / "b.plan").write_text(uneven)
    (compared,) = data(folder, "a.plan", "b.plan")
    found = compared["plans"][0]["diagnostics"]
    assert "PLN101" in [each["code"] for each in found["came"]]
    assert found["went"] == []
    text = shown(folder, "a.plan", "b.plan")
    assert "  + error[PLN101]: model-parallel size 3 does not divide the world size 8  b.plan:4:53\n" in text
    (compared,) = data(folder, "b.plan", "a.plan")
    assert "PLN101" in [each["code"] for each in compared["plans"][0]["diagnostics"]["went"]]
    (folder / "a.plan").write_text("\n" + uneven)
    (compared,) = data(folder, "a.plan", "b.plan")
    found = compared["plans"][0]["diagnostics"]
    assert (found["came"], found["went"]) == ([], [])
    assert 0 < found["kept"]


def test_what_is_said_of_one_plan_is_not_said_of_another(folder: Path) -> None:
    (folder / "b.plan").write_text(CLEAN + "plan second from run { parallel { tensor = 3 } }\n")
    (folder / "a.plan").write_text(CLEAN + "plan second from run { }\n")
    (compared,) = data(folder, "a.plan", "b.plan")
    came = [[each["code"] for each in plan["diagnostics"]["came"]] for plan in compared["plans"]]
    assert came[0] == []
    assert "PLN101" in came[1]


def test_a_plan_with_errors_is_compared_as_far_as_it_is_known(folder: Path) -> None:
    (folder / "b.plan").write_text(BROKEN)
    (compared,) = data(folder, "a.plan", "b.plan")
    assert "PLN010" in [each["code"] for each in compared["diagnostics"]["came"]]
    kinds = {each["path"]: each["kind"] for each in compared["plans"][0]["numbers"]}
    assert kinds["memory.total"] == "gone"
    assert "world.size" not in kinds
    text = shown(folder, "a.plan", "b.plan")
    assert "of the files\n  + error[PLN010]" in text


def test_a_text_that_is_no_plan(folder: Path) -> None:
    (folder / "b.plan").write_text("plan {{{\n")
    text = shown(folder, "a.plan", "b.plan")
    assert "plan run is gone" in text
    assert "error[PLN001]" in text
    (folder / "b.plan").write_bytes(b"\xff\xfe\x00")
    assert "error[PLN004]" in shown(folder, "a.plan", "b.plan")


def test_other_engines_train_it(folder: Path) -> None:
    (folder / "b.plan").write_text(CLEAN.replace("deepspeed", "accelerate").replace("stage = 1", "stage = 3"))
    (compared,) = data(folder, "a.plan", "b.plan")
    (plan,) = compared["plans"]
    assert (plan["old"]["engines"], plan["new"]["engines"]) == (["deepspeed"], ["fsdp2"])
    assert {number["engine"] for number in plan["numbers"]} == {"deepspeed -> fsdp2"}
    text = shown(folder, "a.plan", "b.plan")
    assert "  trained by deepspeed -> fsdp2\n" in text
    assert "[deepspeed -> fsdp2]" not in text


def test_numbers_of_engines_that_agree_are_told_once(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text((ROOT / "examples" / "finetune-8b.plan").read_text())
    (compared,) = data(tmp_path, "a.plan", "--set", "cluster.nodes=2")
    numbers = compared["plans"][0]["numbers"]
    assert [each["engine"] for each in numbers if each["path"] == "world.size"] == [""]
    assert [each["engine"] for each in numbers if each["path"] == "memory.weights"] == ["fsdp2", "deepspeed"]


def test_how_much_more_or_less(tmp_path: Path) -> None:
    (tmp_path / "a.plan").write_text((ROOT / "examples" / "pretrain-70b.plan").read_text())
    (tmp_path / "cluster-eu.plan").write_text((ROOT / "examples" / "cluster-eu.plan").read_text())
    (compared,) = data(tmp_path, "a.plan", "--plan", "pretrain", "--set", "cluster.nodes=4")
    told = {each["path"]: each["difference"] for each in compared["plans"][0]["numbers"]}
    assert told["world.size"] == "-93.8 %"
    (compared,) = data(tmp_path, "a.plan", "--plan", "pretrain", "--set", "cluster.nodes=640")
    told = {each["path"]: each["difference"] for each in compared["plans"][0]["numbers"]}
    assert told["world.size"] == "x 10"
    (compared,) = data(tmp_path, "a.plan", "--plan", "pretrain", "--set", "cluster.nodes=32")
    told = {each["path"]: each["difference"] for each in compared["plans"][0]["numbers"]}
    assert told["memory.headroom"].startswith("-")
    assert told["memory.headroom"].endswith(" points")


def test_markdown_holds_what_a_plan_wrote_in_code_alone(folder: Path) -> None:
    written = 'launch { script = "`@all` | <b>.py" }'
    (folder / "b.plan").write_text(WIDER.replace('launch { script = "train.py" }', written))
    text = shown(folder, "a.plan", "b.plan", "--markdown")
    assert text == shown(folder, "a.plan", "b.plan", "--output-format", "markdown")
    lines = text.splitlines()
    assert lines[0] == "### `a.plan` -> `b.plan`"
    at = lines.index("```diff")
    fence = lines[at + 1 : lines.index("```", at)]
    assert "- shard.stage = 1" in fence
    assert "+ shard.stage = 2  # written at b.plan:4:58" in fence
    outside = [line for line in lines if line not in fence]
    assert not any("@all" in line for line in outside)
    assert "| `world.replicas` | `8` | `4` | -50 % |" in lines
    assert not any("moe" in line for line in lines)
    assert text.count("<details>") == text.count("</details>") == 2


def test_markdown_names_the_engines_of_its_first_table(tmp_path: Path) -> None:
    plan = ROOT / "examples" / "finetune-8b.plan"
    lines = shown(tmp_path, str(plan), "--set", "batch.micro=2", "--markdown").splitlines()
    first = lines[: lines.index("```diff")]
    assert [line.split(" | ")[0] for line in first if line.startswith("| memory")] == [
        "| memory (fsdp2)",
        "| memory (deepspeed)",
    ]


def test_of_what_is_missing_no_share_is_told(tmp_path: Path) -> None:
    plan = ROOT / "examples" / "finetune-8b.plan"
    (compared,) = data(tmp_path, str(plan), "--set", "batch.micro=8")
    (small,) = data(tmp_path, str(plan), "--set", "batch.micro=4")
    free = [each for each in compared["plans"][0]["numbers"] if each["path"] == "memory.free"]
    assert free and all(each["new"]["value"] < 0 and each["difference"] == "" for each in free)
    assert small


def test_colours_are_as_asked(folder: Path) -> None:
    assert "\033[" not in shown(folder, "a.plan", "b.plan")
    assert "\033[33m~ shard.stage" in shown(folder, "a.plan", "b.plan", "--color", "always")
    assert "\033[" not in planc("diff", "a.plan", "b.plan", "--color", "never", cwd=folder, FORCE_COLOR="1").stdout


def test_control_characters_of_a_plan_stay_off_the_terminal(folder: Path) -> None:
    (folder / "b.plan").write_text(CLEAN.replace("train.py", "train\x9b2J.py"))
    assert "\x9b" not in shown(folder, "a.plan", "b.plan") + shown(folder, "a.plan", "b.plan", "--markdown")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name one or two plan files, not 0; see `planc diff --help`"),
        (["a.plan", "b.plan", "a.plan"], "name one or two plan files, not 3; see `planc diff --help`"),
        (["a.plan"], "with what is it to be compared? "),
        (["a.plan", "--plan", "run"], "with what is it to be compared? "),
        (["a.plan", "no.plan"], "cannot read `no.plan`: no such file or directory"),
        (["a.plan", "."], "`.` is a folder; name the plan file, or compare a folder with `--against REVISION`"),
        (["a.plan", "b.plan", "--plan", "rum"], "no plan `rum` in `a.plan`; did you mean `run`?; it has `run`"),
        (["a.plan", "--plan", "run", "--plan", "x"], "no plan `x` in `a.plan`; it has `run`"),
        (["a.plan", "b.plan", *["--plan", "run"] * 3], "name one plan, or two that are compared, not more"),
        (["a.plan", "two.plan"], "`a.plan` and `two.plan` share no plan: `run` and `x`, `y`; name one of each"),
        (["none.plan", "none.plan"], "neither `none.plan` nor `none.plan` defines a plan"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_one_line(folder: Path, arguments: list[str], said: str) -> None:
    two = CLEAN.replace("plan run", "plan x")
    (folder / "none.plan").write_text("# nothing\n")
    (folder / "two.plan").write_text(two + "plan y from x { }\n")
    outcome = planc("diff", *arguments, cwd=folder)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"planc: {said}")
    assert outcome.stderr.count("\n") == 1


def test_standard_input_is_a_side(folder: Path) -> None:
    outcome = planc("diff", "-", "b.plan", cwd=folder, stdin=CLEAN.encode())
    assert (outcome.returncode, outcome.stderr) == (0, "")
    assert "shard.stage" in outcome.stdout


def test_the_same_plans_give_the_same_bytes(folder: Path) -> None:
    texts = {planc("diff", "a.plan", "b.plan", cwd=folder, PYTHONHASHSEED=str(seed)).stdout for seed in range(3)}
    assert len(texts) == 1

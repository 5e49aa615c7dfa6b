"""`planc record diff`: what differs between two runs, as text and as data, and records that cannot be used."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from planc.commands.main import main
from planc.evidence.canonical import canonical
from planc.resources import read_text
from tests.commands.evidence import METRICS, PLAN, attest, fill, statement
from tests.evidence.folders import safetensors

SCHEMA = json.loads(read_text("schemas/record_diff.schema.json"))
LOG = "NCCL version 2.29.7+cuda13.2\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run and its record, `before.json`."""
    monkeypatch.chdir(tmp_path)
    fill(tmp_path)
    return made(tmp_path, "before.json")


def made(folder: Path, name: str, *more: str) -> Path:
    """Puts the record of what is there now into a file."""
    assert attest("--force", "--no-cache", "--log", "train.log", "--dataset", "data", *more) == 0
    shutil.move(folder / "record.json", folder / name)
    return folder


@pytest.fixture
def shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Status and output of the comparison of two records, the second made anew if it is not named."""

    def outcome(second: str = "after.json", *more: str) -> tuple[int, str]:
        if second == "after.json" and not (folder / second).exists():
            made(folder, second, "--allow-differences")
        capsys.readouterr()
        status = main(["record", "diff", "before.json", second, *more])
        printed, complained = capsys.readouterr()
        assert complained == ""
        return status, printed

    return outcome


def test_the_same_run(shown: Callable[..., tuple[int, str]]) -> None:
    assert shown() == (0, "The runs are recorded alike.\n")
    status, printed = shown("after.json", "--output-format", "json")
    assert (status, json.loads(printed)) == (0, {"version": 1, "differs": False, "changes": []})


def test_a_signature_and_a_time_are_no_difference(folder: Path, shown: Callable[..., tuple[int, str]]) -> None:
    made(folder, "after.json", "--sign", "key.pem", "--time")
    assert shown()[0] == 0


def replaced(folder: Path, old: str, new: str) -> None:
    assert old in PLAN
    (folder / "run.plan").write_text(PLAN.replace(old, new))


def lower_loss(folder: Path) -> None:
    (folder / "metrics.jsonl").write_text(METRICS.replace("1.5", "1.25"))


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (
            lambda folder: replaced(folder, "seed = 7", "seed = 8"),
            ["configuration", "  ~ train.seed  7 -> 8"],
        ),
        (
            lambda folder: replaced(folder, "  train {", '  resume { directory = "/c\\n" }  train {'),
            ["configuration", "  + resume.directory  /c\\n"],
        ),
        (
            lambda folder: replaced(folder, 'version = "v3"', ""),
            ["configuration", "  - dataset.version  v3", "dataset", "  - version  v3"],
        ),
        (lower_loss, ["metrics", "  ~ loss final  1.5 -> 1.25  (-0.25)", "  ~ loss best  1.5 -> 1.25  (-0.25)",
                      "  ~ loss lowest  1.5 -> 1.25  (-0.25)"]),
        (
            lambda folder: (folder / "metrics.jsonl").write_text(METRICS.replace("1.5", "NaN")),
            [
                "metrics", "  + loss values not finite  1", "  ~ loss final  1.5 -> NaN",
                "  ~ loss best  1.5 -> 2.5  (+1)", "  ~ loss best step  2 -> 1",
                "  ~ loss lowest  1.5 -> 2.5  (+1)", "  ~ loss lowest step  2 -> 1",
            ],
        ),
        (
            lambda folder: (folder / "train.log").write_text(LOG.replace("2.29.7", "2.29.8")),
            ["software", "  ~ nccl  2.29.7+cuda13.2 -> 2.29.8+cuda13.2"],
        ),
        (
            lambda folder: (folder / "ckpt" / "shards" / "rank_1.bin").unlink(),
            ["checkpoint", "  - `shards/rank_1.bin`  17 bytes, sha256:", "  ~ files  2 -> 1", "  ~ size  34 -> 17"],
        ),
        (
            lambda folder: (folder / "data" / "part.txt").write_text("other words"),
            ["dataset", "  ~ `part.txt`  10 bytes, sha256:", "  ~ digest of the files  sha256:"],
        ),
    ],
)  # fmt: skip
def test_what_differs(
    folder: Path, shown: Callable[..., tuple[int, str]], change: Callable[[Path], None], lines: list[str]
) -> None:
    change(folder)
    status, printed = shown()
    *told, last = printed.splitlines()
    wanted = [line for line in told if not line.startswith(("emitted files", "  ~ deepspeed", "  ~ run/", "  ~ ds_"))]
    assert status == 1
    assert len(wanted) == len(lines), printed
    assert all(line.startswith(start) for line, start in zip(wanted, lines, strict=True)), printed
    assert last == f"Found {sum(line.startswith('  ') for line in told)} change{'s' if 2 < len(told) else ''}."
    status, printed = shown("after.json", "--output-format", "json")
    document = json.loads(printed)
    Draft202012Validator(SCHEMA).validate(document)
    assert (status, document["differs"], len(document["changes"])) == (1, True, sum(x.startswith("  ") for x in told))


def test_what_checkpoints_say_of_themselves(folder: Path, shown: Callable[..., tuple[int, str]]) -> None:
    for name, count in (("before.json", 100), ("after.json", 50)):
        inside = folder / "ckpt" / f"step-{count}"
        inside.mkdir()
        (inside / "model.safetensors").write_bytes(safetensors({"a": ("BF16", (count,), 2 * count)}))
        made(folder, name, "--allow-differences")
        shutil.rmtree(inside)
    told = shown()[1].splitlines()
    assert "  ~ parameters  100 -> 50" in told
    assert "  ~ step  100 -> 50" in told
    assert any(line.startswith("  + `step-50/model.safetensors`  ") for line in told)


def test_many_changes_are_counted(folder: Path, shown: Callable[..., tuple[int, str]]) -> None:
    for number in range(60):
        (folder / "data" / f"{number}\x1b").write_text(str(number))
    told = shown()[1]
    assert "  and 21 more changes\n" in told
    assert "\x1b" not in told


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("gone.json", None, "cannot read `gone.json`: no such file or directory"),
        ("none.json", b"{}\n", "`none.json` cannot be used: it is no in-toto Statement"),
        ("text.json", b"no record", "`text.json` cannot be used: "),
        ("large.json", b"[" * 5000, "`large.json` cannot be used: "),
    ],
)
def test_a_file_that_is_no_record(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes | None, reason: str
) -> None:
    if content is not None:
        (folder / name).write_bytes(content)
    capsys.readouterr()
    for pair in (("before.json", name), (name, "before.json")):
        assert main(["record", "diff", *pair]) == 2
        printed, complained = capsys.readouterr()
        assert printed == ""
        assert complained.startswith(f"planc: {reason}")
        assert complained.count("\n") == 1


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not items:
        yield path
    for key, item in list(items):
        yield from leaves(item, (*path, key))


#: What two records may differ in without a word: what follows from the rest, as `kind` does, or is no part of the run.
SILENT = (
    "plan.file", "plan.settings", "plan.resolved.plan", "not_recorded.", "reproducibility", "metrics.0.file",
    "metrics.0.form", "metrics.0.size", "metrics.0.sha256", "metrics.1", "dataset.folder.sha256",
    "checkpoint.num_files", "checkpoint.size",
)  # fmt: skip


def test_each_field_that_is_altered_is_a_change_or_no_record(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is changed in the second record, it is told of, unless it is of those that follow from others."""
    whole = statement(folder / "before.json")
    (folder / "a.json").write_bytes(canonical(whole) + b"\n")
    for path in leaves(whole["predicate"]):
        changed = json.loads(json.dumps(whole))
        inner = changed["predicate"]
        for key in path[:-1]:
            inner = inner[key]
        old = inner[path[-1]]
        inner[path[-1]] = not old if isinstance(old, bool) else old + 1 if isinstance(old, int | float) else f"{old}0"
        (folder / "b.json").write_bytes(canonical(changed) + b"\n")
        status = main(["record", "diff", "a.json", "b.json"])
        assert status or path[-1] == "kind" or ".".join(map(str, path)).startswith(SILENT), path
    capsys.readouterr()

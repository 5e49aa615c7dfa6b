"""`planc attest`: what a record holds, how it is written, and what is refused."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from planc.commands import attest as command
from planc.commands import cache, evidence_files, hash_memory, hashing, progress
from planc.commands.main import main
from planc.evidence import canonical as canonical_texts
from planc.evidence.canonical import canonical
from planc.resources import read_text
from planc.version import VERSION
from tests.commands.cli import CLEAN, environment
from tests.commands.cli import command as started
from tests.commands.evidence import METRICS, PLAN, attest, fill, statement

SCHEMA = json.loads(read_text("schemas/evidence.schema.json"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a run in it."""
    fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def recorded(folder: Path) -> dict[str, Any]:
    found = statement(folder / "record.json")
    jsonschema.validate(found, SCHEMA, cls=jsonschema.Draft202012Validator)
    return found


def predicate(folder: Path) -> dict[str, Any]:
    return dict(recorded(folder)["predicate"])


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def test_what_a_record_holds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert attest("--log", "train.log", "--dataset", "data") == 0
    found = recorded(folder)
    listing = [{"name": "part.txt", "sha256": digest(b"some words"), "size": 10}]
    data = canonical({"files": listing, "links": []})
    read = "    it has no format that planc reads, and was compared with nothing\n"
    told = f"  checkpoint: 2 files, 34 bytes\n{read}  dataset: 1 file, digest sha256:{digest(data)}\n  metrics: 1\n"
    assert capsys.readouterr() == (f"wrote `record.json`\n{told}", "")
    assert found["_type"] == "https://in-toto.io/Statement/v1"
    assert found["predicateType"] == "urn:planc:evidence:1"
    assert found["subject"] == [
        {
            "name": f"shards/rank_{rank}.bin",
            "digest": {"sha256": digest(b"weights of rank %d" % rank)},
            "annotations": {"size": 17},
        }
        for rank in (0, 1)
    ]
    part = found["predicate"]
    assert part["planc"] == VERSION
    links = [{"name": "latest", "target": "shards"}]
    assert part["checkpoint"] == {"num_files": 2, "size": 34, "links": links, "found": [], "differences": []}
    assert part["dataset"] == {
        "name": "corpus", "version": "v3", "folder": {"sha256": digest(data), "files": listing, "links": []},
    }  # fmt: skip
    metrics, log = part["metrics"]
    assert metrics == {
        "file": "metrics.jsonl",
        "form": "jsonl",
        "size": len(METRICS),
        "sha256": digest(METRICS.encode()),
        "values": {
            "loss": {
                "count": 2,
                "final": {"value": 1.5, "step": 2},
                "lowest": {"value": 1.5, "step": 2},
                "highest": {"value": 2.5, "step": 1},
                "best": {"value": 1.5, "step": 2},
            }
        },
    }
    assert (log["file"], log["form"], log["values"]) == ("train.log", "log", {})
    assert part["software"] == {"nccl": ["2.29.7+cuda13.2"]}
    assert part["seeds"] == {"train.seed": 7}
    assert part["world"] == {"cluster.nodes": 1, "cluster.gpus_per_node": 8, "world.size": 8}
    assert (part["layout"]["parallel.data"], part["layout"]["batch.global"]) == (8, 64)
    assert "not claimed to be reproducible bit by bit" in part["reproducibility"]
    assert not [line for line in part["not_recorded"] if "seed" in line or "dataset" in line or "software" in line]
    assert "time" not in part


def test_what_is_said_of_a_checkpoint_stands_below_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    (folder / "ckpt" / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"1234")
    assert attest("--dataset", "data", "--allow-differences") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("  checkpoint: 3 files") and lines[2].startswith("    safetensors, ")
    assert [line.split(":")[0] for line in lines[3:]] == ["    differs", "  dataset", "  metrics"]


def test_plan_and_files_are_those_that_compile_writes(folder: Path) -> None:
    assert attest("--set", "batch.micro=2") == 0
    assert main(["compile", "run.plan", "-o", "out", "--set", "batch.micro=2"]) == 0
    manifest = json.loads((folder / "out" / "run" / "planc.manifest.json").read_text())
    part = predicate(folder)
    assert part["emitted"] == manifest["files"]
    assert part["plan"]["sha256"] == manifest["plan"]["sha256"]
    assert part["plan"]["settings"] == manifest["settings"] == ["batch.micro=2"]
    assert part["plan"]["resolved"]["fields"]["batch"]["fields"]["micro"] == 2


def test_the_same_run_gives_the_same_bytes(folder: Path) -> None:
    arguments = ("--dataset", "data", "--log", "train.log", "--sign", "key.pem", "--force")
    assert attest(*arguments) == 0
    first = (folder / "record.json").read_bytes()
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (1, 1))
    assert attest(*arguments) == 0
    assert (folder / "record.json").read_bytes() == first


def test_what_is_missing_is_said(folder: Path) -> None:
    (folder / "run.plan").write_text(CLEAN)
    assert attest() == 0
    part = predicate(folder)
    assert (part["seeds"], part["dataset"], part["metrics"], part["software"]) == ({}, {}, [], {})
    assert part["not_recorded"][:7] == [
        "a seed: the plan sets no `train.seed`",
        "the name of the dataset: the plan sets no `dataset.name`",
        "the version of the dataset: the plan sets no `dataset.version`",
        "the files of the dataset: no digest is stated",
        "what the checkpoint is: it has no format that planc reads",
        "metrics: no file of them was given",
        "versions of software: no log was given",
    ]


def test_the_time_only_where_it_is_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    assert attest("--time") == 0
    assert before <= predicate(folder)["time"] <= time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def test_values_that_are_not_finite_are_flagged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "metrics.jsonl").write_text('{"step": 8, "loss": NaN}\n{"step": 9, "loss": 1}\n')
    assert attest() == 0
    complaint = "planc: metric `loss` in `metrics.jsonl` is not finite in 1 of 2 values, first at step 8\n"
    assert capsys.readouterr().err == complaint
    found = predicate(folder)["metrics"][0]["values"]["loss"]["not_finite"]
    assert found == {"count": 1, "first": {"value": "NaN", "step": 8}}


def test_the_last_line_of_a_job_that_was_killed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "metrics.jsonl").write_text(METRICS + '{"step": 3, "lo')
    assert attest() == 0
    assert capsys.readouterr().err == "planc: the last line of `metrics.jsonl` is cut short, and was not recorded\n"
    found = predicate(folder)
    assert found["metrics"][0]["values"]["loss"]["final"] == {"value": 1.5, "step": 2}
    assert "the last line of `metrics.jsonl`: it is cut short" in found["not_recorded"]
    assert main(["verify", "record.json", "--metrics", "metrics.jsonl"]) == 0


def test_metrics_from_several_files_of_every_form(folder: Path) -> None:
    (folder / "a.csv").write_text("step,loss\n1,2.5\n")
    (folder / "trainer_state.json").write_text('{"log_history": [{"step": 1, "eval_loss": 2}]}')
    (folder / "out.txt").write_text(" iteration 10/ 20 | lm loss: 1.5E+00 |\n")
    assert attest("--metrics", "a.csv", "--metrics", "trainer_state.json", "--metrics", "out.txt") == 0
    reports = predicate(folder)["metrics"]
    assert [(report["form"], list(report["values"])) for report in reports] == [
        ("csv", ["loss"]), ("trainer_state", ["eval_loss"]), ("log", ["lm loss"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("plan", "arguments", "complaint"),
    [
        (
            PLAN.replace('"loss"', '"loss", "mfu"'),
            (),
            "the plan's `evidence.metrics` asks for mfu, which is not reported; reported are loss",
        ),
        (
            PLAN.replace('  file = "metrics.jsonl"', ""),
            (),
            "the plan's `evidence.metrics` asks for loss, which is not reported; no file of them",
        ),
        (
            PLAN.replace("version =", f'digest = "sha256:{"a" * 64}"  version ='),
            ("--dataset", "data"),
            f"the digest that is stated of the dataset is sha256:{'a' * 64}, and its files give ",
        ),
        (
            PLAN.replace("version =", f'digest = "{"a" * 64}"  version ='),
            ("--dataset-digest", "b" * 64),
            f"the plan's `dataset.digest` is {'a' * 64}, and `--dataset-digest` {'b' * 64}",
        ),
    ],
    ids=["unreported", "no-file", "other-data", "two-digests"],
)
def test_a_run_that_lacks_what_its_plan_asks_for(
    folder: Path, capsys: pytest.CaptureFixture[str], plan: str, arguments: tuple[str, ...], complaint: str
) -> None:
    (folder / "run.plan").write_text(plan)
    assert attest(*arguments) == 1
    printed, complained = capsys.readouterr()
    assert printed == ""
    assert complained.startswith(f"planc: {complaint}")
    assert complained.endswith("\nplanc: no record was written\n")
    assert not (folder / "record.json").exists()


@pytest.mark.parametrize("prefix", ["", "sha256:"])
@pytest.mark.parametrize("of_file", [False, True])
def test_a_digest_that_is_that_of_the_data(folder: Path, prefix: str, of_file: bool) -> None:
    assert attest("--dataset", "data") == 0
    listed = predicate(folder)["dataset"]["folder"]
    stated = prefix + (digest(b"some words").upper() if of_file else listed["sha256"])
    assert attest("--dataset", "data", "--dataset-digest", stated, "--force") == 0
    assert predicate(folder)["dataset"]["digest"] == stated
    assert predicate(folder)["dataset"]["compared"] is True


def test_a_digest_that_is_only_stated(folder: Path) -> None:
    assert attest("--dataset-digest", "git:abc") == 0
    part = predicate(folder)
    assert part["dataset"] == {"name": "corpus", "version": "v3", "digest": "git:abc"}
    assert "the files of the dataset: a digest is stated, and was compared with nothing" in part["not_recorded"]
    assert attest("--dataset-digest", "git:abc", "--dataset", "data", "--force") == 0
    part = predicate(folder)
    assert part["dataset"]["compared"] is False
    assert "whether the dataset has the digest that is stated: it is no SHA-256" in part["not_recorded"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("m.jsonl", METRICS),
        ("m.csv", "step,loss\n2,1.5\n"),
        ("m.json", '{"log_history": [{"step": 2, "loss": 1.5}]}'),
        ("m.log", "{'loss': '1.5', 'epoch': '1.0'}\n"),
    ],
)
def test_a_log_with_the_metrics_that_the_plan_asks_for(folder: Path, name: str, content: str) -> None:
    (folder / "run.plan").write_text(PLAN.replace('  file = "metrics.jsonl"', ""))
    (folder / name).write_text(content)
    assert attest("--log", name) == 0
    (report,) = predicate(folder)["metrics"]
    assert report["values"]["loss"]["final"]["value"] == 1.5
    assert attest("--metrics", name, "--log", name, "--force") == 0


def test_a_log_in_lines_of_json_reports_versions_too(folder: Path) -> None:
    (folder / "train.jsonl").write_text('{"message": "NCCL version 2.29.7+cuda13.2", "loss": 1}\n')
    assert attest("--log", "train.jsonl") == 0
    assert predicate(folder)["software"] == {"nccl": ["2.29.7+cuda13.2"]}


@pytest.mark.parametrize(("rights", "is_told"), [(0o600, False), (0o400, False), (0o644, True), (0o640, True)])
def test_a_key_that_others_may_read(
    folder: Path, capsys: pytest.CaptureFixture[str], rights: int, is_told: bool
) -> None:
    (folder / "key.pem").chmod(rights)
    assert attest("--sign", "key.pem") == 0
    told = f"planc: the key `key.pem` is open to others, by its rights {rights:04o}; `chmod 600` closes it\n"
    assert capsys.readouterr().err == (told if is_told else "")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("[]", "is not read: it is no object of JSON"),
        ("", "is not read: it is no JSON"),
        ("[" * 100_000, "is not read: it is no JSON"),
        ('{"version": 5}', "states a version that is no text, and was not recorded"),
        ('{"version": "1.0.0"}', ""),
        ("{}", ""),
    ],
    ids=["list", "empty", "deep", "version", "text", "nothing"],
)
def test_a_description_of_data_that_says_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str], content: str, fault: str
) -> None:
    (folder / "data" / "dataset_info.json").write_text(content)
    assert attest("--dataset", "data") == 0
    assert capsys.readouterr().err == (f"planc: `dataset_info.json` {fault}\n" if fault else "")


@pytest.mark.parametrize("digest", ["git:abc", "md5:00", "a" * 40, "a" * 96, "sha512:" + "a" * 128])
def test_a_digest_that_is_not_compared_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str], digest: str
) -> None:
    assert attest("--dataset-digest", digest) == 0
    told = f"  dataset: digest `{digest}`, compared with nothing: no folder of the data was given\n"
    assert told in capsys.readouterr().out
    assert attest("--dataset-digest", digest, "--dataset", "data", "--force") == 0
    assert f"\n    digest `{digest}`, compared with nothing: it is no SHA-256\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "digest", ["sha256:00", "sha256:", "SHA256:" + "a" * 64, "sha-256=x", "a" * 63, "A" * 65, "", " ", "a\x1b[31m\nb"]
)
@pytest.mark.parametrize("arguments", [(), ("--dataset", "data")])
def test_a_digest_that_is_none(
    folder: Path, capsys: pytest.CaptureFixture[str], digest: str, arguments: tuple[str, ...]
) -> None:
    assert attest("--dataset-digest", digest, *arguments) == 1
    told = capsys.readouterr().err
    assert told.startswith("planc: the digest of `--dataset-digest` is no ")
    assert "\x1b" not in told
    assert not (folder / "record.json").exists()


def test_a_digest_of_the_plan_that_is_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "run.plan").write_text(PLAN.replace("version =", 'digest = "sha256:12"  version ='))
    assert attest() == 1
    told = "is no SHA-256, which is written `sha256:` and 64 hexadecimal digits: it is `sha256:12`\n"
    assert capsys.readouterr().err.startswith(f"planc: the plan's `dataset.digest` {told}")


def test_where_nothing_differs_there_is_nothing_to_allow(folder: Path) -> None:
    assert attest() == 0
    first = (folder / "record.json").read_bytes()
    assert attest("--allow-differences", "--force") == 0
    assert (folder / "record.json").read_bytes() == first
    assert predicate(folder)["checkpoint"]["differences"] == []


def test_a_plan_with_errors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "run.plan").write_text(PLAN.replace("model = small", "model = smal"))
    assert attest("--color", "always") == 1
    printed, complained = capsys.readouterr()
    assert printed == ""
    assert complained.startswith("\x1b[")
    assert complained.endswith("\nplanc: no record was written\n")


def test_one_plan_of_several(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "run.plan").write_text(f"{PLAN}plan again from run {{ train {{ seed = 8 }} }}\n")
    assert attest() == 2
    expected = "planc: `run.plan` has several plans, `run`, `again`: name one with `--plan`\n"
    assert capsys.readouterr().err == expected
    assert attest("--plan", "again") == 0
    assert predicate(folder)["plan"]["name"] == "again"
    assert predicate(folder)["seeds"] == {"train.seed": 8}


def complaint_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said of a record that cannot be made."""
    assert main(["attest", *arguments]) == 2
    printed, complained = capsys.readouterr()
    assert printed == ""
    assert complained.startswith("planc: ")
    return complained.removeprefix("planc: ").removesuffix("\n")


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        ("there.json", "`there.json` is there already; `--force` overwrites it"),
        ("ckpt", "`ckpt` names no file; write `-o record.json`"),
        ("", "`` names no file; write `-o record.json`"),
        ("-", "`-` is no file; write `-o record.json`"),
        ("none/record.json", "there is no folder `none` to write to"),
        ("ckpt/record.json", "`ckpt/record.json` would lie in `ckpt`, whose files it lists; write it elsewhere"),
        ("data/a/record.json", "`data/a/record.json` would lie in `data`, whose files it lists; write it elsewhere"),
    ],
)
def test_a_place_where_no_record_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], output: str, complaint: str
) -> None:
    (folder / "there.json").write_text("mine")
    (folder / "data" / "a").mkdir()
    rest = ("--checkpoint", "ckpt", "--dataset", "data", "-o", output)
    assert complaint_of(capsys, "run.plan", *rest) == complaint
    assert (folder / "there.json").read_text() == "mine"


@pytest.mark.parametrize("kind", ["a pipe", "a device", "a socket", "a link"])
def test_what_is_no_file_is_never_replaced(folder: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    """Whoever is root may rename over a device, which would break every other program."""
    if kind == "a device" and os.geteuid() != 0:
        pytest.skip("only root may make a device")
    (folder / "mine").write_text("mine")
    with socket.socket(socket.AF_UNIX) as listening:
        {
            "a pipe": lambda: os.mkfifo("there"),
            "a device": lambda: os.mknod("there", stat.S_IFCHR | 0o600, os.makedev(1, 3)),
            "a socket": lambda: listening.bind("there"),
            "a link": lambda: Path("there").symlink_to("mine"),
        }[kind]()
    before = os.lstat("there")
    complaint = complaint_of(capsys, "run.plan", "--checkpoint", "ckpt", "--force", "-o", "there")
    assert complaint == f"`there` is {kind} and no file, which is not replaced; name another"
    assert os.lstat("there") == before and (folder / "mine").read_text() == "mine"


@pytest.mark.parametrize("name", ["run.plan", "key.pem", "metrics.jsonl", "train.log", "used.plan", "hard"])
@pytest.mark.parametrize("named", [True, False])
def test_no_input_is_overwritten(folder: Path, capsys: pytest.CaptureFixture[str], name: str, named: bool) -> None:
    (folder / "used.plan").write_text("")
    (folder / "run.plan").write_text(f'use "used.plan"\n{PLAN}')
    os.link("key.pem", "hard")
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    rest = ("--checkpoint", "ckpt", "--sign", "key.pem", "--log", "train.log", "--force", "-o", name)
    metrics = ("--metrics", "metrics.jsonl") if named else ()
    complaint = complaint_of(capsys, "run.plan", *rest, *metrics)
    assert complaint == f"`{name}` is read to make it, so it is not overwritten; name another"
    assert before == {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_force_overwrites(folder: Path) -> None:
    (folder / "record.json").write_text("mine")
    assert attest("--force") == 0
    assert recorded(folder)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--metrics", "none.jsonl"), "cannot read `none.jsonl`: no such file or directory"),
        (("--metrics", "ckpt"), "cannot read `ckpt`: is a directory"),
        (("--metrics", "pipe"), "cannot read `pipe`: it is no file"),
        (("--metrics", "bad.jsonl"), "`bad.jsonl:2`: the line is no JSON"),
        (("--metrics", "empty.jsonl"), "`empty.jsonl` reports no metric"),
        (("--metrics", "bad.json"), "`bad.json`: it is no trainer_state.json: it has no `log_history`"),
        (("--log", "none.log"), "cannot read `none.log`: no such file or directory"),
        (("--dataset", "none"), "cannot read `none`: no such file or directory"),
        (("--dataset", "run.plan"), "`run.plan` is no folder"),
        (("--sign", "none.pem"), "cannot read `none.pem`: no such file or directory"),
        (("--sign", "run.plan"), "cannot use the key `run.plan`: it is no private key in PEM or OpenSSH form; "),
        (("--sign", "key.pub"), "cannot use the key `key.pub`: it is no private key in PEM or OpenSSH form; "),
        (("--sign", "large"), "cannot use the key `large`: it is too large to be one"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_read(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], complaint: str
) -> None:
    os.mkfifo("pipe")
    Path("bad.jsonl").write_text('{"loss": 1}\n{\n')
    Path("empty.jsonl").write_text('{"step": 1}\n')
    Path("bad.json").write_text("{}")
    Path("large").write_text("-----BEGIN PRIVATE KEY-----\n" * 10_000)
    rest = ("--checkpoint", "ckpt", "-o", "record.json", *arguments)
    assert complaint_of(capsys, "run.plan", *rest).startswith(complaint)
    assert not (folder / "record.json").exists()


def test_the_file_that_the_plan_names_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "metrics.jsonl").unlink()
    complaint = "there is no file `metrics.jsonl`, the plan's `evidence.file`; name it with `--metrics`"
    assert complaint_of(capsys, "run.plan", "--checkpoint", "ckpt", "-o", "record.json") == complaint


def test_a_folder_that_cannot_be_recorded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ckpt" / "out\x1b[2J").symlink_to("/etc/passwd")
    for number in range(30):
        os.mkfifo(folder / "ckpt" / f"pipe{number:02}")
    lines = complaint_of(capsys, "run.plan", "--checkpoint", "ckpt", "-o", "record.json").splitlines()
    assert lines[0] == "the checkpoint `ckpt` cannot be recorded:"
    assert lines[1] == "  `out\\x1b[2J`: it is a link that leaves the folder"
    assert lines[2] == "  `pipe00`: it is a pipe"
    assert (len(lines), lines[-1]) == (22, "  and 11 more problems")


@pytest.mark.parametrize(
    ("name", "target", "reason"),
    [
        ("abs", "{folder}/ckpt", "it is a link to an absolute path, which leads elsewhere in a copy of the folder"),
        ("rel", "../ckpt/shards", "it is a link whose way leaves the folder, and leads elsewhere in a copy of it"),
        ("shards/rel", "../../ckpt", "it is a link whose way leaves the folder, and leads elsewhere in a copy of it"),
        ("shards/up", "./..//shards/rank_0.bin", ""),
    ],
)
def test_a_link_holds_in_a_copy_too(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, target: str, reason: str
) -> None:
    (folder / "ckpt" / name).symlink_to(target.format(folder=folder))
    if reason:
        complaint = complaint_of(capsys, "run.plan", "--checkpoint", "ckpt", "-o", "record.json")
        assert complaint.splitlines()[1:] == [f"  `{name}`: {reason}"]
        return
    assert attest() == 0
    (folder / "ckpt").rename(folder / "moved")
    assert main(["verify", "record.json", "--checkpoint", "moved"]) == 0


def test_a_folder_without_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty").mkdir()
    complaint = complaint_of(capsys, "run.plan", "--checkpoint", "empty", "-o", "record.json")
    assert complaint == "the checkpoint `empty` holds no file"


@pytest.mark.parametrize("passphrase", ["", "secret"])
def test_keys_of_ssh_keygen(folder: Path, capsys: pytest.CaptureFixture[str], passphrase: str) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", "ssh"], check=True)
    if passphrase:
        rest = ("--checkpoint", "ckpt", "-o", "record.json", "--sign", "ssh")
        complaint = "cannot use the key `ssh`: it is encrypted, and planc asks for no passphrase; "
        assert complaint_of(capsys, "run.plan", *rest).startswith(complaint)
    else:
        assert attest("--sign", "ssh") == 0
        assert main(["verify", "record.json", "--key", "ssh.pub"]) == 0


@pytest.mark.parametrize("options", [("-algorithm", "rsa"), ("-algorithm", "ed25519", "-aes256", "-pass", "pass:x")])
def test_other_keys_of_openssl(folder: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]) -> None:
    subprocess.run(["openssl", "genpkey", *options, "-out", "made.pem"], check=True, capture_output=True)
    rest = ("--checkpoint", "ckpt", "-o", "record.json", "--sign", "made.pem")
    reason = "it is encrypted" if "-aes256" in options else "it is no Ed25519 key"
    assert complaint_of(capsys, "run.plan", *rest).startswith(f"cannot use the key `made.pem`: {reason}")


def test_without_the_packages(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence_files, "find_spec", lambda name: None)
    complaint = "records need `cryptography` and `rfc8785`: `python3 -m pip install cryptography rfc8785`"
    assert complaint_of(capsys, "run.plan", "--checkpoint", "ckpt", "-o", "record.json") == complaint
    assert main(["verify", "record.json", "--checkpoint", "ckpt"]) == 2


def test_lint_loads_none_of_it() -> None:
    code = (
        "import sys; from planc.commands.main import main; main(['lint', 'examples/finetune-8b.plan', '--no-cache'])\n"
        "print([name for name in sys.modules if name.startswith(('planc.evidence', 'cryptography', 'rfc8785'))])"
    )
    root = Path(__file__).parents[2]
    call = [sys.executable, "-c", code]
    outcome = subprocess.run(call, cwd=root, env=environment(), capture_output=True, text=True, check=True)
    assert outcome.stdout.splitlines()[-1] == "[]"


def wait_until_open(process: int, path: Path) -> None:
    """Until a process reads a file; how long it takes to start is for the load of the machine to say."""
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        with contextlib.suppress(OSError):
            if any(each.resolve() == path for each in Path(f"/proc/{process}/fd").iterdir()):
                return
        time.sleep(0.05)


def test_a_run_that_is_killed_leaves_no_half_record(folder: Path) -> None:
    with open(folder / "ckpt" / "large", "wb") as file:
        file.truncate(64 << 30)  # of zeros that take no room, and minutes to hash
    call = started("attest", "run.plan", "--checkpoint", "ckpt", "-o", "record.json")
    with subprocess.Popen(call, env=environment(), cwd=folder, stderr=subprocess.PIPE) as process:
        wait_until_open(process.pid, folder / "ckpt" / "large")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    assert not [path.name for path in folder.iterdir() if "record.json" in path.name]


def test_a_disk_that_is_full_leaves_no_half_record(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(command.os, "fsync", full)
    rest = ("--checkpoint", "ckpt", "-o", "record.json")
    assert complaint_of(capsys, "run.plan", *rest) == "cannot write `record.json`: no space left on device"
    assert not [path.name for path in folder.iterdir() if "record.json" in path.name]


def test_names_of_any_bytes_survive(folder: Path) -> None:
    for name in (b"new\nline", b"caf\xe9", b"100%"):
        (folder / "ckpt" / os.fsdecode(name)).write_bytes(name)
    assert attest() == 0
    names = {subject["name"] for subject in recorded(folder)["subject"]}
    assert names >= {"new\nline", "caf%E9", "100%25"}
    assert main(["verify", "record.json", "--checkpoint", "ckpt"]) == 0


def test_what_could_not_be_read_again_is_not_written(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canonical_texts, "MOST_DEPTH", 3)
    found = complaint_of(capsys, "run.plan", "--checkpoint", "ckpt", "-o", "record.json")
    assert found == "the record could not be read again: it has more than 3 levels"
    assert not (folder / "record.json").exists()


def test_what_was_hashed_before_is_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setattr(hash_memory, "_SETTLED", -1)
    read: list[bytes] = []
    reading = hashing._Hashing._read

    def noted(self: Any, found: hashing.Found, *rest: Any) -> str | None:
        read.append(os.path.basename(found.path))
        return reading(self, found, *rest)

    monkeypatch.setattr(hashing._Hashing, "_read", noted)
    records = []
    for arguments in ((), (), ("--no-cache",)):
        assert attest("--dataset", "data", "--force", *arguments) == 0
        records.append((folder / "record.json").read_bytes())
        records.append(b" ".join(sorted(read)))
        read.clear()
    every = b"part.txt rank_0.bin rank_1.bin"
    assert records == [records[0], every, records[0], b"", records[0], every]
    assert main(["verify", "record.json", "--checkpoint", "ckpt", "--dataset", "data"]) == 0
    assert b" ".join(sorted(read)) == every


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"a": 1}', b"\xff\xfe", b"[" * 100_000])
def test_hashes_that_were_spoilt_are_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "kept"))
    assert attest() == 0
    before = (folder / "record.json").read_bytes()
    for entry in (folder / "kept" / "planc").iterdir():
        entry.write_bytes(damage)
    (folder / "kept" / "planc" / cache.key_of(f"hashes 1\0{os.path.realpath('ckpt')}")).write_bytes(damage)
    assert attest("--force") == 0
    assert (folder / "record.json").read_bytes() == before


class Terminal(io.StringIO):
    """A text that takes itself for a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_shown_in_a_terminal_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    assert attest() == 0
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert attest("--force") == 0
    shown = terminal.getvalue()
    assert re.match(r"\r\x1b\[Kcheckpoint: (0|100) % of 34 bytes", shown)
    assert shown.endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("done", "total", "seconds", "text"),
    [
        (0, 10**11, 0.5, "0 % of 100 GB"),
        (25 * 10**9, 10**11, 20, "25 % of 100 GB, 1.25 GB/s, 1 min left"),
        (10**11, 10**11, 80, "100 % of 100 GB, 1.25 GB/s, 0 s left"),
        (0, 0, 1, "0 bytes"),
    ],
)
def test_the_line_of_progress(done: int, total: int, seconds: float, text: str) -> None:
    assert progress.line(done, total, seconds) == text

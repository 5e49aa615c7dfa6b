"""`planc verify`: what holds, what differs, each with its own message; and no altered byte gets past it."""

from __future__ import annotations

import base64
import copy
import json
import os
import random
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from planc.commands import hashing
from planc.commands import verify as command
from planc.commands.evidence_files import key_in
from planc.commands.main import main
from planc.evidence.canonical import MOST_DEPTH, Unreadable, canonical
from planc.evidence.envelope import TYPE, is_signed_by, opened, signed
from planc.evidence.keys import private_key, public_key
from planc.evidence.record import Record, read, statement_in
from planc.resources import read_text
from tests.commands.evidence import PLAN, attest, fill, statement, verify

SCHEMA = json.loads(read_text("schemas/verify.schema.json"))
DATA = ("--checkpoint", "ckpt", "--plan", "run.plan", "--dataset", "data", "--metrics", "metrics.jsonl")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """The current folder, with a run and its signed record."""
    fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert attest("--dataset", "data", "--sign", "key.pem") == 0
    capsys.readouterr()
    return tmp_path


@pytest.fixture
def unsigned(folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The same with a record that is not signed."""
    assert attest("--dataset", "data", "--force") == 0
    capsys.readouterr()
    return folder


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """What differs, by the lines that say so."""

    def differing(*arguments: str) -> list[str]:
        status = verify(*arguments)
        lines = capsys.readouterr().out.splitlines()
        found = [line.removeprefix("differs: ") for line in lines if line.startswith("differs: ")]
        assert status == bool(found)
        return found

    return differing


@pytest.fixture
def complaint(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What is said of a record that cannot be used."""

    def complained(*arguments: str) -> str:
        assert verify(*arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("planc: ") and err.endswith("\n")
        return err.removeprefix("planc: ").removesuffix("\n")

    return complained


def test_all_that_holds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(*DATA, "--key", "key.pub") == 0
    assert capsys.readouterr().out == (
        "holds: signature: by the key `key.pub`\nholds: checkpoint: 2 files\nholds: plan: `run`\n"
        "holds: dataset: 1 file\nholds: metrics: `metrics.jsonl`\nVerified: what was checked is as recorded.\n"
    )


def test_what_was_not_checked_is_said(unsigned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify("--metrics", "metrics.jsonl") == 0
    assert capsys.readouterr().out == (
        "holds: metrics: `metrics.jsonl`\n"
        "not checked: who made the record: it is not signed\n"
        "not checked: checkpoint: name its folder with `--checkpoint`\n"
        "not checked: plan: name its file with `--plan`\n"
        "not checked: dataset: name its folder with `--dataset`\n"
        "What was checked is as recorded, by a record that nobody vouches for.\n"
    )


def test_metrics_are_read_anew(unsigned: Path, shown: Callable[..., list[str]]) -> None:
    made = statement(unsigned / "record.json")
    made["predicate"]["metrics"][0]["values"]["loss"]["final"]["value"] = 0.1
    (unsigned / "record.json").write_bytes(canonical(made) + b"\n")
    assert shown("--metrics", "metrics.jsonl") == [
        "metrics: of `metrics.jsonl`, `values.loss.final.value` is `1.5`, recorded is `0.1`"
    ]


def test_each_file_of_metrics_is_named_once(unsigned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (unsigned / "more.jsonl").write_text('{"loss": 1}\n')
    assert attest("--metrics", "metrics.jsonl", "--metrics", "more.jsonl", "--force") == 0
    capsys.readouterr()
    assert verify(*("--metrics", "metrics.jsonl") * 2) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "metrics" in line]
    assert lines == ["holds: metrics: `metrics.jsonl`", "not checked: metrics: `more.jsonl`: name with `--metrics`"]


def test_a_plan_that_is_a_pipe_is_refused_at_once(folder: Path, complaint: Callable[..., str]) -> None:
    os.mkfifo("pipe")
    assert complaint("--plan", "pipe") == "cannot read `pipe`: it is no file"
    assert main(["attest", "pipe", "--checkpoint", "ckpt", "-o", "other.json"]) == 2


def test_nothing_to_compare_with(folder: Path, complaint: Callable[..., str]) -> None:
    assert complaint().startswith("nothing to compare the record with: name `--checkpoint`, `--plan`")
    assert complaint("--set", "batch.micro=2", "--checkpoint", "ckpt").startswith("`--set` sets fields of a plan")


def test_the_outcome_as_data(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ckpt" / "new").write_text("x")
    assert verify("--key", "key.pub", "--checkpoint", "ckpt", "--output-format", "json") == 1
    data = json.loads(capsys.readouterr().out)
    jsonschema.validate(data, SCHEMA)
    assert data == {
        "version": 1,
        "as_recorded": False,
        "verified": False,
        "held": ["signature: by the key `key.pub`"],
        "differences": [{"part": "checkpoint", "message": "`new` is not in the record"}],
        "not_checked": [
            "plan: name its file with `--plan`", "dataset: name its folder with `--dataset`",
            "metrics: name their file with `--metrics`",
        ],
    }  # fmt: skip


@pytest.mark.parametrize(("sign", "key", "verified"), [(True, True, True), (False, False, False)])
def test_only_a_signature_that_was_checked_verifies(
    folder: Path, capsys: pytest.CaptureFixture[str], sign: bool, key: bool, verified: bool
) -> None:
    assert attest("--force", *(("--sign", "key.pem") if sign else ())) == 0
    capsys.readouterr()
    assert verify("--checkpoint", "ckpt", *(("--key", "key.pub") if key else ()), "--output-format", "json") == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["as_recorded"], data["verified"]) == (True, verified)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[0] ^= 1
    path.write_bytes(content)


def into_folder(path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    (path / "deep").mkdir(parents=True)
    (path / "deep" / "inner.bin").write_bytes(content)


def relink(path: Path) -> None:
    path.unlink()
    path.symlink_to(".")


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: flip(Path("ckpt/shards/rank_1.bin")), "checkpoint: `shards/rank_1.bin` has other content: SHA-256 "),
        (
            lambda: Path("ckpt/shards/rank_1.bin").write_bytes(b"w"),
            "checkpoint: `shards/rank_1.bin` has 1 byte, recorded are 17",
        ),
        (lambda: Path("ckpt/shards/rank_1.bin").unlink(), "checkpoint: `shards/rank_1.bin` is missing"),
        (lambda: Path("ckpt/x\x1b[2J").write_bytes(b""), "checkpoint: `x\\x1b[2J` is not in the record"),
        (lambda: Path("ckpt/latest").unlink(), "checkpoint: the link `latest` is missing"),
        (lambda: relink(Path("ckpt/latest")), "checkpoint: the link `latest` leads to `.`, recorded is `shards`"),
        (lambda: Path("ckpt/more").symlink_to("shards"), "checkpoint: the link `more` is not in the record"),
        (lambda: os.mkfifo("ckpt/pipe"), "checkpoint: `pipe`: it is a pipe"),
        (lambda: Path("ckpt/out").symlink_to("/etc/passwd"), "checkpoint: `out`: it is a link that leaves the folder"),
        (lambda: flip(Path("data/part.txt")), "dataset: `part.txt` has other content: SHA-256 "),
        (lambda: Path("data/more").write_bytes(b""), "dataset: `more` is not in the record"),
        (
            lambda: flip(Path("metrics.jsonl")),
            "metrics: `metrics.jsonl` is none of the files that they were read from: ",
        ),
    ],
)
def test_one_thing_that_differs(
    folder: Path, shown: Callable[..., list[str]], act: Callable[[], object], message: str
) -> None:
    act()
    (found,) = shown(*DATA, "--key", "key.pub")
    assert found.startswith(message)


def test_a_file_in_place_of_a_link_and_the_other_way_round(folder: Path, shown: Callable[..., list[str]]) -> None:
    (folder / "ckpt" / "latest").unlink()
    (folder / "ckpt" / "latest").write_text("shards")
    (folder / "ckpt" / "shards" / "rank_1.bin").unlink()
    (folder / "ckpt" / "shards" / "rank_1.bin").symlink_to("rank_0.bin")
    assert shown("--checkpoint", "ckpt", "--key", "key.pub") == [
        "checkpoint: `latest` is not in the record",
        "checkpoint: `shards/rank_1.bin` is missing",
        "checkpoint: the link `latest` is missing",
        "checkpoint: the link `shards/rank_1.bin` is not in the record",
    ]


def test_a_folder_in_place_of_a_file(folder: Path, shown: Callable[..., list[str]]) -> None:
    into_folder(folder / "ckpt" / "shards" / "rank_1.bin")
    assert shown("--checkpoint", "ckpt", "--key", "key.pub") == [
        "checkpoint: `shards/rank_1.bin` is a folder, recorded is a file",
        "checkpoint: `shards/rank_1.bin/deep/inner.bin` is not in the record",
    ]


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        (
            "global = 64",
            "global = 128",
            [
                "plan: `batch.accumulation` is `16`, recorded is `8`",
                "plan: `batch.global` is `128`, recorded is `64`",
                "layout: `batch.accumulation` is `16`, recorded is `8`",
                "layout: `batch.global` is `128`, recorded is `64`",
                "emitted files: `ds_config.json` would be written with other content",
            ],
        ),
        (
            '"v3"',
            '"v4"',
            [
                "plan: `dataset.version` is `v4`, recorded is `v3`",
                "dataset: its version is `v4`, recorded is `v3`",
            ],
        ),
        (
            'name = "corpus"',
            'name = "other"',
            [
                "plan: `dataset.name` is `other`, recorded is `corpus`",
                "dataset: its name is `other`, recorded is `corpus`",
            ],
        ),
        (
            "seed = 7",
            "seed = 8",
            [
                "plan: `train.seed` is `8`, recorded is `7`",
                "seeds: `train.seed` is `8`, recorded is `7`",
            ],
        ),
        (
            "seed = 7",
            "",
            [
                "plan: `train.seed` is not set, recorded is `7`",
                "seeds: `train.seed` is not set, recorded is `7`",
            ],
        ),
        (
            "emit = [torchrun, deepspeed]",
            "emit = [deepspeed]",
            [
                "plan: `targets` is ",
                "emitted files: `torchrun.sh` is not written for this plan by this planc",
            ],
        ),
        (
            "emit =",
            "optimizer { learning_rate = 0.0006 }\n  emit =",
            ["plan: `optimizer.learning_rate` is `0.0006`, recorded is not set"],
        ),
        ("plan run {", "plan walk {", ["plan: the record is of plan `run`, and `run.plan` has `walk`"]),
    ],
    ids=["batch", "version", "dataset", "seed", "no-seed", "targets", "number", "name"],
)
def test_another_plan(folder: Path, shown: Callable[..., list[str]], old: str, new: str, messages: list[str]) -> None:
    assert old in PLAN
    (folder / "run.plan").write_text(PLAN.replace(old, new))
    found = shown("--plan", "run.plan", "--key", "key.pub")
    assert all(any(line.startswith(message) for line in found) for message in messages), found
    assert len(found) == len(messages) or old.startswith(("seed", "global", "emit =")), found


def test_a_plan_that_is_only_written_in_another_way(folder: Path) -> None:
    (folder / "run.plan").write_text("# the same\n" + PLAN.replace("  ", " "))
    assert verify("--plan", "run.plan", "--key", "key.pub") == 0


def test_a_plan_with_errors_is_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "run.plan").write_text(PLAN.replace("model = small", "model = smal"))
    assert verify("--plan", "run.plan", "--key", "key.pub", "--color", "always") == 2
    complained = capsys.readouterr().err
    assert complained.startswith("\x1b[")
    assert complained.endswith("planc: `run.plan` has errors, so there is no plan to compare the record with\n")


def test_settings_are_those_of_the_command_line(folder: Path, shown: Callable[..., list[str]]) -> None:
    assert attest("--set", "batch.micro=2", "--force") == 0
    assert shown("--plan", "run.plan")[-1] == "settings: the record was made with --set batch.micro=2"
    assert shown("--plan", "run.plan", "--set", "batch.micro=2") == []
    # The plan says so itself: of the same fields the settings are told, where somebody has named some.
    assert attest("--force") == 0
    assert shown("--plan", "run.plan", "--set", "batch.micro=1") == ["settings: the record was made with no `--set`"]


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("batch.micro=1", "holds: settings: with those of the record it is the same plan\n"),
        ('launch.script="train.py"', "not checked: settings: the record says that `--set` was given, and here it is"),
    ],
)
def test_settings_that_change_nothing(
    unsigned: Path, capsys: pytest.CaptureFixture[str], setting: str, line: str
) -> None:
    assert attest("--set", setting, "--force") == 0
    capsys.readouterr()
    assert verify("--plan", "run.plan") == 0
    assert line in capsys.readouterr().out


@pytest.mark.parametrize("setting", ["batch.micro=2", "train.seed=8", "no.field=1", "batch.micro", "cluster.nodes=0"])
def test_settings_that_were_invented(unsigned: Path, capsys: pytest.CaptureFixture[str], setting: str) -> None:
    made = statement(unsigned / "record.json")
    content = canonical(put(made, ("predicate", "plan", "settings"), [setting])) + b"\n"
    assert status_of(unsigned, content, "--plan", "run.plan") == 1
    told = "differs: settings: the plan is as recorded without them, and would not be with the record's --set "
    assert f"{told}{setting}\n" in capsys.readouterr().out


@pytest.mark.parametrize("setting", ['model=hf("secret.json")', 'model = hf("secret.json")', "a=" + "b" * 101])
def test_settings_of_a_record_open_no_file(
    unsigned: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    content = canonical(put(statement(unsigned / "record.json"), ("predicate", "plan", "settings"), [setting])) + b"\n"
    os.mkfifo(unsigned / "secret.json")  # whoever opens it waits
    assert status_of(unsigned, content, "--plan", "run.plan") == 0
    assert "not checked: settings: " in capsys.readouterr().out


def test_a_record_of_another_planc(
    unsigned: Path, shown: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "VERSION", "99")
    assert shown("--plan", "run.plan") == []
    (unsigned / "run.plan").write_text(PLAN.replace("seed = 7", "seed = 8"))
    assert shown("--plan", "run.plan")[-1].startswith("planc: this is 99, the record was made by `")


def test_many_differences_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(30):
        (folder / "ckpt" / f"{number:02}").write_text("")
    assert verify("--checkpoint", "ckpt", "--key", "key.pub") == 1
    lines = capsys.readouterr().out.splitlines()
    assert "differs: checkpoint: and 10 more differences" in lines
    assert lines[-1] == "Found 30 differences."
    assert len(lines) == 26


def test_who_signed(unsigned: Path, shown: Callable[..., list[str]]) -> None:
    assert shown("--checkpoint", "ckpt") == []
    assert shown("--checkpoint", "ckpt", "--key", "key.pub") == ["signature: the record is not signed"]
    assert attest("--sign", "key.pem", "--force") == 0
    (found,) = shown("--checkpoint", "ckpt")
    assert found == "signature: it is signed, and was not checked; name the public key with `--key`"
    (found,) = shown("--checkpoint", "ckpt", "--key", "other.pub")
    assert found.startswith("signature: no signature of it was made with the key `other.pub` (")
    assert shown("--checkpoint", "ckpt", "--key", "key.pub") == []


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("key.pem", "it is a private key, which nobody needs to check a signature; name the public one"),
        ("run.plan", "it is no public key in PEM or OpenSSH form; "),
    ],
)
def test_a_key_that_is_none(folder: Path, complaint: Callable[..., str], key: str, reason: str) -> None:
    assert complaint("--key", key).startswith(f"cannot use the key `{key}`: {reason}")


#: Every way to write a point whose order divides 8: by its y, with either sign, and where y is beyond the prime.
SMALL = [
    bytes([*text[:-1], text[-1] | sign])
    for text in (
        (0).to_bytes(32, "little"),
        (1).to_bytes(32, "little"),
        bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
        bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
        *((2**255 - 19 + more).to_bytes(32, "little") for more in (-1, 0, 1)),
    )
    for sign in (0, 128)
]


@pytest.mark.parametrize("point", SMALL, ids=lambda point: point.hex()[-4:] + point.hex()[:4])
def test_a_key_for_which_anybody_can_sign_is_none(folder: Path, complaint: Callable[..., str], point: bytes) -> None:
    der = base64.b64encode(bytes.fromhex("302a300506032b6570032100") + point).decode()
    (folder / "weak.pub").write_text(f"-----BEGIN PUBLIC KEY-----\n{der}\n-----END PUBLIC KEY-----\n")
    document = json.loads((folder / "record.json").read_text())
    document["signatures"] = [{"keyid": "", "sig": base64.b64encode(bytes([1, *[0] * 63])).decode()}]
    (folder / "record.json").write_bytes(canonical(document) + b"\n")
    told = "cannot use the key `weak.pub`: it is a point of small order, for which anybody can sign"
    assert complaint("--checkpoint", "ckpt", "--key", "weak.pub").startswith(told)


def test_the_cache_is_never_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, shown: Callable[..., list[str]]
) -> None:
    """A file that was altered with its times put back: only reading it tells."""
    path = folder / "ckpt" / "shards" / "rank_0.bin"
    before = path.stat()
    flip(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    (found,) = shown("--checkpoint", "ckpt", "--key", "key.pub")
    assert "has other content" in found
    given: list[object] = []
    measured = hashing.measured

    def noted(*arguments: Any, **named: Any) -> Any:
        given.append((arguments, named))
        return measured(*arguments, **named)

    monkeypatch.setattr(hashing, "measured", noted)
    verify("--checkpoint", "ckpt", "--key", "key.pub")
    assert given == [(("ckpt", None), {})]


# What follows alters the record itself.


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a statement that holds no other, and of every empty one."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not items or not value:
        yield path
    for key, item in list(items):
        yield from leaves(item, (*path, key))


def put(value: Any, path: tuple[Any, ...], changed: Any) -> Any:
    copied = copy.deepcopy(value)
    inner = copied
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = changed
    return copied


def altered(value: Any) -> Any:
    """Another value of the same kind, so that only its meaning is wrong."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str) and value:
        return value[:-1] + ("0" if value[-1] != "0" else "1")
    return "x" if value is None or isinstance(value, str) else ["x"] if isinstance(value, list) else {"x": "x"}


def status_of(folder: Path, content: bytes, *arguments: str) -> int:
    (folder / "altered.json").write_bytes(content)
    return main(["verify", "altered.json", *arguments])


def test_each_field_that_is_altered_breaks_the_signature(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, document = statement(folder / "record.json"), json.loads((folder / "record.json").read_text())
    paths = list(leaves(made))
    assert 150 < len(paths)
    for path in paths:
        value: Any = made
        for key in path:
            value = value[key]
        payload = canonical(put(made, path, altered(value)))
        forged = document | {"payload": base64.b64encode(payload).decode()}
        assert status_of(folder, canonical(forged) + b"\n", "--key", "key.pub") == 1, path
        assert "differs: signature: no signature of it was made with the key" in capsys.readouterr().out


#: Parts of an unsigned record that nothing which can be named contradicts: what a signature is for.
UNSIGNED = {
    ("planc",), ("plan", "file"), ("metrics", 0, "file"), ("software",), ("not_recorded",),
    ("reproducibility",), ("dataset", "digest"), ("dataset", "compared"),
}  # fmt: skip


def test_each_field_of_an_unsigned_record_that_can_be_compared_is(
    unsigned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = statement(unsigned / "record.json")
    unseen = set()
    for path in leaves(made):
        value: Any = made
        for key in path:
            value = value[key]
        content = canonical(put(made, path, altered(value))) + b"\n"
        if status_of(unsigned, content, *DATA) == 0:
            unseen.add(next(known for known in UNSIGNED if path[1 : 1 + len(known)] == known))
        capsys.readouterr()
    assert unseen <= UNSIGNED


def test_each_byte_of_payload_and_signature(folder: Path) -> None:
    document = json.loads((folder / "record.json").read_text())
    key = key_in("key.pub", public_key)
    assert is_signed_by(opened(document), key)
    payload = base64.b64decode(document["payload"])
    for at in range(len(payload)):
        forged = bytearray(payload)
        forged[at] ^= 1 << (at % 8)
        envelope = opened(document | {"payload": base64.b64encode(forged).decode()})
        assert not is_signed_by(envelope, key), at
    signature = base64.b64decode(document["signatures"][0]["sig"])
    for at in range(len(signature)):
        for bit in range(8):
            forged = bytearray(signature)
            forged[at] ^= 1 << bit
            entry = {"keyid": "", "sig": base64.b64encode(forged).decode()}
            assert not is_signed_by(opened(document | {"signatures": [entry]}), key), (at, bit)


def test_each_byte_of_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever letter is replaced, the outcome is not that all holds; a `keyid` is covered by nothing."""
    content = (folder / "record.json").read_bytes()
    keyid = json.loads(content)["signatures"][0]["keyid"].encode()
    start, end = content.index(b"keyid"), content.index(keyid) + len(keyid)
    for at in range(0, len(content) - 1, 7):
        forged = bytearray(content)
        forged[at] = ord("A") if forged[at] != ord("A") else ord("B")
        status = status_of(folder, bytes(forged), "--key", "key.pub")
        assert status in (1, 2) or start <= at < end, at
    capsys.readouterr()


def test_a_key_id_is_not_covered(folder: Path) -> None:
    document = json.loads((folder / "record.json").read_text())
    document["signatures"][0]["keyid"] = "somebody else's"
    assert status_of(folder, canonical(document), "--key", "key.pub") == 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda envelope: envelope.update(predicate={}), "its envelope has `predicate`, which no signature covers"),
        (
            lambda envelope: envelope["signatures"][0].update(cert="x"),
            "a signature of its envelope has `cert`, which no signature covers",
        ),
        (lambda envelope: envelope["signatures"][0].update(keyid=5), "the `keyid` of a signature of its envelope is "),
    ],
    ids=["envelope", "signature", "keyid"],
)
def test_nothing_stands_beside_what_is_signed(
    folder: Path, complaint: Callable[..., str], change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    document = json.loads((folder / "record.json").read_text())
    change(document)
    (folder / "record.json").write_bytes(canonical(document))
    assert complaint("--key", "key.pub").startswith(f"`record.json` cannot be used: {reason}")


def test_one_of_several_signatures_is_enough(folder: Path) -> None:
    document = json.loads((folder / "record.json").read_text())
    payload = base64.b64decode(document["payload"])
    other = json.loads(signed(payload, key_in("other.pem", private_key)))
    document["signatures"] = other["signatures"] + document["signatures"]
    content = canonical(document)
    assert status_of(folder, content, "--key", "key.pub") == status_of(folder, content, "--key", "other.pub") == 0


def resigned(folder: Path, change: Callable[[dict[str, Any]], object]) -> bytes:
    """A record that somebody with the key signed, whatever is in it."""
    made = statement(folder / "record.json")
    change(made)
    return signed(canonical(made), key_in("key.pem", private_key))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda made: made.update(_type="x"), "it is no in-toto Statement: its `_type` is not "),
        (
            lambda made: made.update(predicateType="urn:planc:evidence:2"),
            "its `predicateType` is not `urn:planc:evidence:1`",
        ),
        (
            lambda made: made["subject"][0].update(name="../../etc/passwd"),
            "the name `../../etc/passwd` in it cannot be: it leads",
        ),
        (
            lambda made: made["subject"][0].update(name="/etc/passwd"),
            "the name `/etc/passwd` in it cannot be: it is an ",
        ),
        (lambda made: made["subject"][0].update(name="shards/rank_1.bin"), "it has a name twice"),
        (
            lambda made: made["predicate"]["checkpoint"]["links"][0].update(name="a//b"),
            "the name `a//b` in it cannot be: ",
        ),
        (lambda made: made["predicate"]["emitted"][0].update(path="../x"), "the name `../x` in it cannot be: "),
        (
            lambda made: made["predicate"]["dataset"]["folder"]["files"][0].update(name=".."),
            "the name `..` in it cannot",
        ),
        (
            lambda made: made["predicate"]["dataset"]["folder"].update(sha256="0" * 64),
            "the digest of its dataset is not ",
        ),
        (
            lambda made: made["predicate"]["checkpoint"].update(size=1),
            "its number of files, or their size, is not that ",
        ),
        (lambda made: made["subject"].clear(), "`subject` is not in the form of a record"),
        (
            lambda made: made["subject"][0]["annotations"].update(size=-1),
            "`subject[0].annotations.size` is not in the ",
        ),
        (
            lambda made: made["subject"][0]["digest"].update(sha256="0" * 63),
            "`subject[0].digest.sha256` is not in the ",
        ),
        (lambda made: made["predicate"].pop("plan"), "`predicate` is not in the form of a record"),
        (
            lambda made: made["predicate"]["plan"]["resolved"].update(fields=[]),
            "`predicate.plan.resolved.fields` is not ",
        ),
        (lambda made: made["predicate"].update(more=1), "`predicate` is not in the form of a record"),
    ],
)
def test_a_signed_record_that_cannot_be_used(
    folder: Path, capsys: pytest.CaptureFixture[str], change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    assert status_of(folder, resigned(folder, change), "--key", "key.pub", "--checkpoint", "ckpt") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"planc: `altered.json` cannot be used: {reason}")


def test_hostile_plans_in_a_record_are_only_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deep: Any = "x"
    for _ in range(MOST_DEPTH - 10):
        deep = [deep]

    def change(made: dict[str, Any]) -> None:
        fields = made["predicate"]["plan"]["resolved"]["fields"]
        fields["model"] = {"kind": 1, "name": [], "fields": {"\x1b[2J": deep}}
        fields["batch"] = {"fields": 7}
        made["predicate"]["plan"]["name"] = "run"
        made["predicate"]["plan"]["settings"] = ["\x1b[2J\n"]

    content = resigned(folder, change)
    assert status_of(folder, content, "--key", "key.pub", "--plan", "run.plan") == 1
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "differs: plan: `model.\\x1b[2J` is not set, recorded is `[[" in out


def test_each_file_has_the_form_of_the_schema(folder: Path) -> None:
    """The reader looks at files without the schema where they plainly have its form, and agrees with it."""
    made = statement(folder / "record.json")
    schema = json.loads(read_text("schemas/evidence.schema.json"))
    validator = jsonschema.Draft202012Validator(schema)
    subject, data = ("subject", 1), ("predicate", "dataset", "folder", "files", 0)
    parts = ((), ("name",), ("digest",), ("digest", "sha256"), ("annotations",), ("annotations", "size"))
    paths = [*((subject, part) for part in parts), *((data, part) for part in ((), ("name",), ("size",), ("sha256",)))]
    values = (*HOSTILE, "a" * 64, "A" * 64, 0, 2**53, {"size": 1, "more": 1}, {"sha256": "a" * 64, "more": 1})
    for start, part in paths:
        for value in values:
            altered, reason = put(made, (*start, *part), value), ""
            try:
                statement_in(Record(canonical(altered), None))
            except Unreadable as error:
                reason = str(error)
            is_of_form = validator.is_valid(json.loads(canonical(altered)))
            assert is_of_form == ("is not in the form of a record" not in reason), (start, part, value)
            where = "subject[1]" if start == subject else "predicate.dataset.folder.files[0]"
            assert is_of_form or reason.startswith(f"`{where}"), (start, part, value, reason)


#: What no field of a record may do harm with.
HOSTILE: tuple[Any, ...] = (
    None,
    True,
    -1,
    1.5,
    2**53 - 1,
    "",
    "../x",
    "\0",
    "a" * 70_000,
    [],
    [[]],
    {},
    {"a": {"fields": []}},
    [{}],
)


def test_no_value_of_any_field_brings_it_down(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Signed, so that all of it is read: the outcome is one of three, and never a traceback."""
    made, key, dice = statement(folder / "record.json"), key_in("key.pem", private_key), random.Random(3)
    paths = [path[:length] for path in leaves(made) for length in range(1, len(path) + 1)]
    for path in dice.sample(sorted(set(paths), key=str), 90):
        content = signed(canonical(put(made, path, dice.choice(HOSTILE))), key)
        status = status_of(folder, content, "--key", "key.pub", *DATA)
        out, err = capsys.readouterr()
        assert status in (0, 1, 2) and "fault of planc" not in err, (path, err)
        assert (out == "") == (status == 2), path
        assert "\0" not in out + err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "Expecting value"),
        (b"\xff", "it is not text in UTF-8"),
        (b"[]", "it is no record"),
        (b"{}", "it is no in-toto Statement"),
        (b'{"payload":1,"payloadType":"x","signatures":[]}', "its envelope has no list of 1 to 16 signatures"),
        (b'{"payload":"","payloadType":"x","signatures":[{}]}', f"its envelope holds no `{TYPE}`"),
        (
            b'{"payload":"","payloadType":"%b","signatures":[1]}' % TYPE.encode(),
            "a signature of its envelope is no object",
        ),
        (
            b'{"payload":"","payloadType":"%b","signatures":[{}]}' % TYPE.encode(),
            "a signature of its envelope is missing",
        ),
        (
            b'{"payload":"QQ","payloadType":"%b","signatures":[{"sig":"QQ=="}]}' % TYPE.encode(),
            "the payload of its envelope is not in base64",
        ),
        (
            b'{"payload":"QR==","payloadType":"%b","signatures":[{"sig":"QQ=="}]}' % TYPE.encode(),
            "the payload of its envelope is not in base64",
        ),
        (
            b'{"payload":"QQ==","payloadType":"%b","signatures":[{"sig":"QQ=\xc3\xbc"}]}' % TYPE.encode(),
            "a signature of its envelope is not in base64",
        ),
        (b"[" * 100_000, "it has more than"),
    ],
    ids=range(12),
)
def test_a_file_that_is_no_record(folder: Path, complaint: Callable[..., str], content: bytes, reason: str) -> None:
    (folder / "record.json").write_bytes(content)
    found = complaint("--checkpoint", "ckpt")
    assert found.startswith(f"`record.json` cannot be used: {reason}")
    assert found.count("\n") == 0


def test_a_record_that_is_too_large(
    folder: Path, complaint: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open("record.json", "wb") as file:
        file.truncate((256 << 20) + 1)
    assert complaint("--checkpoint", "ckpt") == "`record.json` cannot be used: it is larger than 256 MiB"
    Path("record.json").unlink()
    os.mkfifo("record.json")
    assert complaint("--checkpoint", "ckpt") == "cannot read `record.json`: it is no file"


def test_an_unsigned_record_has_one_text_only(unsigned: Path, complaint: Callable[..., str]) -> None:
    made = json.loads((unsigned / "record.json").read_text())
    (unsigned / "record.json").write_text(json.dumps(made))
    assert "it is not in canonical form (RFC 8785)" in complaint("--checkpoint", "ckpt")


def test_nothing_named_in_a_record_is_opened(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is opened below the folder is what lies there, also where the record names other files."""
    (folder / "ckpt" / "shards" / "rank_1.bin").unlink()
    seen: list[object] = []
    opened_before = os.open

    def noted(path: Any, *arguments: Any, **named: Any) -> int:
        seen.append(path)
        return opened_before(path, *arguments, **named)

    monkeypatch.setattr(os, "open", noted)
    assert verify("--checkpoint", "ckpt", "--key", "key.pub") == 1
    capsys.readouterr()
    below = [os.fsdecode(path) for path in seen if b"ckpt" in os.fsencode(path)]  # type: ignore[arg-type]
    assert [os.path.basename(path) for path in below] == ["rank_0.bin"]
    assert statement_in(read((folder / "record.json").read_bytes()))


def test_data_of_which_a_digest_alone_is_recorded(
    folder: Path,
    shown: Callable[..., list[str]],
    complaint: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stated(digest: str) -> None:
        assert attest("--force", "--dataset-digest", digest) == 0
        capsys.readouterr()

    stated(sha256(b"some words").hexdigest())
    assert verify("--dataset", "data") == 0
    stated(f"sha256:{'a' * 64}")
    (line,) = shown("--dataset", "data")
    start = "dataset: `data` has the digest sha256:"
    assert line.startswith(start)
    assert line.endswith(f", recorded is `sha256:{'a' * 64}`")
    stated(line.removeprefix(start)[:64])
    assert verify("--dataset", "data") == 0
    stated("git:abc")
    assert complaint("--dataset", "data").startswith(
        "the record lists no files of its dataset, and its digest `git:abc` is no SHA-256"
    )
    assert attest("--force") == 0
    capsys.readouterr()
    assert complaint("--dataset", "data").startswith("the record lists no files of its dataset, and states no digest")


@pytest.mark.parametrize(("what", "name"), [("checkpoint", "shards/rank_0.bin"), ("dataset", "part.txt")])
def test_what_cannot_be_read_differs_from_nothing(
    folder: Path, complaint: Callable[..., str], monkeypatch: pytest.MonkeyPatch, what: str, name: str
) -> None:
    opened, path = os.open, {"checkpoint": "ckpt", "dataset": "data"}[what]

    def refused(asked: str | bytes, *arguments: Any, **more: Any) -> int:
        if os.fsdecode(asked).endswith(name):
            raise PermissionError(13, "Permission denied")
        return opened(asked, *arguments, **more)

    monkeypatch.setattr(os, "open", refused)
    assert complaint(f"--{what}", path) == f"cannot read `{name}` in the {what} `{path}`: permission denied"

"""Files that no consumer could read, or that are meant to harm: an answer in time, and never a traceback."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from planc.commands import lint
from planc.native.recognising import MAX_VALUES

Run = Callable[..., tuple[int, str]]

STAGE = '{"zero_optimization": {"stage": 2}'
YAML = "zero_optimization: {stage: 2}\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`planc lint` in a folder of its own, in this process; an answer within half a minute."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "none")

    def ran(*arguments: str) -> tuple[int, str]:
        start = time.monotonic()
        status = lint.run(list(arguments))
        assert time.monotonic() - start < 30
        return status, capsys.readouterr().out

    return ran


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.json", (STAGE + "}").encode("utf-16"), "PLN004"),
        ("x.yaml", "zero_optimization: {stage: 2} # é".encode("latin-1"), "PLN004"),
        ("x.json", STAGE.encode() + b"\0}", "PLN004"),
        ("x.json", (STAGE + ', "x": "' + "y" * (10 << 20) + '"}').encode(), "PLN002"),
        ("x.json", (STAGE + ', "x": [' + "1," * MAX_VALUES + "1]}").encode(), "more values than planc reads"),
        ("x.yaml", (YAML + "x: 1\n" * (MAX_VALUES + 1)).encode(), "more values than planc reads"),
        ("x.yaml", b"zero_optimization:\n\tstage: 2\n", "a tab"),
        ("x.json", b'{"zero_optimization": ' * 5000, "nested more than"),
        ("x.yaml", b"zero_optimization: {stage: &a [*a]}", "an alias stands for what it is part of"),
        ("x.json", (STAGE + ', "train_batch_size": NaN}').encode(), "PLN063"),
        ("x.json", (STAGE + ', "train_batch_size": -' + "9" * 5000 + "}").encode(), "PLN063"),
        ("x.json", (STAGE + ', "zero_optimization": {"stage": 1}}').encode(), "PLN064"),
        ("x.json", b'{\r\n"zero_optimization": {"stage": 7}\r\n}', "x.json:2:32"),
    ],
)
def test_what_is_wrong_is_said(run: Run, tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    status, out = run(name)
    assert status == 1
    assert said in out


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.json", b"\xef\xbb\xbf" + STAGE.encode() + b"}"), ("x.yaml", b"\xef\xbb\xbf" + YAML.encode()),
        ("x.yaml", YAML.replace("\n", "\r\n").encode()),
    ],
)  # fmt: skip
def test_marks_of_encodings_and_line_ends_are_no_fault(run: Run, tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert run(name) == (0, "Found no faults in 1 file.\n")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.json", STAGE + "".join(f', "k{at}": {at}' for at in range(5000)) + "}"),
        ("x.json", STAGE + ', "k": 1' * 5000 + "}"),
        ("x.yaml", YAML + "".join(f"k{at}: {at}\n" for at in range(5000))),
        ("x.yaml", YAML + "# planc: allow wrong-value -- x\n" * 3000),
        ("x.yaml", "a: &a {x: 1}\n" + YAML + "".join(f"k{at}: *a\n" for at in range(3000))),
        ("x.yaml", "a: &a {x: 1}\nzero_optimization:\n  <<: *a\n  stage: 2\n"),
        ("hostfile", "".join(f"n{at} slots=8\n" for at in range(5000))),
    ],
)
def test_much_of_one_thing_is_answered_in_time(run: Run, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert run(name)[0] in (0, 1)


def test_nothing_in_a_file_is_run(run: Run, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    text = f"{YAML}optimizer: !!python/object/apply:os.system ['touch {touched}']\n"
    (tmp_path / "x.yaml").write_text(text)
    run("x.yaml")
    run(".", "--fix", "--unsafe-fixes")
    assert not touched.exists()


def test_a_folder_of_two_thousand_files_of_others(run: Run, tmp_path: Path) -> None:
    for at in range(2000):
        folder = tmp_path / f"f{at % 40}"
        folder.mkdir(exist_ok=True)
        (folder / f"{at}.json").write_text(json.dumps({"name": at, "values": list(range(20))}))
    (tmp_path / "f1" / "broken.json").write_text('{"name": ')
    (tmp_path / "ds.json").write_text(STAGE + "}")
    assert run(".") == (0, "Found no faults in 1 file.\n")

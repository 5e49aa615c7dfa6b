"""What the `datasets` of Hugging Face leave beside data, and files that only look like it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planc.evidence.dataset_info import Info, as_data, described_in, of_version
from tests.evidence.folders import UNOPENED, opener

INFO = {
    "builder_name": "parquet", "dataset_name": "corpus", "config_name": "en", "description": "", "features": {},
    "version": {"version_str": "1.2.0", "major": 1, "minor": 2, "patch": 0},
    "splits": {"train": {"name": "train", "num_bytes": 9, "num_examples": 3}, "test": {"num_examples": 1}},
    "download_checksums": {
        "https://a.example/x": {"num_bytes": 1, "checksum": "ab"}, "https://a.example/y": {"checksum": None},
    },
}  # fmt: skip
STATE = {"_fingerprint": "f00d", "_split": "train", "_format_type": None}


def described(files: dict[str, bytes]) -> tuple[Info, ...]:
    """What is said in a folder of these files."""
    return described_in({name: len(content) for name, content in files.items()}, opener(files))


def test_what_is_said() -> None:
    (info,) = described({"dataset_info.json": json.dumps(INFO).encode(), "state.json": json.dumps(STATE).encode()})
    splits = {"train": 3, "test": 1}
    assert info == Info("", "corpus", "en", "1.2.0", "train", "f00d", splits, {"https://a.example/x": "ab"})
    assert as_data(info)["splits"] == splits


def test_each_split_that_was_saved() -> None:
    files = {
        f"{split}/dataset_info.json": b'{"builder_name": "csv", "version": "1.0.0"}' for split in ("train", "test")
    }
    files["train/state.json"] = json.dumps(STATE).encode()
    found = described(files)
    assert [(info.path, info.name, info.fingerprint) for info in found] == [
        ("test", "csv", None), ("train", "csv", "f00d"),
    ]  # fmt: skip
    assert as_data(found[0]) == {"path": "test", "name": "csv", "version": "1.0.0"}


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"{}", b"\xff", b"[" * 100_000, UNOPENED, b'{"splits": {"train": 3}, "version": [1]}',
        b'{"splits": {"train": {"num_examples": -1}, "test": {"num_examples": true}}, "download_checksums": []}',
        b'{"dataset_name": "", "config_name": null, "version": {"version_str": 1}}',
    ],
)  # fmt: skip
def test_what_says_nothing(content: bytes) -> None:
    assert described({"dataset_info.json": content}) == ()
    assert described({"dataset_info.json": json.dumps(INFO).encode(), "state.json": content})[0].fingerprint is None


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda each: st.dictionaries(
    st.sampled_from([*INFO, "version_str", "train", "num_examples", "checksum"]), each)))  # fmt: skip
def test_any_json_is_read(value: object) -> None:
    for info in described({"dataset_info.json": json.dumps(value).encode()}):
        json.dumps(as_data(info))


@pytest.mark.parametrize(
    ("planned", "said", "fault"),
    [
        ("1.2.0", "1.2.0", ""),
        ("1.3.0", "1.2.0", "the plan's `dataset.version` is 1.3.0, and a/dataset_info.json says 1.2.0"),
        ("main", "1.2.0", ""),
        (None, "1.2.0", ""),
        ("1.3.0", "0.0.0", ""),
        ("1.3.0", None, ""),
        ("1.3.0", "new", ""),
    ],
)
def test_versions(planned: str | None, said: str | None, fault: str) -> None:
    assert of_version(Info("a", None, None, said, None, None, {}, {}), planned) == fault

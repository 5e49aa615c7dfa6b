"""Whatever is in a file, it is read or refused with a reason: records, keys, metrics and logs."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planc.evidence.canonical import Unreadable, canonical
from planc.evidence.envelope import TYPE
from planc.evidence.keys import Unusable, private_key, public_key
from planc.evidence.metric_files import read_csv, read_jsonl, read_trainer_state
from planc.evidence.metric_logs import values_in
from planc.evidence.metrics import as_data, summed_up
from planc.evidence.record import read, statement_in
from planc.evidence.software import versions_in
from planc.measuring.series import Faulty

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.integers(10**300, 10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("step", "a", "b", "")), inner),
    max_leaves=8,
)
ENVELOPES = st.fixed_dictionaries(
    {},
    optional={
        "payload": st.just("e30=") | JSON,
        "payloadType": st.just(TYPE) | JSON,
        "signatures": st.lists(
            st.fixed_dictionaries({}, optional={"sig": st.just("AA==") | JSON, "keyid": JSON}) | JSON
        ),
    },
)


def opened(content: bytes) -> None:
    try:
        statement_in(read(content))
    except Unreadable as reason:
        assert str(reason)


@given(st.binary() | JSON.map(canonical) | ENVELOPES.map(canonical))
@settings(max_examples=400, deadline=None)
def test_records(content: bytes) -> None:
    opened(content)


def test_keys() -> None:
    dice = random.Random(5)
    heads = (b"", b"-----BEGIN PRIVATE KEY-----\n", b"-----BEGIN OPENSSH PRIVATE KEY-----\n", b"ssh-ed25519 ")
    heads += (b"-----BEGIN PUBLIC KEY-----\n", b"ssh-rsa ", b"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY")
    for _ in range(300):
        content = dice.choice(heads) + dice.choice((dice.randbytes(40), b"AAAA" * 20)) + dice.choice(heads)
        for load in (private_key, public_key):
            try:
                load(content)
            except Unusable as reason:
                assert str(reason)


def summed(values: Any) -> None:
    try:
        for name, metric in summed_up(values).items():
            canonical(as_data(name, metric))
    except Faulty as fault:
        assert str(fault)


@given(st.lists(st.dictionaries(st.sampled_from(("step", "loss", "a", "", "\ud800")), JSON, max_size=3), max_size=4))
@settings(max_examples=300, deadline=None)
def test_metrics_in_json(objects: list[Any]) -> None:
    summed(read_jsonl((number, json.dumps(each)) for number, each in enumerate(objects, 1)))
    summed(read_trainer_state(json.dumps({"log_history": objects})))


@given(st.lists(st.text(st.sampled_from(',"\n\r\0 aN1.e-x') | st.characters(), max_size=30), max_size=5))
@settings(max_examples=300, deadline=None)
def test_metrics_in_any_lines(lines: list[str]) -> None:
    numbered = list(enumerate(lines, 1))
    for reader in (read_jsonl, read_csv):
        summed(reader(numbered))
    summed(read_trainer_state("".join(lines)))


PIECES = st.sampled_from(
    (
        " iteration 10/ 20 | ", "iteration: 1 / 2 | ", "lm loss: ", "validation loss at iteration 1 | ", "1.5E+00",
        "step: 3  loss: ", "memory: 1GiB(2%) ", "{'loss': ", "'epoch': ", "}", "'", ", ", "1,2,3", "1K", "|", "\n",
        "version", "NCCL version ", "torch==", "2.1.", "\x1b[31m", "9" * 400, "e", "+", "-", ".", "nan",
    )
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=3), max_size=14).map("".join))
@settings(max_examples=600, deadline=None)
def test_lines_of_a_log(line: str) -> None:
    summed(values_in(line))
    assert all(name and version for name, version in versions_in(line))


LONG = (
    "9", "9,", "x", "iteration ", " iteration 1/1 | a", "iteration: 1 / 1 | ", "{'", "'epoch'", "{'epoch': 1", "a.",
    " ", "'a': 1, ", "a: 1", "a:", "PyTorch version (", "step: 1 loss:", "validation loss at iteration 1 on a set|",
)  # fmt: skip


@pytest.mark.parametrize("piece", LONG)
@pytest.mark.parametrize("head", ["", "step: 1  loss: ", " iteration 1/ 2 | a: ", "{'epoch': "])
def test_a_line_as_long_as_one_can_be_takes_no_time(head: str, piece: str) -> None:
    line = (head + piece * (1 << 16))[: 1 << 16]
    start = time.process_time()
    for text in (line, f"{line[:-1]}\n", f"{line[:-2]}!\n"):
        summed(values_in(text))
        list(versions_in(text))
    assert time.process_time() - start < 2

"""A rule reads more than it needs, for its help. Whichever number is open or missing, it speaks or stays silent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.analysis import analysis_of
from tests.shared import ROOT

CASES = sorted((ROOT / "tests" / "rules").glob("*/*.plan")) + sorted((ROOT / "tests" / "targets").glob("*/*.plan"))
CASES += sorted((ROOT / "examples").glob("[fb]*.plan"))

#: A field with one number, as the cases write them.
NUMBER = re.compile(r"\b([a-z_]+)( *)= *([0-9][\w.]*(?: (?:[A-Za-z]+(?:/s|/h)?|%))?)(?=[ \n,}])")


@pytest.mark.parametrize("path", CASES, ids=[f"{path.parent.name}-{path.stem}" for path in CASES])
def test_each_number_open(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for match in NUMBER.finditer(text):
        if "#" in text[text.rfind("\n", 0, match.start()) + 1 : match.start()]:
            continue
        before, after = text[: match.start()], text[match.end() :]
        # Raises where a rule takes a number for granted, and shows where one comes to be printed.
        said = repr(analysis_of(f"{before}{match[1]} in [{match[3]}, {match[3]}]{after}").diagnostics)
        assert "Unknown(" not in said


def test_states_that_do_not_fit_a_cluster_of_unknown_size() -> None:
    """The ranks follow from the batch, so the states are judged; how many nodes would hold them is not known."""
    text = """\
gpu card { memory = 80 GiB  bf16 = true }
cluster one { gpu = card  nodes = 1  gpus_per_node in [8, 16] }
model wide { layers = 8  hidden = 99_840  heads = 16  ffn = 4096  vocab = 32_000 }
plan run {
  model = wide  cluster = one  precision = bf16
  batch { global = 64  micro = 4  accumulation = 2 }
}
"""
    assert "PLN301" in {found.code for found in analysis_of(text).diagnostics}

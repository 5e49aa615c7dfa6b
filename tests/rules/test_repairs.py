"""Fixes of rules as edits: they never write beside what is written."""

from __future__ import annotations

from tests.analysis import analysis_of

PLAN = """\
use "planc/gpus"
use "planc/models"
cluster two { gpu = h100-sxm-80gb  nodes = 2  gpus_per_node = 8 }
template t {
  model = llama-3-8b  cluster = two  precision = bf16  batch { global = 64  micro = 1 }
  shard { stage = 3 }
}
plan p from t { shard { WRITTEN } }
"""


def fixes(written: str) -> list[str]:
    """The titles of all fixes of the plan's memory fault."""
    diagnostics = analysis_of(PLAN.replace("WRITTEN", written)).diagnostics
    assert [found.code for found in diagnostics] == ["PLN301"]
    return [fix.title for found in diagnostics for fix in found.fixes]


def test_a_field_that_is_written_as_none_gets_no_second_entry() -> None:
    assert fixes("stage = none") == []


def test_a_field_that_is_written_gets_its_value_replaced() -> None:
    assert fixes("stage = 0")

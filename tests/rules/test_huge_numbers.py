"""Numbers of thousands of digits, which Python refuses to print: judged, told with an exponent, and in no time."""

from __future__ import annotations

import time

from planc.diagnostics.text import render
from planc.explanation import explain, plain
from tests.analysis import analysis_of

HUGE = "*".join(["1e99"] * 60)
PLAN = f"""\
gpu card {{ memory = 80 GiB  bf16 = true }}
cluster c {{ gpu = card  nodes = {HUGE}  gpus_per_node = 7 }}
model m {{ layers = {HUGE}  hidden = {HUGE}  heads = 4  ffn = {HUGE}  vocab = {HUGE} }}
policy p {{ require memory.states < 1 GB  because "{{memory.states}} on {{cluster.nodes}} nodes" }}
plan run {{
  model     = m
  cluster   = c
  parallel  {{ tensor = 16  pipeline = 9 }}
  batch     {{ global = {HUGE}  micro = 11 }}
  precision = bf16
  policies  = [p]
}}
plan flat {{
  model     = m
  cluster   = c
  batch     {{ global = {HUGE} * 7  micro = 1 }}
  precision = bf16
  policies  = [p]
}}
"""


def test_huge_numbers() -> None:
    start = time.perf_counter()
    analysis = analysis_of(PLAN)
    text = "".join(render(diagnostic, color=False) for diagnostic in analysis.diagnostics)
    assert time.perf_counter() - start < 5
    found = {diagnostic.code for diagnostic in analysis.diagnostics}
    assert {"PLN090", "PLN101", "PLN106", "PLN301", "PLN501"} <= found
    assert "e+5940" in text


def test_huge_numbers_are_explained() -> None:
    for plan in analysis_of(PLAN).plans:
        for number in explain(plan, None).numbers:
            assert len(number.text) < 200
            assert len(str(plain(number.value))) < 2000


def test_no_search_for_what_fits_a_huge_model_is_long() -> None:
    text = PLAN.replace(f"vocab = {HUGE}", "vocab = 99999999999999999999").replace(f"nodes = {HUGE}", "nodes = 2")
    text = text.replace(f"hidden = {HUGE}", "hidden = 4096").replace(f"ffn = {HUGE}", "ffn = 4096")
    start = time.perf_counter()
    found = {diagnostic.code for diagnostic in analysis_of(text).diagnostics}
    assert time.perf_counter() - start < 5
    assert "PLN301" in found

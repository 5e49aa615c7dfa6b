"""Diagnostics a line each."""

import re

from hypothesis import given

from planc.diagnostics.concise import render
from planc.diagnostics.report import Report
from tests.analysis import analysis_of, faults
from tests.diagnostics.given import real_report, reports, small_report

POLICY = """\
gpu card { memory = 80 GiB  bf16 = true }
cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
policy house {
  boards = require parallel.tensor <= 4  because
}
plan run {
  model = small  cluster = one  parallel { tensor = 8 }  batch { global = 64  micro = 1 }
  precision = bf16  policies = [house]
}
"""


def test_a_line_says_where_what_and_whether_it_can_be_repaired() -> None:
    assert render(small_report()).splitlines() == [
        "lib/c.plan:1:11: warning[PLN107] 3 stages hold 5 and 6 layers",
        "pretrain.plan:2:14: error[PLN011] [*] unknown field `tensr` in `parallel`",
    ]


def test_an_unsafe_fix_has_no_mark() -> None:
    report = small_report()
    error = report.diagnostics[1]
    unsafe = error._replace(fixes=error.fixes[1:])
    assert "[*]" not in render(report._replace(diagnostics=(unsafe,)))


def test_the_reason_of_a_policy_follows_where_it_is_short() -> None:
    def line(because: str) -> str:
        text = POLICY.replace("because", f'because "{because}"  #') if because else POLICY.replace("because", "#")
        (found,) = faults(analysis_of(text))
        return render(Report((found,), ("case.plan",))).partition("error[PLN090] ")[2]

    broken = "policy `house.boards` requires `parallel.tensor <= 4`"
    assert line("{parallel.tensor} ranks,\\nour boards pair four") == f"{broken}: 8 ranks, our boards pair four\n"
    assert line("") == f"{broken}\n"
    assert line("x" * 101) == f"{broken}\n"


def test_nothing_found_is_nothing_said() -> None:
    assert render(Report((), ("a.plan",))) == ""


@given(reports())
def test_hostile_text_stays_on_its_line(report: Report) -> None:
    lines = render(report).split("\n")
    assert len(lines) == len(report.diagnostics) + 1
    assert all(line.isprintable() for line in lines)


def test_real_faults() -> None:
    lines = render(real_report()).splitlines()
    assert len(lines) == len(real_report().diagnostics)
    assert all(re.fullmatch(r".+:\d+:\d+: (error|warning|info)\[PLN\d{3}\]( \[\*\])? .+", line) for line in lines)

"""Pages of kinds of diagnostic as Markdown."""

from __future__ import annotations

import re

import pytest

from planc.diagnostics.page import PARTS, markdown, parts
from planc.diagnostics.report import Kind
from planc.kinds import all_kinds

PAGE = """\
The sum of [a] is not <b>.

Why: `a_b` is *not* a_b, which
    is $2 & \\ more.

Example:
    plan a {
      x = "```"
    }

Fix: write it.
"""


def test_plans_stand_in_fences_and_nothing_else_is_markup() -> None:
    assert markdown(PAGE) == (
        "The sum of \\[a\\] is not \\<b\\>.\n\n"
        "**Why:** `a_b` is \\*not\\* a\\_b, which is \\$2 \\& \\\\ more.\n\n"
        '**Example:**\n\n````planc\nplan a {\n  x = "```"\n}\n````\n\n'
        "**Fix:** write it.\n"
    )


def test_parts() -> None:
    assert parts(PAGE) == {
        "": "The sum of [a] is not <b>.",
        "Why": "`a_b` is *not* a_b, which is $2 & \\ more.",
        "Example": 'plan a {\n  x = "```"\n}\n',
        "Fix": "write it.",
    }


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.code)
def test_every_page_keeps_its_words_and_plans(kind: Kind) -> None:
    text = markdown(kind.page)
    fences = re.findall(r"^```planc\n(.*?)^```$", text, re.M | re.S)
    indented = [line[4:].rstrip() for line in kind.page.splitlines() if line.startswith("    ") and "=" in line]
    assert {line for line in indented if line.startswith("model ")} <= set("".join(fences).splitlines())
    assert re.findall(r"^\*\*(\w+):\*\*", text, re.M) == list(PARTS)
    outside = re.sub(r"^```planc\n.*?^```$", "", text, flags=re.M | re.S)
    plain = re.sub(r"(`[^`]*`)|\\([^a-zA-Z0-9\s])", lambda match: match[1] or match[2], outside.replace("**", ""))
    assert sorted([*plain.split(), *" ".join(fences).split()]) == sorted(kind.page.split())

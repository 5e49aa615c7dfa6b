"""Slips of which the repair is known: one fault each, and what the text is once it is mended."""

from __future__ import annotations

import pytest

from planc.reporting.fixing import mend
from planc.source import Source
from planc.syntax.parse import parse


def mended(text: str, unsafe: bool = False) -> str:
    """The text after the repairs of what is wrong with its syntax, which has to be one fault."""
    source = Source("case.plan", text)
    (found,) = parse(source).diagnostics
    return mend(source, (found,), unsafe).text


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("requires a.b <= 8", "require a.b <= 8"),
        ("x = forbids a == b", "x = forbid a == b"),
        ("warning 1 < a.b because \"c\"", "warn 1 < a.b because \"c\""),
        ("require 1 < a.b < 8", "require 1 < a.b and a.b < 8"),
        ("require 1 <= a.b + 2 <= 8 when c == d", "require 1 <= a.b + 2 and a.b + 2 <= 8 when c == d"),
        ("require a == b == c", "require a == b and b == c"),
        ("require (8 > a > 1) or b == c", "require (8 > a and a > 1) or b == c"),
        ("forbid a == b\n  if 1 < c.d  because \"e\"", "forbid a == b\n  when 1 < c.d  because \"e\""),
        ("forbid a in [b c]", "forbid a in [b, c]"),
        ("forbid a in [b c d, e f]", "forbid a in [b, c, d, e, f]"),
        ("require a \u2264 8", "require a <= 8"),
        ("require a - 8 \u2260 b", "require a - 8 != b"),
        ("require a == \u201cb.c\u201d", "require a == \"b.c\""),
    ],
)  # fmt: skip
def test_a_rule_that_can_mean_one_thing_is_mended(written: str, meant: str) -> None:
    assert mended(f"policy p {{ {written} }}") == f"policy p {{ {meant} }}"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("emit = [deepspeed torchrun]", "emit = [deepspeed, torchrun]"),
        ("betas = [0.9 0.95]", "betas = [0.9, 0.95]"),
        ("log { to = [\"a\" \"b\", \"c\" \"d\"] }", "log { to = [\"a\", \"b\", \"c\", \"d\"] }"),
        ("name = \u201cc4\u201d", "name = \"c4\""),
        ("name = \u2018c4\u2019", "name = \"c4\""),
        ("a =\u00a08", "a = 8"),
        ("a = [1,\u20092\u00a0]", "a = [1, 2 ]"),
        ("b =\u200b 8", "b = 8"),
    ],
)  # fmt: skip
def test_an_entry_that_can_mean_one_thing_is_mended(written: str, meant: str) -> None:

    assert mended(f"plan p {{ {written} }}") == f"plan p {{ {meant} }}"


def test_a_policy_that_a_plan_narrows_is_one_too() -> None:
    text = "plan p { policies = [house { a = requires b.c == d }]  emit = [slurm { b = only }] }"
    assert mended(text) == text.replace("requires", "require")


@pytest.mark.parametrize("word", ["deny", "never"])
def test_another_word_for_a_verb_is_a_guess(word: str) -> None:
    text = f"policy p {{ x = {word} a == b }}"
    assert mended(text) == text
    assert mended(text, unsafe=True) == "policy p { x = forbid a == b }"


@pytest.mark.parametrize(
    "text",
    [
        "policy p { x = perhaps a == b }",  # no verb is near
        "policy p { require not 1 < a < 8 }",  # `not` would take the first alone
        "plan p { x = [32 000] }",  # may be one number
        "plan p { x = \u201ca \\ b\u201d }",
        "plan p { x = \u00fc }",
    ],
)
def test_what_may_mean_several_things_is_left(text: str) -> None:
    assert mended(text, unsafe=True) == text


def test_a_list_without_commas_is_read_all_the_same() -> None:
    (block,) = parse(Source("case.plan", "plan p { emit = [a b { c = 1 } d] }")).file.blocks
    (entry,) = block.body.entries
    assert [item.span.text for item in entry.value.items] == ["a", "b { c = 1 }", "d"]


def test_a_list_that_is_not_closed_lacks_no_comma() -> None:
    (found,) = parse(Source("case.plan", "plan p {\n  emit = [a\n  launch { b = 1 }\n}")).diagnostics
    assert found.message == "`[` is never closed"

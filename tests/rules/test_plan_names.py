"""What is said of a plan's name that no ASCII file could hold: its letters as people see them."""

from __future__ import annotations

from tests.analysis import analysis_of


def test_a_letter_is_shown_as_it_is_and_its_plain_form_is_proposed() -> None:
    text = """\
gpu card { memory = 80 GiB  bf16 = true }
model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }
plan "\xfcn\xefc\xf6de" {
  model = small
  cluster { gpu = card  nodes = 1  gpus_per_node = 8 }
  batch { global = 64  micro = 1 }
  precision = bf16
  emit = [env]
}
"""
    (found,) = [found for found in analysis_of(text).diagnostics if found.code == "PLN601"]
    assert found.primary.text == "'\xfc' is none of the letters, digits, `_`, `-` and `.`"
    assert found.help == ('use `"unicode"`',)


def test_a_mark_that_is_seen_nowhere_is_shown_by_its_number() -> None:
    text = 'plan "a\u202eb" { emit = [env] }\n'
    (found,) = [found for found in analysis_of(text).diagnostics if found.code == "PLN601"]
    assert found.primary.text.startswith("'\\u202e' is none")

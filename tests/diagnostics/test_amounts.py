"""Counts in sentences: nouns and verbs that agree with them."""

from __future__ import annotations

import pytest

from planc.diagnostics.amounts import agreeing, plural
from planc.plan.quantities import amount_text, amount_words
from planc.plan.units import EPOCHS, SAMPLES, STEPS, TIME, TOKENS, Amount
from tests.analysis import analysis_of


@pytest.mark.parametrize(
    ("verb", "one"), [("are", "is"), ("have", "has"), ("do", "does"), ("fill", "fills"), ("make", "makes")]
)
def test_a_verb_agrees_with_its_count(verb: str, one: str) -> None:
    assert [agreeing(count, verb) for count in (0, 1, 2)] == [verb, one, verb]
    assert plural(1, "attention head") == "1 attention head"


@pytest.mark.parametrize(
    ("dimension", "unit"), [(STEPS, "steps"), (TOKENS, "tokens"), (SAMPLES, "samples"), (EPOCHS, "epochs")]
)
def test_one_of_a_unit_is_singular_in_words_and_plural_as_it_is_written(
    dimension: tuple[tuple[str, int], ...], unit: str
) -> None:
    assert amount_words(Amount(1, dimension)) == f"1 {unit[:-1]}"
    assert amount_words(Amount(2, dimension)) == amount_text(Amount(2, dimension)) == f"2 {unit}"
    assert amount_text(Amount(1, dimension)) == f"1 {unit}"
    assert amount_words(Amount(1, TIME)) == "1 s"


def test_messages_speak_of_one_thing_in_the_singular() -> None:
    text = """\
gpu card { memory = 80 GiB  bf16 = true }
cluster one { gpu = card  nodes = 1  gpus_per_node = 2 }
model small { layers = 1  hidden = 1024  heads = 1  kv_heads = 2  ffn = 4096  vocab = 32_000 }
plan run {
  model      = small
  cluster    = one
  batch      { global = 64  micro = 1  sequence_length = 3 }
  precision  = bf16
  parallel   { pipeline = 2 }
  schedule   = cosine { warmup = 2 steps  total = 1 steps }
  dataset    { size = 1 samples }
  train      { duration = 1 steps }
  checkpoint { every = 2 steps }
}
plan other from run { parallel { pipeline = 1  tensor = 2 } }
plan tokens from run { batch { global = 1 tokens } }
"""
    found = {(one.code, one.message) for one in analysis_of(text).diagnostics}
    assert {
        ("PLN015", "1 token is no whole number of samples"),
        ("PLN103", "tensor size 2 does not divide 1 attention head"),
        ("PLN106", "2 stages do not divide 1 layer"),
        ("PLN111", "1 attention head is no multiple of 2 KV heads"),
        ("PLN802", "1 sample fills no batch of 64"),
    } <= found

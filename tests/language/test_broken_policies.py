"""What is said of a policy's rule that a plan breaks: at which place, with which part of it and which values."""

from __future__ import annotations

import pytest

from planc.diagnostics.diagnostic import Diagnostic
from tests.analysis import analysis_of, faults

PLAN = """\
gpu card { memory = 80 GiB  bf16 = true }
cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }
template t {
  model = small
  cluster = one
  parallel { tensor = 2 }
  batch { global = 64  micro = 1 }
  precision = bf16
  policies = [house]
  train { seed = 5 }
  checkpoint { every = 50 steps }
}
plan seed from t {
  train { seed = none }
  checkpoint = none
}
"""


def broken(rule: str) -> Diagnostic:
    """What is said of the one rule of a policy."""
    (found,) = faults(analysis_of(f"{PLAN}policy house {{ rule = {rule} }}"))
    return found


@pytest.mark.parametrize(
    ("rule", "place"),
    [
        ("require train.seed != none", "seed = none"),
        ("require checkpoint != none", "checkpoint = none"),
        ("require checkpoint.every != none", "checkpoint = none"),
        ("forbid checkpoint == none", "checkpoint = none"),
        ("require parallel.tensor <= 2 and train.seed != none", "seed = none"),
        ("require model.layers == 8 and parallel.tensor == 1 and batch.micro == 1", "tensor = 2"),
        ("forbid model.layers == 9 or 1 < parallel.tensor", "tensor = 2"),
        ("require evidence.metrics != none", "policies = [house]"),
    ],
)
def test_the_place_is_the_field_that_decides(rule: str, place: str) -> None:
    assert broken(rule).primary.span.text == place


@pytest.mark.parametrize(
    ("rule", "quoted"),
    [
        ("require parallel.tensor <= 1", "requires `parallel.tensor <= 1`"),
        (
            "require dataset.version != none\n or dataset.digest != none",
            "requires `dataset.version != none or dataset.digest != none`",
        ),
        (
            "require parallel.tensor <= 4 and batch.micro == 2 and model.layers < 4 and train.seed != none",
            "requires `batch.micro == 2`",
        ),
        (
            "warn parallel.tensor == 4 or batch.micro == 2 or (model.layers == 8 and train.seed == none)",
            "warns of `model.layers == 8 and train.seed == none`",
        ),
        (
            "require parallel.tensor + parallel.pipeline + parallel.context + model.layers + batch.micro <= 4",
            "requires its condition",
        ),
        ("require model.layers  # of them\n == 9", "requires its condition"),
    ],
)  # fmt: skip
def test_the_message_quotes_what_decides(rule: str, quoted: str) -> None:
    assert broken(rule).message == f"policy `house.rule` {quoted}"


def test_all_values_are_shown_first_those_that_decide() -> None:
    found = broken("require parallel.tensor <= 4 and batch.micro == 2 and model.layers < 4 and model.heads != 8")
    assert found.primary.text == "`batch.micro` is 1, `model.layers` is 8, `model.heads` is 8"
    assert found.notes == ("`parallel.tensor` is 2",)
    assert broken("require parallel.tensor <= 1").notes == ()

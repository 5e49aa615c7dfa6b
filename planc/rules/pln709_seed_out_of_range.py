"""The seed is larger than NumPy takes.

Why: accelerate and transformers give the seed to `random`, NumPy and PyTorch. NumPy takes 32 bits, at most
    4_294_967_295: with more the run stops at its first line with a ValueError.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      train    { seed = 20261130123456 }
      shard    { stage = 3 }
      launch   { script = "train.py"  restarts = 0 }
      emit     = [accelerate { layer_class = "Block" }]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      train    { seed = 4_294_967_295 }
      shard    { stage = 3 }
      launch   { script = "train.py"  restarts = 0 }
      emit     = [accelerate { layer_class = "Block" }]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: a smaller seed; the help names what is left of this one. `--unsafe-fixes` writes it.

Source: accelerate 1.15, utils/random.py, and transformers 5.23, trainer_utils.py: set_seed calls
    numpy.random.seed.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place
from planc.rules._repairs import writing
from planc.rules.rule import Rule

_TOO_MANY = 2**32


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A seed of more than 32 bits for a trainer that hands it to NumPy."""
    seed = facts["train.seed"]
    by_trainer = any(choice.name == "deepspeed" and choice.options.value("trainer") == "hf" for choice in plan.targets)
    if seed < _TOO_MANY or not (by_trainer or plan.emits("accelerate", "transformers")):
        return
    span, fits = place(plan, "train.seed"), seed % _TOO_MANY
    yield Diagnostic(
        f"the seed has {plural(seed.bit_length(), 'bit')}, NumPy takes 32",
        Label(span, f"the largest is {_TOO_MANY - 1}"),
        help=(f"use `seed = {fits}`, or another below 2 ** 32",),
        fixes=writing(plan, ("train.seed", str(fits))),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("train.seed",))

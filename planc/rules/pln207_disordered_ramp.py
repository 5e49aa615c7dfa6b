"""The places where the batch grows are no ascending list beside the sizes.

Why: each size of a stepped ramp begins at the entry of `at` in its place. Megatron asserts that the first
    begins at 0 and each later one after the one before; a list of another length says nothing of some size.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1
                 ramp = stepped { at = [0 tokens, 2B tokens, 1B tokens]  global = [16, 32, 64] } }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 64  micro = 1
                 ramp = stepped { at = [0 tokens, 1B tokens, 2B tokens]  global = [16, 32, 64] } }
      precision = bf16
    }

Fix: write one ascending entry a size, all in tokens or all in samples, the first 0. `--unsafe-fixes` puts the
    places in order where that is all.

Source: Megatron-LM, num_microbatches_calculator.py.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.quantities import amount_text, amount_words
from planc.plan.units import name_of
from planc.rules._numbers import known
from planc.rules._places import place, related
from planc.rules._repairs import Repair, writing
from planc.rules.rule import Rule

_ORDER = "each size begins after the one before"


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """The first thing that is wrong with the list."""
    places, sizes = facts["batch.ramp.at"], facts["batch.ramp.global"]
    span = place(plan, "batch.ramp.at")
    units = tuple(dict.fromkeys(name_of(each.dimension).removeprefix("a number of ") for each in places))
    back = next((pair for pair in pairwise(places) if pair[1].value <= pair[0].value), None)
    if known(sizes) and len(places) != len(sizes):
        found = (f"{plural(len(places), 'place')} for {plural(len(sizes), 'batch size')}", "one place a size")
    elif 1 < len(units):
        found = (f"places in {' and in '.join(units)}", "they cannot be put in order")
    elif places and places[0].value != 0:
        found = (f"the first batch size begins at {amount_words(places[0])}", "nothing says the size before")
    elif back is not None:
        found = (f"{amount_words(back[1])} stands behind {amount_words(back[0])}", _ORDER)
    else:
        return
    unit = units[0] if units else "tokens"
    ordered = sorted(places, key=lambda each: each.value)
    repair = Repair(f"write one ascending place a size, all in {unit}, the first `0 {unit}`")
    if back is not None and len(set(places)) == len(places) and found[1] == _ORDER:
        text = f"[{', '.join(map(amount_text, ordered))}]"
        repair = Repair(f"in order it is `at = {text}`", writing(plan, ("batch.ramp.at", text)))
    yield Diagnostic(
        found[0],
        Label(span, found[1]),
        related(plan, span, ("batch.ramp.global", "")),
        help=(repair.help,),
        fixes=repair.fixes,
    )


RULE = Rule(Severity.ERROR, "plan", check, ("batch.ramp.at",))

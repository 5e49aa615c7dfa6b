"""The global batch cannot be reached with whole passes of whole micro batches.

Why: a step takes micro x accumulation x data samples, each a whole number. 100 samples on 8 replicas of 4 are
    3 passes and 4 samples that nobody takes. DeepSpeed and Megatron refuse to start; some loaders drop the
    rest without a word.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 100  micro = 4 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      batch    { global = 96  micro = 4 }
      precision = bf16
    }

Fix: which of the numbers gives way is for you to say; the help names the nearest global batches that can be
    reached. `--unsafe-fixes` makes the change where the help names only one.

Source: DeepSpeed, runtime/config.py (_batch_assertion); Megatron-LM, num_microbatches_calculator.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, either, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._batch import follows, global_text, written
from planc.rules._numbers import multiples, world_agrees
from planc.rules._places import place, related
from planc.rules._repairs import Repair, fixes, helps, writing
from planc.rules.rule import Rule

_MICRO, _PASSES = "batch.micro", "batch.accumulation"


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """A global batch that the written numbers do not give, or do not divide."""
    if not world_agrees(facts):
        return
    samples, data = facts["batch.global"], facts["parallel.data"]
    names = [path for path in (_MICRO, _PASSES) if written(plan, path)]
    if not all(path in names or follows(plan, path) for path in (_MICRO, _PASSES)):
        return  # one of them is faulty
    step = data
    for path in names:
        step *= facts[path]
    if samples % step == 0 and (len(names) < 2 or samples == step):
        return
    span = place(plan, "batch.global")
    factors = [f"{path.partition('.')[2]} {count_text(facts[path])}" for path in names]
    labels = related(
        plan,
        span,
        *((path, "") for path in names),
        ("parallel.data", ""),
        ("cluster.nodes", f"{plural(data, 'replica')} in all"),
    )
    if len(names) == 2:
        product = " x ".join([*factors, plural(data, "replica")])
        message = f"{product} = {count_text(step)}, not {count_text(samples)}"
        repairs = tuple(_repairs(plan, facts, step))
        yield Diagnostic(
            message,
            Label(span, f"a step takes {plural(step, 'sample')}"),
            labels,
            help=helps(repairs),
            fixes=fixes(repairs),
        )
        return
    product = " x ".join([*factors, plural(data, "replica")]) + (f" = {count_text(step)}" if names else "")
    quotient = f"{count_text(samples)} / {count_text(step)} = {quotient_text(samples, step)}"
    repair = _nearest(plan, facts, step, "the nearest")
    yield Diagnostic(
        f"global batch {count_text(samples)} is no multiple of {count_text(step)}",
        Label(span, f"{product}; {quotient}, {plural(samples % step, 'sample')} left over"),
        labels,
        help=(repair.help,),
        fixes=repair.fixes,
    )


def _repairs(plan: Plan, facts: Facts, step: int) -> Iterator[Repair]:
    """One change that makes the three numbers agree, for each of them that can."""
    samples, data, micro, passes = (facts[path] for path in ("batch.global", "parallel.data", _MICRO, _PASSES))
    choices = [("batch.global", global_text(plan, facts, step))]
    for path, others in ((_PASSES, micro * data), (_MICRO, passes * data)):
        if samples % others == 0:
            choices.append((path, count_text(samples // others)))
    shown = [f"`{path.partition('.')[2]} = {text}`" for path, text in choices]
    yield Repair(f"what would agree: {either(shown)}", tuple(fix for one in choices for fix in writing(plan, one)))
    if samples % (micro * data) != 0 and samples % (passes * data) != 0:
        # Another global batch alone would not do: the passes would have to follow.
        yield Repair(_nearest(plan, facts, micro * data, f"with micro {count_text(micro)} the nearest").help)


def _nearest(plan: Plan, facts: Facts, step: int, which: str) -> Repair:
    """The global batches on either side that so many samples a pass divide."""
    texts = [global_text(plan, facts, size) for size in multiples(facts["batch.global"], step)]
    shown = either([f"`global = {text}`" for text in texts], "and")
    edits = tuple(fix for text in texts for fix in writing(plan, ("batch.global", text)))
    return Repair(f"{which} that can be reached: {shown}", edits)


RULE = Rule(Severity.ERROR, "plan", check, ("batch.global", "parallel.data"))

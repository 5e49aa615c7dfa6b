"""A stated version has a fault that later ones do not have.

Why: some releases hang or compute something else, and the next one mended it: NCCL 2.29.2 hangs, NCCL before
    2.17 hangs with `CUDA_LAUNCH_BLOCKING`, DeepSpeed before 0.16 loads its checkpoints in a way that PyTorch
    refuses from 2.6 on, and transformers 4.48.0 adds up losses over accumulation steps where it should average
    them, so that the gradient is that of a higher learning rate.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      versions { nccl = "2.29.2" }
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
      versions { nccl = "2.29.3" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use the release that the help names. `--unsafe-fixes` writes it; what is installed has to follow.

Source: pytorch/pytorch#174338 (NCCL 2.29.2), pytorch/pytorch#97843 (NCCL before 2.17),
    huggingface/transformers#35663, and trainer.py of 4.48.0 and 4.48.1; deepspeed 0.15.4 and 0.16.0,
    runtime/checkpoint_engine/torch_checkpoint_engine.py, and torch 2.13, serialization.py (weights_only).

Versions: the releases that are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import known
from planc.rules._variables import is_on, text_place, texts, variables, version, with_text
from planc.rules.rule import Rule


class _Bad(NamedTuple):
    """A range of versions of a package, a version that mended it, what they do, and a condition."""

    package: str
    since: tuple[int, ...]
    below: tuple[int, ...]
    mended: str
    effect: str
    applies: Callable[[Plan, Facts], bool]


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Each stated version that lies in a range of known faults of which the condition holds."""
    for bad in _BAD:
        found = version(plan, bad.package)
        if found is None or found < bad.since or bad.below <= found or not bad.applies(plan, facts):
            continue
        yield Diagnostic(
            f"{bad.package} {texts(plan, 'versions')[bad.package]} {bad.effect}",
            Label(text_place(plan, "versions", bad.package), f"mended in {bad.mended}"),
            help=(f'use `{bad.package} = "{bad.mended}"` or later',),
            fixes=with_text(plan, "versions", bad.package, bad.mended),
        )


def _always(plan: Plan, facts: Facts) -> bool:
    return True


def _blocks(plan: Plan, facts: Facts) -> bool:
    return is_on(variables(plan).get("CUDA_LAUNCH_BLOCKING", ""))


def _trainer_accumulates(plan: Plan, facts: Facts) -> bool:
    """Whether the Hugging Face Trainer runs the plan and accumulates gradients."""
    by_trainer = any(
        choice.name == "transformers" or (choice.name == "deepspeed" and choice.options.value("trainer") == "hf")
        for choice in plan.targets
    )
    passes = facts["batch.accumulation"]
    return by_trainer and known(passes) and 1 < passes


def _refuses_whole_objects(plan: Plan, facts: Facts) -> bool:
    """Whether DeepSpeed loads by a PyTorch that takes nothing but tensors unless it is told to."""
    torch, is_told = version(plan, "torch"), is_on(variables(plan).get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", ""))
    return facts.engine.runtime == "deepspeed" and torch is not None and (2, 6) <= torch and not is_told


_BAD = (
    _Bad("nccl", (2, 29, 2), (2, 29, 3), "2.29.3", "hangs", _always),
    _Bad("nccl", (2,), (2, 17), "2.17", "hangs with blocking launches", _blocks),
    _Bad(
        "deepspeed",
        (0,),
        (0, 16),
        "0.16.0",
        "does not load its own checkpoints beside this torch",
        _refuses_whole_objects,
    ),
    _Bad("transformers", (4, 48), (4, 48, 1), "4.48.1", "does not average accumulated losses", _trainer_accumulates),
)

RULE = Rule(Severity.WARNING, "plan", check, ("versions",))

"""accelerate trains with another optimizer than the plan says.

Why: where DeepSpeed offloads the optimizer, accelerate hands it DeepSpeedCPUAdam in place of whatever the
    program made: it has a host form of Adam, Adagrad and bitsandbytes' Lion, and takes Adam, without
    decoupled weight decay, for all else. Nothing is said, and the run follows Adam with the learning rate of
    the other optimizer.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 1 }
      offload  { optimizer = cpu }
      optimizer = sgd { momentum = 0.9 }
      emit     = [accelerate]
      launch   { script = "train.py" }
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
      shard    { stage = 1 }
      optimizer = sgd { momentum = 0.9 }
      emit     = [accelerate]
      launch   { script = "train.py" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: adamw; or leave the states on the card; or emit `deepspeed` for a loop of your own, which takes the
    program's optimizer.

Source: accelerate 1.15, utils/deepspeed.py, map_pytorch_optim_to_deepspeed, called for every optimizer that
    is offloaded.

Versions: all, for `accelerate` and for `deepspeed { trainer = hf }` without a `learning_rate`, where
    DeepSpeed and not FSDP2 is the engine.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._offloading import is_handed_on_by_accelerate
from planc.rules._places import place, related
from planc.rules._repairs import writing
from planc.rules.rule import Rule

_HAS_A_HOST_FORM = ("adamw", "lion")


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """An offloaded optimizer of which accelerate knows no form for the host."""
    kind = facts["optimizer"]
    if kind in _HAS_A_HOST_FORM or not is_handed_on_by_accelerate(plan, facts):
        return
    span = place(plan, "optimizer", "offload.optimizer")
    yield Diagnostic(
        f"accelerate trains with Adam in place of an offloaded `{kind}`",
        Label(span, f"DeepSpeed has no host form of `{kind}`"),
        related(plan, span, ("offload.optimizer", "the update runs on the host")),
        help=("use `optimizer = adamw`, or leave `offload.optimizer` out",),
        fixes=writing(plan, ("optimizer", "adamw")) if plan["optimizer"].span.text == kind else (),
    )


RULE = Rule(Severity.ERROR, "plan", check, ("offload.optimizer", "optimizer", "shard.stage"))

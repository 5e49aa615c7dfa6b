"""The run is to be deterministic, and its cards add up their numbers in an order that NCCL chooses.

Why: `deterministic` fixes the kernels of each card. Between cards NCCL adds floating-point numbers in the order of
    its rings and trees, which follow from the links and from the nodes that the job is given, and which NCCL may choose
    anew in another job. Sums in another order differ in their last bits, and after some steps the weights do. Two runs
    agree bit by bit only on the same nodes, with the same versions and the algorithm pinned.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      train    { deterministic = true  seed = 1 }
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
      train    { deterministic = true  seed = 1 }
      launch   { script = "train.py"  env { NCCL_ALGO = "Ring" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: pin the algorithm with `NCCL_ALGO` and compare runs of the same nodes only; or let go of the claim, and record what
    went in and what came out with `planc attest`.

Source: NCCL 2.29, user guide, NCCL_ALGO; Megatron-LM, --deterministic-mode, which insists on it; PyTorch, notes on
    reproducibility: results are not reproducible across releases, commits or platforms.

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules._variables import variables
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Determinism over several cards without an algorithm; what is written for Megatron pins one."""
    ranks, pins = facts["world.size"], plan.emits("megatron", "megatron-bridge")
    if facts["train.deterministic"] is not True or ranks < 2 or pins or "NCCL_ALGO" in variables(plan):
        return
    span = place(plan, "train.deterministic")
    yield Diagnostic(
        f"{plural(ranks, 'card')} add up in an order that NCCL chooses",
        Label(span, "fixes the kernels of each card, not the sums between them"),
        related(plan, span, ("cluster.nodes", f"{count_text(ranks)} ranks")),
        help=('pin it with `launch { env { NCCL_ALGO = "Ring" } }`, and compare runs on the same nodes only',),
    )


RULE = Rule(Severity.INFO, "plan", check, ("train.deterministic", "world.size"))

"""Pods get too little shared memory for NCCL and loaders.

Why: ranks of a pod pass buffers to each other through /dev/shm, and loaders pass batches. 64 MiB, what a
    container has unless it asks for more, end in `No space left on device` or a bus error; the size is read as
    Kubernetes reads quantities, so that `64M` and `64m` are less.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      launch   { script = "train.py"  kubernetes { shared_memory = "64Mi" } }
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
      launch   { script = "train.py"  kubernetes { shared_memory = "16Gi" } }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: ask for a share of the host's memory: it counts only while it is used.

Source: NVIDIA/nccl#525, pytorch/pytorch#16979; Kubernetes API, quantity and emptyDir (medium Memory).

Versions: all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.amounts import plural, size_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import place, related
from planc.rules.rule import Rule

_QUANTITY = r"([0-9]{1,15})(?:\.[0-9]{1,9})?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?"
_BYTES = {
    "": 1, "k": 10**3, "Ki": 2**10, "M": 10**6, "Mi": 2**20, "G": 10**9, "Gi": 2**30,
    "T": 10**12, "Ti": 2**40, "P": 10**15, "Pi": 2**50,
}  # fmt: skip
_DEFAULT = 64 * 2**20


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """No more than the default for a pod of several ranks, or a text that is no quantity."""
    text, ranks = facts["launch.kubernetes.shared_memory"], facts["cluster.gpus_per_node"]
    size = _bytes(text)
    if size is not None and (_DEFAULT < size or ranks < 2):
        return
    if size is None and plan.emits("kubernetes"):
        return  # the target refuses it
    span = place(plan, "launch.kubernetes.shared_memory")
    message = f"{size_text(size, True)} of shared memory for {plural(ranks, 'rank')}" if size is not None else ""
    yield Diagnostic(
        message or f"`{text}` is no quantity of Kubernetes",
        Label(span, "no more than a container has by itself" if message else "the API refuses the pod"),
        related(plan, span, ("cluster.gpus_per_node", f"{plural(ranks, 'rank')} a pod")),
        help=('write `shared_memory = "16Gi"`, or another share of the host\'s memory',),
    )


def _bytes(text: str) -> int | None:
    """Bytes of a quantity of Kubernetes, rounded down; None for a text that is none."""
    match = re.fullmatch(_QUANTITY, text.strip())
    if match is None:
        return None
    return int(match[1]) // 1000 if match[2] == "m" else int(match[1]) * _BYTES[match[2] or ""]


RULE = Rule(Severity.WARNING, "plan", check, ("launch.kubernetes.shared_memory", "cluster.gpus_per_node"))

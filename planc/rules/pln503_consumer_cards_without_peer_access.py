"""Cards of the RTX 40 series are driven by a release in which they cannot reach each other.

Why: these cards have no peer-to-peer access, and drivers before 550.40.07 say that they have: NCCL hangs, or copies
    wrong data. accelerate refuses to start on several of them unless both variables are set, which `accelerate
    launch` does by itself and torchrun does not.

Example:
    gpu rtx-4090 { memory = 24 GiB  bf16 = true  compute_capability = 8.9 }
    cluster one { gpu = rtx-4090  nodes = 1  gpus_per_node = 2 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      versions { driver = "535.104.05" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu rtx-4090 { memory = 24 GiB  bf16 = true  compute_capability = 8.9 }
    cluster one { gpu = rtx-4090  nodes = 1  gpus_per_node = 2 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      versions { driver = "550.40.07" }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: update the driver, or set `NCCL_P2P_DISABLE = "1"` and `NCCL_IB_DISABLE = "1"` in `launch.env`.
    `--unsafe-fixes` writes the first driver that does.

Source: accelerate 1.15.0, utils/environment.py (check_cuda_p2p_ib_support) and state.py; NVIDIA/nccl-tests#117.

Versions: drivers before 550.40.07. Silent where the plan does not state the driver: `nvidia-smi
    --query-gpu=driver_version --format=csv` shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._places import related
from planc.rules._variables import is_on, text_place, texts, variables, version, with_text
from planc.rules.rule import Rule

_CARDS = r"(?:geforce-)?rtx-?40\d\d(?!\d)(?!-ada)"  # the RTX 4000 Ada is a card for workstations
_MENDED = (550, 40, 7)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Several such cards in a node, an old driver, and no variable that keeps NCCL from trying."""
    card, ranks, driver = plan.value("cluster.gpu"), facts["cluster.gpus_per_node"], version(plan, "driver")
    if not isinstance(card, str) or not re.match(_CARDS, card) or ranks == 1 or driver is None or _MENDED <= driver:
        return
    if is_on(variables(plan).get("NCCL_P2P_DISABLE", "")):
        return
    span = text_place(plan, "versions", "driver")
    yield Diagnostic(
        f"driver {texts(plan, 'versions')['driver']} offers {plural(ranks, 'RTX 40 card')} a link they lack",
        Label(span, "550.40.07 is the first that does not"),
        related(plan, span, ("cluster.gpus_per_node", plural(ranks, "card") + " exchange with each other")),
        help=(
            'use `driver = "550.40.07"` or later',
            'or set `NCCL_P2P_DISABLE = "1"` and `NCCL_IB_DISABLE = "1"` in `launch.env`',
        ),
        fixes=with_text(plan, "versions", "driver", "550.40.07"),
    )


RULE = Rule(Severity.WARNING, "plan", check, ("cluster.gpus_per_node", "versions"))

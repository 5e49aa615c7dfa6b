"""The expert groups do not divide the ranks that they are made of.

Why: expert ranks are no axis of their own: the ranks of a pipeline stage are regrouped into `expert` x
    `expert_tensor` ranks for the experts, each stage by itself. On 24 ranks groups of 16 leave 8 ranks over, and
    every trainer refuses that. The data-parallel size need not be a multiple: 4 replicas of 4 tensor ranks make two
    groups of 8.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 3  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      experts { count = 16  top_k = 2  ffn = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      parallel { expert = 16 }
      batch    { global = 48  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 3  gpus_per_node = 8 }
    model small {
      layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000
      experts { count = 16  top_k = 2  ffn = 1024 }
    }
    plan run {
      model    = small
      cluster  = one
      parallel { expert = 8 }
      batch    { global = 48  micro = 1 }
      precision = bf16
    }

Fix: use expert sizes that divide the ranks of a stage. `--unsafe-fixes` makes the change where the help names only
    one.

Source: megatron-core 0.16.1, parallel_state (world % (expert-tensor x expert x pipeline)); torchtitan, ParallelDims
    (shard x context x tensor); DeepSpeed 0.19.8, moe/layer.py and utils/groups.py (world / pipeline, or the
    data-parallel size where experts are split as well).

Versions: all. torchtitan groups the ranks that share one copy of the states, DeepSpeed the replicas where experts are
    split over tensor ranks as well; else all ranks of a stage count.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import agreeing, count_text, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._experts import expert_pool
from planc.rules._numbers import nearest, options, use, world_agrees
from planc.rules._places import place, related
from planc.rules._repairs import each_size
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Expert groups with a rest; experts that the ranks cannot share out are PLN115's."""
    ranks, experts = facts["parallel.expert"], facts["model.experts.count"]
    pool, noun, width = among = expert_pool(facts)
    if ranks == 1 or experts % ranks != 0 or not world_agrees(facts) or among.holds_groups_of(ranks):
        return
    span = place(plan, "parallel.expert")
    fits = nearest(ranks, lambda other: experts % other == 0 and among.holds_groups_of(other))
    group = count_text(ranks) + (f" x {count_text(width)}" if 1 < width else "")
    groups = quotient_text(pool, ranks * width)
    yield Diagnostic(
        f"{plural(pool, noun)} {agreeing(pool, 'make')} no whole groups of {group} expert ranks",
        Label(span, f"{count_text(pool)} / {count_text(ranks * width)} = {groups} groups"),
        related(
            plan,
            span,
            ("parallel.expert_tensor", ""),
            ("parallel.pipeline", ""),
            ("cluster.nodes", f"{plural(facts['world.size'], 'rank')} in all"),
        ),
        help=use(options("expert", fits)),
        fixes=each_size(plan, "parallel.expert", fits),
    )


RULE = Rule(
    Severity.ERROR,
    "plan",
    check,
    ("parallel.expert", "model.experts.count", "parallel.expert_tensor", "world.size", "parallel.data"),
)

"""A tensor-parallel group crosses the edge of the fast interconnect.

Why: tensor ranks exchange activations twice in every layer, forwards and backwards, and nothing can be
    computed meanwhile. Inside the fast domain (a node, or a rack that NVLink spans) that is quick; between
    domains it is several times slower, and the run with it. Groups count, not sizes: of groups of 6 on nodes
    of 8 the second lies on two nodes.

Example:
    gpu card { memory = 80 GiB  bf16 = true  link = 450 GB/s }
    cluster eight { gpu = card  nodes = 8  gpus_per_node = 8  inter_node = 400 Gbit/s }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = eight
      parallel { tensor = 16 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true  link = 450 GB/s }
    cluster eight { gpu = card  nodes = 8  gpus_per_node = 8  inter_node = 400 Gbit/s }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = eight
      parallel { tensor = 8  pipeline = 2 }
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: keep the tensor size within the domain and use pipeline ranks for the rest. If the fast link does span
    nodes, say so: `domain = 72` in the cluster. `--unsafe-fixes` makes the change where the help names only
    one.

Source: Narayanan et al., Efficient Large-Scale Language Model Training (2021), takeaway 1; Megatron-LM,
    parallel_state (tensor ranks are consecutive).

Versions: all.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, either, plural, ratio_text, speed_text
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.arithmetic import divide
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.rules._numbers import divides_world, known, nearest, options, tensor_fits, tensor_suits
from planc.rules._places import place, related
from planc.rules._repairs import Repair, fixes, helps, writing
from planc.rules.rule import Rule


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Groups of consecutive ranks that lie in more than one domain."""
    if facts["parallel.straddling"] == 0 or not divides_world(facts):
        return
    tensor, domain = facts["parallel.tensor"], facts["cluster.domain"]
    is_node = domain == facts["cluster.gpus_per_node"]
    unit = "node" if is_node else "domain"
    spanned = -(-tensor // domain) if domain < tensor else 2
    span = place(plan, "parallel.tensor")
    holds = f"a {unit} holds {plural(domain, 'rank')}"
    first = domain // tensor * tensor
    if domain < tensor:
        text = f"{holds}, so its all-reduces cross {unit}s"
    else:
        text = f"{holds}: the group of ranks {count_text(first)} to {count_text(first + tensor - 1)} lies in two"
    repairs = tuple(_advice(plan, facts))
    yield Diagnostic(
        f"tensor-parallel group of {plural(tensor, 'rank')} spans {plural(spanned, unit)}",
        Label(span, text),
        related(
            plan,
            span,
            ("cluster.gpus_per_node" if is_node else "cluster.domain", f"{plural(domain, 'rank')} a {unit}"),
            ("cluster.inter_node", _slower(facts)),
            ("parallel.pipeline", ""),
        ),
        help=helps(repairs),
        fixes=fixes(repairs),
    )


def _slower(facts: Facts) -> str:
    inter, intra = facts["cluster.inter_node"], facts["cluster.intra_node"]
    if not known(inter):
        return ""
    if not known(intra) or inter == 0 or intra <= inter:
        return speed_text(inter)
    return f"{speed_text(inter)}, {ratio_text(divide(intra, inter))} times slower than `intra_node`"


def _advice(plan: Plan, facts: Facts) -> Iterator[Repair]:
    tensor, pipeline, layers = facts["parallel.tensor"], facts["parallel.pipeline"], facts["model.layers"]
    unit = "node" if facts["cluster.domain"] == facts["cluster.gpus_per_node"] else "domain"
    suits, fits = tensor_suits(plan, facts), tensor_fits(plan, facts)
    # DeepSpeed has no pipeline beside stages 2 and 3 (PLN109), and FSDP2 in accelerate none at all.
    stage, engine = facts["shard.stage"], facts.engine.runtime
    by_accelerate = engine == "fsdp2" and plan.emits("accelerate", "transformers")
    unpiped = by_accelerate or (engine == "deepspeed" and (not known(stage) or 1 < stage))

    def deeper(size: int) -> int | None:
        """The pipeline size that takes up what a smaller tensor size leaves, if the layers allow it."""
        if unpiped:
            return None
        stages = pipeline * tensor // size if known(pipeline) and tensor % size == 0 else None
        return stages if stages is not None and (not known(layers) or layers % stages == 0) else None

    for size in nearest(
        tensor, lambda size: size < tensor and (fits(size) or (suits(size) and deeper(size) is not None))
    ):
        stages = deeper(size)
        choices = [("tensor", size)] + ([("pipeline", stages)] if stages is not None else [])
        shown = [options(name, (count,))[0] for name, count in choices]
        edits = writing(plan, *((f"parallel.{name}", count_text(count)) for name, count in choices))
        yield Repair(f"use {either(shown, 'and')} to keep each group on one {unit}", edits)


RULE = Rule(Severity.ERROR, "plan", check, ("parallel.straddling", "parallel.tensor", "cluster.domain"))

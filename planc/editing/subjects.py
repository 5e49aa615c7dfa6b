"""The plan that a block is, or the part of one, with what it derives: what an editor shows of a name."""

from __future__ import annotations

from typing import Any

from planc.compiler import plan_facts
from planc.editing.linking import Key, Linked, copied
from planc.explanation import field_of, value_text
from planc.facts.facts import FACTS
from planc.plan.evaluate import FAULTY
from planc.plan.model import Located, Origin, Plan, Record, Unknown
from planc.plan.resolve import resolve
from planc.plan.scope import Load, Made
from planc.plan.units import POWER
from planc.source import Span
from planc.targets import known_targets

#: What is shown of each kind of block: fields of the plan and derived numbers.
_SHOWN: dict[str, tuple[str, ...]] = {
    "gpu": ("cluster.gpu.memory", "cluster.gpu.usable_memory", "cluster.gpu.bf16", "cluster.gpu.fp8",
            "cluster.gpu.memory_bandwidth", "cluster.gpu.link", "cluster.gpu.power"),
    "cluster": ("world.size", "cluster.nodes", "cluster.gpus_per_node", "cluster.gpu", "cluster.gpu.memory",
                "cluster.domain", "cluster.intra_node", "cluster.inter_node"),
    "model": ("model.parameters", "model.total_parameters", "model.active_parameters", "model.layers", "model.hidden",
              "model.heads", "model.kv_heads", "model.head_dim", "model.ffn", "model.vocab", "model.family"),
    "plan": ("model", "cluster", "world.size", "parallel.tensor", "parallel.pipeline", "parallel.context",
             "parallel.data", "shard.stage", "batch.global", "batch.micro", "batch.accumulation", "batch.tokens",
             "precision", "memory.total", "memory.capacity", "pipeline.bubble"),
}  # fmt: skip

_ORIGINS = {
    Origin.WRITTEN: "written", Origin.DEFAULTED: "by default", Origin.INHERITED: "inherited",
    Origin.SOLVED: "worked out", Origin.ASSUMED: "from the file", Origin.OVERRIDDEN: "set for this run",
}  # fmt: skip

#: Where the fields of a block lie in the plan that it makes by itself.
_HOMES = {"gpu": ("cluster", "gpu"), "cluster": ("cluster",), "model": ("model",)}


def subject_of(linked: Linked, key: Key, load: Load) -> Plan | None:
    """The plan that a block is, or that holds it alone; None for a policy and for what cannot be read."""
    kind, _ = key
    if kind == "policy" or key not in linked.scope.blocks:
        return None
    source, block = linked.scope.source, linked.scope.blocks[key]
    # A template is looked at as the plan that it would be.
    shown = block._replace(kind="plan") if kind == "template" else block
    made: Made = {(source, True): copied(linked.scope, (shown,))}
    found = resolve((source,), load, known_targets(), (), made)
    plans = (*found.plans, *found.parts)
    return plans[0] if plans else None


def summary(plan: Plan, kind: str) -> tuple[tuple[str, str], ...]:
    """What is known of a block, each with its name and value in human units."""
    facts = plan_facts(plan)
    rows = []
    for path in _SHOWN.get("plan" if kind == "template" else kind, ()):
        if path not in FACTS and plan.find(path) is None:
            continue
        text = _text(path, facts[path])
        if text:
            rows.append((path, text))
    return tuple(rows)


def value_of(plan: Plan, kind: str, path: tuple[str, ...]) -> str:
    """The value of a field of a block, and how it came about; empty if there is none."""
    located = plan.find(".".join((*_HOMES.get(kind, ()), *path)))
    if located is None:
        return ""
    value = located.value
    if isinstance(value, Unknown) and not value.unset:
        return f"not known: {value.reason}" if value != FAULTY else "not known, as it has a fault"
    text = _located(".".join(path), located)
    return f"{text} ({_ORIGINS[located.origin]})" if text else ""


def place_of(plan: Plan, kind: str, path: tuple[str, ...]) -> Span | None:
    """Where the field of a block is written; None if it is not."""
    located = plan.find(".".join((*_HOMES.get(kind, ()), *path)))
    written = located is not None and located.origin in (Origin.WRITTEN, Origin.INHERITED)
    return located.entry if located is not None and written else None


def number_of(plan: Plan, path: str) -> str:
    """The value of a derived number of a plan; empty if it is not known."""
    return _text(path, plan_facts(plan)[path])


def _located(path: str, located: Located) -> str:
    value = located.value
    if isinstance(value, dict):
        return f"{len(value)} entries"
    if isinstance(value, Record):
        return f"`{value.word}`" if value.word and value.word != value.kind else ""
    return _text(path, value)


def _text(path: str, value: Any) -> str:
    if value is None or isinstance(value, Unknown):
        return ""
    field = field_of(path)
    text = value_text(path, value)
    if field is not None and field.type.dimensions == (POWER,):
        text = f"{text} W"
    return f"`{text}`" if text and "`" not in text else text

"""Which rank sits on which node, and with which ranks it makes a group along each axis: `explain --ranks`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from textwrap import wrap
from typing import Any, NamedTuple

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.text import visible
from planc.explanation import needs_text, reason_text
from planc.facts.engine import engines
from planc.facts.facts import Facts
from planc.facts.groups import GROUPS, Group, Layout, group_of, index_of, layout_of, members, size_of
from planc.plan.model import Plan, Unknown
from planc.showing.origins import place_text

_MOST_LINES = 64  # ranks of a table, where none are chosen
_MOST_DATA = 1024  # ranks of a document, where none are chosen
_FEW = 4  # ranks of a group that are written out, where they are no run

_HEADS = {name: name.replace("_", "-") for name in GROUPS} | {"data_context": "data+context"}


class Placement(NamedTuple):
    """The layout of a plan's ranks on its nodes, with the engines that make it so."""

    engines: tuple[str, ...]
    world: int
    per_node: int
    layout: Layout
    kinds: tuple[str, ...]


def world_of(plan: Plan) -> Any:
    """The number of ranks of a plan, or Unknown."""
    return Facts(plan, engines(plan)[0])["world.size"]


def ranks_text(plan: Plan, chosen: Sequence[range], width: int) -> str:
    """The groups of a plan and a table of its ranks: those that were chosen, else the first ones."""
    lines = [f"plan {visible(plan.name)} ({place_text(plan.span)})"]
    for found in _placements(plan):
        if isinstance(found, Unknown):
            needs = needs_text(plan, found.missing, len(found.missing))
            lines.append(f"no groups of ranks: {visible(reason_text(found))}{needs}")
            continue
        lines.extend(("", *_lines(found, chosen, width)))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def ranks_data(plan: Plan, chosen: Sequence[range]) -> list[dict[str, Any]]:
    """The same as data, one for each way in which the plan's trainers group its ranks."""
    return [
        {"engines": [], "unknown": reason_text(found), "missing": list(found.missing)}
        if isinstance(found, Unknown)
        else _data(found, chosen)
        for found in _placements(plan)
    ]


def _placements(plan: Plan) -> Sequence[Placement | Unknown]:
    """How each of the plan's engines groups the ranks, those that do alike together; or why there are no groups."""
    found: dict[Placement, tuple[str, ...]] = {}
    for engine in engines(plan):
        facts = Facts(plan, engine)
        layout = layout_of(facts)
        if isinstance(layout, Unknown):
            return [layout]
        if facts["parallel.expert"] == 1 and isinstance(facts["model.experts.count"], Unknown):
            layout = layout._replace(experts=())
        placement = Placement((), facts["world.size"], facts["cluster.gpus_per_node"], layout, _kinds(layout))
        found[placement] = (*found.get(placement, ()), engine.name)
    return [placement._replace(engines=names) for placement, names in found.items()]


def _kinds(layout: Layout) -> tuple[str, ...]:
    """The kinds of groups with more than one rank; of those that are the same, the first one."""
    found: dict[tuple[bool, Group], str] = {}
    for name, (of_experts, _) in GROUPS.items():
        group = group_of(layout, name, 0)
        if 1 < size_of(group):
            found.setdefault((of_experts, group), name)
    return tuple(found.values())


def _shown(found: Placement, chosen: Sequence[range], most: int) -> list[int]:
    """The ranks that are shown, each once, in the order in which they were chosen."""
    ranks: Iterable[int] = (rank for part in chosen for rank in part) if chosen else range(min(found.world, most))
    return list(dict.fromkeys(ranks))


def _lines(found: Placement, chosen: Sequence[range], width: int) -> Iterator[str]:
    count = -(-found.world // found.per_node)
    ranks = f"{plural(found.world, 'rank')} on {plural(count, 'node')} of {plural(found.per_node, 'card')}"
    yield f"{', '.join(found.engines)}: {ranks}"
    if not found.kinds:
        yield "no rank shares anything with another"
    shown = _shown(found, chosen, _MOST_LINES)
    rows = [("groups", "count", "ranks", "nodes", "of rank 0")]
    for name in found.kinds:
        group = group_of(found.layout, name, 0)
        size, nodes = size_of(group), {_num_nodes(group_of(found.layout, name, rank), found.per_node) for rank in shown}
        spread = "-".join(map(str, sorted({min(nodes), max(nodes)})))
        rows.append((_HEADS[name], count_text(found.world // size), count_text(size), spread, _group_text(group)))
    if found.kinds:
        yield from ("", *_table(rows, left=(0, 4)))
    cells = [("rank", "node", "card", *(_HEADS[name] for name in found.kinds))]
    for rank in shown:
        groups = (_group_text(group_of(found.layout, name, rank)) for name in found.kinds)
        cells.append((str(rank), str(rank // found.per_node), str(rank % found.per_node), *groups))
    yield from ("", *_table(cells, left=range(3, 3 + len(found.kinds))))
    notes = ["`nodes` is how many nodes a group sits on; `0-7` are eight ranks in a row, `0-56/8` every eighth one."]
    notes = notes if found.kinds else []
    if not chosen and len(shown) < found.world:
        more, last = found.world - len(shown), min(found.world, 2 * _MOST_LINES) - 1
        notes.append(f"{plural(more, 'more rank')}: choose some with `--rank`, such as `--rank {len(shown)}-{last}`.")
    yield from ("", *wrap(" ".join(notes), width)) if notes else ()


def _table(rows: Sequence[tuple[str, ...]], left: Iterable[int]) -> list[str]:
    """Lines of equal columns, words to the left and numbers to the right."""
    to_left = set(left)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(
            f"{cell:<{size}}" if place in to_left else f"{cell:>{size}}"
            for place, (cell, size) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]  # fmt: skip


def _group_text(group: Group) -> str:
    """The ranks of a group: `5`, `0-7` in a row, `0-56/8` every eighth, `0,1,8,9,...` in several steps."""
    if not group.steps:
        return str(group.first)
    if len(group.steps) == 1:
        ((size, stride),) = group.steps
        last = group.first + (size - 1) * stride
        return f"{group.first}-{last}" + ("" if stride == 1 else f"/{stride}")
    few = ",".join(map(str, islice(members(group), _FEW)))
    return few if size_of(group) <= _FEW else f"{few},..."


def _num_nodes(group: Group, per_node: int) -> int:
    """The number of nodes on which the ranks of a group sit."""
    if 1 < len(group.steps):
        return len({rank // per_node for rank in members(group)})
    size, stride = group.steps[0] if group.steps else (1, 1)
    last = group.first + (size - 1) * stride
    return size if per_node <= stride else last // per_node - group.first // per_node + 1


def _data(found: Placement, chosen: Sequence[range]) -> dict[str, Any]:
    shown = _shown(found, chosen, _MOST_DATA)
    return {
        "engines": list(found.engines),
        "world": found.world,
        "gpus_per_node": found.per_node,
        "groups": [_kind_data(found, name) for name in GROUPS if name in found.kinds],
        "ranks": [
            {
                "rank": rank,
                "node": rank // found.per_node,
                "local_rank": rank % found.per_node,
                "groups": {
                    name: {
                        "index": index_of(found.layout, name, rank),
                        "first": group_of(found.layout, name, rank).first,
                        "nodes": _num_nodes(group_of(found.layout, name, rank), found.per_node),
                    }
                    for name in found.kinds
                },
            }
            for rank in shown
        ],
        "left_out": 0 if chosen else found.world - len(shown),
    }


def _kind_data(found: Placement, name: str) -> dict[str, Any]:
    """What all groups of a kind have in common: the ranks of one are `first` + i x stride + ... with i < size."""
    group = group_of(found.layout, name, 0)
    steps = [{"size": size, "stride": stride} for size, stride in group.steps]
    return {"name": name, "size": size_of(group), "count": found.world // size_of(group), "steps": steps}

"""A job as a plan to keep: with what was assumed, what is missing, and what no field stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from planc.diagnostics.text import visible
from planc.format.formatting import format_text
from planc.native.composing import NOTHING, Parts, Remarks, compose
from planc.native.job import Job, targets_of
from planc.native.kind import Said
from planc.native.tables import consumers, load_table
from planc.native.tree import Entry, Map, Node, Scalar, Seq
from planc.plan.model import Unknown
from planc.plan.schema import SECTIONS, Field
from planc.source import Source, Span

#: A global batch that follows from its factors, which every plan writes out.
_GLOBAL = "batch.global"

#: Sections that say nothing of a plan which has no ranks on their axis.
_OF_AXIS = {"pipeline": "parallel.pipeline", "context": "parallel.context"}

#: Keys that are listed one by one; nobody reads on.
_MOST_LISTED = 200

#: Characters of a value that is listed.
_LONGEST = 80


class Left(NamedTuple):
    """A key that a consumer reads and no field of the plan stands for: its file, its whole path, its value."""

    file: str
    key: str
    value: str


class Plan(NamedTuple):
    """The text of a plan, None if it would be too long, and what is not in it."""

    text: str | None
    left: tuple[Left, ...]


def plan_of(job: Job, name: str, parts: Parts = NOTHING, world: int | None = None) -> Plan:
    """The plan of a job, in the canonical layout.

    parts: the cluster and the model, as the file that is written refers to them; world: ranks, if they are known.
    """
    said = sorted((*job.said, *_worked_out(job)), key=lambda each: _place(each.path))
    remarks = Remarks(_beside, lambda path, word, fields: _missing(job, path, word, fields, world))
    composed = compose(said, targets_of(job.files, job.contents), name, parts, remarks)
    left = tuple(_left(job, frozenset(each.said.path for each in composed.ranges)))
    names = ", ".join(dict.fromkeys(visible(file.tree.source.name) for file in job.files))
    lines = [f"# Made by `planc import` of {names}.", composed.source.text, *_listed(left)]
    return Plan(format_text("\n".join(lines) + "\n"), left)


def _worked_out(job: Job) -> Iterator[Said]:
    """The global batch where files say its factors only: a plan has to write it."""
    if any(each.path == _GLOBAL for each in job.said):
        return
    for plan in job.plans[:1]:
        value = plan.value(_GLOBAL)
        if not isinstance(value, Unknown):
            nowhere = Span(job.composed.source, 0, 0)
            yield Said(_GLOBAL, str(value), nowhere, nowhere, "")


def _place(path: str) -> tuple[int, ...]:
    """Where a field stands among those of its section, as the language lists them."""
    kind, place = "plan", []
    for name in path.split("."):
        names = [field.name for field in SECTIONS.get(kind, ())]
        place.append(names.index(name) if name in names else len(names))
        kind = next((field.type.of for field in SECTIONS.get(kind, ()) if field.name == name), "")
    return tuple(place)


def _beside(said: Said) -> str:
    if said.assumed:
        file, key = visible(said.entry.source.name), visible(said.key)
        return f"follows from `{key}` of {file}" if said.follows else f"assumed: {file} has no `{key}`"
    return "micro batch x accumulation x replicas" if said.path == _GLOBAL and not said.key else ""


def _missing(
    job: Job, path: tuple[str, ...], word: str | None, fields: tuple[str, ...], world: int | None
) -> Iterator[str]:
    """Lines for the fields that a plan has to have, or has a default for that the files' consumers need not share."""
    kind = _kind_at(path)
    section = next((field for field in SECTIONS["plan"] if path == (field.name,)), None)
    if section is not None and word is None and section.name in job.withheld and _matters(job, section):
        yield f"no file says which {section.name} it is; `{section.default}` if the word is left out"
    if path in (("model",), ("cluster",)) and word is not None:
        return  # the block that it refers to has them
    for field in SECTIONS.get(kind, ()):
        if field.name in fields or (field.only and word not in field.only):
            continue
        due = [inner.name for inner in SECTIONS.get(field.type.of, ()) if inner.required]
        if field.required:
            known = _known_of_world(path, field, fields, world)
            yield f"{field.name} = ...  # no file says it{known}"
        elif field.type.form == "record" and field.default == {} and due:
            yield f"{field.name} {{ {'  '.join(f'{name} = ...' for name in due)} }}  # no file says it"
        elif not path and field.name in job.withheld and _matters(job, field):
            yield f"{field.name} = ...  # no file says it; `{field.default}` if it is left out"


def _matters(job: Job, field: Field) -> bool:
    """Whether a plan without a section has one of its default word, which changes its numbers."""
    axis = _OF_AXIS.get(field.name)
    used = axis is None or any(each.path == axis and each.text != "1" for each in job.said)
    return field.type.form == "variant" and field.default is not None and used


def _known_of_world(path: tuple[str, ...], field: Field, fields: tuple[str, ...], world: int | None) -> str:
    if world is None or path != ("cluster",) or field.name not in ("nodes", "gpus_per_node"):
        return ""
    return f"; `nodes` x `gpus_per_node` is {world}"


def _kind_at(path: tuple[str, ...]) -> str:
    kind = "plan"
    for name in path:
        kind = next((field.type.of for field in SECTIONS.get(kind, ()) if field.name == name), "")
    return kind


def _listed(left: tuple[Left, ...]) -> Iterator[str]:
    if not left:
        return
    yield "# Not in this plan, since no field stands for it:"
    for each in left[:_MOST_LISTED]:
        yield f"#   {each.file}: {each.key} = {each.value}"
    if _MOST_LISTED < len(left):
        yield f"#   and {len(left) - _MOST_LISTED} more"


def _left(job: Job, paths: frozenset[str]) -> Iterator[Left]:
    """The keys of all files that no field of these stands for, and that say more than their default."""
    covered: dict[Source, list[Span]] = {}
    for each in job.said:
        if not each.assumed and each.path in paths:
            covered.setdefault(each.entry.source, []).append(each.entry)
    for content in job.contents:
        for reference in content.references:
            covered.setdefault(reference.span.source, []).append(reference.span)
    known = set(consumers())
    for file in job.files:
        table = load_table(file.kind.name).keys if file.kind.name in known else {}
        spans = covered.get(file.tree.source, [])
        seen = set[int]()
        for root in file.tree.roots:
            for key, entry, row in _leaves(root, "", table, seen):
                if not _is_covered(entry, spans) and not _says_nothing(entry.value, row):
                    yield Left(visible(file.tree.source.name), key, _shown(entry.value))


def _leaves(node: Node, path: str, rows: dict[str, Any], seen: set[int]) -> Iterator[tuple[str, Entry, dict[str, Any]]]:
    """The entries without parts below a node, each once, with their rows of the table."""
    if id(node) in seen or not isinstance(node, Map):
        return
    seen.add(id(node))
    for entry in node.entries:
        key = f"{path}{visible(entry.name)}"
        row = rows.get(entry.name, {})
        inner = entry.value.items if isinstance(entry.value, Seq) else (entry.value,)
        parts = [item for item in inner if isinstance(item, Map) and item.entries]
        if not parts:
            yield key, entry, row
        row = row.get("items", {}) if isinstance(entry.value, Seq) else row
        for at, item in enumerate(parts):
            below = f"{key}[{at}]." if isinstance(entry.value, Seq) else f"{key}."
            yield from _leaves(item, below, row.get("keys", {}), seen)


def _is_covered(entry: Entry, spans: list[Span]) -> bool:
    """Whether what was said holds an entry, or its value."""
    value = entry.value.span
    return any(
        (span.start <= entry.span.start and entry.span.end <= span.end)
        or (value.start <= span.start and span.end <= value.end)
        for span in spans
    )


def _says_nothing(value: Node, row: dict[str, Any]) -> bool:
    """Whether a value is none, left to another to fill in, or what the consumer takes anyway."""
    if not isinstance(value, Scalar):
        return isinstance(value, (Map, Seq)) and not (value.entries if isinstance(value, Map) else value.items)
    if value.value is None or value.value == "auto":
        return True
    default = row.get("default")
    return default is not None and default == value.value and isinstance(default, bool) == isinstance(value.value, bool)


def _shown(value: Node) -> str:
    text = " ".join(value.span.text.split())
    return visible(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}...")

"""A job as a plan to keep: with what was assumed, what is missing, and what no field stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from planc.diagnostics.text import visible
from planc.format.formatting import format_text
from planc.native.composing import NOTHING, Composed, Parts, Remarks, compose
from planc.native.job import ALONE, Beside, Job, targets_of
from planc.native.kind import Said
from planc.native.leftover import Left, left_of
from planc.native.refusals import Refusals, refusals
from planc.plan.model import Unknown
from planc.plan.schema import SECTIONS, Field
from planc.plan.scope import Load
from planc.source import Span
from planc.targets import load_target

#: A global batch that follows from its factors, which every plan writes out.
_GLOBAL = "batch.global"

#: What follows from the trainers of a plan.
_GRADIENTS = "precision.gradients"

#: Sections that say nothing of a plan which has no ranks on their axis.
_OF_AXIS = {"pipeline": "parallel.pipeline", "context": "parallel.context"}

#: Keys that are listed one by one; nobody reads on.
_MOST_LISTED = 200


class Missing(NamedTuple):
    """What a plan needs, or has a default for that the files' consumers need not share.

    path: the field; text: as it is written, with `...` for its value, or empty for the word of a section that is
    there; reason: why it is not known, and what follows.
    """

    path: str
    text: str
    reason: str


class Plan(NamedTuple):
    """The text of a plan, None if it would be too long, and what it is made of.

    said: the values that stand in it; missing: what it lacks; left: what no field of it stands for; refused: targets of
    the files that cannot write it, each with the reason.
    """

    text: str | None
    said: tuple[Said, ...]
    missing: tuple[Missing, ...]
    left: tuple[Left, ...]
    refused: tuple[tuple[str, str], ...]


def plan_of(job: Job, name: str, load: Load, beside: Beside = ALONE, parts: Parts = NOTHING) -> Plan:
    """The plan of a job, in the canonical layout.

    load, beside: how the job was read; parts: the cluster and the model, as the file that is written refers to them.
    """
    said = sorted((*job.said, *_worked_out(job)), key=lambda each: _place(each.path))
    found = _refusals(job, said, beside.parts, load)
    said = [each for each in said if each.path not in found.dropped]
    said = sorted((*said, *_of_refused(job, found)), key=lambda each: _place(each.path))
    lacking = _Lacking(job, said, found, beside.world)
    remarks = Remarks(_beside, lacking.lines)
    composed = compose(said, found.targets, name, parts, remarks)
    left = tuple(left_of(job, frozenset(each.said.path for each in composed.ranges)))
    names = ", ".join(dict.fromkeys(visible(file.tree.source.name) for file in job.files))
    lines = [f"# Made by `planc import` of {names}.", composed.source.text, *_refused(found), *_listed(left)]
    return Plan(format_text("\n".join(lines) + "\n"), _said_in(composed), tuple(lacking.found), left, found.refused)


def _refusals(job: Job, said: Sequence[Said], parts: Parts, load: Load) -> Refusals:
    """What the targets refuse; a launcher beside which a trainer cannot write the plan is itself left out."""
    trainers = targets_of(job.units, job.contents)
    starters = tuple(target for content in job.contents for target in content.starters if target not in trainers)
    found, alone = (refusals(said, targets, parts, load) for targets in ((*trainers, *starters), trainers))
    reasons = [reason for target, reason in found.refused if target in alone.targets]
    if not reasons:
        return found
    return alone._replace(refused=(*alone.refused, *((starter, reasons[0]) for starter in starters)))


def _said_in(composed: Composed) -> tuple[Said, ...]:
    return tuple(each.said for each in composed.ranges)


def _worked_out(job: Job) -> Iterator[Said]:
    """The global batch where files say its factors only: a plan has to write it."""
    if any(each.path == _GLOBAL for each in job.said):
        return
    for plan in job.plans[:1]:
        value = plan.value(_GLOBAL)
        if not isinstance(value, Unknown):
            nowhere = Span(job.composed.source, 0, 0)
            yield Said(_GLOBAL, str(value), nowhere, nowhere, "")


def _of_refused(job: Job, found: Refusals) -> Iterator[Said]:
    """The dtype of gradients that follows from trainers of the files, where one is not emitted."""
    paths = {each.path for each in job.said}
    trainers = [target for target, _ in found.refused if load_target(target).trains]
    if not trainers or "precision" not in paths or _GRADIENTS in paths.union(job.withheld):
        return
    for plan in job.plans[:1]:
        located = plan.find(_GRADIENTS)
        if located is not None and isinstance(located.value, str):
            nowhere = Span(job.composed.source, 0, 0)
            yield Said(_GRADIENTS, located.value, nowhere, nowhere, trainers[0], assumed=True)


def _place(path: str) -> tuple[int, ...]:
    """Where a field stands among those of its section, as the language lists them."""
    kind, place = "plan", []
    for name in path.split("."):
        names = [field.name for field in SECTIONS.get(kind, ())]
        place.append(names.index(name) if name in names else len(names))
        kind = next((field.type.of for field in SECTIONS.get(kind, ()) if field.name == name), "")
    return tuple(place)


def _beside(said: Said) -> str:
    if said.path == _GRADIENTS and said.entry.start == said.entry.end:
        return f"as {said.key} has it"
    if said.assumed:
        file, key = visible(said.entry.source.name), visible(said.key)
        return f"follows from `{key}` of {file}" if said.follows else f"assumed: {file} has no `{key}`"
    return "micro batch x accumulation x replicas" if said.path == _GLOBAL and not said.key else ""


class _Lacking:
    """What the sections of a plan lack, noted while they are written."""

    __slots__ = ("_job", "_sections", "_wanted", "_words", "_world", "found")

    def __init__(self, job: Job, said: Sequence[Said], refused: Refusals, world: int | None) -> None:
        self._job = job
        self._world = world
        self._wanted = _wanted(job, refused)
        paths = [each.path.split(".") for each in said if not each.path.startswith("emit.")]
        self._words = {each.path: each.text for each in said}
        self._sections = {".".join(path[:length]) for path in paths for length in range(1, len(path))}
        self.found: list[Missing] = []

    def lines(self, path: tuple[str, ...], word: str | None, fields: tuple[str, ...]) -> Iterator[str]:
        """The comments at the end of a section."""
        by_name: dict[str, list[Missing]] = {}
        for each in self._of(path, word, fields):
            self.found.append(each)
            by_name.setdefault(each.text.partition(" ")[0], []).append(each)
        return (_line(marks, self._words.get(".".join((*path, name)))) for name, marks in by_name.items())

    def _of(self, path: tuple[str, ...], word: str | None, fields: tuple[str, ...]) -> Iterator[Missing]:
        at = ".".join(path)
        section = next((field for field in SECTIONS["plan"] if path == (field.name,)), None)
        if section is not None and word is None and section.name in self._job.withheld and _matters(self._job, section):
            reason = f"no file says which {section.name} it is; `{section.default}` if the word is left out"
            yield Missing(at, "", reason)
        if path in (("model",), ("cluster",)) and word is not None:
            return  # the block that it refers to has them
        marked: set[str] = set()
        for field in SECTIONS.get(_kind_at(path), ()):
            own = ".".join((*path, field.name))
            if field.name in fields and own not in self._sections and field.type.form == "variant":
                for inner in SECTIONS.get(field.type.of, ()):
                    if inner.required and self._words.get(own) in inner.only:
                        yield Missing(f"{own}.{inner.name}", _text_of((field.name, inner.name)), "no file says it")
            if field.name in fields or (field.only and word not in field.only):
                continue
            why = self._reason(path, field, word)
            if why is not None:
                marked.add(own)
                due = [each.name for each in SECTIONS.get(field.type.of, ()) if each.required]
                if field.required or field.type.form != "record" or not due:
                    yield Missing(own, _text_of((field.name,)), why)
                    continue
                for each in due:
                    yield Missing(f"{own}.{each}", _text_of((field.name, each)), why)
        for inner_path, (why, is_needed) in self._wanted.items():
            names = inner_path.split(".")
            here = ".".join(names[: len(path) + 1])
            is_below = tuple(names[: len(path)]) == path and len(path) < len(names)
            if here in fields and here in ("model", "cluster"):
                continue  # a reference
            if is_below and here not in self._sections and (is_needed or here not in marked):
                yield Missing(inner_path, _text_of(names[len(path) :]), why)

    def _reason(self, path: tuple[str, ...], field: Field, word: str | None) -> str | None:
        """Why a field without a value is to be filled in; None if it need not be."""
        if field.required:
            return f"no file says it{self._known_of_world(path, field)}"
        has_due = any(inner.required for inner in SECTIONS.get(field.type.of, ()))
        if field.type.form == "record" and field.default == {} and has_due:
            return "no file says it"
        if not path and field.name in self._job.withheld and _matters(self._job, field):
            return f"no file says it; `{field.default}` if it is left out"
        return None

    def _known_of_world(self, path: tuple[str, ...], field: Field) -> str:
        is_count = path == ("cluster",) and field.name in ("nodes", "gpus_per_node")
        if self._world is None or not (is_count or (*path, field.name) == ("cluster",)):
            return ""
        return f"; `nodes` x `gpus_per_node` is {self._world}"


def _wanted(job: Job, refused: Refusals) -> Mapping[str, tuple[str, bool]]:
    """Fields beside those that every plan needs, each with the reason and whether a target asks for it; else a file
    decides it in a way of its own.
    """
    found = {path: (f"no file says it; {target} needs it", True) for path, target in refused.needed}
    said = {each.path for each in job.said}
    for content in job.contents:
        withheld = (*content.withheld, *(("model.experts",) if "model" in content.withheld else ()))
        for path in (*content.hidden, *withheld):
            if "." in path and path not in said:
                found.setdefault(path, (_by_default(path, path in content.hidden), False))
    return found


def _by_default(path: str, hidden: bool) -> str:
    """Why a field is open that a file decides, and what it is if it is left out."""
    *sections, name = path.split(".")
    field = next((each for each in SECTIONS.get(_kind_at(tuple(sections)), ()) if each.name == name), None)
    reason = "only the run knows it" if hidden else "the files leave it open"
    default = None if field is None else field.default
    if isinstance(default, bool):
        return f"{reason}; `{str(default).lower()}` if it is left out"
    return f"{reason}; `{default}` if it is left out" if isinstance(default, (int, float, str)) else reason


def _line(marks: Sequence[Missing], word: str | None) -> str:
    """The comment that stands in the plan for what lacks in one place: a section with all its fields.

    word: which one it is, where the plan says that in a line without any field.
    """
    parts = [each.reason.split("; ") for each in marks]
    is_head = [len(marks) == 1 or " {" not in each.text for each in marks]
    reasons = dict.fromkeys(
        part
        for own, head in zip(parts, is_head, strict=True)
        for part in own
        if head or part.endswith(" needs it") or all(part in other for other in parts)
    )
    if not marks[0].text:
        return "; ".join(reasons)
    name = marks[0].text.partition(" ")[0]
    heads = [each.text for each in marks if not each.text.startswith(f"{name} {{")]
    inner = [each.text[len(name) + 3 : -2] for each in marks if each.text.startswith(f"{name} {{")]
    start = heads[0] if heads else name if word is None else f"{name} = {word}"
    text = " ".join((start, *((f"{{ {'  '.join(inner)} }}",) if inner else ())))
    place = () if heads or word is None else (f"in place of `{start}`",)
    return f"{text}  # {'; '.join((*place, *reasons))}"


def _text_of(names: Sequence[str]) -> str:
    """A field with its sections: `launch { script = ... }`."""
    *sections, name = names
    if sections[:1] == ["emit"]:  # an option of a target
        return f"emit = [{sections[1]} {{ {name} = ... }}]"
    return "".join(f"{each} {{ " for each in sections) + f"{name} = ..." + " }" * len(sections)


def _refused(found: Refusals) -> Iterator[str]:
    """Why targets of the files are not in `emit`."""
    if found.refused:
        yield "# Not in `emit`, since it cannot write this plan:"
        for target, reason in found.refused:
            yield f"#   {target}: {visible(reason)}"


def _matters(job: Job, field: Field) -> bool:
    """Whether a plan without a section has one of its default word, which changes its numbers."""
    axis = _OF_AXIS.get(field.name)
    used = axis is None or any(each.path == axis and each.text != "1" for each in job.said)
    return field.type.form == "variant" and field.default is not None and used


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

"""Why a number is what it is: the tree of its terms, down to the fields that were written.

A subtree that stands in the tree already is not written again, so that a tree is as long as the numbers that it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any, NamedTuple

from planc.diagnostics.text import visible
from planc.explanation import (
    STEP_TIME,
    field_of,
    given_of,
    plain,
    reason_text,
    short_text,
    stage_of,
    value_text,
    view_of,
)
from planc.facts.engine import engines
from planc.facts.evidence import evidence_of
from planc.facts.facts import FACTS, STAGE, Facts, of_experts
from planc.plan.model import Located, Origin, Plan, Record, Unknown
from planc.plan.solve import equation_of
from planc.showing.origins import origin_text

_PART = re.compile(r"[^._\s]+")
_MOST_ALIKE = 4  # numbers that are named for what is none
_MOST_STAGES = 8  # whose values stand beside that of the fullest


class Term(NamedTuple):
    """A number or field of the tree with what it was made of; `at` is the place of a field, None for a derived number.

    repeated: its terms stand further up, where the same number is met first.
    """

    path: str
    value: Any
    text: str
    meaning: str
    formula: str
    source: str
    assumes: str
    where: tuple[str, ...]
    origin: str
    at: Located | None
    repeated: bool
    terms: tuple[Term, ...]


class Tree(NamedTuple):
    """The terms of one number for the engines that give it this value, of these terms."""

    engines: tuple[str, ...]
    root: Term


def is_path(plan: Plan, path: str) -> bool:
    """Whether a path names a derived number or a field."""
    return path in FACTS or plan.find(path) is not None or field_of(path) is not None


def known_paths(plans: list[Plan]) -> list[str]:
    """The derived numbers, and the fields that the plans have."""
    fields = (path for plan in plans for path in _paths(plan, ""))
    return list(dict.fromkeys((*FACTS, *fields)))


def named_like(word: str, known: Iterable[str]) -> list[str]:
    """The paths that have all parts of a word among theirs, `mfu` or `energy cost`: whole names and totals first."""
    parts = set(_PART.findall(word))
    found = [(path, _PART.findall(path)) for path in known]
    alike = [(path, own) for path, own in found if parts and parts <= set(own)]
    alike.sort(key=lambda pair: (pair[0].rpartition(".")[2] != word, "total" not in pair[1], len(pair[1])))
    return [path for path, _ in alike][:_MOST_ALIKE]


def trees(plan: Plan, path: str, given: dict[str, Any]) -> tuple[Tree, ...]:
    """The tree of a number for each engine that trains the plan, one for those with the same tree."""
    found: list[Tree] = []
    for engine in engines(plan):
        facts = Facts(plan, engine, given)
        root = _term(view_of(facts, path), path, set())
        alike = [at for at, tree in enumerate(found) if _same(tree.root, root)]
        if alike:
            found[alike[0]] = Tree((*found[alike[0]].engines, engine.name), found[alike[0]].root)
        else:
            found.append(Tree((engine.name,), root))
    return tuple(found)


def tree_text(tree: Tree, of_several: bool, width: int) -> str:
    """The tree as indented lines of at most `width` columns, as far as words allow."""
    engine = f" [{', '.join(tree.engines)}]" if of_several else ""
    root = tree.root
    if root.path not in FACTS and isinstance(root.value, Unknown) and root.value.unset:
        section, _, name = root.path.rpartition(".")
        alike = named_like(name, [path for path in FACTS if path.rpartition(".")[0] == section])
        engine += f"; derived: {', '.join(f'`{path}`' for path in alike)}" if alike else ""
    return "".join(f"{line.rstrip()}\n" for line in _lines(tree.root, ("", ""), width, engine, set()))


def tree_data(tree: Tree) -> dict[str, Any]:
    """The tree as `schemas/explain.schema.json` describes it."""
    return {"engines": list(tree.engines), "term": _data(tree.root)}


def _paths(record: Record, prefix: str) -> Iterator[str]:
    for name, located in record.fields.items():
        yield prefix + name
        if isinstance(located.value, Record):
            yield from _paths(located.value, f"{prefix}{name}.")


def _term(facts: Facts, path: str, seen: set[str]) -> Term:
    value = facts[path]
    text = reason_text(value) if isinstance(value, Unknown) else value_text(path, value)
    repeated, located = path in seen, None
    seen.add(path)
    if path in FACTS:
        meaning, formula, source, assumes, where = evidence_of(FACTS[path].formula.__doc__)
        inputs, origin = _inputs(facts, path, value), ""
    else:
        located = None if path == STAGE or path.startswith("engine.") else facts.plan.find(path)
        field = field_of(path)
        solved = located is not None and located.origin is Origin.SOLVED
        meaning, formula = field.doc if field is not None else "", equation_of(path) if solved else ""
        source = assumes = ""
        where = ()
        inputs = tuple(_others(path)) if solved else ()
        origin = "" if isinstance(value, Unknown) and value.unset else _origin(facts, path, located)
    terms = () if repeated else tuple(_terms(facts, inputs, seen))
    repeated = repeated and bool(inputs)
    return Term(path, value, text, meaning, formula, source, assumes, where, origin, located, repeated, terms)


def _terms(facts: Facts, names: tuple[str, ...], seen: set[str]) -> Iterator[Term]:
    """The terms with these names; of what is taken of all stages that of the fullest one, with the others beside it."""
    for name in names:
        own = name.removesuffix("[]")
        if own == STAGE and own != name:
            continue
        if of_experts(own) and not facts.has_experts:
            continue
        view = view_of(facts, own) if own != name else facts
        term = _term(view, own, seen)
        yield term if own == name else term._replace(origin=_beside(facts, own))


def _beside(facts: Facts, path: str) -> str:
    """What a number is of, and what it is on other stages."""
    stages = facts.stages
    if isinstance(stages, Unknown) or len(stages) < 2:
        return ""
    shown = [f"{stage[STAGE]}: {short_text(path, stage[path])}" for stage in stages[:_MOST_STAGES]]
    more = f", and {len(stages) - _MOST_STAGES} more" if _MOST_STAGES < len(stages) else ""
    return f"{stage_of(facts)} is the fullest; {', '.join(shown)}{more}"


def _inputs(facts: Facts, path: str, value: Any) -> tuple[str, ...]:
    """What a formula was given, and what it lacks."""
    given = tuple(name for name, _ in given_of(facts, FACTS[path].inputs))
    if not isinstance(value, Unknown):
        return given
    names = (name.rstrip("?~") for name in FACTS[path].inputs)
    return tuple(dict.fromkeys((*given, *(name for name in names if name in value.missing))))


def _others(path: str) -> Iterator[str]:
    """The fields of the equation from which a field follows."""
    for word in equation_of(path).split():
        if word not in ("x", "=", path):
            yield word


def _origin(facts: Facts, path: str, located: Located | None) -> str:
    if path.startswith("engine."):
        return f"engine {facts.engine.name}"
    if path == STEP_TIME:
        return "`--step-time`"
    if path == STAGE:
        return "the fullest stage"
    return "" if located is None else origin_text("", located)


def _same(left: Term, right: Term) -> bool:
    """Whether two engines have the same tree; what they say of themselves is left out."""
    mine, other = (term._replace(value=None, at=None, origin="", terms=()) for term in (left, right))
    return mine == other and len(left.terms) == len(right.terms) and all(map(_same, left.terms, right.terms))


def _lines(term: Term, before: tuple[str, str], width: int, engine: str, told: set[str]) -> Iterator[str]:
    """`before` stands before the first line of a term and of the others; `told` is what was explained further up."""
    first, rest = before
    unknown = "unknown: " if isinstance(term.value, Unknown) else ""
    is_field = term.path not in FACTS
    behind = "  (see above)" if term.repeated else f"  {term.origin if is_field else ''}".rstrip()
    yield f"{first}{term.path} = {unknown}{visible(term.text)}{engine}{behind}"
    below = rest + ("|  " if term.terms else "   ")
    if not term.repeated:
        meaning, stages = ("", "") if is_field else (term.meaning, term.origin)
        shown = (("", meaning), ("stages:  ", stages), ("formula: ", term.formula), ("source:  ", term.source))
        for label, text in (*shown, ("assumes: ", term.assumes), *_where(term, told)):
            yield from _wrapped(label, visible(text), below, width)
    for at, child in enumerate(term.terms, start=1):
        last = at == len(term.terms)
        drawn = (f"{rest}{'`' if last else '|'}- ", rest + ("   " if last else "|  "))
        yield from _lines(child, drawn, width, "", told)


def _where(term: Term, told: set[str]) -> Iterator[tuple[str, str]]:
    """What stands in a formula, as far as it was not told further up."""
    for text in term.where:
        if text not in told:
            told.add(text)
            yield "where:   ", text


def _wrapped(label: str, text: str, before: str, width: int) -> Iterator[str]:
    lines = wrap(text, max(40, width - len(before) - len(label)), break_long_words=False, break_on_hyphens=False)
    for at, line in enumerate(lines):
        yield f"{before}{label if at == 0 else ' ' * len(label)}{line}"


def _data(term: Term) -> dict[str, Any]:
    found: dict[str, Any] = {
        "path": term.path,
        "known": not isinstance(term.value, Unknown),
        "value": plain(term.value),
        "text": term.text,
        "meaning": term.meaning,
        "formula": term.formula,
        "source": term.source,
        "assumes": term.assumes,
        "where": list(term.where),
        "origin": term.origin,
        "repeated": term.repeated,
        "terms": [_data(child) for child in term.terms],
    }
    if term.at is not None:
        span = term.at.span
        found |= {"file": span.source.name, "line": span.line, "column": span.column}
    return found

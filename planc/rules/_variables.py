"""Texts of a plan's maps, environment variables above all: what they are, where they stand, how they change."""

from __future__ import annotations

import re
from functools import cache

from planc.diagnostics.diagnostic import Edit, Fix
from planc.plan.evaluate import version_key
from planc.plan.model import Origin, Plan
from planc.rules._places import key_place
from planc.source import Span

_ENVIRONMENT = "launch.env"


def variables(plan: Plan) -> dict[str, str]:
    """The environment variables that the plan sets; none where the map is not set or faulty."""
    return texts(plan, _ENVIRONMENT)


def texts(plan: Plan, path: str) -> dict[str, str]:
    """The texts of a map by key; none where it is not set or faulty."""
    found = plan[path].value
    return {key: text for key, text in found.items() if isinstance(text, str)} if isinstance(found, dict) else {}


def cuda_of(plan: Plan) -> tuple[str, str] | None:
    """The CUDA of a plan, and the key of `versions` that states it: its own, or that of a build of PyTorch.

    The wheels of PyTorch name theirs: `2.9+cu130` is built for 13.0.
    """
    stated = texts(plan, "versions")
    if "cuda" in stated:
        return stated["cuda"], "cuda"
    built = re.search(r"\+cu(\d+)(\d)$", stated.get("torch", ""))
    return (f"{built[1]}.{built[2]}", "torch") if built else None


def version(plan: Plan, name: str) -> tuple[int, ...] | None:
    """The version of a consumer in a form that has an order; None where the plan does not state it."""
    text = texts(plan, "versions").get(name)
    return None if text is None else version_key(text)


def is_on(text: str) -> bool:
    """Whether a variable that counts switches something on: any number but 0."""
    return text.strip().lstrip("+-").isdigit() and int(text) != 0


def variable_place(plan: Plan, name: str) -> Span:
    """The whole entry of a variable, `NAME = "text"`."""
    return text_place(plan, _ENVIRONMENT, name)


def text_place(plan: Plan, path: str, key: str) -> Span:
    """The whole entry of a key in a map of texts, `key = "text"`; the map's entry if it is not found."""
    place = key_place(plan, path, key)
    value = _pattern().match(place.source.text, place.end)
    return place if value is None else Span(place.source, place.start, value.end(1))


def with_text(plan: Plan, path: str, key: str, text: str) -> tuple[Fix, ...]:
    """The fix that gives a key of a map another text; none where the map is not written in the plan itself."""
    place = key_place(plan, path, key)
    value = _value(plan, path, place)
    if value is None:
        return ()
    edit = Edit(Span(place.source, value.start(1), value.end(1)), f'"{text}"')
    return (Fix(f'write `{key} = "{text}"`', (edit,), safe=False),)


def without(plan: Plan, name: str) -> tuple[Fix, ...]:
    """The fix that removes a variable, with its line if nothing else stands on it."""
    key = key_place(plan, _ENVIRONMENT, name)
    value = _value(plan, _ENVIRONMENT, key)
    if value is None:
        return ()
    text = key.source.text
    start = len(text[: key.start].rstrip(" \t"))
    line_end = text.find("\n", value.end())
    own_line = text[start - 1] == "\n" and line_end != -1 and not text[value.end() : line_end].strip()
    edit = Edit(Span(key.source, start, line_end + 1 if own_line else value.end()), "")
    shown = text[key.start : value.end()].rstrip(", \t")
    return (Fix(f"remove `{shown}`", (edit,), safe=False),)


@cache  # compiled when a rule asks for a place: few plans have one of these faults
def _pattern() -> re.Pattern[str]:
    return re.compile(r'[ \t]*=[ \t]*("(?:[^"\\\n]|\\.)*")([ \t]*,)?')


def _value(plan: Plan, path: str, key: Span) -> re.Match[str] | None:
    """The value behind a key, if it stands in the entry of the plan itself."""
    entry = plan[path]
    value = _pattern().match(key.source.text, key.end)
    if entry.origin is not Origin.WRITTEN or value is None or entry.entry.end < value.end():
        return None
    return value

"""What `planc rule` shows of a policy's rule: its text, its reason, where it is defined, and how to live with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planc import resources
from planc.commands.files import ENDING, Files
from planc.commands.output import CannotWork, quoted
from planc.commands.reading import read_all
from planc.diagnostics.text import visible
from planc.plan.model import PolicyRule
from planc.plan.policy_list import Policy, policies_in
from planc.source import POLICIES, Source

_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|#.*')
_KIND = {"require": "PLN090, error", "forbid": "PLN090, error", "warn": "PLN091, warning"}


class Pages(NamedTuple):
    """The pages of the rules that a name means, and all names of rules that were found."""

    pages: tuple[str, ...]
    known: tuple[str, ...]


def policy_pages(name: str, places: Sequence[str]) -> Pages:
    """The page of a policy's rule, `house.fabric`, or those of a whole policy, `house`.

    Looked for in planc's own policies, and in the plan files of the places.
    """
    files = Files()
    read = read_all(files, places)
    for path, reason in read.unread:
        if path in places:
            raise CannotWork(f"cannot read {quoted(path)}: {reason}")
    sources = dict.fromkeys((*_own(files), *read.sources))
    policies = policies_in(tuple(filter(_has_policy, sources)), files.load)
    found = tuple(_page(policy, rule) for policy in policies for rule in policy.rules if name in _names(policy, rule))
    known = dict.fromkeys(known for policy in policies for rule in policy.rules for known in _names(policy, rule))
    return Pages(found, tuple(known))


def _own(files: Files) -> Iterator[Source]:
    for path in resources.names("policies", ENDING):
        source = files.load(f"{POLICIES}{path}", None)
        if isinstance(source, Source):
            yield source


def _has_policy(source: Source) -> bool:
    return re.search(r"^\s*policy\s", source.text, re.M) is not None


def _names(policy: Policy, rule: PolicyRule) -> tuple[str, ...]:
    return tuple(dict.fromkeys((rule.name, policy.name)))


def _page(policy: Policy, rule: PolicyRule) -> str:
    span, own = rule.span, rule.name.partition(".")[2]
    inside = span.source is policy.span.source and policy.span.start <= span.start < policy.span.end
    lines = [
        f"{rule.name} ({_KIND[rule.verb]})",
        "",
        *_written(rule),
        "",
        f"Defined in: {span.source.name}:{span.line}:{span.column}{'' if inside else ', and inherited'}",
        f"Reads: {', '.join(f'`{path}`' for path in rule.paths)}",
        f"Allow at one place: `# planc: allow {rule.name} -- REASON` in the line that is reported",
    ]
    if own:
        lines.append(f"Do without: `policy NAME from {policy.name} {{ {own} = none }}`")
    return "".join(f"{visible(line)}\n" for line in lines)


def _written(rule: PolicyRule) -> list[str]:
    """The rule as it is written, line by line, without comments."""
    text = _COMMENT.sub(lambda match: match[1] or "", rule.span.text)
    return [line.strip() for line in text.splitlines() if line.strip()]

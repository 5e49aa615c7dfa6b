"""What is shown of the word under the pointer, as Markdown."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from planc.diagnostics.amounts import plural
from planc.editing.document import Document
from planc.editing.linking import Key, Linked
from planc.editing.names import targets_of
from planc.editing.roles import Role, options_of
from planc.editing.subjects import number_of, summary, value_of
from planc.editing.wording import field_markdown, type_text
from planc.explanation import value_text
from planc.facts.evidence import evidence_of
from planc.facts.facts import FACTS
from planc.plan.model import Plan
from planc.plan.quantities import amount
from planc.plan.schema import DERIVED, KINDS, SECTIONS, Field
from planc.plan.units import BANDWIDTH, BYTES, RATE, TIME, Amount
from planc.source import Source, Span
from planc.syntax import nodes
from planc.targets import load_target, target_names

#: Gives the plan that a block of a file is, or that holds it; None if there is none.
Subject = Callable[[Linked, Key], Plan | None]

_FUNCTIONS = {
    "divides": "whether the first number divides the second without rest",
    "floor": "the next whole number below",
    "ceil": "the next whole number above",
    "min": "the least of its values",
    "max": "the greatest of its values",
    "sum": "the sum of a list",
    "count": "how many items a list has",
    "any": "whether one of its flags is true",
    "all": "whether each of its flags is true",
    "hf": "a model that takes its fields from Hugging Face's `config.json`, relative to this file",
}
_LITERALS = {
    "auto": "worked out from the other fields",
    "none": "brings the default back: an optional field is then absent, a required one missing",
}
_KINDS = {
    "gpu": "a card", "cluster": "nodes with cards in them", "model": "the thing to train",
    "policy": "a list of house rules", "plan": "what is trained, on what, and how it is split and started",
    "template": "a plan that is only there to derive others from",
}  # fmt: skip


class Hover(NamedTuple):
    """Markdown about a place."""

    span: Span
    text: str


def hover(document: Document, offset: int, linked: Linked, subject: Subject) -> Hover | None:
    """What is to be shown of the token at an offset; None if there is nothing to say."""
    role = document.role_at(offset)
    if role is None:
        return None
    text = _text(role, document.block_at(offset), linked, subject)
    return Hover(document.span(role), text) if text else None


def _text(role: Role, key: Key | None, linked: Linked, subject: Subject) -> str:
    if role.type in ("definition", "parent", "reference"):
        return "\n\n---\n\n".join(_block(target.file, (target.kind, target.name), subject)
                                  for target in targets_of(role, linked))  # fmt: skip
    if role.type in ("field", "key", "path"):
        return _field(role, key, linked, subject)
    if role.type in ("word", "quantity", "literal"):
        return _value(role, key, linked, subject)
    if role.type == "target":
        return _target(role.text)
    if role.type == "use":
        return _used(role.text, linked)
    described = {"function": _FUNCTIONS, "kind": _KINDS}.get(role.type, {}).get(role.text)
    return f"**`{role.text}`**: {described}" if described else ""


def _block(linked: Linked, key: Key, subject: Subject) -> str:
    """A block: what it is derived from, and its derived numbers."""
    kind, name = key
    block = linked.scope.blocks[key]
    parent = block.parent
    derived = f" from `{parent.text}`" if isinstance(parent, nodes.Name) else " from a file" if parent else ""
    lines = [f"**{kind} `{name}`**{derived}, {linked.scope.source.name}"]
    if kind == "policy":
        entries = block.body.entries if block.body is not None else ()
        rules = [entry.value if isinstance(entry, nodes.Field) else entry for entry in entries]
        shown = [f"{rule.verb} {rule.condition.span.text}" for rule in rules if isinstance(rule, nodes.Rule)]
        return "\n".join([*lines, "", *(f"- `{' '.join(text.split())}`" for text in shown)])
    plan = subject(linked, key)
    rows = summary(plan, kind) if plan is not None else ()
    return "\n".join([*lines, "", *(f"- {_said(path)}: {text}" for path, text in rows)])


def _said(path: str) -> str:
    """What a number is called where its block is shown."""
    return f"`{path.removeprefix('cluster.gpu.')}`"


def _field(role: Role, key: Key | None, linked: Linked, subject: Subject) -> str:
    path = ".".join(role.path or (role.text,))
    if role.field is None:
        return _derived(path, key, linked, subject) if role.type == "path" else ""
    lines = [field_markdown(role.field, path)]
    if role.kinds == ("policy",) or key is None or role.path is None:
        return lines[0]
    plan = subject(linked, key)
    value = value_of(plan, key[0], role.path) if plan is not None and key[0] != "policy" else ""
    if value:
        lines.append(f"In `{key[1]}`: {value}")
    return "\n\n".join(lines)


def _derived(path: str, key: Key | None, linked: Linked, subject: Subject) -> str:
    """A derived number: its formula, and its value in each plan of the file that is judged by the policy."""
    if path not in DERIVED:
        below = [other for other in DERIVED if other.startswith(f"{path}.")]
        return f"**`{path}`**: derived numbers {', '.join(f'`{other}`' for other in below)}" if below else ""
    evidence = evidence_of(FACTS[path].formula.__doc__)
    lines = [f"**`{path}`**: {evidence.meaning}"]
    lines.extend(
        f"{label} {text}" for label, text in (("Formula:", evidence.formula), ("Assumes:", evidence.assumes)) if text
    )
    plans = [own for own in linked.scope.blocks if own[0] == "plan"] if len(linked.scope.blocks) <= 64 else []
    for own in plans[:8]:
        plan = subject(linked, own)
        judged = plan is not None and key is not None and any(_is_of(rule.name, key[1]) for rule in plan.policies)
        value = number_of(plan, path) if plan is not None and judged else ""
        if value:
            lines.append(f"In `{own[1]}`: {value}")
    return "\n\n".join(lines)


def _is_of(rule: str, policy: str) -> bool:
    return rule == policy or rule.startswith(f"{policy}.")


def _value(role: Role, key: Key | None, linked: Linked, subject: Subject) -> str:
    lines: list[str] = []
    if role.type == "quantity" and (text := _amount(role)):
        lines.append(f"`{role.text}` = {text}")
    if role.type == "literal" and role.text in _LITERALS:
        lines.append(f"**`{role.text}`**: {_LITERALS[role.text]}")
    if role.field is not None:
        if role.type == "word" and role.field.type.form == "variant":
            lines.extend(_variant(role.field, role.text))
        elif role.type == "word":
            lines.append(f"**`{role.field.name}`**: {role.field.doc}; {type_text(role.field.type)}")
        if role.type == "literal" and key is not None and role.path and key[0] != "policy":
            plan = subject(linked, key)
            value = value_of(plan, key[0], role.path) if plan is not None else ""
            lines.extend([f"`{'.'.join(role.path)}` in `{key[1]}`: {value}"] if value else [])
    return "\n\n".join(lines)


def _variant(field: Field, word: str) -> list[str]:
    """A variant: what it chooses, and the fields that it has."""
    known = [own for own in SECTIONS.get(field.type.of, ()) if not own.only or word in own.only]
    lines = [f"**`{field.name} = {word}`**: {field.doc}"]
    if known:
        lines.append("\n".join(f"- `{own.name}`: {own.doc}" for own in known))
    return lines


def _amount(role: Role) -> str:
    """A written number in full, where its text is shorter than it."""
    found = amount(nodes.Number(Span(Source("", role.text), 0, len(role.text)), role.text))
    if not isinstance(found, Amount) or role.text.replace("_", "").isdigit():
        return ""
    unit = {BYTES: "bytes", BANDWIDTH: "bytes/s", TIME: "s", RATE: "FLOP/s"}.get(found.dimension)
    text = value_text("", found.value, unit) if unit else value_text("", found)
    return "" if text == role.text else f"`{text}`"


def _target(name: str) -> str:
    if name not in target_names():
        return ""
    target = load_target(name)
    lines = [f"**`{name}`**: {target.summary}", f"Proved against {target.proved}"]
    options = [f"- `{option.name}`: {option.doc}" for option in options_of(name).values()]
    return "\n\n".join([*lines, *(["\n".join(options)] if options else [])])


def _used(path: str, linked: Linked) -> str:
    """A used file: how many blocks of each kind it brings in, or why it cannot be had."""
    for use, used in linked.scope.used:
        if use.path.value == path:
            counts = {kind: sum(own[0] == kind for own in used.blocks) for kind in KINDS}
            brought = [plural(count, kind) for kind, count in counts.items() if count]
            return f"**{used.source.name}** brings in {', '.join(brought) or 'nothing'}"
    reasons = [reason for use, reason in zip(linked.scope.file.uses, linked.outcomes, strict=True)
               if use.path.value == path and reason]  # fmt: skip
    return f"`{path}` cannot be used: {reasons[0]}" if reasons else ""

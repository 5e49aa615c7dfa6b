"""Trees to shapes: what a block inherits, sets and adds, merged; nothing is evaluated here."""

from __future__ import annotations

from typing import Any

from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label
from planc.diagnostics.names import did_you_mean, guesses, nearest
from planc.plan import faults
from planc.plan.model import Origin
from planc.plan.naming import for_certain, instead
from planc.plan.null import is_null, null_for_none
from planc.plan.schema import DERIVED, SECTIONS, Field
from planc.plan.scope import Load, Report, Scope, lookup
from planc.plan.shape import BROKEN, Shape, Slot, fields_of, head_of, inherited, unread
from planc.source import Span
from planc.syntax import nodes

#: Blocks that may be derived one from the other.
MAX_CHAIN = 32


class Merger:
    """Builds the shapes of blocks. Each block is merged once; what it reports is reported once."""

    __slots__ = ("_lengths", "_load", "_shapes", "report")

    def __init__(self, report: Report, load: Load) -> None:
        self.report = report
        self._load = load
        self._shapes: dict[int, Shape | None] = {}
        self._lengths: dict[int, int] = {}

    def block(self, scope: Scope, block: nodes.Block) -> Shape | None:
        """The shape of a block with what it inherits; None if it cannot be known."""
        if id(block) not in self._shapes:
            self._derive(scope, block)
        return self._shapes[id(block)]

    def _derive(self, scope: Scope, block: nodes.Block) -> None:
        """Makes the shapes of a block and of all that it is derived from, the oldest first."""
        chain, seen = [(scope, block)], {id(block)}
        parent = _parent(scope, block)
        while parent is not None and id(parent[1]) not in self._shapes:
            if id(parent[1]) in seen:
                chain = self._without_cycle(chain, parent[1])
                break
            chain.append(parent)
            seen.add(id(parent[1]))
            parent = _parent(*parent)
        length = self._lengths.get(id(parent[1]), 0) if parent is not None else 0
        for own_scope, own in reversed(chain):
            if length == MAX_CHAIN + 1:
                self.report(faults.TOO_COMPLEX.at(own.name.span, f"more than {MAX_CHAIN} `from` in a chain"))
            self._shapes[id(own)] = self._block(own_scope, own) if length <= MAX_CHAIN else None
            length += 1
            self._lengths[id(own)] = length

    def _without_cycle(
        self, chain: list[tuple[Scope, nodes.Block]], first: nodes.Block
    ) -> list[tuple[Scope, nodes.Block]]:
        """The part of a chain before the blocks that come back to the first of them, which are reported."""
        at = next(at for at, (_, block) in enumerate(chain) if block is first)
        cycle = [block for _, block in chain[at:]]
        related = tuple(Label(block.name.span, "derived from the next") for block in cycle[1:MAX_CHAIN])
        message = f"`{first.name.text}` is derived from itself"
        self.report(faults.CIRCULAR.at(first.name.span, message, related=related))
        for block in cycle:
            self._shapes[id(block)] = None
        return chain[:at]

    def _block(self, scope: Scope, block: nodes.Block) -> Shape | None:
        kind = "plan" if block.kind == "template" else block.kind
        if block.broken:
            return None
        fields = {} if kind == "policy" else fields_of(kind)
        shape = Shape(kind, block.name.text, block.name.span, fields, {}, (), False)
        if isinstance(block.parent, nodes.Call):
            from planc.plan.imports import imported  # few plans read a model from a file

            read = imported(block, block.parent, scope.source, self._load, self.report)
            if read is None:
                return None
            shape = inherited(self.apply(shape, read, (), scope, block.kind))
        elif block.parent is not None:
            found = lookup(scope, _parent_kinds(block), block.parent, self.report)
            parent = self._shapes[id(found[1])] if found else None
            known = unread(shape) if parent is None else inherited(parent)
            shape = known._replace(word=block.name.text, span=block.name.span)
        if block.body is not None:
            shape = self.apply(shape, block.body, (), scope, block.kind)
        return shape

    def apply(
        self,
        shape: Shape,
        body: nodes.Body,
        home: tuple[str, ...],
        scope: Scope,
        where: str,
        origin: Origin = Origin.WRITTEN,
    ) -> Shape:
        """The shape with the entries of a body set or added. `where` names it in messages."""
        slots, poisoned = dict(shape.slots), shape.poisoned
        written: dict[str, Span] = {}
        rules = 0
        for entry in body.entries:
            if isinstance(entry, nodes.Bad):
                poisoned = poisoned or not entry.names
                for name in entry.names:
                    if name in shape.fields:
                        slots[name] = Slot(BROKEN, entry.span, entry.span, entry.span, home, scope, origin)
                    else:
                        poisoned = True
                continue
            if isinstance(entry, nodes.Rule):
                if shape.kind == "policy":
                    rules += 1
                    slots[f"#{len(slots)}.{rules}"] = Slot(
                        entry, entry.span, entry.span, entry.span, home, scope, origin
                    )
                else:
                    self.report(
                        faults.MISPLACED.at(
                            entry.span,
                            f"`{entry.verb}` stands in a {where}",
                            "rules stand in policies",
                            help=("move it into a `policy` block",),
                        )
                    )
                continue
            key = entry.key if isinstance(entry, nodes.Field) else entry.name
            if key.text in written:
                self.report(
                    faults.WRITTEN_TWICE.at(
                        key.span,
                        f"`{key.text}` is written twice",
                        "again here",
                        related=(Label(written[key.text], "first here"),),
                    )
                )
                slots[key.text] = Slot(BROKEN, key.span, entry.span, key.span, home, scope, origin)
                continue
            written[key.text] = key.span
            if shape.kind == "policy":
                if not (poisoned and isinstance(entry, nodes.Field) and _is_none(entry.value)):
                    self._policy_entry(slots, entry, key, home, scope, origin)
                continue
            field = shape.fields.get(key.text)
            if field is None:
                self.report(_unknown_field(shape, entry, key, where, body))
                poisoned = True
                continue
            slots[key.text] = self._slot(
                shape,
                slots.get(key.text),
                field,
                entry,
                Slot(BROKEN, entry.span, entry.span, key.span, home, scope, origin),
            )
        return shape._replace(slots=slots, poisoned=poisoned)

    def _policy_entry(
        self, slots: dict[str, Slot], entry: Any, key: nodes.Name, home: tuple[str, ...], scope: Scope, origin: Origin
    ) -> None:
        value = entry.value if isinstance(entry, nodes.Field) else None
        if isinstance(value, nodes.Literal) and value.word == "none":
            if slots.pop(key.text, None) is None:
                self.report(
                    faults.UNKNOWN_FIELD.at(key.span, f"the policy has no rule `{key.text}` to remove", "no such rule")
                )
        elif isinstance(value, (nodes.Rule, nodes.Bad)):
            slots[key.text] = Slot(value, value.span, entry.span, key.span, home, scope, origin)
        else:
            self.report(
                faults.MISPLACED.at(
                    entry.span, f"`{key.text}` is no rule", help=("a policy holds `require`, `forbid` and `warn`",)
                )
            )

    def _slot(self, shape: Shape, before: Slot | None, field: Field, entry: Any, made: Slot) -> Slot:
        """What an entry makes of a field; `made` holds the places and is BROKEN."""
        key = entry.key if isinstance(entry, nodes.Field) else entry.name
        if isinstance(entry, nodes.Candidates):
            if field.type.form in ("record", "variant", "map", "list", "text"):
                self.report(
                    faults.MISPLACED.at(entry.span, f"`{key.text}` cannot be left open", help=("write the value",))
                )
                return made
            return made._replace(value=entry, span=entry.set.span)
        if isinstance(entry, nodes.Section):
            return self._added(shape, before, field, entry, made)
        if entry.quoted:
            self.report(
                faults.MISPLACED.at(
                    key.span,
                    f"a quoted key in `{shape.kind}`",
                    help=(f"write `{key.text}` without quotes",),
                    fixes=for_certain(key.span, key.text),
                )
            )
            return made
        if isinstance(entry.value, nodes.Rule):
            self.report(
                faults.MISPLACED.at(
                    entry.value.span, f"`{entry.value.verb}` stands in a {shape.kind}", "rules stand in policies"
                )
            )
            return made
        return self.settled(shape, field, entry.value, made)

    def settled(self, shape: Shape, field: Field, value: Any, made: Slot) -> Slot:
        """The slot of a field that is set to a value."""
        made = made._replace(value=value, span=value.span)
        # Which plan wrote a checkpoint is looked up when that is asked for: it may well be this one.
        if field.type.form in ("record", "variant", "reference", "map") and field.type.of != "plan":
            return self._set(shape, field, value, made)
        return made

    def _added(self, shape: Shape, before: Slot | None, field: Field, entry: nodes.Section, made: Slot) -> Slot:
        """`section { ... }`: the record already there, with the entries of the body."""
        form, of = field.type.form, field.type.of
        if form == "map":
            base = (
                before.value
                if before is not None and isinstance(before.value, Shape)
                else _map_shape(field, entry.name.span)
            )
            return made._replace(value=self._map(base, entry.body, made))
        if form not in ("record", "variant", "reference") or of == "plan":
            self.report(
                faults.WRONG_TYPE.at(
                    entry.name.span, f"`{field.name}` is no section", help=(f"write `{field.name} = ...`",)
                )
            )
            return made
        if (
            before is not None
            and not isinstance(before.value, Shape)
            and before.value is not None
            and not _is_none(before.value)
        ):
            return made  # what is there could not be read
        if before is not None and isinstance(before.value, Shape):
            base = before.value
        else:
            word = field.default if form == "variant" else None
            block_home = (*shape.home, field.name) if form == "reference" else shape.home
            # Where an inherited entry could not be read, it may have been this reference.
            faulty = form == "reference" and shape.poisoned
            base = Shape(of, word, entry.name.span, fields_of(of), {}, block_home, faulty)
        added = self.apply(base, entry.body, made.home, made.scope, field.name, made.origin)
        return made._replace(value=added, span=entry.name.span)

    def _set(self, shape: Shape, field: Field, value: Any, made: Slot) -> Slot:
        """`section = word`, `section = word { ... }` or `section = none`."""
        if _is_none(value) and "none" not in field.type.words:
            return made
        if isinstance(value, nodes.Bad):
            return made._replace(value=BROKEN)
        if is_null(value):
            self.report(null_for_none(value))
            return made._replace(value=BROKEN)
        head = head_of(value) if field.type.form == "reference" or not isinstance(value, nodes.String) else None
        if _is_none(value):  # `recompute = none`, where none is one of the words
            head = nodes.Name(value.span, "none")
        elif isinstance(value, nodes.Number) and field.type.form == "variant":  # `pipeline = 1f1b` reads as a number
            head = nodes.Name(value.span, value.text)
        elif isinstance(value, nodes.Binary) and value.operator == "/" and field.type.form == "reference":
            head = nodes.Name(value.span, value.span.text)  # `owner/name`, as the Hub calls a model
        if head is None or field.type.form in ("record", "map"):
            self.report(_no_section(field, value))
            return made._replace(value=BROKEN)
        base = (
            self._referred(field, head, shape.home, made.scope)
            if field.type.form == "reference"
            else self._variant(field, head, shape.home)
        )
        if base is None and isinstance(value, nodes.Narrowed) and field.type.form == "reference":
            of, home = field.type.of, (*shape.home, field.name)
            base = unread(Shape(of, head.text, head.span, fields_of(of), {}, home, True))
        if base is None:
            return made._replace(value=BROKEN)
        if isinstance(value, nodes.Narrowed):
            base = self.apply(base, value.body, made.home, made.scope, field.name, made.origin)
        return made._replace(value=base)

    def _referred(self, field: Field, head: nodes.Name, home: tuple[str, ...], scope: Scope) -> Shape | None:
        found = lookup(scope, (field.type.of,), head, self.report)
        if found is None:
            return None
        shape = self.block(*found)
        return None if shape is None else inherited(shape).moved((*home, field.name))._replace(word=head.text)

    def _variant(self, field: Field, head: nodes.Name, home: tuple[str, ...]) -> Shape | None:
        words = field.type.words
        if head.text not in words:
            advice = did_you_mean(head.text, words)
            listed = ", ".join(f"`{word}`" for word in words)
            self.report(
                faults.UNKNOWN_WORD.at(
                    head.span,
                    f"unknown `{field.name}`: `{head.text}`",
                    "no such word",
                    help=advice,
                    notes=(f"`{field.name}` is one of {listed}",),
                    fixes=instead(head.span, guesses(head.text, words)),
                )
            )
            return None
        return Shape(field.type.of, head.text, head.span, fields_of(field.type.of), {}, home, False)

    def _map(self, base: Shape, body: nodes.Body, made: Slot) -> Shape:
        """A map with the entries of a body; its keys are free."""
        slots, poisoned = dict(base.slots), base.poisoned
        written: dict[str, Span] = {}
        for entry in body.entries:
            if not isinstance(entry, nodes.Field) or isinstance(entry.value, nodes.Rule):
                poisoned = True
                if not isinstance(entry, nodes.Bad):
                    self.report(faults.MISPLACED.at(entry.span, "an entry of a map is `key = value`"))
                continue
            key = entry.key
            if key.text in written:
                self.report(
                    faults.WRITTEN_TWICE.at(
                        key.span,
                        f"`{key.text}` is written twice",
                        "again here",
                        related=(Label(written[key.text], "first here"),),
                    )
                )
                slots[key.text] = made._replace(value=BROKEN, span=key.span, entry=entry.span, key=key.span)
                continue
            written[key.text] = key.span
            slots[key.text] = made._replace(value=entry.value, span=entry.value.span, entry=entry.span, key=key.span)
        return base._replace(slots=slots, poisoned=poisoned)


def _parent(scope: Scope, block: nodes.Block) -> tuple[Scope, nodes.Block] | None:
    """The block from which another is derived; None if there is none, or none that is known."""
    if block.broken or not isinstance(block.parent, nodes.Name):
        return None
    return lookup(scope, _parent_kinds(block), block.parent, _ignore)


def _parent_kinds(block: nodes.Block) -> tuple[str, ...]:
    return ("plan", "template") if block.kind in ("plan", "template") else (block.kind,)


def _ignore(diagnostic: Diagnostic) -> None:
    """Reported when the block itself is made."""


def _map_shape(field: Field, span: Span) -> Shape:
    return Shape("map", None, span, {}, {}, (), False)


def _is_none(value: Any) -> bool:
    return isinstance(value, nodes.Literal) and value.word == "none"


def _no_section(field: Field, value: Any) -> Diagnostic:
    due = {"record": f"write `{field.name} {{ ... }}`", "map": f'write `{field.name} {{ KEY = "..." }}`'}
    words = ", ".join(f"`{word}`" for word in field.type.words)
    advice = due.get(field.type.form) or (f"write one of {words}" if words else f"write the name of a {field.type.of}")
    fixes: tuple[Fix, ...] = ()
    if isinstance(value, nodes.String) and value.value in field.type.words:
        advice = f"write `{value.value}` without quotes"
        fixes = (Fix("remove the quotes", (Edit(value.span, value.value),), safe=True),)
    if isinstance(value, nodes.List) and field.type.of == "cluster":
        advice = f"unlike nodes are one cluster: `cluster NAME {{ groups = {value.span.text} }}`"
    due_here = _FORMS[field.type.form]
    return faults.WRONG_TYPE.at(value.span, f"`{field.name}` is a {due_here}", help=(advice,), fixes=fixes)


_FORMS = {"record": "section", "map": "map", "variant": "word", "reference": "reference"}


def _unknown_field(shape: Shape, entry: Any, key: nodes.Name, where: str, body: nodes.Body) -> Diagnostic:
    """The fault of a name that a section does not have: what was meant, by spelling or by a consumer's name for it."""
    derived = [
        path
        for path in DERIVED
        if path == f"{shape.kind}.{key.text}" or path.startswith(key.text + ".") or key.text in (path, _joined(path))
    ]
    if derived and shape.kind in ("plan", derived[0].partition(".")[0]) and not _is_another_tools(key):
        label = "it follows from the other fields"
        return faults.DERIVED_SET.at(key.span, f"`{key.text}` is derived, it cannot be set", label)
    listed = ", ".join(f"`{name}`" for name in sorted(shape.fields))
    off = _switched_off(shape, entry, key)
    advice = off or _advice(shape, entry, key)
    there_are = (f"`{where}` has {listed}",) if listed else (f"`{where}` has no fields",)
    return faults.UNKNOWN_FIELD.at(
        key.span,
        f"unknown field `{key.text}` in `{where}`",
        "no such field",
        help=advice,
        notes=() if advice else there_are,
        fixes=() if off or not advice else _renamed(shape, entry, key, body),
    )


def _is_another_tools(key: nodes.Name) -> bool:
    from planc.plan.meant import is_another_tools  # most files have no such name

    return is_another_tools(key.text)


def _switched_off(shape: Shape, entry: Any, key: nodes.Name) -> tuple[str, ...]:
    """Help for `fp16 = false` and `fp16 { enabled = false }`: what is off is not written."""
    from planc.plan.meant import meant  # most files have no such name

    inner = entry.body.entries if isinstance(entry, nodes.Section) else (entry,)
    values = [field.value for field in inner if isinstance(field, nodes.Field)]
    off = any(isinstance(value, nodes.Literal) and value.word in ("false", "none") for value in values)
    paths = [path.partition(" = ")[0] for path in meant(shape.kind, key.text) if " = " in path]
    return (f"leave it out: `{paths[0]}` alone says which it is",) if off and paths and shape.kind in SECTIONS else ()


def _renamed(shape: Shape, entry: Any, key: nodes.Name, body: nodes.Body) -> tuple[Fix, ...]:
    from planc.plan.renaming import renamed_field  # most files have no such name

    return renamed_field(shape, entry, key, body)


def _joined(path: str) -> str:
    return path.replace(".", "_")


def _advice(shape: Shape, entry: Any, key: nodes.Name) -> tuple[str, ...]:
    """What was meant: a field of the language, or of the options of a target, which the language does not list."""
    from planc.plan.meant import advice, of_the_job  # most files have no such name

    if shape.kind in SECTIONS and shape.word != shape.kind:  # else options of a target with a section of its name
        return advice(shape.kind, key.text)
    guess = nearest(key.text, shape.fields)
    if guess:
        return (f"did you mean `{guess}`?",)
    value = entry.value if isinstance(entry, nodes.Field) else None
    text = value.span.text if isinstance(value, (nodes.String, nodes.Number, nodes.Path)) else "..."
    return of_the_job(shape.kind, key.text, text) or advice(shape.kind, key.text)

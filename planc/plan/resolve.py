"""Tree to plan: the only road. References are followed, defaults filled, quantities brought to base units.

Every field is evaluated once, when it is first asked for. A fault is reported where it stands, and what depends on it
becomes Unknown without a further word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from planc.diagnostics.amounts import count_text
from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.plan import faults
from planc.plan.coerce import coerce
from planc.plan.evaluate import ANY, FAULTY, Env, Val
from planc.plan.model import Choice, Located, Origin, Plan, Record, Unknown
from planc.plan.names import nearest
from planc.plan.policies import field_at, policy_rules, typed_value, unknown_path
from planc.plan.schema import ANNOUNCED, AUTO, TRAINERS, Field, Follows, Type
from planc.plan.scope import Load, Report, Scope, lookup, scopes
from planc.plan.shape import BROKEN, Merger, Shape, Slot, fields_of
from planc.plan.solve import SOLVABLE, solve
from planc.plan.units import TOKENS, Amount
from planc.source import Source, Span
from planc.syntax import nodes

#: The options of a target that can be emitted, or None for a name that is no target.
TargetOptions = Callable[[str], "tuple[Field, ...] | None"]

_DEFAULT_TRAINER_DTYPE = {"fp32": "fp32", "fp16": "fp16"}


class Resolved(NamedTuple):
    """The plans of the given sources; their models, clusters and cards, each as a plan of that one field; faults."""

    plans: tuple[Plan, ...]
    parts: tuple[Plan, ...]
    diagnostics: tuple[Diagnostic, ...]


def resolve(
    sources: tuple[Source, ...], load: Load, target_names: tuple[str, ...], target_options: TargetOptions
) -> Resolved:
    """What the sources mean, with the files that they use, and every fault of their text and meaning."""
    diagnostics: list[Diagnostic] = []
    merger = Merger(diagnostics.append)
    plans: list[Plan] = []
    parts: list[Plan] = []
    for scope in _all_scopes(scopes(sources, load, diagnostics.append)):
        own = any(scope.source is source for source in sources)
        for block in scope.file.blocks:
            if (block.kind, block.name.text) in scope.twice:
                continue
            # A used file's plans and templates are judged when that file is linted.
            if block.kind in ("plan", "template") and not own:
                continue
            shape = merger.block(scope, block)
            if shape is None or block.kind == "template":
                continue
            if block.kind == "policy":
                policy_rules(shape, diagnostics.append)
            elif block.kind == "plan":
                plans.append(_Instance(shape, block, merger, scope, target_names, target_options).plan())
            elif own:
                parts.append(_part(shape, block, merger, scope))
    return Resolved(tuple(plans), tuple(parts), tuple(diagnostics))


def _all_scopes(given: list[Scope]) -> list[Scope]:
    """The scopes and those that they use, each once."""
    found: list[Scope] = []
    todo = list(given)
    while todo:
        scope = todo.pop(0)
        if not any(scope is other for other in found):
            found.append(scope)
            todo.extend(used for _, used in scope.used)
    return found


def _part(shape: Shape, block: nodes.Block, merger: Merger, scope: Scope) -> Plan:
    """A model, cluster or gpu block by itself, as a plan that has this field only."""
    path = {"gpu": ("cluster", "gpu")}.get(block.kind, (block.kind,))
    span = block.name.span
    whole = shape.moved(path)
    for at in range(len(path) - 1, -1, -1):
        kind = "plan" if at == 0 else path[at - 1]
        slot = Slot(whole, span, span, span, (), scope, Origin.WRITTEN)
        whole = Shape(
            kind, block.name.text, span, {path[at]: fields_of(kind)[path[at]]}, {path[at]: slot}, path[:at], False
        )
    instance = _Instance(whole, block, merger, scope, (), lambda name: None)
    return Plan(block.name.text, span, {name: instance.located((name,)) for name in whole.fields}, subject=block.kind)


class _Instance:
    """One plan being evaluated."""

    __slots__ = ("_active", "_block", "_memo", "_merger", "_names", "_options", "_root", "_scope", "report")

    def __init__(
        self,
        root: Shape,
        block: nodes.Block,
        merger: Merger,
        scope: Scope,
        names: tuple[str, ...],
        options: TargetOptions,
    ) -> None:
        self._root = root
        self._block = block
        self._merger = merger
        self._scope = scope
        self._names = names
        self._options = options
        self._memo: dict[tuple[str, ...], Located] = {}
        self._active: list[tuple[str, ...]] = []
        self.report: Report = merger.report

    def plan(self) -> Plan:
        """The plan with all of its fields."""
        fields = {name: self.located((name,)) for name in self._root.fields}
        targets = self._targets(fields["emit"])
        fields["emit"] = fields["emit"]._replace(value=self._target_names(fields["emit"].value, targets))
        policies = [
            rule for shape in self._policies(self._root.slots.get("policies")) for rule in policy_rules(shape, _ignore)
        ]
        self._settle_gradients(fields, targets)
        return Plan(
            self._block.name.text, self._block.name.span, fields, policies=tuple(policies), targets=tuple(targets)
        )

    def located(self, path: tuple[str, ...]) -> Located:
        """The field at a path."""
        if path in self._memo:
            return self._memo[path]
        if path in self._active:
            return self._cycle(path)
        parent, shape = self._shape(path[:-1])
        if shape is None:
            return parent or Located(FAULTY, self._root.span, Origin.DEFAULTED, self._root.span)
        self._active.append(path)
        located = self._field(path, shape, shape.fields[path[-1]], shape.slots.get(path[-1]))
        self._active.pop()
        self._memo[path] = located
        return located

    def _cycle(self, path: tuple[str, ...]) -> Located:
        chain = self._active[self._active.index(path) :]
        labels = []
        for step in chain:
            _, shape = self._shape(step[:-1])
            slot = shape.slots.get(step[-1]) if shape is not None else None
            if slot is not None:
                labels.append(Label(slot.entry, f"`{'.'.join(step)}` is defined here"))
        if labels:
            first = min(labels, key=lambda label: (label.span.source.name, label.span.start))
            related = tuple(label for label in labels if label is not first)
            self.report(
                faults.CIRCULAR.at(
                    first.span, f"`{'.'.join(path)}` is defined by itself", "comes back to itself", related=related
                )
            )
        return Located(Unknown("defined by itself"), self._root.span, Origin.WRITTEN, self._root.span)

    def _shape(self, path: tuple[str, ...]) -> tuple[Located | None, Shape | None]:
        """The shape at a path, or what stands in place of it."""
        shape = self._root
        for at, name in enumerate(path):
            slot = shape.slots.get(name)
            field = shape.fields.get(name)
            if field is None:  # a block that is judged by itself has no plan around it
                outside = Unknown(f"`{name}` is not part of this block", (".".join(path),))
                return Located(outside, self._root.span, Origin.DEFAULTED, self._root.span), None
            if (
                slot is None
                and field.default is not None
                and not field.required
                and field.type.form in ("record", "variant")
            ):
                home = shape.home
                word = field.default if field.type.form == "variant" else None
                shape = Shape(field.type.of, word, shape.span, fields_of(field.type.of), {}, home, shape.poisoned)
                continue
            if slot is None or not isinstance(slot.value, Shape):
                section = self.located(path[: at + 1])
                if section.value is None or (isinstance(section.value, Unknown) and section.value.unset):
                    unset = Unknown(f"`{name}` is not set", (".".join(path[: at + 1]),), unset=True)
                    return section._replace(value=unset), None
                return section._replace(value=section.value if isinstance(section.value, Unknown) else FAULTY), None
            shape = slot.value
        return None, shape

    def _field(self, path: tuple[str, ...], shape: Shape, field: Field, slot: Slot | None) -> Located:
        if slot is None:
            return self._unwritten(path, shape, field)
        made = Located(FAULTY, slot.span, slot.origin, slot.entry)
        if field.only and shape.word not in field.only:
            words = " and ".join(f"`{word}`" for word in field.only)
            self.report(
                faults.UNKNOWN_FIELD.at(slot.key, f"`{field.name}` belongs to {words}", f"this is `{shape.word}`")
            )
            return made
        value = slot.value
        if value is BROKEN or isinstance(value, nodes.Bad):
            return made
        if isinstance(value, nodes.Candidates):
            return made._replace(value=self._candidates(path, field, slot))
        if isinstance(value, Shape):
            return made._replace(value=self._section(path, field, value))
        if isinstance(value, nodes.Literal) and value.word == "none" and "none" not in field.type.words:
            return self._missing(shape, field, slot.entry) if field.required else made._replace(value=None)
        if isinstance(value, nodes.Literal) and value.word == "auto":
            return self._auto(path, field, made)
        if (
            path == ("emit",)
            or path == ("policies",)
            or (field.type.form == "list" and field.type.item.form == "reference")
        ):
            return made._replace(value=self._names_of(field, value, slot))
        got = coerce(value, field.type, self._env(slot))
        return made._replace(value=self._samples(got, slot) if path == ("batch", "global") else got)

    def _unwritten(self, path: tuple[str, ...], shape: Shape, field: Field) -> Located:
        made = Located(None, shape.span, Origin.DEFAULTED, shape.span)
        if shape.poisoned:
            return made._replace(value=Unknown(f"`{'.'.join(path[:-1]) or shape.kind}` has a fault"))
        if field.only and shape.word not in field.only:
            return made
        if field.required:
            return self._missing(shape, field, shape.span)
        if field.default is AUTO:
            return self._auto(path, field, made)
        if isinstance(field.default, Follows):
            return made._replace(value=self._follow(shape, field, field.default))
        if field.type.form in ("record", "variant") and field.default is not None:
            word = field.default if field.type.form == "variant" else field.type.of
            return made._replace(
                value=self._section(
                    path, field, Shape(field.type.of, word, shape.span, fields_of(field.type.of), {}, shape.home, False)
                )
            )
        return made._replace(value=field.default)

    def _missing(self, shape: Shape, field: Field, span: Span) -> Located:
        grouped = shape.kind == "cluster" and "groups" in shape.slots
        if not grouped:
            name = (
                f"`{shape.kind} {shape.word}`"
                if shape.word and shape.kind in ("gpu", "cluster", "model", "plan")
                else f"`{shape.kind}`"
            )
            self.report(
                faults.MISSING_FIELD.at(
                    span, f"{name} lacks `{field.name}`", field.doc, help=(f"add `{field.name} = ...`",)
                )
            )
        return Located(Unknown(f"`{field.name}` is missing", (field.name,)), span, Origin.DEFAULTED, span)

    def _follow(self, shape: Shape, field: Field, follows: Follows) -> Any:
        values = [self.located((*shape.home, *path.split("."))).value for path in follows.paths]
        for value in values:
            if value is None or (isinstance(value, Unknown) and value.unset):
                return None
            if isinstance(value, Unknown):
                return value
        value = follows.function(*values)
        if field.type.form == "count" and not isinstance(value, (int, Amount)):
            return Unknown(
                f"{follows.text} is not whole", tuple(".".join((*shape.home, path)) for path in follows.paths)
            )
        return value

    def _section(self, path: tuple[str, ...], field: Field, shape: Shape) -> Any:
        if shape.kind == "map":
            return self._map(field, shape)
        if field.type.of == "plan":
            return Record("plan", shape.word, shape.span, {})
        fields = {name: self.located((*path, name)) for name in shape.fields}
        return Record(shape.kind, shape.word or shape.kind, shape.span, fields)

    def _map(self, field: Field, shape: Shape) -> Any:
        values = {}
        for key, slot in shape.slots.items():
            value = FAULTY if slot.value is BROKEN else coerce(slot.value, field.type.item, self._env(slot))
            if isinstance(value, Unknown):
                return value
            values[key] = value
        return FAULTY if shape.poisoned else values

    def _candidates(self, path: tuple[str, ...], field: Field, slot: Slot) -> Unknown:
        """A field left open; each candidate that is written out is checked for its type."""
        choices = slot.value.set
        items = (
            choices.items
            if isinstance(choices, nodes.List)
            else (choices.low, choices.high)
            if isinstance(choices, nodes.Range)
            else ()
        )
        for item in items:
            if field.type.form == "reference":
                self._names_of(field._replace(type=Type("list", item=field.type)), nodes.List(item.span, (item,)), slot)
            else:
                coerce(item, field.type, self._env(slot))
        return Unknown(f"`{'.'.join(path)}` is left open", (".".join(path),))

    def _auto(self, path: tuple[str, ...], field: Field, made: Located) -> Located:
        dotted = ".".join(path)
        if dotted == "precision.loss_scale":
            return made._replace(value="dynamic")
        if dotted == "precision.gradients":
            return made  # settled when the targets are known
        if isinstance(field.default, Follows) and dotted not in SOLVABLE:
            _, shape = self._shape(path[:-1])
            value = self._follow(shape, field, field.default) if shape is not None else FAULTY
            return made._replace(value=value, origin=Origin.SOLVED)
        if dotted not in SOLVABLE:
            self.report(
                faults.MISPLACED.at(
                    made.span,
                    f"`{dotted}` does not follow from other fields",
                    "`auto` needs an equation",
                    help=("write the value",),
                )
            )
            return made._replace(value=FAULTY)
        value = solve(dotted, self._is_auto, lambda other: self.located(tuple(other.split("."))).value)
        if (
            isinstance(value, Unknown)
            and value.undetermined
            and made.origin is not Origin.DEFAULTED
            and not dotted.startswith("batch.")
        ):
            self.report(
                faults.UNSOLVABLE.at(
                    made.span,
                    f"`{dotted}` does not follow from the other fields",
                    "several values would do",
                    help=("write the value, or the others of its equation",),
                )
            )
        return made._replace(value=value, origin=Origin.SOLVED)

    def _is_auto(self, dotted: str) -> bool:
        path = tuple(dotted.split("."))
        _, shape = self._shape(path[:-1])
        if shape is None:
            return False
        slot = shape.slots.get(path[-1])
        if slot is None:
            return shape.fields[path[-1]].default is AUTO and not shape.poisoned
        return isinstance(slot.value, nodes.Literal) and slot.value.word == "auto"

    def _samples(self, got: Any, slot: Slot) -> Any:
        """The global batch in samples: tokens are divided by the sequence length."""
        if not isinstance(got, Amount):
            return got
        if got.dimension != TOKENS:
            return got.value
        length = self.located(("batch", "sequence_length")).value
        if length is None:
            self.report(
                faults.MISSING_FIELD.at(
                    slot.span,
                    "a batch in tokens needs `sequence_length`",
                    "tokens per step",
                    help=("add `sequence_length = ...`",),
                )
            )
            return FAULTY
        if isinstance(length, Unknown):
            return length
        samples, rest = divmod(got.value, length)
        if rest:
            near = [count * length for count in (samples, samples + 1) if 0 < count]
            shown = " or ".join(f"`{count_text(count)} tokens`" for count in near)
            label = " ".join(
                (count_text(got.value), "=", count_text(samples), "x", count_text(length), "+", count_text(rest))
            )
            self.report(
                faults.OUT_OF_RANGE.at(
                    slot.span,
                    f"{count_text(got.value)} tokens are no whole number of samples",
                    label,
                    help=(f"the nearest that are: {shown}",),
                )
            )
            return FAULTY
        return samples

    def _env(self, slot: Slot) -> Env:
        return Env(lambda path, report: self._lookup(path, slot.home, report), self.report)

    def _lookup(self, path: nodes.Path, home: tuple[str, ...], report: Report) -> Val:
        """The value at a path that starts at the block in which it is written."""
        names = tuple(name.text for name in path.names)
        full = home + names
        kind = "plan"
        for name in home:
            field = field_at(kind, (name,))
            kind = field.type.of if field is not None else kind
        field = field_at(kind, names)
        if field is None or not self._reaches(full):
            report(unknown_path(path, kind))
            return ANY
        if field.type.form == "map":
            return Val(FAULTY, "record")
        value = self.located(full).value
        return typed_value(value.word if isinstance(value, Record) else value, field.type)

    def _reaches(self, path: tuple[str, ...]) -> bool:
        """Whether the root has the first field of a path: a block judged by itself has no plan around it."""
        return path[0] in self._root.fields

    def _names_of(self, field: Field, value: Any, slot: Slot) -> Any:
        """A list of names, of blocks or targets, each checked; the entries themselves are read by who needs them."""
        if not isinstance(value, nodes.List):
            self.report(
                faults.WRONG_TYPE.at(
                    value.span, "one value where a list is due", help=(f"write `[{value.span.text}]`",)
                )
            )
            return FAULTY
        names: list[str] = []
        faulty = False
        for item in value.items:
            head = _head(item)
            if head is None:
                self.report(faults.WRONG_TYPE.at(item.span, "a name is due here"))
                faulty = True
            elif field.type.item.form == "reference":
                faulty = lookup(slot.scope, (field.type.item.of,), head, self.report) is None or faulty
            names.append(head.text if head else "")
        return FAULTY if faulty else tuple(names)

    def _policies(self, slot: Slot | None) -> list[Shape]:
        """The policies that the plan asks for, with what it sets in them."""
        if slot is None or not isinstance(slot.value, nodes.List):
            return []
        found: list[Shape] = []
        for item in slot.value.items:
            head = _head(item)
            block = lookup(slot.scope, ("policy",), head, _ignore) if head is not None else None
            shape = self._merger.block(*block) if block else None
            if shape is not None and isinstance(item, nodes.Narrowed):
                shape = self._merger.apply(shape, item.body, (), slot.scope, "policy")
            if shape is not None:
                found.append(shape)
        return found

    def _targets(self, emit: Located) -> list[Choice]:
        slot = self._root.slots.get("emit")
        if slot is None or not isinstance(slot.value, nodes.List):
            return []
        choices: list[Choice] = []
        for item in slot.value.items:
            head = _head(item)
            if head is None:
                continue
            options = self._options(head.text) if head.text in self._names else None
            if options is None and head.text not in ANNOUNCED:
                self.report(self._unknown_target(head))
                continue
            if options is None:
                self.report(
                    faults.UNWRITTEN_TARGET.at(
                        head.span,
                        f"target `{head.text}` is not written by this version",
                        help=("compile the others with `--target`",),
                    )
                )
            fields = {field.name: field for field in options or ()}
            shape = Shape(head.text, head.text, head.span, fields, {}, (), options is None)
            if isinstance(item, nodes.Narrowed) and options is not None:
                shape = self._merger.apply(shape, item.body, (), slot.scope, head.text)
            record = {name: self._option(shape, field) for name, field in fields.items()}
            choices.append(Choice(head.text, Record(head.text, head.text, head.span, record), head.span))
        return choices

    def _option(self, shape: Shape, field: Field) -> Located:
        slot = shape.slots.get(field.name)
        if slot is None:
            value = FAULTY if shape.poisoned else field.default
            return Located(value, shape.span, Origin.DEFAULTED, shape.span)
        if slot.value is BROKEN or isinstance(slot.value, (Shape, nodes.Candidates)):
            return Located(FAULTY, slot.span, slot.origin, slot.entry)
        return Located(coerce(slot.value, field.type, self._env(slot)), slot.span, slot.origin, slot.entry)

    def _unknown_target(self, head: nodes.Name) -> Diagnostic:
        known = sorted({*self._names, *ANNOUNCED})
        guess = nearest(head.text, known)
        listed = ", ".join(f"`{name}`" for name in self._names)
        return faults.UNKNOWN_TARGET.at(
            head.span,
            f"unknown target `{head.text}`",
            "no such target",
            help=(f"did you mean `{guess}`?",) if guess else (),
            notes=(f"the targets are {listed}",),
        )

    def _target_names(self, value: Any, targets: list[Choice]) -> Any:
        """What `emit` holds; Unknown if one of its names could not be understood."""
        if isinstance(value, tuple) and len(value) != len(targets):
            return FAULTY
        return value

    def _settle_gradients(self, fields: dict[str, Located], targets: list[Choice]) -> None:
        """The dtype of gradients where it is not written: as the trainers in `emit` have it."""
        precision = fields["precision"].value
        if not isinstance(precision, Record) or precision.fields["gradients"].value is not None:
            return
        compute = _DEFAULT_TRAINER_DTYPE.get(str(precision.word), "bf16")
        gradients = precision.fields["gradients"]
        trainers = [choice for choice in targets if choice.name in TRAINERS]
        dtypes = {
            choice.name: compute if TRAINERS[choice.name] == "weights" else TRAINERS[choice.name] for choice in trainers
        }
        value: Any = next(iter(dtypes.values()), compute)
        if isinstance(fields["emit"].value, Unknown):
            value = fields["emit"].value
        elif 1 < len(set(dtypes.values())):
            shown = " and ".join(f"{name} in {dtype}" for name, dtype in dtypes.items())
            self.report(
                faults.CONFLICTING_TRAINERS.at(
                    fields["emit"].entry,
                    "the emitted trainers accumulate gradients in different dtypes",
                    shown,
                    help=("write `gradients = fp32` in `precision`",),
                )
            )
            value = FAULTY
        precision.fields["gradients"] = gradients._replace(value=value)  # type: ignore[index]


def _head(item: Any) -> nodes.Name | None:
    if isinstance(item, nodes.Narrowed):
        return item.head
    if isinstance(item, nodes.String):
        return nodes.Name(item.span, item.value)
    if isinstance(item, nodes.Path) and len(item.names) == 1:
        return item.names[0]
    return None


def _ignore(diagnostic: Diagnostic) -> None:
    """Reported where the block is read."""

"""One plan being evaluated: every field once, when it is first asked for.

A fault is reported where it stands; what depends on it becomes Unknown without a further word.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from planc.diagnostics.amounts import agreeing, count_text, either, plural
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label
from planc.plan import faults
from planc.plan.coerce import coerce
from planc.plan.evaluate import ANY, FAULTY, MAX_DEPTH, Env, Val, depth, empty_range, evaluate, is_word
from planc.plan.groups import unlike, whole
from planc.plan.merge import Merger
from planc.plan.model import Located, Origin, Record, Unknown
from planc.plan.naming import for_certain, instead
from planc.plan.policies import field_at, typed_value, unknown_path
from planc.plan.schema import AUTO, Field, Follows, Type
from planc.plan.scope import Report, lookup
from planc.plan.shape import BROKEN, Shape, Slot, fields_of, head_of, standing_alone
from planc.plan.solve import SOLVABLE, NotWhole, solve, would_do
from planc.plan.units import TOKENS, Amount
from planc.source import Span
from planc.syntax import nodes

#: Fields of a cluster that its groups give.
_OF_GROUPS = ("gpu", "nodes", "gpus_per_node", "domain", "intra_node", "inter_node", "cpu_memory", "cpu_cores")

#: Those of them that stand in place of groups, and never beside them.
_GIVEN_BY_GROUPS = ("gpu", "nodes", "gpus_per_node")

#: Counts that are powers of two by custom.
_IN_POWERS_OF_TWO = ("sequence_length", "max_sequence_length")

#: What a plan has to say, but files of other tools leave to its factors.
_OF_ITS_FACTORS = "batch.global"

#: Sections that say how ranks of an axis work together, and how many there are.
_OF_AXIS = {"pipeline": ("parallel", "pipeline"), "context": ("parallel", "context")}

#: Candidates of one field beyond which `lint` does not try them one by one.
MAX_CANDIDATES = 64

#: Fields that may be worked out one for the other.
MAX_FIELDS = 32

#: Divisions whose rest a rule reports, with values that would do: `auto` says nothing of its own there.
_JUDGED_BY_RULES = ("parallel.data", "batch.micro", "batch.accumulation")


class Outer(NamedTuple):
    """What is being worked out where a group of a cluster is: the clusters that it is part of, fields, operators."""

    clusters: tuple[nodes.Block, ...] = ()
    fields: int = 0
    operators: int = 0


_ALONE = Outer()


class Partial(NamedTuple):
    """What is known of a plan that other tools' files make: what none of them says is unknown, and no fault.

    withheld: fields and sections that have no default, since the files' consumers have others, or the program decides.
    world: ranks of the job, where its nodes are not known.
    """

    withheld: frozenset[str] = frozenset()
    world: int | None = None

    def withholds(self, path: tuple[str, ...]) -> bool:
        """Whether a field, or a section that it is part of, has no default."""
        return any(".".join(path[:length]) in self.withheld for length in range(1, len(path) + 1))

    def names(self, path: tuple[str, ...]) -> bool:
        """Whether a field itself is withheld, whatever is said of its section."""
        return ".".join(path) in self.withheld


#: Sections of another plan that rules compare with those of the one that goes on from its checkpoint.
_OF_ANOTHER = (
    "model", "cluster", "parallel", "shard", "batch", "precision", "optimizer", "checkpoint", "train",
)  # fmt: skip


class Instance:
    """A plan, or a block judged by itself, whose fields are worked out on demand.

    root: its shape, whose kind is `plan`; merger: gives the shapes of what it refers to; report: where faults go.
    partial: what to take for granted of a plan that is not whole; None of a plan that somebody wrote.
    """

    __slots__ = (
        "_active", "_groups_of", "_memo", "_operators", "_outer", "_sections", "merger", "partial", "report", "root",
    )  # fmt: skip

    def __init__(
        self, root: Shape, merger: Merger, report: Report, outer: Outer = _ALONE, partial: Partial | None = None
    ) -> None:
        self.partial = partial
        self.root = root
        self.merger = merger
        self.report = report
        self._outer = outer
        self._memo: dict[tuple[str, ...], Located] = {}
        self._sections: dict[tuple[str, ...], tuple[Located | None, Shape | None]] = {}
        self._groups_of: dict[tuple[str, ...], list[Record]] = {}
        self._active: list[tuple[str, ...]] = []
        self._operators = outer.operators

    def located(self, path: tuple[str, ...]) -> Located:
        """The field at a path."""
        if path in self._memo:
            return self._memo[path]
        if path in self._active:
            return self._cycle(path)
        section = path[:-1]
        if section not in self._sections:
            self._sections[section] = self._shape(section)
        parent, shape = self._sections[section]
        if shape is None:
            found = parent.value.find(path[-1]) if parent is not None and isinstance(parent.value, Record) else parent
            return found or Located(FAULTY, self.root.span, Origin.DEFAULTED, self.root.span)
        slot = shape.slots.get(path[-1])
        operators = depth(slot.value) if slot is not None else 0
        too_long = MAX_FIELDS <= self._outer.fields + len(self._active)
        if too_long or (self._operators and MAX_DEPTH < self._operators + operators):
            span = slot.span if slot is not None else self.root.span
            many = f"{MAX_FIELDS} fields" if too_long else f"{MAX_DEPTH} operators"
            self.report(faults.TOO_COMPLEX.at(span, f"more than {many} follow from each other", "here it is too much"))
            return Located(Unknown("too complex"), self.root.span, Origin.WRITTEN, self.root.span)
        self._active.append(path)
        self._operators += operators
        located = self._field(path, shape, shape.fields[path[-1]], slot)
        self._operators -= operators
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
        return Located(Unknown("defined by itself"), self.root.span, Origin.WRITTEN, self.root.span)

    def _shape(self, path: tuple[str, ...]) -> tuple[Located | None, Shape | None]:
        """The shape at a path, or what stands in place of it."""
        shape = self.root
        for at, name in enumerate(path):
            slot = shape.slots.get(name)
            field = shape.fields.get(name)
            if field is None:  # a block that is judged by itself has no plan around it
                outside = Unknown(f"`{name}` is not part of this block", (".".join(path),))
                return Located(outside, self.root.span, Origin.DEFAULTED, self.root.span), None
            removed = slot is not None and isinstance(slot.value, nodes.Literal) and slot.value.word == "none"
            if (
                (slot is None or removed)
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
                if isinstance(section.value, Record) and path[at + 1 :]:  # the card of unlike nodes
                    return section.value.find(".".join(path[at + 1 :])), None
                return section._replace(value=section.value if section.value else FAULTY), None
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
        if field.name in _GIVEN_BY_GROUPS and "groups" in shape.slots:
            if _is_none(value):
                return self._unwritten(path, shape, field)
            self.report(_beside_groups(shape))
            return made
        if value is BROKEN or isinstance(value, nodes.Bad):
            return made
        if isinstance(value, nodes.Candidates):
            return _with(made, self._candidates(path, field, slot))
        if isinstance(value, Shape):
            is_wordless = field.type.form == "variant" and field.default is not None and not _has_own_word(value)
            if is_wordless and self._withholds(path):
                return _with(made, self._unsaid(path))
            return _with(made, self._section(path, field, value))
        if isinstance(value, nodes.Literal) and value.word == "none" and "none" not in field.type.words:
            if field.required:
                return self._missing(shape, field, slot.entry)
            if self.partial is not None and field.default is None:
                return made._replace(value=None)  # said: else nobody knows
            # What is removed is as if it had never been written: its default holds.
            default = self._unwritten(path, shape._replace(poisoned=False), field)
            return made._replace(value=default.value, origin=default.origin)
        if isinstance(value, nodes.Literal) and value.word == "auto":
            return self._auto(path, field, made)
        if field.type.of == "plan":
            return _with(made, self._other_plan(value, slot))
        if (
            path == ("emit",)
            or path == ("policies",)
            or (field.type.form == "list" and field.type.item.form == "reference")
        ):
            return _with(made, self._names_of(field, value, slot))
        if field.name in _IN_POWERS_OF_TWO and isinstance(value, nodes.Number):
            self._advise_binary(value)
        want = field.type
        if want.by_variant:
            want = want._replace(words=dict(want.by_variant)[str(shape.word)])
            elsewhere = _variant_of(value, field)
            if elsewhere not in ("", shape.word):
                message = f"`{value.span.text}` belongs to `{elsewhere}`"
                help = (f"write {either([f'`{word}`' for word in want.words])}",)
                fixes = instead(value.span, want.words)
                self.report(
                    faults.UNKNOWN_WORD.at(value.span, message, f"this is `{shape.word}`", help=help, fixes=fixes)
                )
                return made
        got = coerce(value, want, self.env(slot))
        return made._replace(value=self._samples(got, slot) if path == ("batch", "global") else got)

    def _advise_binary(self, number: nodes.Number) -> None:
        """Advice on `8k` where 8Ki is the custom; `10k` is a choice of its own."""
        count = number.text.removesuffix("k")
        if count != number.text and count.isdigit() and len(count) < 4 and int(count).bit_count() == 1:
            fix = Fix(f"write `{count}Ki`", (Edit(number.span, f"{count}Ki"),), safe=False)
            label = f"{int(count) * 1000:,} tokens; `{count}Ki` is {int(count) * 1024:,}"
            help = (f"write `{count}Ki`, or `{count}_000` if that is meant",)
            message = f"`{number.text}` counts in thousands"
            self.report(faults.DECIMAL_SUFFIX.at(number.span, message, label, help=help, fixes=(fix,)))

    def _unwritten(self, path: tuple[str, ...], shape: Shape, field: Field) -> Located:
        made = Located(None, shape.span, Origin.DEFAULTED, shape.span)
        if shape.poisoned:
            return _with(made, Unknown(f"`{'.'.join(path[:-1]) or shape.kind}` has a fault"))
        if field.only and shape.word not in field.only:
            return made
        if "groups" in shape.slots and field.name in _OF_GROUPS:
            slot = shape.slots["groups"]
            if field.name == "gpus_per_node":
                self._check_groups(slot, self._groups(path[:-1]))
            return Located(whole(field.name, self._groups(path[:-1])), slot.span, Origin.INHERITED, slot.entry)
        if self.partial is not None and (field.required or self._withholds_of(path, shape)):
            dotted = ".".join(path)
            solved = solve(dotted, self._is_auto, self._value_of) if dotted == _OF_ITS_FACTORS else FAULTY
            if not isinstance(solved, Unknown):
                return made._replace(value=solved, origin=Origin.SOLVED)
            return _with(made, self._unsaid(path))
        if field.required:
            return self._missing(shape, field, shape.span)
        if field.default is AUTO:
            return self._auto(path, field, made)
        if isinstance(field.default, Follows):
            return _with(made, self._follow(shape, field, field.default))
        if field.type.form in ("record", "variant") and field.default is not None:
            word = field.default if field.type.form == "variant" else field.type.of
            return made._replace(
                value=self._section(
                    path, field, Shape(field.type.of, word, shape.span, fields_of(field.type.of), {}, shape.home, False)
                )
            )
        return _with(made, field.default)

    def _withholds_of(self, path: tuple[str, ...], shape: Shape) -> bool:
        """Whether a field of a section has no default: a file that says the section's word decides what is in it."""
        decided = 1 < len(path) and _has_own_word(shape)
        return self._withholds(path) and (not decided or (self.partial is not None and self.partial.names(path)))

    def _withholds(self, path: tuple[str, ...]) -> bool:
        """Whether a field has no default; of an axis without ranks nothing has to be said."""
        if self.partial is None or not self.partial.withholds(path):
            return False
        axis = _OF_AXIS.get(path[0])
        return axis is None or self.located(axis).value != 1

    def _unsaid(self, path: tuple[str, ...]) -> Unknown:
        dotted = ".".join(path)
        return Unknown(f"no file says `{dotted}`", (dotted,))

    def _missing(self, shape: Shape, field: Field, span: Span) -> Located:
        named = shape.word and shape.kind in ("gpu", "cluster", "model", "plan")
        name = f"`{shape.kind} {shape.word}`" if named else f"`{shape.kind}`"
        help = (f"add `{field.name} = ...`",)
        self.report(faults.MISSING_FIELD.at(span, f"{name} lacks `{field.name}`", field.doc, help=help))
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
        fields = {name: self.located((*path, name)) for name in shape.fields}
        return Record(shape.kind, shape.word or shape.kind, shape.span, fields)

    def _other_plan(self, value: Any, slot: Slot) -> Any:
        """Another plan, as far as the layout of what it saved is concerned."""
        head = head_of(value)
        if head is None:
            self.report(faults.WRONG_TYPE.at(value.span, "the name of a plan is due here"))
            return FAULTY
        found = lookup(slot.scope, ("plan", "template"), head, self.report)
        shape = self.merger.block(*found) if found is not None else None
        if shape is not None and isinstance(value, nodes.Narrowed):
            shape = self.merger.apply(shape, value.body, (), slot.scope, head.text)
        if shape is None:
            return FAULTY
        other = Instance(shape, self.merger, _ignore)
        fields = {name: other.located((name,)) for name in _OF_ANOTHER}
        return Record("plan", shape.word, shape.span, fields)

    def _groups(self, path: tuple[str, ...]) -> list[Record]:
        """The groups of a cluster, each resolved by itself; what is wrong with a group is said where it stands."""
        if path not in self._groups_of:
            _, shape = self._shape(path)
            slot = shape.slots["groups"] if shape is not None else None
            items = slot.value.items if slot is not None and isinstance(slot.value, nodes.List) else ()
            groups = [self._group(item, slot) for item in items if slot is not None]
            self._groups_of[path] = [group for group in groups if group is not None]
        return self._groups_of[path]

    def _group(self, item: Any, slot: Slot) -> Record | None:
        """One group of a cluster; None if there is none of its name, or it is part of itself."""
        head = head_of(item)
        block = lookup(slot.scope, ("cluster",), head, _ignore) if head is not None else None
        if block is None or head is None:
            return None
        if any(block[1] is cluster for cluster in self._outer.clusters):
            self.report(faults.CIRCULAR.at(head.span, f"`{head.text}` is a group of itself"))
            return None
        group = self.merger.block(*block)
        if group is not None and isinstance(item, nodes.Narrowed):
            group = self.merger.apply(group, item.body, (), slot.scope, "cluster")
        if group is None:
            return None
        outer = Outer((*self._outer.clusters, block[1]), self._outer.fields + len(self._active) + 2, self._operators)
        record = Instance(standing_alone(group, "cluster"), self.merger, self.report, outer).located(("cluster",)).value
        return record if isinstance(record, Record) else None

    def _check_groups(self, slot: Slot, groups: list[Record]) -> None:
        numbers = unlike(groups)
        if 1 < len(numbers):
            shown = either([count_text(number) for number in numbers], "and")
            message = f"groups with {shown} cards per node"
            help = (f"write `gpus_per_node = {count_text(min(numbers))}` for each of them",)
            self.report(faults.UNLIKE_GROUPS.at(slot.span, message, "each node starts as many ranks", help=help))

    def _map(self, field: Field, shape: Shape) -> Any:
        values = {}
        for key, slot in shape.slots.items():
            value = FAULTY if slot.value is BROKEN else coerce(slot.value, field.type.item, self.env(slot))
            if isinstance(value, Unknown):
                return value
            values[key] = value
        return FAULTY if shape.poisoned else values

    def _candidates(self, path: tuple[str, ...], field: Field, slot: Slot) -> Unknown:
        """A field left open; each candidate is checked for its type."""
        choices = slot.value.set
        if isinstance(choices, nodes.List):
            if not choices.items:
                self.report(faults.OUT_OF_RANGE.at(choices.span, f"`{field.name}` has no candidates", "an empty list"))
            for item in choices.items:
                if field.type.form == "reference":
                    self._is_known(field.type.of, item, slot)
                else:
                    coerce(item, field.type, self.env(slot))
        elif field.type.form not in ("count", "quantity"):
            due = ("write them out as `[a, b]`",)
            self.report(faults.WRONG_TYPE.at(choices.span, f"`{field.name}` has no ranges", help=due))
        elif isinstance(choices, nodes.Range):
            low, high = (coerce(end, field.type, self.env(slot)) for end in (choices.low, choices.high))
            if not isinstance(low, Unknown) and not isinstance(high, Unknown) and high < low:
                self.report(empty_range(choices))
        else:
            coerce(choices, Type("list", item=field.type), self.env(slot))
        return Unknown(f"`{'.'.join(path)}` is left open", (".".join(path),))

    def candidates(self, slot: Slot) -> tuple[Any, ...]:
        """The expressions from which a field left open may be chosen; none where they are faulty or too many."""
        choices = slot.value.set
        if isinstance(choices, nodes.List):
            return choices.items
        quiet = self.env(slot)._replace(report=_ignore)
        if isinstance(choices, nodes.Range):
            low, high = (evaluate(end, quiet).value for end in (choices.low, choices.high))
            if not (isinstance(low, int) and isinstance(high, int)) or MAX_CANDIDATES <= high - low:
                return ()
            return tuple(nodes.Number(choices.span, str(number)) for number in range(low, high + 1))
        values = evaluate(choices, quiet).value
        if not isinstance(values, tuple) or MAX_CANDIDATES < len(values):
            return ()
        return tuple(nodes.Number(choices.span, str(value)) for value in values if isinstance(value, int))

    def _auto(self, path: tuple[str, ...], field: Field, made: Located) -> Located:
        dotted = ".".join(path)
        if dotted == "precision.loss_scale":
            return _with(made, "dynamic")
        if dotted == "precision.gradients":
            return _with(made, None)  # settled when the targets are known
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
            return _with(made, FAULTY)
        value = solve(dotted, self._is_auto, self._value_of)
        if made.origin is not Origin.DEFAULTED:
            self._report_unsolved(dotted, value, made.span)
        return made._replace(value=value, origin=Origin.SOLVED)

    def _value_of(self, dotted: str) -> Any:
        value = self.located(tuple(dotted.split("."))).value
        if self.partial is not None and self.partial.world is not None and isinstance(value, Unknown):
            # The product of the two is known: all that the equations ask for.
            return {"cluster.nodes": self.partial.world, "cluster.gpus_per_node": 1}.get(dotted, value)
        return value

    def _report_unsolved(self, dotted: str, value: Any, span: Span) -> None:
        """A written `auto` that has no value, unless a rule says so with values that would do."""
        if isinstance(value, NotWhole) and dotted not in _JUDGED_BY_RULES:
            self.report(
                faults.UNSOLVABLE.at(span, f"no whole `{dotted}` fits the others", value.arithmetic, help=value.help)
            )
        if isinstance(value, Unknown) and value.undetermined and not self._rule_lists_batches(dotted):
            choices = would_do(dotted, self._is_auto, self._value_of)
            label = "several values would do" if len(choices) != 1 else "nothing else settles it"
            shown = ", ".join(f"`{choice}`" for choice in choices[:8])
            help = (f"write one of {shown}",) if choices else ("write the value, or the others of its equation",)
            message, fixes = f"`{dotted}` does not follow from the other fields", instead(span, map(str, choices[:8]))
            self.report(faults.UNSOLVABLE.at(span, message, label, help=help, fixes=fixes))

    def _rule_lists_batches(self, dotted: str) -> bool:
        """Whether PLN205 speaks: micro batch and accumulation are both open while all else is known."""
        open_too = all(self._is_auto(path) for path in ("batch.micro", "batch.accumulation"))
        known = not any(isinstance(self._value_of(path), Unknown) for path in ("batch.global", "parallel.data"))
        return dotted in ("batch.micro", "batch.accumulation") and open_too and known

    def _is_auto(self, dotted: str) -> bool:
        path = tuple(dotted.split("."))
        _, shape = self._shape(path[:-1])
        if shape is None:
            return False
        slot = shape.slots.get(path[-1])
        word = slot.value.word if slot is not None and isinstance(slot.value, nodes.Literal) else ""
        if slot is None or word == "none":
            follows = shape.fields[path[-1]].default is AUTO or (self.partial is not None and dotted == _OF_ITS_FACTORS)
            return follows and not (slot is None and shape.poisoned)
        return word == "auto"

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
                    f"{plural(got.value, 'token')} {agreeing(got.value, 'are')} no whole number of samples",
                    label,
                    help=(f"the nearest that are: {shown}",),
                    fixes=instead(slot.span, (f"{count_text(count)} tokens" for count in near)),
                )
            )
            return FAULTY
        return samples

    def env(self, slot: Slot) -> Env:
        """Where the expression of a slot is evaluated."""
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
        return path[0] in self.root.fields

    def _names_of(self, field: Field, value: Any, slot: Slot) -> Any:
        """A list of names, of blocks or targets, each checked; the entries themselves are read by who needs them."""
        if not isinstance(value, nodes.List):
            listed = f"[{value.span.text}]"
            help, fixes = (f"write `{listed}`",), for_certain(value.span, listed)
            self.report(faults.WRONG_TYPE.at(value.span, "one value where a list is due", help=help, fixes=fixes))
            return FAULTY
        names: list[str] = []
        faulty = False
        for item in value.items:
            head = head_of(item)
            if head is None:
                if not isinstance(item, nodes.Bad):
                    self.report(faults.WRONG_TYPE.at(item.span, "a name is due here"))
            elif field.type.item.form == "reference" and not self._is_known(field.type.item.of, item, slot):
                head = None
            faulty = faulty or head is None
            names.append(head.text if head else "")
        return FAULTY if faulty else tuple(names)

    def _is_known(self, kind: str, item: Any, slot: Slot) -> bool:
        """Whether an item names a block of a kind; a report says so if not."""
        head = head_of(item)
        if head is None:
            self.report(faults.WRONG_TYPE.at(item.span, f"the name of a {kind} is due here"))
            return False
        return lookup(slot.scope, (kind,), head, self.report) is not None


def _with(made: Located, value: Any) -> Located:
    """The field with a value; `_replace` would take four times as long, and there are 150 fields in a plan."""
    return Located(value, made.span, made.origin, made.entry)


def _beside_groups(cluster: Shape) -> Diagnostic:
    """The fault of a cluster that has both groups and what they give; the same for each of these fields."""
    both = [name for name in _GIVEN_BY_GROUPS if name in cluster.slots and not _is_none(cluster.slots[name].value)]
    listed = either([f"`{name}`" for name in both], "and")
    related = tuple(Label(cluster.slots[name].entry, "the groups have their own") for name in both)
    removed = " ".join(f"{name} = none" for name in both)
    help = (f"remove one of the two; `{removed}` removes what is inherited",)
    return faults.WRITTEN_TWICE.at(
        cluster.slots["groups"].entry, f"`groups` beside {listed}", "they give it", related=related, help=help
    )


def _has_own_word(shape: Shape) -> bool:
    """Whether a section with a word has it written, in place of its default."""
    return shape.word is not None and shape.span.text == shape.word


def _variant_of(value: Any, field: Field) -> str:
    """The variant of a section that has a written word, if one has; else nothing."""
    word = value.names[0].text if is_word(value) else ""
    return next((variant for variant, words in field.type.by_variant if word in words), "")


def _is_none(value: Any) -> bool:
    return isinstance(value, nodes.Literal) and value.word == "none"


def _ignore(diagnostic: object) -> None:
    """Reported where the text is read for itself."""

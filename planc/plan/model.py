"""The resolved plan: what the text means, with the place of every value. Knows nothing of syntax trees.

A plan is a tree of records that is read by path, as the language writes it: `plan["parallel.tensor"]`. References are
followed (`plan["cluster.gpu.memory"]`), defaults are filled in, and numbers are in base units: counts, bytes, bytes per
second, seconds, FLOP/s. What is faulty, or not written and without a default, is `Unknown`, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from planc.source import Span


class Origin(Enum):
    """How a field came by its value."""

    WRITTEN = "written"
    DEFAULTED = "default"
    INHERITED = "inherited"  # by `from`, or from a block that is referred to
    SOLVED = "solved"  # `auto`, worked out from the other fields
    OVERRIDDEN = "overridden"  # on the command line
    ASSUMED = "assumed"  # by an import


class Unknown:
    """A value that is not to be had: why, and which fields would supply it.

    unset: it is merely not written. undetermined: it was left to be worked out, and several values would do.
    Arithmetic with it gives it back, and no comparison with it holds, as with a NaN: a rule that takes one number too
    many for granted stays silent instead of failing.
    """

    __slots__ = ("missing", "reason", "undetermined", "unset")

    def __init__(
        self, reason: str, missing: tuple[str, ...] = (), unset: bool = False, undetermined: bool = False
    ) -> None:
        self.reason = reason
        self.missing = missing
        self.unset = unset
        self.undetermined = undetermined

    def __repr__(self) -> str:
        return f"Unknown({self.reason!r}, {self.missing!r})"

    def _key(self) -> tuple[Any, ...]:
        return self.reason, self.missing, self.unset, self.undetermined

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _itself(self, *_: Any) -> Unknown:
        return self

    def _no(self, *_: Any) -> bool:
        return False

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __pos__ = _itself
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _itself
    __lt__ = __le__ = __gt__ = __ge__ = _no


class Located(NamedTuple):
    """A value, where it stands (`span`), and how it came about; `entry` is the whole `field = value`."""

    value: Any
    span: Span
    origin: Origin
    entry: Span


class Record:
    """A section or block: its kind, the word or name that it was made from, and its fields by name.

    `word` is the variant of a section (`bf16` of `precision = bf16 { }`), the name of a block (`llama-3-8b`), or, of a
    section without variants, its kind. A field's value is an int or Fraction in base units, an Amount where the field
    takes several kinds of quantity, a bool, str, tuple, dict (maps), None (`none`), Record, or Unknown.
    """

    __slots__ = ("fields", "kind", "span", "word")

    def __init__(self, kind: str, word: str | None, span: Span, fields: Mapping[str, Located]) -> None:
        self.kind = kind
        self.word = word
        self.span = span
        self.fields = fields

    def __repr__(self) -> str:
        return f"Record({self.kind!r}, {self.word!r}, {sorted(self.fields)})"

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __contains__(self, path: str) -> bool:
        return self.find(path) is not None

    def find(self, path: str) -> Located | None:
        """The field at a dotted path, or None if the record has no such field."""
        first, _, rest = path.partition(".")
        located = self.fields.get(first)
        if located is None or not rest:
            return located
        value = located.value
        if isinstance(value, Record):
            return value.find(rest)
        if isinstance(value, dict):
            return located._replace(value=value.get(rest))
        # What lies below a missing or faulty section is as unknown as the section itself.
        if isinstance(value, Unknown):
            return located
        unset = Unknown(f"`{first}` is not set", (path,), unset=True)
        return Located(unset, located.span, located.origin, located.entry)

    def __getitem__(self, path: str) -> Located:
        located = self.find(path)
        if located is None:
            raise KeyError(f"{self.kind} has no field {path!r}")
        return located

    def value(self, path: str) -> Any:
        """The value at a path; of a section its word (`plan.value("precision")` is "bf16"), None if it is not there."""
        value = self[path].value
        return value.word if isinstance(value, Record) else value

    def is_written(self, path: str) -> bool:
        """Whether the field stands in the text, here or in a block that this one was made from."""
        located = self.find(path)
        return located is not None and located.origin in (Origin.WRITTEN, Origin.INHERITED, Origin.OVERRIDDEN)


class Part(NamedTuple):
    """One of the conditions that a rule joins, each of which breaks it alone: its text, and as in the rule."""

    text: str
    condition: Any
    paths: tuple[str, ...]


class PolicyRule(NamedTuple):
    """A rule of a policy, ready to be judged: `condition` and `guard` take a lookup of numbers by path.

    Both return True, False or Unknown; `guard` is None without a `when`. `name` is the policy's name, or
    `policy.rule` for a named rule; `text` is the condition as it is written. `parts` gives what it joins, which is
    asked for where the rule is broken.
    """

    name: str
    verb: str  # require, forbid, warn
    text: str
    span: Span
    condition: Any
    guard: Any
    because: str | None
    paths: tuple[str, ...]
    parts: Callable[[], Iterable[Part]] = tuple


class Open(NamedTuple):
    """A field that is left open for a search, and its entry."""

    path: str
    span: Span


class Choice(NamedTuple):
    """A target that a plan emits, with the options written for it."""

    name: str
    options: Record
    span: Span


class Plan(Record):
    """A plan block. `targets` holds what it emits; `policies` the rules that it asked to be judged by; `open` the
    fields that are left to a search.

    A model, cluster or gpu block that is judged by itself is a Plan too, with that one field known.
    """

    __slots__ = ("_found", "name", "open", "policies", "subject", "targets")

    def __init__(
        self,
        name: str,
        span: Span,
        fields: Mapping[str, Located],
        *,
        subject: str = "plan",
        policies: tuple[PolicyRule, ...] = (),
        targets: tuple[Choice, ...] = (),
        left_open: tuple[Open, ...] = (),
    ) -> None:
        super().__init__("plan", name, span, fields)
        self.name = name
        self.subject = subject
        self.policies = policies
        self.targets = targets
        self.open = left_open
        self._found: dict[str, Located] = {}

    def __getitem__(self, path: str) -> Located:
        found = self._found.get(path)
        if found is None:
            found = self.find(path)
            if found is None:
                found = Located(Unknown("not part of this block", (path,)), self.span, Origin.DEFAULTED, self.span)
            self._found[path] = found
        return found

    def emits(self, *names: str) -> bool:
        """Whether one of these targets is emitted."""
        return any(choice.name in names for choice in self.targets)

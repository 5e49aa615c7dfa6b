"""What the variables hold at a place of a script."""

from __future__ import annotations

from planc.native.shell.values import Scalar, Unknown, Value, bounded, joined


class Scope:
    """The variables that a part of a script sees: those that it has set, over those of the part around it.

    exported: the names that a started program gets.
    """

    __slots__ = ("_lost", "_parent", "_values", "exported")

    def __init__(self, parent: Scope | None = None) -> None:
        self._parent = parent
        self._values: dict[str, Value] = {}
        self._lost = ""
        self.exported: set[str] = set(parent.exported) if parent else set()

    def get(self, name: str) -> Value | None:
        """What a variable holds; None if the script has not set it, so that the environment decides."""
        at: Scope | None = self
        while at is not None:
            if name in at._values:
                return at._values[name]
            if at._lost:
                return Scalar((Unknown(at._lost, f"${name}"),))
            at = at._parent
        return None

    def set(self, name: str, value: Value) -> None:
        """Lets a variable hold a value."""
        self._values[name] = bounded(value)

    def forget(self, name: str, reason: str) -> None:
        """Makes a variable unknown."""
        self._values[name] = Scalar((Unknown(reason, f"${name}"),))

    def forget_all(self, reason: str) -> None:
        """Makes every variable unknown: something that sets any of them was not read."""
        self._values.clear()
        self._lost = reason

    def inner(self) -> Scope:
        """The scope of a part that may not run, or runs in a shell of its own."""
        return Scope(self)

    def started(self) -> Scope:
        """The scope of a program that the script starts: it has what was exported."""
        found = Scope()
        for name in self.exported:
            value = self.get(name)
            if value is not None:
                found.set(name, value)
        if self._lost:
            found._lost = self._lost
        found.exported = set(self.exported)
        return found

    def take(self, inner: Scope, besides: frozenset[str] = frozenset()) -> None:
        """Takes over what an inner part has set, but for some names that are its own."""
        if inner._lost:
            self.forget_all(inner._lost)
        for name, value in inner._values.items():
            if name not in besides:
                self._values[name] = value
        self.exported |= inner.exported

    def join(self, ways: list[Scope], reason: str) -> None:
        """Takes over what has been set on one of several ways, one of which was gone."""
        lost = next((way._lost for way in ways if way._lost), "")
        names = sorted({name for way in ways for name in way._values})
        together = {name: joined(tuple(way.get(name) for way in ways), reason, name) for name in names}
        if lost:
            self.forget_all(lost)
        for name, value in together.items():
            if value is not None:
                self._values[name] = value
        for way in ways:
            self.exported |= way.exported

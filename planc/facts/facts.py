"""The numbers derived from a plan for one engine, each computed once, when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from planc.facts.engine import Engine, engine_value
from planc.facts.fact import Fact
from planc.plan.model import Plan, Unknown

_SUBJECTS = (
    "ranks", "batch", "parameters", "memory", "layer_activations", "activations", "communication", "pipeline", "flops",
    "throughput", "budget", "recovery",
)  # fmt: skip


class Facts:
    """Derived numbers and fields under one name space: `facts["world.size"]`, `facts["parallel.tensor"]`.

    A value is a number, a word, or `Unknown`; it is never None for a number. `given` replaces fields or facts by values,
    which may be arrays: a plan's whole range of layouts in one evaluation.
    """

    __slots__ = ("_values", "engine", "plan")

    def __init__(self, plan: Plan, engine: Engine, given: Mapping[str, Any] | None = None) -> None:
        self.plan = plan
        self.engine = engine
        self._values: dict[str, Any] = dict(given or {})

    def __getitem__(self, path: str) -> Any:
        """The value of a fact or field, or Unknown with the fields that would supply it."""
        values = self._values
        if path not in values:
            fact = FACTS.get(path)
            values[path] = self._field(path) if fact is None else self._derive(fact)
        return values[path]

    def unknown(self, paths: tuple[str, ...]) -> list[tuple[str, Unknown]]:
        """Those of the paths that are not known, each with the reason."""
        return [(path, value) for path in paths if isinstance(value := self[path], Unknown)]

    def _field(self, path: str) -> Any:
        if path.startswith("engine."):
            return engine_value(self.engine, path[7:])
        value = self.plan.value(path)
        if value is None:
            return Unknown(f"`{path}` is not set", (path,), unset=True)
        return value

    def _optional(self, path: str) -> Any:
        """As `[path]`, but None for what is merely not set, or is no field of this variant."""
        if path not in self._values and path not in FACTS and self.plan.find(path) is None:
            return None
        value = self[path]
        return None if isinstance(value, Unknown) and value.unset else value

    def _derive(self, fact: Fact) -> Any:
        values: list[Any] = []
        reason = ""
        missing: list[str] = []
        for path in fact.inputs:
            value = self._optional(path[:-1]) if path.endswith("?") else self[path]
            if isinstance(value, Unknown):
                reason = reason or value.reason
                missing.extend(name for name in value.missing or (path,) if name not in missing)
            values.append(value)
        if missing:
            return Unknown(reason, tuple(missing))
        return fact.formula(*values)


def _collect() -> dict[str, Fact]:
    """Every fact of the modules of this folder, by path."""
    found: dict[str, Fact] = {}
    for subject in _SUBJECTS:
        for fact in import_module(f"planc.facts.{subject}").FACTS:
            found[fact.path] = fact
    return found


FACTS = _collect()

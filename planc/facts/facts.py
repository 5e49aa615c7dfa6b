"""The numbers derived from a plan for one engine, each computed once, when it is first asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from planc.facts.engine import Engine, engine_value
from planc.facts.fact import Fact, path_of
from planc.plan.model import Plan, Unknown

_SUBJECTS = (
    "ranks", "batch", "buckets", "parameters", "pipeline", "stages", "stage_parameters", "states", "layer_activations",
    "activations", "buffers", "memory", "links", "communication", "gradients",
    "flops", "kernels", "layer_times", "step", "throughput", "budget", "recovery",
)  # fmt: skip

#: The field by which the facts of one pipeline stage differ from those of another.
STAGE = "stage.index"


class Facts:
    """Derived numbers and fields under one name space: `facts["world.size"]`, `facts["parallel.tensor"]`.

    A value is a number, a word, or `Unknown`; it is never None for a number. `given` replaces fields or facts by values,
    which may be arrays: a plan's whole range of layouts in one evaluation.

    What differs from stage to stage of the pipeline is known to a view of one stage only, which `at_stage` gives; for all
    else a view asks the facts that it was made from, so that it is computed once.
    """

    __slots__ = ("_given", "_stages", "_values", "_whole", "engine", "plan")

    def __init__(self, plan: Plan, engine: Engine, given: Mapping[str, Any] | None = None) -> None:
        self.plan = plan
        self.engine = engine
        self._given: Mapping[str, Any] = given or {}
        self._values: dict[str, Any] = dict(self._given)
        self._whole: Facts | None = None
        self._stages: tuple[Facts, ...] | Unknown | None = None

    def __getitem__(self, path: str) -> Any:
        """The value of a fact or field, or Unknown with the fields that would supply it."""
        values = self._values
        if path not in values:
            if self._whole is not None and path not in STAGED:
                values[path] = self._whole[path]
            else:
                fact = FACTS.get(path)
                values[path] = self._field(path) if fact is None else self._derive(fact)
        return values[path]

    def unknown(self, paths: tuple[str, ...]) -> list[tuple[str, Unknown]]:
        """Those of the paths that are not known, each with the reason."""
        return [(path, value) for path in paths if isinstance(value := self[path], Unknown)]

    @property
    def has_experts(self) -> bool:
        """Whether the model has experts, or may have some."""
        count = self["model.experts.count"]
        return not (isinstance(count, Unknown) and count.unset)

    def changed(self, given: Mapping[str, Any], engine: Engine | None = None) -> Facts:
        """The facts of the same plan with other values of fields or facts, or of another engine."""
        other = Facts(self.plan, engine or self.engine, {**self._given, **given})
        other.learn(self, frozenset(given))
        return other

    def learn(self, known: Facts, given: frozenset[str] = frozenset()) -> None:
        """Takes over what other facts of this plan know, if it depends neither on `given` nor on another engine."""
        touched = _touched(given | _unlike(self.engine, known.engine))
        self._values = {path: value for path, value in known._values.items() if path not in touched} | self._values
        if self._stages is None and isinstance(known._stages, tuple) and "pipeline.judged_stages" not in touched:
            self._stages = tuple(self._like(stage, touched) for stage in known._stages)

    def _like(self, stage: Facts, touched: frozenset[str]) -> Facts:
        """The view of a stage of other facts as one of these, with what is not touched."""
        view = self.at_stage(stage[STAGE])
        kept = {path: value for path, value in stage._values.items() if path in STAGED and path not in touched}
        view._values = kept | view._values
        return view

    def at_stage(self, index: Any) -> Facts:
        """The facts of one stage of the pipeline, counted from 0; an array gives each layout a stage of its own."""
        view = Facts(self.plan, self.engine, {path: value for path, value in self._given.items() if path in STAGED})
        view._values[STAGE] = index
        view._whole = self
        return view

    @property
    def stages(self) -> tuple[Facts, ...] | Unknown:
        """Views of the stages of which one is the fullest and one the slowest, or why they are not known."""
        if self._stages is None:
            judged = self["pipeline.judged_stages"]
            self._stages = judged if isinstance(judged, Unknown) else tuple(map(self.at_stage, judged))
        return self._stages

    def given(self, path: str) -> Any:
        """What a formula is given for an input path, its suffix included; see `Fact.inputs`."""
        return self._passed(*_parsed(path))

    def _passed(self, path: str, how: str) -> Any:
        """The value of an input, by how it is passed."""
        if not how:
            return self[path]
        if how == "?":
            return self._optional(path)
        value = self._of_stages(path) if how.startswith("[]") else self[path]
        return None if how.endswith("~") and isinstance(value, Unknown) else value

    def _of_stages(self, path: str) -> Any:
        """The values of all judged stages, or why one of them is not known."""
        stages = self.stages
        if isinstance(stages, Unknown):
            return stages
        values = tuple(stage[path] for stage in stages)
        return next((value for value in values if isinstance(value, Unknown)), values)

    def _field(self, path: str) -> Any:
        if path.startswith("engine."):
            return engine_value(self.engine, path[7:])
        if path == STAGE:
            return Unknown("it differs from stage to stage of the pipeline", ())
        value = self.plan.value(path)
        if value is None:
            return Unknown(f"`{path}` is not set", (path,), unset=True)
        return value

    def _optional(self, path: str) -> Any:
        """As `[path]`, but None for what is merely not set, or is no field of this variant."""
        if self._whole is not None and path not in STAGED:
            return self._whole._optional(path)
        if path not in self._values and path not in FACTS and self.plan.find(path) is None:
            return None
        value = self[path]
        return None if isinstance(value, Unknown) and value.unset else value

    def _derive(self, fact: Fact) -> Any:
        values: list[Any] = []
        known = self._values
        unknown: list[tuple[str, Unknown]] = []
        for path, how in _INPUTS[fact.path]:
            value = known[path] if not how and path in known else self._passed(path, how)
            if isinstance(value, Unknown):  # or one that says more, such as NotWhole
                unknown.append((path, value))
            values.append(value)
        if not unknown:
            return fact.formula(*values)
        missing = dict.fromkeys(name for path, value in unknown for name in value.missing or (path,))
        return Unknown(unknown[0][1].reason, tuple(missing))


def _collect() -> dict[str, Fact]:
    """Every fact of the modules of this folder, by path."""
    found: dict[str, Fact] = {}
    for subject in _SUBJECTS:
        for fact in import_module(f"planc.facts.{subject}").FACTS:
            found[fact.path] = fact
    return found


@lru_cache(256)
def _touched(paths: frozenset[str]) -> frozenset[str]:
    """These fields and facts, and all facts that depend on one of them."""
    found = set(paths)
    while True:
        more = {
            path for path, names in _INPUTS.items() if path not in found and any(name in found for name, _ in names)
        }
        if not more:
            return frozenset(found)
        found |= more


@lru_cache(64)
def _unlike(engine: Engine, other: Engine) -> frozenset[str]:
    """Paths of the properties in which two engines differ."""
    pairs = zip(Engine._fields, engine, other, strict=True)
    return frozenset(f"engine.{name}" for name, left, right in pairs if left != right)


def _parsed(given: str) -> tuple[str, str]:
    """The path that an input names, and how it is passed: `?`, `~`, `[]`, `[]~`, or plainly."""
    path = path_of(given)
    return path, given[len(path) :]


def _staged(inputs: Mapping[str, tuple[tuple[str, str], ...]]) -> frozenset[str]:
    """Paths of the facts that differ from stage to stage: those that read its index, and those that read them."""
    found = {STAGE}
    while True:
        more = {
            path
            for path, names in inputs.items()
            if path not in found and any(name in found and not how.startswith("[]") for name, how in names)
        }
        if not more:
            return frozenset(found)
        found |= more


#: What a path says of a number that is of experts.
_OF_EXPERTS = re.compile(r"(^|[._])(moe|experts?)([._]|$)")


def of_experts(path: str) -> bool:
    """Whether a derived number is one of experts, which says nothing where a model has none."""
    return path in FACTS and _OF_EXPERTS.search(path) is not None


FACTS = _collect()
_INPUTS = {path: tuple(map(_parsed, fact.inputs)) for path, fact in FACTS.items()}
STAGED = _staged(_INPUTS)

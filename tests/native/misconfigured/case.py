"""A reported misconfiguration as files of other tools, and a near miss."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from planc.commands.files import Files
from planc.diagnostics.diagnostic import Diagnostic
from planc.native.composing import Parts
from planc.native.job import Beside, judge
from planc.native.kind import Options, Recognised
from tests.native.judging import recognised

#: A file: its text, or what is dumped as JSON.
File = str | Mapping[str, Any]


class Case(NamedTuple):
    """A kind of misconfiguration in the smallest files that show it.

    id: that of the kind; code: what is reported; at: the file and the text of the place, `ds.json: "stage": 3`.
    files: by name, as one job; near: texts that make it a near miss, each with the one that it takes the place of.
    cluster: what stands in a block of it; model: one of the catalogue; world, trainer, settings: as options say them.
    """

    id: str
    code: str
    at: str
    files: Mapping[str, File]
    near: tuple[tuple[str, str], ...]
    cluster: str | None = None
    model: str | None = None
    world: int | None = None
    trainer: str | None = None
    settings: tuple[str, ...] = ()


def texts_of(case: Case) -> dict[str, str]:
    """The files of a case, by name."""
    return {name: file if isinstance(file, str) else json.dumps(file) for name, file in case.files.items()}


def near_texts_of(case: Case) -> dict[str, str]:
    """The files of its near miss. Each change is one of exactly one place, in the files or beside them."""
    texts = texts_of(case)
    for old, new in case.near:
        places = [name for name, text in texts.items() if old in text]
        assert len(places) == 1 and texts[places[0]].count(old) == 1, (old, places)
        texts[places[0]] = texts[places[0]].replace(old, new)
    return texts


def judged_as(case: Case, texts: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """What is found in files of a case as one job, with what the case says beside them."""
    files = []
    for name, text in texts.items():
        file = recognised(name, text)
        assert isinstance(file, Recognised), (name, file)
        files.append(file)
    uses = tuple(f"planc/{name}" for name, part in (("gpus", case.cluster), ("models", case.model)) if part is not None)
    block = "" if case.cluster is None else f"cluster lab {{ {case.cluster} }}\n"
    parts = Parts(uses, block, None if case.cluster is None else "lab", case.model)
    beside = Beside(parts, case.world, case.settings, Options(case.trainer))
    return judge(files, Files().load, beside).diagnostics

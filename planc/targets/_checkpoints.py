"""Folders of checkpoints that end with the container, the pod or the machine that a run is in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.plan.model import Plan
from planc.targets._launch import written

#: The folders of a run: its own, and that of the run which it goes on from.
CHECKPOINTS, RESUMED = "checkpoint.directory", "resume.directory"


class Folder(NamedTuple):
    """A folder that a plan writes: the field, and the path; no address of a store."""

    field: str
    path: str


def checkpoint_folders(plan: Plan) -> Iterator[Folder]:
    """The folders of checkpoints that have to be on something that outlives the run's place, each once."""
    seen: set[str] = set()
    for field in (CHECKPOINTS, RESUMED):
        path = written(plan, field)
        if path is not None and plan.is_written(field) and "://" not in path and path not in seen:
            seen.add(path)
            yield Folder(field, path)

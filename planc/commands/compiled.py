"""A compiled folder in place of a plan file: what `planc attest` reads at the end of a job, far from the plan.

`planc.plan.json` in it is the resolved plan. The files of the plan are those of the folder, also where they were
edited; those that lie elsewhere, as most do for a pod, are as this planc writes them.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from planc import manifest
from planc.commands import writing
from planc.commands.compiling import emitted
from planc.commands.evidence_files import content_of
from planc.commands.output import CannotWork, quoted
from planc.diagnostics.text import visible
from planc.manifest import Origin
from planc.plan import plain
from planc.plan.model import Plan
from planc.source import MAX_BYTES
from planc.targets.target import EmittedFile
from planc.version import VERSION


class Compiled(NamedTuple):
    """The plan of a folder, where it came from, its files as they are, and what is odd about them, a line each."""

    plan: Plan
    origin: Origin
    files: tuple[EmittedFile, ...]
    told: tuple[str, ...]


def compiled(folder: str) -> Compiled:
    """What a compiled folder holds."""
    path = os.path.join(folder, plain.NAME)
    if not os.path.lexists(path):
        raise CannotWork(
            f"{quoted(folder)} has no `{plain.NAME}`, which `compile` writes for `slurm`, `torchrun` and `kubernetes` "
            "of a plan with `evidence`; name the plan file"
        )
    content = content_of(path, MAX_BYTES)
    try:
        plan = plain.plan_in(content.decode()) if len(content) <= MAX_BYTES else None
    except (plain.Unreadable, UnicodeDecodeError) as reason:
        why = str(reason) if isinstance(reason, plain.Unreadable) else "it is no text"
        raise CannotWork(f"{quoted(path)} cannot be used: {visible(why)}") from None
    if plan is None:
        raise CannotWork(f"{quoted(path)} cannot be used: it is too large to be one")
    origin, version = _origin(folder, plan)
    files = tuple(_as_it_is(folder, file) for file in emitted(plan, (), lambda file: False))
    edited = [file.path for file, is_edited in files if is_edited]
    why = "edited" if version in ("", VERSION) else f"compiled by planc {version}, which is not this one"
    told = tuple(f"{quoted(os.path.join(folder, name))} was {why}, and is recorded as it is" for name in edited)
    return Compiled(plan, origin, tuple(file for file, _ in files), told)


def _origin(folder: str, plan: Plan) -> tuple[Origin, str]:
    """Where the plan came from and which planc compiled it, where the folder has its manifest; a pod's has none."""
    path = os.path.join(folder, manifest.NAME)
    if not os.path.lexists(path):
        return Origin(plain.NAME), ""
    found = manifest.contents(writing.text_of(path) or "")
    if isinstance(found, str):
        raise CannotWork(f"{quoted(path)} cannot be used: {visible(found)}")
    if (found.plan, found.sha256) != (plan.name, manifest.hash_of(plan)):
        raise CannotWork(f"{quoted(folder)} holds a manifest and a `{plain.NAME}` of different plans")
    return found.origin, found.version


def _as_it_is(folder: str, file: EmittedFile) -> tuple[EmittedFile, bool]:
    """A file as it lies in the folder, or else as this planc writes it; and whether the two differ."""
    path = os.path.join(folder, file.path)
    if not os.path.isfile(path):
        return file, False
    text = writing.text_of(path)
    if text is None:
        raise CannotWork(f"cannot read {quoted(path)}: it is no text")
    return file._replace(text=text), text != file.text

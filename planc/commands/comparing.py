"""A compiled folder beside what its plan gives now: each difference, and why there is one. Reads only."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from planc import manifest
from planc.commands import writing
from planc.commands.compiling import emitted
from planc.commands.difference import NOTHING, difference
from planc.commands.files import reason_of
from planc.commands.output import CannotWork, quoted
from planc.manifest import Contents, Origin
from planc.plan.model import Plan
from planc.targets.target import EmittedFile
from planc.version import VERSION

#: Code points of a file from which on its differences are not shown: to find them takes longer than to look.
_MOST_COMPARED = 1 << 20


class Finding(NamedTuple):
    """One thing on disk that is not what the plan gives.

    kind: `edited` and `outdated` say who is to blame for a file; `schemas/check.schema.json` lists all.
    before, after: the text on disk and the one that is due, where both are text.
    """

    path: str
    kind: str
    reason: str
    before: str | None = None
    after: str | None = None


def compare(folder: str, plan: Plan, origin: Origin) -> tuple[Finding, ...]:
    """What `compile` would change in a plan's folder; a manifest that differs by planc's version alone is none."""
    path = os.path.join(folder, manifest.NAME)
    if not os.path.isdir(folder):
        return (Finding(folder, "missing", "the folder is not there"),)
    text = manifest_text(path)
    known = manifest.contents(text) if text is not None else None
    listed = known.hashes if isinstance(known, Contents) else {}
    files = emitted(plan, origin.targets, lambda file: file.path in listed)
    found = [*_of_manifest(path, known, plan, origin)]
    for file in sorted(files, key=lambda file: file.path):
        found.extend(_of_file(folder, file, listed, _blame(known, plan)))
    found.extend(_of_others(folder, listed, {file.path for file in files}))
    if not found and text is not None and isinstance(known, Contents):
        due = manifest.text_of(plan, origin, files, known.version, {})
        if manifest.canonical(json.loads(due)) != manifest.canonical(json.loads(text)):
            found.append(Finding(path, "manifest-outdated", "it does not say what planc writes here", text, due))
    return tuple(found)


def manifest_text(path: str) -> str | None:
    """The text of a manifest, empty if it is no text; None if there is none."""
    if not os.path.lexists(path):
        return None
    if not os.path.isfile(path):
        return ""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except ValueError:
        return ""
    except OSError as error:
        raise CannotWork(f"cannot read {quoted(path)}: {reason_of(error)}") from error


def broken(path: str, reason: str) -> Finding:
    """What is to be said of a manifest that cannot be read as one."""
    return Finding(path, "manifest-broken", f"{reason}, so nothing says what planc wrote")


def diff(finding: Finding) -> str:
    """The unified diff from what is on disk to what is due, harmless to a terminal; empty if there is none."""
    if finding.before is None and finding.after is None:
        return ""
    before, after = finding.before or "", finding.after or ""
    if _MOST_COMPARED < len(before) + len(after):
        return "(too large to show)\n"
    names = (
        finding.path if finding.before is not None else NOTHING,
        finding.path if finding.after is not None else NOTHING,
    )
    return difference(names, ("on disk", "as compiled"), before, after)


def _of_manifest(path: str, known: Contents | str | None, plan: Plan, origin: Origin) -> Iterator[Finding]:
    if known is None:
        yield Finding(path, "manifest-missing", "the manifest is not there, so nothing says what planc wrote")
        return
    if isinstance(known, str):
        yield broken(path, known)
        return
    if known.cut_short:
        yield Finding(path, "cut-short", "a run of `planc compile` was cut short while it replaced files")
    same = True
    for option, was, now in (
        ("--set", known.origin.settings, origin.settings),
        ("--target", known.origin.targets, origin.targets),
    ):
        if was != now:
            same = False
            yield Finding(
                path, "options-changed", f"compiled with {_said(option, was)}, checked with {_said(option, now)}"
            )
    if (known.plan, known.origin.file) != (plan.name, origin.file):
        was_of = f"plan {quoted(known.plan)} of {quoted(known.origin.file)}"
        yield Finding(
            path, "other-plan", f"compiled from {was_of}, checked with {quoted(plan.name)} of {quoted(origin.file)}"
        )
    elif same and known.sha256 != manifest.hash_of(plan):
        yield Finding(path, "plan-changed", _blame(known, plan))


def _said(option: str, values: tuple[str, ...]) -> str:
    return " ".join(quoted(f"{option} {value}") for value in values) or f"no `{option}`"


def _blame(known: Contents | str | None, plan: Plan) -> str:
    """Why a file that nobody edited differs."""
    if not isinstance(known, Contents):
        return "nothing says from what"
    newer = known.version != VERSION
    if known.sha256 != manifest.hash_of(plan):
        if newer:
            return f"the plan has changed, or what planc {VERSION} makes of it; planc {known.version} compiled it"
        return "the plan has changed since it was compiled"
    if newer:
        return f"planc {VERSION} writes it otherwise than planc {known.version}, which compiled it"
    return "planc writes it otherwise now, in the same version"


def _of_file(folder: str, file: EmittedFile, listed: Mapping[str, str], blame: str) -> Iterator[Finding]:
    path = os.path.join(folder, file.path)
    present, due, was = writing.hash_of(path), manifest.digest(file.text), listed.get(file.path)
    if present == due:
        if file.executable != os.access(path, os.X_OK):
            yield Finding(path, "mode", f"it is {'not ' if file.executable else ''}executable")
        return
    before = writing.text_of(path)
    if present is None:
        yield Finding(path, "missing", "it is not there", None, file.text)
    elif present in writing.NO_HASHES:
        yield Finding(path, "edited", f"it is {present}")
    elif was is None:
        yield Finding(path, "unlisted", "it is not as planc writes it, nor in the manifest", before, file.text)
    elif present == was:
        yield Finding(path, "outdated", blame, before, file.text)
    else:
        also = f"; besides, {blame}" if was != due else ""
        yield Finding(path, "edited", f"it is not as planc wrote it{also}", before, file.text)


def _of_others(folder: str, listed: Mapping[str, str], due: set[str]) -> Iterator[Finding]:
    """Files that the manifest lists and the plan does not give."""
    for name in sorted(set(listed) - due):
        path = os.path.join(folder, name)
        present = writing.hash_of(path) if writing.is_below(name) else None
        if present is not None:
            edited = "" if present == listed[name] else ", and it was edited"
            before = writing.text_of(path) if present not in writing.NO_HASHES else None
            yield Finding(path, "left-over", f"it is not emitted any more{edited}", before, None)

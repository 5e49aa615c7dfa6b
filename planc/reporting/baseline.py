"""A baseline: the findings that a tree had before planc came to it, which `lint` passes over.

A finding is known by its fingerprint, which stays when lines move, and the file's path from the folder of the baseline.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic
from planc.diagnostics.fingerprint import fingerprints
from planc.source import Source

VERSION = 1  # of the form; a key that is removed or changes its meaning raises it, a new key does not


class Baseline(NamedTuple):
    """The known findings: the file of each by its fingerprint, and each as it is written."""

    files: dict[str, str]
    findings: tuple[dict[str, str], ...]


class Outcome(NamedTuple):
    """What is new, how many findings were known, and how many known ones of the files that were read are gone."""

    diagnostics: tuple[Diagnostic, ...]
    num_known: int
    num_gone: int


def text_of(diagnostics: Iterable[Diagnostic], name_of: Callable[[Source], str], kept: Iterable[dict[str, str]]) -> str:
    """The baseline of these findings as text, and of those that are kept of another one.

    `name_of` gives a file's path from the baseline's folder.
    """
    diagnostics = tuple(diagnostics)
    findings = [
        {
            "file": name_of(found.primary.span.source),
            "code": found.code,
            "name": found.name,
            "message": found.message,
            "fingerprint": fingerprint,
        }
        for found, fingerprint in zip(diagnostics, fingerprints(diagnostics, name_of), strict=True)
    ]
    findings.extend(kept)
    findings.sort(key=lambda finding: (finding["file"], finding["code"], finding["fingerprint"]))
    return json.dumps({"version": VERSION, "findings": findings}, indent=2) + "\n"


def read(text: str) -> Baseline | str:
    """The baseline in a text, or the reason why it is none."""
    try:
        document = json.loads(text)
        if document["version"] != VERSION:
            return f"it has version {document['version']!r}; this planc reads version {VERSION}"
        findings = tuple({str(key): str(value) for key, value in each.items()} for each in document["findings"])
        return Baseline({each["fingerprint"]: each["file"] for each in findings}, tuple(map(_sound, findings)))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return "it is no baseline; `planc lint --write-baseline` writes one"


def _sound(finding: dict[str, str]) -> dict[str, str]:
    """A finding with its keys in order; a KeyError where one is not there."""
    return {key: finding[key] for key in ("file", "code", "name", "message", "fingerprint")}


def without(
    diagnostics: Iterable[Diagnostic], baseline: Baseline, files: Iterable[str], name_of: Callable[[Source], str]
) -> Outcome:
    """The diagnostics that the baseline does not know; `files` are those that were read, as `name_of` gives them."""
    diagnostics = tuple(diagnostics)
    marks = fingerprints(diagnostics, name_of)
    new = tuple(found for found, mark in zip(diagnostics, marks, strict=True) if mark not in baseline.files)
    here, present = set(files), set(marks)
    gone = sum(file in here and mark not in present for mark, file in baseline.files.items())
    return Outcome(new, len(diagnostics) - len(new), gone)

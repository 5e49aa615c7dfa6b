"""The page of a kind of diagnostic, taken apart and as Markdown.

A page is a summary on one line and labelled parts, `Why: ...`. A part whose text starts on the label's line is prose;
one that stands indented below it is a plan.
"""

from __future__ import annotations

import re

PARTS = ("Why", "Example", "Instead", "Fix", "Source", "Versions")

_LABEL = re.compile(rf"({'|'.join(PARTS)}):[ ]*(.*)")
_CODE = re.compile(r"(`[^`]*`)")
_MARKS = re.compile(r"([\\`*_\[\]<>&~|$])")
_INDENT = "    "


def parts(page: str) -> dict[str, str]:
    """The parts of a page by label, the summary under the empty one; prose is on one line, a plan as it is written."""
    found: dict[str, list[str]] = {"": []}
    label = ""
    for line in page.splitlines():
        match = _LABEL.fullmatch(line)
        if match:
            label, line = match[1], match[2]
        found.setdefault(label, []).append(line)
    return {label: _text(lines) for label, lines in found.items()}


def markdown(page: str) -> str:
    """The page in GitHub's Markdown: labels in bold, plans in fences, nothing else taken for markup."""
    blocks = []
    for label, text in parts(page).items():
        head = f"**{label}:** " if label else ""
        if text.endswith("\n"):
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
            blocks.append(f"{head.rstrip()}\n\n{fence}planc\n{text}{fence}".lstrip())
        else:
            blocks.append(f"{head}{_prose(text)}")
    return "\n\n".join(blocks) + "\n"


def _text(lines: list[str]) -> str:
    """Prose on one line; or the lines of a plan, each with its end."""
    first, *rest = lines
    written = [line for line in rest if line.strip()]
    if first or not written or not all(line.startswith(_INDENT) for line in written):
        return " ".join(line.strip() for line in lines if line.strip())
    return "\n".join(line.removeprefix(_INDENT) for line in rest).strip("\n") + "\n"


def _prose(text: str) -> str:
    pieces = _CODE.split(text)
    return "".join(piece if number % 2 else _MARKS.sub(r"\\\1", piece) for number, piece in enumerate(pieces))

"""From a text to a tree, and to the kind of file that it is: by what it holds, not by what it is called."""

from __future__ import annotations

import re

from planc.diagnostics.diagnostic import Diagnostic
from planc.native import faults
from planc.native.kind import Kind, Recognised
from planc.native.kinds import all_kinds, load_kind
from planc.native.tree import Broken, Tree
from planc.source import STDIN, Source, Span

#: Formats by the ending of a file's name.
_BY_ENDING = {
    ".json": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml",
}  # fmt: skip

#: How names of files end that have lines and no tree.
_LINES = ("hostfile", ".args")

#: Endings that a template has behind that of what it makes.
_OF_TEMPLATES = (".template", "-template", ".tmpl", ".example", ".in")

#: Endings of scripts in a folder; one that is named may be called otherwise.
SCRIPTS = (".sh", ".bash", ".sbatch", ".slurm", ".pbs", ".qsub", ".lsf", ".bsub", ".sge", ".job")

#: How a script begins.
_SHEBANG = re.compile(r"#!\S*(?:/env[ \t]+)?\S*sh\b")

#: Endings of the files that are looked into in a folder.
ENDINGS = (*_BY_ENDING, *_LINES, *SCRIPTS, *(ending + more for ending in _BY_ENDING for more in _OF_TEMPLATES))

#: The first line of a file that lists hosts.
_HOST = re.compile(r"\S+\s+slots=")


#: The first lines of TOML and of YAML, which on standard input no name tells.
_SECTION = re.compile(r"\[{1,2}[\w.\"-]+\]{1,2}")
_KEY = re.compile(r"---|[\w.\"'-]+:(\s|$)")

#: Lines or commas of a file: what has more was no configuration that a person wrote.
MAX_VALUES = 20_000


def format_of(source: Source) -> str | None:
    """The format that a file's name, or the beginning of its text, promises; None if neither does."""
    name = source.name.lower()
    for ending in _OF_TEMPLATES:
        name = name.removesuffix(ending)
    for ending, form in _BY_ENDING.items():
        if name.endswith(ending):
            return form
    if source.text.lstrip()[:1] == "{":
        return "json"
    if name.endswith((*_LINES, *SCRIPTS)) or _SHEBANG.match(source.text):
        return "text"
    first = _first_line(source)
    if _HOST.match(first):
        return "text"
    if source.name != STDIN:
        return None
    return "toml" if _SECTION.match(first) else "yaml" if _KEY.match(first) else None


def _first_line(source: Source) -> str:
    """The first line that is neither empty nor a comment, without the blanks before it."""
    lines = (line.strip() for line in source.text.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")


def read_tree(source: Source, form: str) -> Tree | Broken:
    """The tree of a text in a format."""
    from importlib import import_module

    found: Tree | Broken = import_module(f"planc.native.{form}_tree").read(source)
    return found


def recognise(source: Source, kind: str | None, outright: bool) -> Recognised | Diagnostic | None:
    """What kind of file a text is; what is wrong where that cannot be told; None for one to be passed over.

    kind: the kind that the command line gives it; outright: it was named, not found in a folder.
    """
    form = format_of(source)
    chosen = None if kind is None else load_kind(kind)
    if chosen is not None and form not in chosen.formats:
        form = chosen.formats[0]
    kinds = (chosen,) if chosen is not None else tuple(each for each in all_kinds() if _is_marked(source, each, form))
    if form is None or not kinds:
        return _unmarked(source, form) if outright else None
    if _is_too_long(source):
        place, label = Span(source, 0, 0), f"the limit is {MAX_VALUES:,}"
        return faults.UNREADABLE.at(place, "the file has more values than planc reads", label) if outright else None
    tree = read_tree(source, form)
    if isinstance(tree, Broken):
        if outright or _looks_sure(source, kinds):
            return _unreadable(tree, form)
        return None
    if chosen is not None:
        return Recognised(tree, chosen)
    sure = [(each.recognise(tree), each) for each in kinds]
    best, found = max(sure, key=lambda pair: pair[0])
    if best == 0:
        return _unrecognised(source) if outright else None
    return Recognised(tree, found)


def _unmarked(source: Source, form: str | None) -> Diagnostic:
    """What is wrong with a file that was named and has no mark of any kind: it may be broken before it has one."""
    if form not in (None, "text") and not _is_too_long(source):
        tree = read_tree(source, str(form))
        if isinstance(tree, Broken):
            return _unreadable(tree, str(form))
    return _unrecognised(source)


def _unreadable(tree: Broken, form: str) -> Diagnostic:
    return faults.UNREADABLE.at(tree.span, f"the file is no {form.upper()}", tree.text, help=tree.help)


def _is_too_long(source: Source) -> bool:
    return MAX_VALUES < max(source.text.count(","), source.text.count("\n"))


def _is_marked(source: Source, kind: Kind, form: str | None) -> bool:
    return form in kind.formats and (not kind.marks or any(mark in source.text for mark in kind.marks))


def _looks_sure(source: Source, kinds: tuple[Kind, ...]) -> bool:
    """Whether a broken file in a folder is one that planc would judge: it has two marks of one kind, or all."""
    return any(
        min(2, len(kind.marks)) <= sum(mark in source.text for mark in kind.marks) for kind in kinds if kind.marks
    )


def _unrecognised(source: Source) -> Diagnostic:
    listed = "; ".join(f"`{kind.name}`, {kind.title}" for kind in all_kinds())
    help = ("name the kind with `--kind` if planc should know it",)
    message = "the file is of no kind that planc reads"
    return faults.UNRECOGNISED.at(Span(source, 0, 0), message, help=help, notes=(f"the kinds: {listed}",))

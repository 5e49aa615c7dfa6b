"""Which blocks a file knows: its own, and those of the files that it uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.diagnostics.names import did_you_mean, guesses
from planc.plan import faults
from planc.plan.naming import instead, written
from planc.resources import names as shipped
from planc.source import CATALOGUE, POLICIES, Source, Span
from planc.syntax import nodes
from planc.syntax.outline import Outline
from planc.syntax.parse import parse

#: Supplies a used file: the name as it is written and the file that uses it -> the text, or why it cannot be had.
Load = Callable[[str, Source | None], Source | str]

Report = Callable[[Diagnostic], None]

#: Files that may be used one through the other.
MAX_USES = 32

#: Names that a message lists; it counts the others.
_LISTED = 12


class Scope:
    """A parsed file: its blocks by kind and name, the scopes of the files that it uses, the faults in its text.

    `linked`: whether the files that it uses were looked for.
    """

    __slots__ = ("blocks", "faults", "file", "linked", "source", "twice", "used")

    def __init__(self, source: Source, file: nodes.File) -> None:
        self.source = source
        self.file = file
        self.faults: list[Diagnostic] = []
        self.blocks: Mapping[tuple[str, str], nodes.Block] = {}
        self.twice: set[tuple[str, str]] = set()
        self.used: list[tuple[nodes.Use, Scope]] = []
        self.linked = False

    def candidates(self, kind: str, name: str) -> list[tuple[Scope, nodes.Block]]:
        """The blocks of a kind that a name may mean: the file's own hides the used ones."""
        own = self.blocks.get((kind, name))
        if own is not None:
            return [(self, own)]
        return [(scope, scope.blocks[kind, name]) for _, scope in self.used if (kind, name) in scope.blocks]

    def names(self, kind: str) -> list[str]:
        """Every name of a kind that the file knows, its own first."""
        own = [name for block_kind, name in self.blocks if block_kind == kind]
        return own + [name for _, scope in self.used for block_kind, name in scope.blocks if block_kind == kind]

    def is_open(self) -> bool:
        """Whether this file or a used one could not be read whole, so that a missing name may be in it."""
        read_whole = self.file.complete and all(scope.file.complete for _, scope in self.used)
        return not read_whole or len(self.used) < len(self.file.uses)


#: Scopes that were made, by source and whether all of its text was read. Who analyses file by file keeps them.
Made = dict[tuple[Source, bool], Scope]


def scopes(sources: tuple[Source, ...], load: Load, made: Made) -> list[Scope]:
    """The scope of each source; used files are read once each."""
    return [with_used(_scope(source, made), load, made) for source in sources]


def with_used(scope: Scope, load: Load, made: Made) -> Scope:
    """The scope with those of the files that it uses, and that these use: a file's blocks may refer to them."""
    level, seen = [scope], {id(scope)}
    for _ in range(MAX_USES):
        following = []
        for user in level:
            if not user.linked:
                _link(user, load, made)
            for _, used in user.used:
                if id(used) not in seen:
                    seen.add(id(used))
                    following.append(used)
        level = following
    for user in level:
        for use in user.file.uses[:1]:
            fault = faults.TOO_COMPLEX.at(use.path.span, f"more than {MAX_USES} `use` in a chain", "not read")
            if fault not in user.faults:
                user.faults.append(fault)
    return scope


def _link(scope: Scope, load: Load, made: Made) -> None:
    """Finds the files that a file uses. It sees the blocks that they define, not those that they use."""
    scope.linked = True
    for use in scope.file.uses:
        found = load(use.path.value, scope.source)
        if isinstance(found, str):
            message = f"cannot use `{use.path.value}`"
            others = _other_files(use.path.value, scope, load)
            help = (f"did you mean {either([f'`{other}`' for other in others])}?",) if others else ()
            fixes = instead(use.path.span, (written(other, quoted=True) for other in others))
            scope.faults.append(faults.UNUSABLE_IMPORT.at(use.path.span, message, found, help=help, fixes=fixes))
        elif is_read_in_parts(use.path.value):
            scope.used.append((use, _catalogue(found, made)))
        else:
            scope.used.append((use, _scope(found, made)))


def is_read_in_parts(path: str) -> bool:
    """Whether a file is one of planc's own of which only the blocks are read that are referred to."""
    return path.startswith(CATALOGUE) and not path.startswith(POLICIES)


def _other_files(path: str, scope: Scope, load: Load) -> list[str]:
    """What a path without its ending, or a name of the catalogue without its folder, may mean."""
    others = () if path.startswith(CATALOGUE) else (f"{path}.plan", f"{CATALOGUE}{path.removesuffix('.plan')}")
    return [other for other in others if isinstance(load(other, scope.source), Source)]


def _scope(source: Source, made: Made) -> Scope:
    """The scope of a file by itself."""
    if (source, True) not in made:
        made[source, True] = scope_of(source, *parse(source))
    return made[source, True]


def scope_of(source: Source, file: nodes.File, diagnostics: tuple[Diagnostic, ...]) -> Scope:
    """The scope of a file that was parsed, by itself, with what was found while parsing it."""
    scope = Scope(source, file)
    scope.faults.extend(diagnostics)
    report = scope.faults.append
    scope.blocks = blocks = dict[tuple[str, str], nodes.Block]()
    for setting in file.settings:
        if setting.value.text not in ("1", "1.0"):
            report(
                faults.UNKNOWN_LANGUAGE.at(
                    setting.value.span,
                    f"language {setting.value.text} is unknown",
                    help=("this planc reads language 1",),
                )
            )
    for block in file.blocks:
        key = (block.kind, block.name.text)
        first = blocks.get(key)
        if first is None:
            blocks[key] = block
            continue
        scope.twice.add(key)
        report(
            faults.WRITTEN_TWICE.at(
                block.name.span,
                f"two blocks `{block.kind} {block.name.text}`",
                "again here",
                related=(Label(first.name.span, "first here"),),
            )
        )
    return scope


def _catalogue(source: Source, made: Made) -> Scope:
    """The scope of a file of planc's own, whose blocks are read as they are referred to."""
    if (source, False) not in made:
        scope = made[source, False] = Scope(
            source, nodes.File(Span(source, 0, len(source.text)), (), (), (), complete=True)
        )
        scope.blocks = Outline(source)
    return made[source, False]


def circles(found: list[Scope]) -> list[Diagnostic]:
    """The faults of files that use each other in a circle: one each, at its first `use`, whichever file is linted."""
    faulty: list[Diagnostic] = []
    done: set[int] = set()
    for scope in found:
        used = _used_by(scope)
        if id(scope) not in used or id(scope) in done:
            continue
        circle = [other for other in used.values() if id(scope) in _used_by(other)]
        done.update(map(id, circle))
        names = {id(other) for other in circle}
        uses = [use for other in circle for use, target in other.used if id(target) in names]
        first, *others = sorted(uses, key=lambda use: (use.span.source.name, use.span.start))
        related = tuple(Label(use.path.span, "and this one") for use in others)
        message = f"`{first.path.value}` is used in a circle" if others else "the file uses itself"
        faulty.append(faults.CIRCULAR.at(first.path.span, message, "comes back to this file", related=related))
    return faulty


def _used_by(start: Scope) -> dict[int, Scope]:
    """The files that a file uses, itself or through those that it uses, by identity; the file itself in a circle."""
    found: dict[int, Scope] = {}
    todo = [used for _, used in start.used]
    while todo:
        scope = todo.pop()
        if id(scope) not in found:
            found[id(scope)] = scope
            todo.extend(used for _, used in scope.used)
    return found


def lookup(scope: Scope, kinds: tuple[str, ...], name: nodes.Name, report: Report) -> tuple[Scope, nodes.Block] | None:
    """The block that a name refers to; None with a report if there is none, or which one is not clear."""
    for kind in kinds:
        found = scope.candidates(kind, name.text)
        if len(found) == 1:
            if (kind, name.text) in found[0][0].twice:
                return None  # reported where it is written twice
            return found[0]
        if found:
            related = tuple(Label(block.name.span, "defined here") for _, block in found)
            report(
                faults.AMBIGUOUS_NAME.at(
                    name.span, f"{len(found)} used files define `{kind} {name.text}`", "which of them?", related=related
                )
            )
            return None
    unread = name.text == "" and name.span.text != '""'
    if scope.is_open() or unread:
        return None
    report(_unknown(scope, kinds, name))
    return None


def _unknown(scope: Scope, kinds: tuple[str, ...], name: nodes.Name) -> Diagnostic:
    known = [known_name for kind in kinds for known_name in scope.names(kind)]
    owner, _, last = name.text.rpartition("/")
    advice = did_you_mean(last or name.text, known)
    guessed = bool(advice)
    quoted = name.span.text.startswith('"')
    fixes = instead(name.span, (written(guess, quoted) for guess in guesses(last or name.text, known)))
    catalogue = {"gpu": "planc/gpus", "model": "planc/models"}.get(kinds[0])
    if catalogue and not guessed and all(use.path.value != catalogue for use in scope.file.uses):
        advice = (f'`use "{catalogue}"` brings in the built-in ones',)
    if kinds[0] == "policy" and not guessed and name.text in shipped("policies", ".plan"):
        advice = (f'`use "{POLICIES}{name.text}"` brings it in',)
    if owner and kinds[0] == "model":
        advice = (*advice, 'a model of the Hub is read from its file: `model NAME from hf("config.json")`')
    listed = ", ".join(f"`{known_name}`" for known_name in sorted(known)[:_LISTED])
    more = f" and {len(known) - _LISTED} more" if _LISTED < len(known) else ""
    notes = (f"this file knows {listed}{more}",) if listed and not guessed else ()
    return faults.UNKNOWN_NAME.at(
        name.span, f"no {kinds[0]} is called `{name.text}`", "not known here", help=advice, notes=notes, fixes=fixes
    )

"""Which files of other tools are one job: those that name each other, and those that stand together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from planc.native.kind import Content, Recognised, Reference
from planc.source import Source

#: The files that others name: by which of them, and where.
Named = Mapping[Source, Sequence[tuple[Source, Reference]]]

#: Kinds that are read by one program: a Trainer asks accelerate, and both hand a DeepSpeed file on.
_OF_ONE_PROGRAM = frozenset(("deepspeed", "accelerate", "transformers"))

#: Kinds that files seldom name which are for them all the same.
_UNNAMED = frozenset(("hf-config", "hostfile"))

#: Kinds that stand beside any other.
_BESIDE = frozenset(("hf-config", "hostfile", "shell"))

#: Kinds that a script which does not name them has in its own command line.
_OF_COMMAND_LINES = frozenset(("accelerate", "transformers"))


def jobs(files: Sequence[Recognised], named: Named, outright: Iterable[str]) -> list[list[Recognised]]:
    """The files that are one job each. A file that several scripts name is one of the job of each.

    Those that name each other are one job. So are all that were named outright, and all of a folder in which none names
    another, if no two of them are of one kind and one program may read them all. Any other is judged by itself, as is a
    script of a folder beside arguments, or a configuration of accelerate, that it does not name.
    """
    groups = _linked(files, named)
    wanted = set(outright)
    together = [group for group in groups if any(file.tree.source.name in wanted for file in group)]
    if together and _fit(together, True):
        rest = [group for group in groups if not any(group is each for each in together)]
        return [[file for group in together for file in group], *_by_folder(rest)]
    return _by_folder(groups)


def by_part(
    group: Sequence[Recognised], named: Named, parts: Mapping[Source, Sequence[Content]]
) -> list[list[Recognised]]:
    """A job as several, where one of its scripts has several launches: each with the files that it names."""
    at = next((at for at, file in enumerate(group) if parts.get(file.tree.source)), None)
    if at is None:
        return [list(group)]
    script = group[at].tree.source
    found: list[list[Recognised]] = []
    for number, part in enumerate(parts[script]):
        places = {reference.span for reference in part.references}
        sources = {file.tree.source for file in group}
        users = {
            source: [user for user, at in named.get(source, ()) if user is not script or at.span in places]
            for source in sources
            if any(user in sources for user, _ in named.get(source, ()))
        }
        reached = {source for source in sources if source not in users}
        while more := {source for source in users if source not in reached and reached.intersection(users[source])}:
            reached |= more
        own = [file for file in group if file.tree.source in reached]
        found.append([file._replace(part=number) if file.tree.source is script else file for file in own])
    return found


def _linked(files: Sequence[Recognised], named: Named) -> list[list[Recognised]]:
    """Each file that no other names, with all that it names, and these in turn; of a circle, its first file."""
    names: dict[Source, list[Source]] = {}
    for source, users in named.items():
        for user, _ in users:
            names.setdefault(user, []).append(source)
    groups: list[list[Recognised]] = []
    reached: set[Source] = set()
    heads = [file.tree.source for file in files if file.tree.source not in named]
    for head in (*heads, *(file.tree.source for file in files)):
        if head in reached and head not in heads:
            continue
        members = {head}
        todo = [head]
        while todo:
            for other in names.get(todo.pop(), ()):
                if other not in members:
                    members.add(other)
                    todo.append(other)
        if head in heads or not members <= reached:
            groups.append([file for file in files if file.tree.source in members])
        reached |= members
        heads = [each for each in heads if each is not head]
    return groups


def _by_folder(groups: Sequence[list[Recognised]]) -> list[list[Recognised]]:
    folders: dict[str, list[list[Recognised]]] = {}
    for group in groups:
        folders.setdefault(os.path.dirname(group[0].tree.source.name), []).append(group)
    found: list[list[Recognised]] = []
    for each in folders.values():
        # Where a file names others, it names all that is its own, but for what no file names.
        linked = [group for group in each if 1 < len(group)]
        single = [group[0].kind.name for group in each if len(group) == 1]
        whole = not linked or (len(linked) == 1 and _UNNAMED.issuperset(single))
        if whole:
            each = _without_rivals(each, found)
        found.extend([[file for group in each for file in group]] if whole and _fit(each, False) else each)
    return found


def _without_rivals(groups: list[list[Recognised]], found: list[list[Recognised]]) -> list[list[Recognised]]:
    """The files of a folder without the script that starts the program with arguments of its own: a job by itself."""
    kinds = {file.kind.name for group in groups for file in group}
    if "shell" not in kinds or not kinds & _OF_COMMAND_LINES:
        return groups
    is_script = [all(file.kind.name == "shell" for file in group) for group in groups]
    found.extend(group for group, is_one in zip(groups, is_script, strict=True) if is_one)
    return [group for group, is_one in zip(groups, is_script, strict=True) if not is_one]


def _fit(groups: Sequence[list[Recognised]], outright: bool) -> bool:
    """Whether one job may have all of these files."""
    by_kind: dict[str, list[Recognised]] = {}
    for group in groups:
        for file in group:
            by_kind.setdefault(file.kind.name, []).append(file)
    programs = set(by_kind) - _BESIDE
    if 1 < len(programs) and not programs <= _OF_ONE_PROGRAM:
        return False
    return all(len(files) == 1 or _are_one(files, outright) for files in by_kind.values())


def _are_one(files: Sequence[Recognised], outright: bool) -> bool:
    joins = files[0].kind.joins
    return joins is not None and joins([file.tree for file in files], outright)

"""Files in a folder, by how their names end: those that git does not ignore; where git has no say, those outside hidden
folders.
"""

from __future__ import annotations

import os

from planc.commands.files import ENDING, reason_of


def search(folder: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The plan files below a folder, in order, and the folders that could not be read, each with the reason."""
    return search_for(folder, ENDING)


def search_for(folder: str, *endings: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The files below a folder whose names end so, in order, and the folders that could not be read, with the reason.

    Links to folders are not followed, so the search ends; repositories inside a repository are left to themselves, as
    git leaves them. A folder that is ignored as a whole was named on purpose: it is searched as if there were no git.
    """
    unread: list[tuple[str, str]] = []
    found = _listed_by_git(folder, endings)
    if found is None:
        found = _walk(folder, endings, unread)
    return sorted(map(_plain, found), key=lambda path: path.split(os.sep)), unread


def _plain(path: str) -> str:
    return path.removeprefix("." + os.sep)


def _walk(folder: str, endings: tuple[str, ...], unread: list[tuple[str, str]]) -> set[str]:
    found = set()
    folders = [folder]
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            unread.append((_plain(folder), reason_of(error)))
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith("."):
                    folders.append(entry.path)
            elif entry.name.endswith(endings) and _is_there(entry.path):
                found.add(entry.path)
    return found


def _is_there(path: str) -> bool:
    """Whether a path is a file, or a link to nothing, which reading it says; by hidden ones editors lock files."""
    if os.path.islink(path) and not os.path.exists(path):
        return not os.path.basename(path).startswith(".")
    return os.path.isfile(path)


def _listed_by_git(folder: str, endings: tuple[str, ...]) -> set[str] | None:
    """What git tracks, and what it neither tracks nor ignores; None where it has no say: no git, or no repository."""
    git = ["git", "-C", folder, "-c", "core.fsmonitor=false"]
    named = [f"*{ending}" for ending in endings]
    listing = _output_of([*git, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *named])
    if listing is None or (not listing and _output_of([*git, "check-ignore", "."]) is not None):
        return None
    paths = (os.path.join(folder, os.fsdecode(name)) for name in listing.split(b"\0") if name)
    return {path for path in paths if _is_there(path)}


def _output_of(command: list[str]) -> bytes | None:
    """Standard output of a command, None if it fails. By hand: to import `subprocess` takes longer than git does."""
    # A hook's GIT_DIR and the like speak of the repository that the hook runs in, not of this folder.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    reading, writing = os.pipe()
    quiet = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
    try:
        child = os.posix_spawnp(
            command[0], command, environment, file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1), quiet]
        )
    except OSError:
        os.close(reading)
        os.close(writing)
        return None
    os.close(writing)
    with open(reading, "rb") as pipe:
        output = pipe.read()
    return output if os.waitpid(child, 0)[1] == 0 else None

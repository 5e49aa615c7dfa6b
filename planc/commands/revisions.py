"""Files as they are in a revision of a git repository: git is asked for its objects, and what is on disk stays."""

from __future__ import annotations

import errno
import os
import subprocess
from functools import partial

from planc.commands.files import ENDING, Revision
from planc.commands.output import CannotWork, quoted
from planc.source import MAX_BYTES


def is_file_of_revision(name: str) -> bool:
    """Whether a name on the command line is `FILE@REVISION`; a file that is called so counts as the file that it is."""
    return bool(split(name)[1]) and not os.path.lexists(name)


def split(name: str) -> tuple[str, str]:
    """The file and the revision of `FILE@REVISION`; the revision is empty where there is none."""
    at = name.find(f"{ENDING}@")
    at = name.find("@", 1) if at < 0 else at + len(ENDING)
    return (name[:at], name[at + 1 :]) if 0 < at else (name, "")


def revision(name: str, folder: str) -> Revision:
    """A revision of the repository in which a folder lies."""
    root = _root(folder)
    return Revision(name, partial(_content, root, _commit(root, name)))


def plan_files(name: str, folder: str) -> tuple[str, ...]:
    """The plan files below a folder in a revision, each by its path from the current folder."""
    root, base = _root(folder), os.path.realpath(folder)
    listing = _git(root, "ls-tree", "-r", "-z", "--name-only", "--full-tree", _commit(root, name)).stdout
    paths = (os.path.join(root, os.fsdecode(path)) for path in listing.split(b"\0") if path)
    inside = (os.path.relpath(path, base) for path in paths if path.endswith(ENDING))
    return tuple(os.path.normpath(os.path.join(folder, path)) for path in inside if not path.startswith(os.pardir))


def _commit(root: str, name: str) -> str:
    """The commit that a revision means."""
    found = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if found.returncode or not found.stdout.strip():
        shallow = _git(root, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
        hint = "; the clone is shallow, and `git fetch --unshallow` gets the others" if shallow else ""
        raise CannotWork(f"{quoted(name)} is no revision of the repository in {quoted(os.path.relpath(root))}{hint}")
    return found.stdout.decode("ascii").split()[-1]


def _root(folder: str) -> str:
    """The real path of the repository of a folder, of the nearest folder that there still is."""
    at = os.path.realpath(folder)
    while not os.path.isdir(at):
        at = os.path.dirname(at)
    found = _git(at, "rev-parse", "--show-toplevel")
    if found.returncode:
        said = found.stderr.decode("utf-8", "replace").partition("\n")[0]
        if "not a git repository" in said or not said:
            raise CannotWork(f"{quoted(os.path.relpath(at))} lies in no git repository")
        raise CannotWork(f"git cannot tell the repository of {quoted(os.path.relpath(at))}: {said}")
    return os.path.realpath(os.fsdecode(found.stdout.removesuffix(b"\n")))


def _content(root: str, commit: str, path: str) -> bytes:
    """The bytes of a file in a commit, not many more than a plan may have."""
    inside = os.path.relpath(path, root)
    if inside.startswith(os.pardir):
        raise OSError(errno.ENOENT, "it lies outside the repository")
    name = f"{commit}:{inside.replace(os.sep, '/')}"
    size = _git(root, "cat-file", "-s", name)
    if size.returncode:
        raise OSError(errno.ENOENT, "no such file in that revision")
    if MAX_BYTES < int(size.stdout):
        return b" " * (MAX_BYTES + 1)
    found = _git(root, "cat-file", "blob", name)
    if found.returncode:
        raise OSError(errno.EISDIR, "it is not a file in that revision")
    return found.stdout


def _git(folder: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    # A hook's GIT_DIR and the like speak of the repository that the hook runs in, not of this folder.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", folder, "-c", "core.fsmonitor=false", *arguments]
    try:
        return subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except FileNotFoundError:
        raise CannotWork("there is no `git`, which reads the files of a revision") from None
    except ValueError:  # a zero byte
        raise CannotWork("a revision or path holds a zero byte") from None

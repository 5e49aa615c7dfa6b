"""What options launchers take: `python -m tests.tables.launchers [--man FOLDER] [NAME...]` writes the tables.

torchrun, accelerate and deepspeed are asked for their own parsers; Slurm and Open MPI have theirs in C, so their
manuals are read, of those installed or of a folder (`mpirun.1.gz`), and of docker what it says of itself. A table says
of each option how it is called and how many words follow it: a number, or `?` for one that can only stand behind a `=`;
of one of Python's parsers also the `words` that it takes, or of which `type` its value has to be: `int`, `float` or
`flag`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest import mock

from tests.compiling import ROOT
from tests.tables.common import Row, text_of

FOLDER = ROOT / "planc" / "native" / "shell" / "tables"

_SLURM_CONF = "ClusterName=c\nSlurmctldHost=localhost\nNodeName=localhost\nPartitionName=p Nodes=localhost\n"
_MANUAL_LINE = re.compile(r"^ {7}(-\S.*)$", re.MULTILINE)
_MANUAL_END = re.compile(
    r"^(INPUT ENVIRONMENT VARIABLES|DESCRIPTION OF|ENVIRONMENT VARIABLES|DESCRIPTION)$", re.MULTILINE
)
_NAME = re.compile(r"(?<!\S)(--?[A-Za-z][\w-]*)")
#: What makes a value of a text, by its name, and what it takes; `flag` is yes or no in a word.
_TYPES = {"int": "int", "float": "float", "str_to_bool": "flag"}
_HELP_LINE = re.compile(r"^ +(?:(-\w), )?(--[\w-]+)(?: (\S+))?(?: {2,}|$)", re.MULTILINE)


class Unavailable(Exception):
    """A launcher that is not installed here."""


def of_parser(parser: argparse.ArgumentParser) -> dict[str, Row]:
    """The options of one of Python's parsers, by where it keeps them."""
    found: dict[str, Row] = {}
    for action in parser._actions:
        if not action.option_strings:
            continue
        counts: dict[Any, Any] = {None: 1, "?": "?"}
        row: Row = {"names": sorted(action.option_strings), "values": counts.get(action.nargs, action.nargs)}
        if action.choices is not None:
            row["words"] = [str(word) for word in action.choices]
        if (kind := getattr(action.type, "__name__", "")) in _TYPES:
            row["type"] = _TYPES[kind]
        found[action.dest] = row
    return found


def torchrun() -> Row:
    """Of torchrun, which `python -m torch.distributed.run` is too; `launch` takes one more, kept under its own name."""
    try:
        from torch.distributed import launch, run
    except ImportError as missing:
        raise Unavailable("not installed: torch") from missing
    with mock.patch.object(argparse.ArgumentParser, "parse_args", lambda self, *_: self):
        older = of_parser(launch.parse_args([]))  # type: ignore[no-untyped-call]
    options = of_parser(run.get_args_parser())
    older_only = {
        name: row | {"only": "torch.distributed.launch"} for name, row in older.items() if name not in options
    }
    return _table("torchrun", _version("torch"), "get_args_parser()", True, options | older_only)


def accelerate() -> Row:
    """Of `accelerate launch`."""
    try:
        from accelerate.commands.launch import launch_command_parser  # type: ignore[import-untyped]
    except ImportError as missing:
        raise Unavailable("not installed: accelerate") from missing
    parser = launch_command_parser()
    options = of_parser(parser)
    for row in options.values():  # its parser takes either form of each
        row["names"] = sorted({form for name in row["names"] for form in _forms(name)})
    return _table("accelerate", _version("accelerate"), "launch_command_parser()", parser.allow_abbrev, options)


def deepspeed() -> Row:
    """Of `deepspeed`."""
    try:
        from deepspeed.launcher import runner  # type: ignore[import-untyped]
    except ImportError as missing:
        raise Unavailable("not installed: deepspeed") from missing
    with mock.patch.object(argparse.ArgumentParser, "parse_args", lambda self, **_: self):
        parser = runner.parse_args([])
    return _table("deepspeed", _version("deepspeed"), "launcher.runner.parse_args", True, of_parser(parser))


def srun() -> Row:
    """Of Slurm's srun."""
    return _slurm("srun")


def sbatch() -> Row:
    """Of Slurm's sbatch."""
    return _slurm("sbatch")


def mpirun() -> Row:
    """Of Open MPI's mpirun."""
    text = manual("mpirun")
    release = re.search(r"(?m)^(\d+\.\d+\.\d+)\b", text) or re.search(r"(\d+\.\d+\.\d+) ", text)
    return _table("mpirun", release[1] if release else "", "its manual", False, dict(of_manual(text)))


def docker() -> Row:
    """Of `docker run`."""
    if shutil.which("docker") is None:
        raise Unavailable("not installed: docker")
    text = _output("docker", "run", "--help")
    options: dict[str, Row] = {}
    for short, long, kind in _HELP_LINE.findall(text):
        options[_key(long)] = {"names": sorted(filter(None, (short, long))), "values": 1 if kind else 0}
    release = re.search(r"version ([\d.]+)", _output("docker", "--version"))
    return _table("docker", release[1] if release else "", "docker run --help", False, options)


MAKERS: dict[str, Callable[[], Row]] = {
    each.__name__: each for each in (accelerate, deepspeed, docker, mpirun, sbatch, srun, torchrun)
}


def manual(program: str) -> str:
    """The manual of a program, as plain text."""
    given = Path(os.environ["PLANC_MANUALS"]) / f"{program}.1.gz" if "PLANC_MANUALS" in os.environ else None
    if shutil.which("man") is None:
        raise Unavailable("not installed: man")
    asked = ["-l", str(given)] if given is not None and given.exists() else ["1", program]
    done = subprocess.run(
        ["man", "-P", "cat", *asked],
        capture_output=True,
        text=True,
        env={**os.environ, "MANWIDTH": "300", "LC_ALL": "C.UTF-8", "MANROFFOPT": "-c"},
    )
    if done.returncode or not done.stdout:
        raise Unavailable(f"not installed: the manual of {program}")
    return re.sub(r".\x08", "", done.stdout)


def of_manual(text: str) -> Iterator[tuple[str, Row]]:
    """The options that a manual lists, by their longest name."""
    start = text.find("\nOPTIONS")
    body = text[max(start, 0) :]
    end = _MANUAL_END.search(body, 1)
    for line in _MANUAL_LINE.findall(body[: end.start()] if end and start != -1 else body):
        head = line.split("  ")[0]
        names = _NAME.findall(re.sub(r"[=<\[].*?(?=,\s-|$)", "", head))
        if not names or not all(part.strip().startswith("-") for part in head.split(",", len(names) - 1)):
            continue
        places = len(re.findall(r"<[^<>]+>", head))
        optional = "[=" in head or "[<" in head
        values: Any = "?" if optional else (places if "=" not in head else 1)
        yield _key(max(names, key=len)), {"names": sorted(set(names)), "values": values}


def _slurm(program: str) -> Row:
    text = manual(program)
    if shutil.which(program) is None:
        raise Unavailable(f"not installed: {program}")
    with tempfile.TemporaryDirectory() as folder:
        conf = Path(folder) / "slurm.conf"
        conf.write_text(_SLURM_CONF, encoding="utf-8")
        answer = _output(program, "--version", SLURM_CONF=str(conf))
    release = re.search(r"(\d+\.\d+\.\d+)", answer)
    return _table(program, release[1] if release else "", "its manual", True, dict(of_manual(text)))


def _table(name: str, release: str, source: str, abbreviated: bool, options: dict[str, Row]) -> Row:
    return {"launcher": name, "version": release, "source": source, "abbreviated": abbreviated, "options": options}


def _forms(name: str) -> Iterator[str]:
    """A name with dashes and one with underscores."""
    yield name
    if name.startswith("--"):
        yield "--" + name[2:].replace("_", "-")
        yield "--" + name[2:].replace("-", "_")


def _key(name: str) -> str:
    return name.lstrip("-").replace("-", "_")


def _version(package: str) -> str:
    return version(package).partition("+")[0]


def _output(*words: str, **more: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, env={**os.environ, **more}).stdout


def main(arguments: list[str]) -> None:
    """Writes the tables of the launchers named, or of all that are installed."""
    if arguments[:1] == ["--man"]:
        os.environ["PLANC_MANUALS"] = arguments[1]
        arguments = arguments[2:]
    for name in arguments or sorted(MAKERS):
        try:
            table = MAKERS[name]()
        except Unavailable as missing:
            print(f"{name}: {missing}")
            continue
        path = FOLDER / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(table), encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])

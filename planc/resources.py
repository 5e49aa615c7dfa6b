"""Where the data files lie that planc ships: the catalogue, and `grammar/`, `schemas/`, `templates/`.

A wheel holds them inside the package; a checkout, and so an editable install, has them at its top level. They are
looked for in that order by plain paths, since `importlib.resources` alone would cost a start more than this package.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_CHECKOUT = os.path.dirname(_PACKAGE)


def find(relative: str) -> str:
    """Path of a packaged file or folder, named like `templates/torchrun/torchrun.sh.j2`."""
    for place in (_PACKAGE, _CHECKOUT):
        path = os.path.join(place, *relative.split("/"))
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"planc ships no {relative}: the installation is incomplete")


def read_text(relative: str) -> str:
    """Text of a packaged file."""
    with open(find(relative), encoding="utf-8") as file:
        return file.read()


def names(relative: str, ending: str) -> tuple[str, ...]:
    """Names, without the ending, of the files in a packaged folder that have it, sorted."""
    return tuple(sorted(name.removesuffix(ending) for name in os.listdir(find(relative)) if name.endswith(ending)))


def plan_files(ending: str) -> dict[str, str]:
    """Paths of the plan files that planc ships, by what stands behind `planc/` in a `use`."""
    found = {name: f"catalogue/{name}{ending}" for name in names("catalogue", ending)}
    return {**found, **{f"policies/{name}": f"policies/{name}{ending}" for name in names("policies", ending)}}


def own_files() -> Iterator[tuple[str, os.stat_result]]:
    """Every file that decides what planc says, and its size and time: code, grammar, templates, catalogue."""
    todo = [_PACKAGE, *(os.path.join(_CHECKOUT, name) for name in ("grammar", "templates", "schemas"))]
    while todo:
        folder = todo.pop()
        if not os.path.isdir(folder):
            continue
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != "__pycache__":
                        todo.append(entry.path)
                else:
                    yield entry.path, entry.stat()


def parser_tables() -> dict[str, Any]:
    """The parser's tables: those that were built into the package, or new ones if a checkout's grammar was edited."""
    built: dict[str, Any] | None = None
    with suppress(ImportError):
        built = import_module("planc.syntax._tables").TABLES
    grammar = os.path.join(_CHECKOUT, "grammar", "plan.lark")
    if built is not None and not os.path.exists(grammar):
        return built
    text = read_text("grammar/plan.lark")
    if built is not None and built.get("grammar") == text:
        return built
    from planc.syntax import build_tables

    tables = build_tables.build(text)
    _keep(build_tables.as_module(tables))
    return tables


def _keep(module: str) -> None:
    """Writes the tables beside the parser for the next start, if the checkout can be written to."""
    target = os.path.join(_PACKAGE, "syntax", "_tables.py")
    temporary = f"{target}.{os.getpid()}"
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(module)
        os.replace(temporary, target)
    except OSError:
        return

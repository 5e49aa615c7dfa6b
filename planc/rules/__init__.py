"""The rules: one file each, found by file name. The folder is listed: walking it with `pkgutil` costs 7 ms more."""

from __future__ import annotations

import os
import re
from functools import cache
from importlib import import_module

from planc.rules.rule import Rule

_FILE = re.compile(r"(pln\d{3})_(\w+)\.pyc?")


@cache  # a page asks more than once
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code; code and name come from the file's name."""
    found = []
    for file in sorted(os.listdir(os.path.dirname(__file__))):
        match = _FILE.fullmatch(file)
        if match:
            module = import_module(f"planc.rules.{match[1]}_{match[2]}")
            found.append(module.RULE._replace(code=match[1].upper(), name=match[2].replace("_", "-")))
    return tuple(found)


def page_of(rule: Rule) -> str:
    """The page of a rule: the docstring of its file."""
    return import_module(f"planc.rules.{rule.code.lower()}_{rule.name.replace('-', '_')}").__doc__ or ""

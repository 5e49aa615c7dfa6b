"""Writes the parser's tables into the package whenever a wheel or an editable install of it is made."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ParserTables(BuildHookInterface[Any]):
    """The build step named `custom` in pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Runs before the files of the wheel are collected."""
        root = Path(self.root)
        # By path: the package itself is not installed in the environment that builds it.
        tables = runpy.run_path(str(root / "planc" / "syntax" / "build_tables.py"))
        tables["main"](str(root / "planc" / "syntax" / "_tables.py"), str(root / "grammar" / "plan.lark"))

"""What a wheel or an editable install of planc has beside its Python files.

Parser tables are written into the package. The data folders stay at the top level of a checkout and are put into the
package in a wheel; an editable install finds them in the checkout.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_DATA = ("grammar", "schemas", "templates", "docs/rules")


class PackagedData(BuildHookInterface[Any]):
    """The build step named `custom` in pyproject.toml."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Runs before the files of the wheel are collected; `version` is `standard` or `editable`."""
        root = Path(self.root)
        # By path: the package itself is not installed in the environment that builds it.
        tables = runpy.run_path(str(root / "planc" / "syntax" / "build_tables.py"))
        tables["main"](str(root / "planc" / "syntax" / "_tables.py"), str(root / "grammar" / "plan.lark"))
        if version == "standard":
            build_data["force_include"].update({str(root / name): f"planc/{name}" for name in _DATA})

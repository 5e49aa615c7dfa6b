"""The tables of launchers are those of the launchers that are installed, and their parsers agree."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.tables import launchers
from tests.tables.common import text_of

NAMES = sorted(launchers.MAKERS)


def committed(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((launchers.FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_well_formed(name: str) -> None:
    table = committed(name)
    assert (launchers.FOLDER / f"{name}.json").read_text(encoding="utf-8") == text_of(table)
    assert set(table) == {"launcher", "version", "source", "abbreviated", "options"} and table["version"]
    spelt = [spelling for row in table["options"].values() for spelling in row["names"]]
    assert len(spelt) == len(set(spelt)) and all(spelling.startswith("-") for spelling in spelt)
    assert all(row["values"] in (0, 1, 2, "?") for row in table["options"].values())


@pytest.mark.consumer
@pytest.mark.parametrize("name", NAMES)
def test_a_table_is_that_of_the_launcher(name: str) -> None:
    try:
        made = launchers.MAKERS[name]()
    except launchers.Unavailable as missing:
        pytest.skip(str(missing))
    table = committed(name)
    if made["version"] != table["version"]:
        pytest.skip(f"installed is {name} {made['version']}, the table is of {table['version']}")
    assert made == table


def test_options_of_a_manual() -> None:
    text = """
OPTIONS
       -A, --account=<account>
              Charges it.
       -l, --label
       -I, --immediate[=<seconds>]
       -mca, --mca <key> <value>
       -c, -n, --n, -np <#>
       - a list
ENVIRONMENT VARIABLES
       --other
"""
    assert dict(launchers.of_manual(text)) == {
        "account": {"names": ["--account", "-A"], "values": 1},
        "label": {"names": ["--label", "-l"], "values": 0},
        "immediate": {"names": ["--immediate", "-I"], "values": "?"},
        "mca": {"names": ["--mca", "-mca"], "values": 2},
        "n": {"names": ["--n", "-c", "-n", "-np"], "values": 1},
    }

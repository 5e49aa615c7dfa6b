"""Megatron's own parser against planc: over single changes of a file, what it refuses, planc refuses too."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from planc.diagnostics.diagnostic import Severity
from planc.native.kind import Recognised
from tests.native.judging import judged, recognised

TEXT = (Path(__file__).parent / "ok_pretraining.yaml").read_text(encoding="utf-8")

#: Values of YAML that take the place of a flag's own.
VALUES = (
    "two",
    "1e6",
    "64.0",
    "7",
    "-1",
    "0.5",
    "true",
    "false",
    "null",
    "rope",
    "[1 2]",
    "[1, 2]",
    '"[1 2]"',
    '"true"',
    "full",
    "1_000",
)


def words(arguments: dict[str, Any]) -> list[str]:
    """The words of the command line that the runner of Megatron's tests makes of a file."""
    found = []
    for name, value in arguments.items():
        found.append(name)
        if isinstance(value, list):
            found.append(",".join(map(str, value)))
            continue
        shown = value if isinstance(value, str) else json.dumps(value)
        if shown != "true":
            found += shown[1:-1].split() if shown.startswith("[") and shown.endswith("]") else [shown]
    return found


def is_taken(arguments: dict[str, Any]) -> bool:
    """Whether Megatron's parser takes a file."""
    from tests.consumers.megatron_parser import parsed

    with contextlib.redirect_stderr(io.StringIO()):
        try:
            parsed(words(arguments))
        except SystemExit:
            return False
    return True


def is_refused(text: str) -> bool:
    """Whether planc finds an error of keys in a file."""
    file = recognised("model_config.yaml", text, "megatron")
    assert isinstance(file, Recognised)
    found = judged("model_config.yaml", text, "megatron").diagnostics
    return any(each.severity is Severity.ERROR for each in found)


def changes() -> list[tuple[str, str, str]]:
    """Each flag of the file with each other value: its name, the value, and the text."""
    pytest.importorskip("megatron.core", reason="megatron-core is not installed")
    found = []
    for line in TEXT.split("MODEL_ARGS:\n")[1].splitlines():
        name = line.strip().partition(":")[0]
        if "$" in line:
            continue
        found += [(name, value, TEXT.replace(line, f"  {name}: {value}")) for value in VALUES]
    return found


@pytest.mark.consumer
def test_what_the_parser_refuses_planc_refuses() -> None:
    assert is_taken(yaml.safe_load(TEXT)["MODEL_ARGS"])
    refused = [each for each in changes() if not is_taken(yaml.safe_load(each[2])["MODEL_ARGS"])]
    assert [(name, value) for name, value, text in refused if not is_refused(text)] == []
    assert len(refused) > 100


@pytest.mark.consumer
def test_misspelt_flags_are_refused() -> None:
    pytest.importorskip("megatron.core", reason="megatron-core is not installed")
    for line in TEXT.split("MODEL_ARGS:\n")[1].splitlines():
        name = line.strip().partition(":")[0]
        wrong = f"{name[:-2]}{name[-1]}{name[-2]}" if name[-1] != name[-2] else f"{name}x"
        text = TEXT.replace(line, line.replace(name, wrong))
        assert not is_taken(yaml.safe_load(text)["MODEL_ARGS"]), wrong
        assert is_refused(text), wrong

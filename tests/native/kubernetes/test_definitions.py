"""What the API refuses of a changed object, by the definitions of its resource, planc refuses as well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from planc.diagnostics.diagnostic import Severity
from planc.native.kind import Recognised
from tests.native.judging import found_in, recognised
from tests.native.trees import entries
from tests.shared import shared

FOLDER = Path(__file__).parent
VALUES = ("8", "{}", '"x"')

#: What the definitions ask for and no table holds: objects that are not empty.
_LEFT = ("should be non-empty",)


def mutants(name: str, text: str) -> Iterator[tuple[str, str]]:
    """A text with each key misspelt, and each value replaced: what was changed, and the text."""
    found = recognised(name, text)
    assert isinstance(found, Recognised)
    for root in found.tree.roots:
        for entry in entries(root):
            key, value = entry.key.span, entry.value.span
            yield f"{entry.name} misspelt", f"{text[: key.end - 1]}q{text[key.end :]}"
            for other in VALUES:
                yield f"{entry.name} = {other}", f"{text[: value.start]}{other}{text[value.end :]}"


@pytest.mark.slow
@pytest.mark.consumer
@pytest.mark.parametrize("name", ["ok_pytorchjob.yaml", "ok_trainjob.yaml", "ok_jobset.yaml", "ok_elastic.yaml"])
def test_what_the_definitions_refuse_is_refused(name: str) -> None:
    pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    shared("consumers/crds")
    from tests.consumers.test_kubernetes import DEFINITIONS, definition

    refused, silent = 0, []
    for what, text in mutants(name, (FOLDER / name).read_text(encoding="utf-8")):
        try:
            objects = [each for each in yaml.safe_load_all(text) if isinstance(each, dict)]
        except yaml.YAMLError:
            continue
        ours = [each for each in objects if str(each.get("kind")) in DEFINITIONS]
        faults = [error.message for each in ours for error in definition(each["kind"]).iter_errors(each)]
        faults = [fault for fault in faults if not fault.endswith(_LEFT)]
        refused += bool(faults)
        if faults and not any(each.severity is Severity.ERROR for each in found_in(name, text, "kubernetes")):
            silent.append((what, faults[0]))
    assert silent == []
    assert 20 < refused

"""Fields set on the command line, as the parser of plans reads them; a version may stand there without its quotes."""

from __future__ import annotations

import pytest

from planc.plan.overrides import overrides
from planc.syntax import nodes


def value_of(text: str) -> tuple[object, list[str]]:
    """The value that a setting of a field of a section has, and the codes of what is wrong."""
    bodies, found = overrides((text,))
    (section,) = bodies[0].entries
    assert isinstance(section, nodes.Section)
    (field,) = section.body.entries
    assert isinstance(field, nodes.Field)
    return field.value, [each.code for each in found]


@pytest.mark.parametrize("written", ["0.16.4", '"0.16.4"', " 0.16.4 "])
def test_a_version_with_and_without_its_quotes(written: str) -> None:
    value, codes = value_of(f"versions.deepspeed={written}")
    assert isinstance(value, nodes.String) and (value.value, codes) == ("0.16.4", [])
    assert value.span.text == written.strip()


@pytest.mark.parametrize(
    ("setting", "codes"), [("versions.deepspeed=0.16.", ["PLN001"]), ("batch.micro=0.16.4", ["PLN001"])]
)
def test_what_is_no_version_of_anything_is_read_as_it_is(setting: str, codes: list[str]) -> None:
    value, found = value_of(setting)
    assert not isinstance(value, nodes.String) and found == codes

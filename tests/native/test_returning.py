"""The way back: what rules say of the composed plan points into the file, by its keys, and its fixes are exact."""

from __future__ import annotations

import re

import pytest

from planc.diagnostics.diagnostic import Diagnostic
from planc.native.job import Beside, judge
from planc.native.kind import Recognised
from planc.native.recognising import recognise
from planc.native.tree import Broken
from planc.reporting.fixing import mend
from planc.source import Source
from tests.native.deepspeed_mutations import FILES, good_texts, mutants
from tests.native.trees import read


def judged(name: str, text: str, world: int | None = 8) -> tuple[Source, tuple[Diagnostic, ...]]:
    """A file and what is found in it, on some ranks."""
    source = Source(name, text)
    found = recognise(source, "deepspeed", True)
    assert isinstance(found, Recognised)
    return source, judge([found], lambda name, importer: "no file", Beside(world=world)).diagnostics


@pytest.mark.parametrize("name", FILES)
def test_every_place_is_in_the_file_and_every_fix_leaves_it_readable(name: str) -> None:
    for mutant in list(mutants(name, good_texts()[name]))[::5]:
        source, found = judged("ds.json", mutant.text)
        for each in found:
            spans = [each.primary.span, *(label.span for label in each.related)]
            spans.extend(edit.span for fix in each.fixes for edit in fix.edits)
            assert all(span.source is source for span in spans), (mutant.path, mutant.kind, each.message)
            assert all(0 <= span.start <= span.end <= len(source.text) for span in spans)
            mended = mend(source, [each], unsafe=True)
            assert not isinstance(read("json", mended.text), Broken), (mutant.path, mutant.kind, each.message)


JSON = '{"train_batch_size": 64,\n "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 4}'
YAML = "train_batch_size: 64 # all\ntrain_micro_batch_size_per_gpu: 4\ngradient_accumulation_steps:   4\n"


@pytest.mark.parametrize(
    ("name", "text", "shown", "mended"),
    [
        ("ds.json", JSON, '`"train_batch_size": 128`', JSON.replace("64", "128")),
        ("ds.yaml", YAML, "`train_batch_size: 128`", YAML.replace("64", "128")),
    ],
)
def test_a_rule_speaks_of_the_keys_of_the_file(name: str, text: str, shown: str, mended: str) -> None:
    source, found = judged(name, text)
    (fault,) = (each for each in found if each.code == "PLN201")
    assert fault.primary.span.text.strip('"').startswith("train_batch_size")
    assert [label.span.source for label in fault.related] == [source, source]
    assert shown in " ".join(fault.help)
    assert not re.search(r"`(batch|micro|global|accumulation)\b", " ".join((fault.message, *fault.help)))
    first = fault._replace(fixes=fault.fixes[:1])
    assert mend(source, [first], unsafe=True).text == mended


def test_what_is_unknown_is_not_guessed() -> None:
    assert [each.code for each in judged("ds.json", JSON, None)[1] if each.code == "PLN201"] == []


@pytest.mark.parametrize("size", ["6.4e1", '"64"', "auto", "&n 64"])
def test_a_value_that_is_written_otherwise_is_not_mended(size: str) -> None:
    source, found = judged("ds.yaml", YAML.replace("64", size))
    for each in found:
        if each.code == "PLN201":
            assert all(edit.span.text == "4" for fix in each.fixes for edit in fix.edits), source.text

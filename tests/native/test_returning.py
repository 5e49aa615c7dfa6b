"""The way back: what rules say of the composed plan points into the file, by its keys, and its fixes are exact."""

from __future__ import annotations

import re
from pathlib import Path

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

FOLDER = Path(__file__).parent


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


def helped(kind: str, name: str, text: str, code: str, world: int | None = None) -> list[str]:
    """What the help of a kind of fault says of a file."""
    found = recognise(Source(name, text), kind, True)
    assert isinstance(found, Recognised)
    diagnostics = judge([found], lambda name, importer: "no file", Beside(world=world)).diagnostics
    return [text for each in diagnostics if each.code == code for text in each.help]


MEGATRON = (
    "MODEL_ARGS:\n  --num-layers: 30\n  --hidden-size: 1024\n  --num-attention-heads: 16\n  --seq-length: 1024\n"
    "  --micro-batch-size: 1\n  --global-batch-size: 64\n  --pipeline-model-parallel-size: 4\n  --train-iters: 50\n"
    "  --lr: 1e-5\n  --min-lr: 1e-4\n  --save: out\n  --save-interval: 10000\n"
)


def test_help_speaks_of_arguments_that_the_file_does_not_have() -> None:
    ends = "--decoder-first-pipeline-num-layers: 7` and `--decoder-last-pipeline-num-layers: 7"
    assert f"or state the ends: `{ends}`" in helped("megatron", "a.yaml", MEGATRON, "PLN106")
    assert helped("megatron", "a.yaml", MEGATRON, "PLN702") == [
        "it is a rate, no share of the peak: `--min-lr: 1.0e-09`"
    ]


def test_help_is_in_words_where_no_key_stands_for_a_field() -> None:
    text = (FOLDER / "torchtitan" / "err_underfilled.toml").read_text(encoding="utf-8")
    found = helped("torchtitan", "a.toml", text, "PLN202", 16)
    assert found and all("a global batch of" in each and "global =" not in each for each in found), found


def test_a_number_is_written_as_the_format_reads_it() -> None:
    text = (FOLDER / "gpt_neox" / "err_rates.yaml").read_text(encoding="utf-8")
    found = recognise(Source("a.yaml", text), "gpt-neox", True)
    assert isinstance(found, Recognised)
    diagnostics = judge([found], lambda name, importer: "no file").diagnostics
    (fault,) = (each for each in diagnostics if each.code == "PLN702")
    assert [edit.text for fix in fault.fixes for edit in fix.edits] == ["1.0e-07"]  # `1e-07` is a text to YAML


def test_help_on_a_command_line_is_in_options() -> None:
    line = (
        "torchrun --nnodes=3 --nproc_per_node 8 --rdzv_endpoint head:29500 --rdzv_backend c10d pretrain_gpt.py"
        " --tensor-model-parallel-size 5 --num-layers 30 --hidden-size 1000 --num-attention-heads 10 --seq-length 1000"
        " --max-position-embeddings 1000 --micro-batch-size 1 --global-batch-size 60 --pipeline-model-parallel-size 4"
        " --train-iters 50 --lr 1e-4 --min-lr 1e-5"
    )
    text = f"#!/bin/bash\nexport TORCH_DISTRIBUTED_DEBUG=DETAIL\n{line}\n"
    assert helped("shell", "a.sh", text, "PLN101")[-1] == "this layout fits `--nnodes=5`"
    ends = "`--account-for-embedding-in-pipeline-split` and `--account-for-loss-in-pipeline-split` fill 32 slots"
    assert ends in helped("shell", "a.sh", text, "PLN106")
    assert helped("shell", "a.sh", text, "PLN609") == ["remove it, or write `TORCH_DISTRIBUTED_DEBUG=OFF`"]

"""What may be written at a place, in whole and in half-typed text."""

from __future__ import annotations

import pytest

from planc.plan.schema import KINDS
from planc.source import Source
from planc.syntax.parse import parse
from tests.editing.shown import PARTS, PLAN, completed

OPEN = PLAN + "  shard {\n    stage = 3\n"

#: Text with a mark; labels that are offered there; labels that are not.
CASES = {
    "an empty file": ("|", "use language gpu cluster model policy plan template", "from auto"),
    "the beginning of a block": (PARTS + "pl|", "plan template use", "model-parallel small"),
    "behind a block": (PARTS + "|", "plan use", "precision"),
    "a path in quotes": ('use "pl|', "planc/gpus planc/policies/slurm parts.plan", "configs/config.json plan"),
    "a path in closed quotes": ('use "pl|"\n' + PARTS, "planc/gpus parts.plan", "plan"),
    "a path without quotes": ("use |", "planc/gpus", "plan"),
    "behind a path": ('use "planc/gpus"|', "", "plan use"),
    "the name of a new block": (PARTS + "gpu |", "", "plan card"),
    "behind a name": (PARTS + "plan x |", "from", "base"),
    "what a plan is derived from": (PARTS + "plan x from |", "base", "small x hf"),
    "what a plan is derived from, in quotes": (PARTS + 'plan x from "|"', "base", "small hf"),
    "what a model is derived from": (PARTS + "model m from |", "small llama-3-8b hf", "m base"),
    "the file of an import": ('model m from hf("|")', "configs/config.json", "parts.plan planc/gpus"),
    "a field": (PLAN + "  par|\n}", "parallel precision", "tensor small"),
    "a field before `=`": (PLAN + "  prec|  = bf16\n}", "precision", ""),
    "a field in a section": (PLAN + "  parallel { te|", "tensor pipeline", "precision"),
    "fields that are not written yet": (PLAN + "  parallel { tensor = 2  | }\n}", "pipeline", "tensor"),
    "a section that is never closed": (OPEN + "    |\n  batch { global = 8 }\n}", "size", "stage"),
    "behind a section that is never closed": (OPEN + "  batch { gl| }\n}", "global", "stage size"),
    "fields of a variant": (PLAN + "  pipeline = interleaved { | }\n}", "chunks layers", "limit"),
    "fields of a narrowed block": (PLAN + "  cluster = pair { no| }\n}", "nodes", "tensor"),
    "fields of a narrowed item": (PLAN + "cluster two { groups = [pair { no| }] }", "nodes", "tensor"),
    "options of a target": (PLAN + "  emit = [deepspeed { | }]\n}", "trainer config_flag", "launcher precision"),
    "words of an option": (PLAN + "  emit = [deepspeed { trainer = | }]\n}", "deepspeed hf", "slurm"),
    "no field in a map": (PLAN + "  launch { env { | } }\n}", "", "script precision"),
    "a model": (PLAN + "  model = |\n}", "small llama-3-8b", "pair card auto"),
    "a model in quotes": (PLAN + '  model = "|"\n}', "small llama-3-8b", "none"),
    "a card": (PARTS + "cluster c { gpu = h1|", "card h100-sxm-80gb", "small"),
    "a card among candidates": (PLAN + "  cluster { gpu in [card, |] }\n}", "h100-sxm-80gb", "small"),
    "a policy": (PLAN + "  policies = [|]\n}", "house", "small"),
    "a plan": (PLAN + "  resume { saved_by = | }\n}", "run base", "small"),
    "a word": (PLAN + "  precision = |\n  recompute = full\n}", "bf16 fp8", "full auto"),
    "a word, or the next entry": (PLAN + "  precision =\n  re|\n}", "bf16 recompute resume", "precision"),
    "a number as a word": (PLAN + "  shard { stage = | }\n}", "0 1 2 3", ""),
    "a flag": (PLAN + "  parallel { sequence = | }\n}", "true false", "bf16"),
    "a rate or flag": (PARTS + "gpu g { bf16 = | }", "true false", "auto"),
    "a target": (PLAN + "  emit = [torchrun, | ]\n}", "deepspeed slurm megatron", "small"),
    "a list": (PLAN + "  emit = |\n}", "[ ]", "deepspeed"),
    "what follows": (PLAN + "  parallel { data = | }\n}", "auto", "bf16"),
    "what an equation gives": (PLAN + "  parallel { tensor = | }\n}", "auto min cluster", "emit launch.script"),
    "a path": (PLAN + "  parallel { tensor = cluster.| }\n}", "nodes gpu", "tensor auto"),
    "a longer path": (PLAN + "  batch { micro = min(8, cluster.gpu.me|) }\n}", "memory", "nodes"),
    "a path in a model": (PARTS + "model m { heads = hidden / | }", "layers", "parallel tensor"),
    "a unit": (PARTS + "gpu g { memory = 80 |", "GiB GB link", "s W Gbit/s"),
    "a unit that touches": (PARTS + "gpu g { memory = 80G|", "GiB GB", "link W"),
    "a unit, half typed": (PLAN + "  launch { walltime = 24 mi| }\n}", "min h", "script GB"),
    "behind bare digits": (PLAN + "  launch { walltime = 24| }\n}", "min h", "script"),
    "a unit behind a suffix": (PLAN + "  batch { global = 4Mi tok| }\n}", "tokens samples", "steps %"),
    "a price": (PARTS + "cluster c { price_per_gpu = 2 |", "USD/h EUR/h", "USD/kWh h"),
    "a share": (PARTS + "model m { dropout = 3 |", "%", "GB"),
    "the line behind a number": (PARTS + "gpu g {\n  memory = 80\n  |\n}", "link power", "GiB memory"),
    "a rule": (PARTS + "policy p { | }", "require forbid warn", "precision"),
    "a condition": (PARTS + "policy p { require | }", "parallel memory not divides", "bf16"),
    "a derived number": (PARTS + "policy p { require memory.| }", "headroom total", "bubble"),
    "a word in a condition": (PARTS + "policy p { require precision == | }", "bf16", "small"),
    "words in a condition": (PARTS + "policy p { require optimizer in [adamw, | ] }", "lion", "bf16"),
    "a block in a condition": (PARTS + "policy p { forbid cluster == | }", "pair", "small"),
    "behind a condition": (PARTS + "policy p { require slurm in emit | }", "when because and require", "bf16"),
    "no text of one's own": (PLAN + '  dataset { name = "a |" }\n}', "", "precision run"),
    "no comment": (PLAN + "  # pre|\n}", "", "precision"),
    "no comment behind an entry": (PLAN + "  recompute = full  # pre|\n}", "", "precision"),
    "a hash in a string": (PLAN + '  launch { script = "#"  | }\n}', "args", ""),
    "a text after a fault": (PLAN + "  ] ) %%\n  par|\n}", "parallel", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_offered(case: tuple[str, str, str]) -> None:
    text, wanted, unwanted = case
    offered = set(completed(text))
    wanted_labels = {wanted} if wanted == "[ ]" else set(wanted.split())
    assert wanted_labels <= offered, offered
    assert not set(unwanted.split()) & offered
    if not wanted:
        assert offered == set()


def test_every_snippet_of_a_block_can_be_filled_in() -> None:
    blocks = completed("|")
    for kind in KINDS:
        text = blocks[kind].snippet
        for number in range(9):
            text = text.replace(f"${{{number}:name}}", "name").replace(f"${number}", "x" if "=" in text else "")
        diagnostics = parse(Source("", text)).diagnostics
        assert diagnostics == (), (text, diagnostics)


def test_every_entry_can_be_filled_in() -> None:
    for label, item in completed(PLAN + "  |\n}").items():
        entry = (item.snippet or item.insert + "x").replace("$1", "")
        assert parse(Source("", f"plan p {{ {entry} }}")).diagnostics == (), (label, entry)


def test_required_fields_come_first_and_those_of_the_file_before_the_catalogue() -> None:
    cluster = completed(PARTS + "cluster c { | }")
    assert sorted(cluster, key=lambda label: cluster[label].rank)[:3] == ["gpu", "nodes", "gpus_per_node"]
    cards = completed(PARTS + "cluster c { gpu = | }")
    assert min(cards, key=lambda label: cards[label].rank) == "card"


def test_a_name_that_needs_quotes_gets_them() -> None:
    text = 'model "7B chat" { }\nmodel "say \\"hi\\"" { }\n'
    assert completed(text + "plan p { model = |")["7B chat"].insert == '"7B chat"'
    assert completed(text + 'plan p { model = "|"')['say "hi"'].insert == 'say \\"hi\\"'


@pytest.mark.parametrize(
    ("head", "added"),
    [("", 'use "planc/models"\n'), ("# A comment.\n", 'use "planc/models"\n# A comment.\n'),
     ('use "planc/gpus"  # cards\n# A comment.\n', 'use "planc/gpus"  # cards\nuse "planc/models"\n# A comment.\n')],
)  # fmt: skip
def test_a_model_of_the_catalogue_brings_its_file(head: str, added: str) -> None:
    item = completed(head + "plan p { model = lla|")["llama-3-8b"]
    assert item.beside is not None
    at, text = item.beside
    assert head[:at] + text + head[at:] == added
    assert "h100-sxm-80gb" not in completed(head + "plan p { model = lla|")

"""The catalogue against the tables that it was made of: cards as published, models as Hugging Face counts them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from fractions import Fraction

import pytest

from planc.commands.files import Files
from planc.compiler import analyse
from planc.source import Source
from planc.syntax import outline
from planc.syntax.nodes import Block
from planc.syntax.outline import Outline
from planc.syntax.parse import parse, parse_block
from tests.analysis import analysis_of, codes
from tests.catalogue.catalogue import CATALOGUE, Entry, entries
from tests.catalogue.page import PAGE, page
from tests.shared import shared

GPUS = entries("gpus")
MODELS = entries("models")
RATES = ("fp32", "tf32", "fp16", "bf16", "fp8", "fp4")
PCIE = {"3.0 x16": Fraction("15.75"), "4.0 x16": Fraction("31.5"), "5.0 x16": 63}


def rows(name: str) -> Iterator[dict[str, str]]:
    with shared(f"facts/tables/{name}").open(newline="") as file:
        yield from csv.DictReader(file)


def published(known: dict[str, Entry], name: str) -> Entry:
    return next(entry for entry in known.values() if entry.published == name)


def test_every_card_of_the_table() -> None:
    cards = [row for row in rows("08a_gpus.csv") if row["vendor"] != "Google"]
    assert len(cards) == 20
    for row in cards:
        check_card(published(GPUS, row["gpu"]), row)


def check_card(entry: Entry, row: dict[str, str]) -> None:
    gpu = entry.plan["cluster.gpu"].value
    values = {name: located.value for name, located in gpu.fields.items()}
    memory = int(row["mem_gb"]) * 2**30
    assert values["memory"] == memory, entry.name
    if row["usable_gib"]:
        assert values["usable_memory"] == Fraction(row["usable_gib"]) * 2**30
    assert memory * 0.9 < values["usable_memory"] < memory
    for rate in RATES:
        peak = row[f"{rate}_tflops"]
        assert values[rate] == (Fraction(peak) * 10**12 if peak else False), (entry.name, rate)
    assert values["memory_bandwidth"] == Fraction(row["hbm_gbs"]) * 10**9
    assert values["link"] == Fraction(row["link_unidir_gbs"]) * 10**9
    assert values["pcie"] == (PCIE[row["pcie"]] * 10**9 if row["pcie"] in PCIE else None)
    capability = row["compute_capability"]
    stated = None if capability.startswith("gfx") else Fraction(capability)
    assert values["compute_capability"] == stated
    assert values["vendor"] == row["vendor"].lower()
    assert 0 < values["power"]


def test_half_a_module_is_half_of_it() -> None:
    whole = GPUS["mi250x-128gb"].plan["cluster.gpu"].value
    half = GPUS["mi250x-gcd-64gb"].plan["cluster.gpu"].value
    for name in ("memory", "usable_memory", *RATES, "memory_bandwidth", "link", "power"):
        assert half[name].value * 2 == whole[name].value


def test_every_model_of_the_table() -> None:
    """Exactly, all 65: the total, what a token passes through, and what one rank holds of the whole."""
    counted = list(rows("07_models.csv"))
    assert len(counted) == 65
    for row in counted:
        for name in row["model"].split(" / "):
            check_model(published(MODELS, name), row)


def check_model(entry: Entry, row: dict[str, str]) -> None:
    model, facts = entry.plan["model"].value, entry.facts
    latent = model["attention"].value.word == "mla"
    for name in ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab", *(() if latent else ("head_dim",))):
        assert model[name].value == int(row[name]), (entry.name, name)
    assert model["tied"].value == (row["tied"] == "1")
    assert facts["model.total_parameters"] == int(row["params_total"]), entry.name
    if row["params_active"]:
        assert facts["model.active_parameters"] == int(row["params_active"]), entry.name
    elif not row["experts"]:
        assert facts["model.active_parameters"] == facts["model.total_parameters"]


@pytest.mark.parametrize("name", MODELS)
def test_one_rank_holds_the_whole_model(name: str) -> None:
    text = f"""
        use "planc/models"
        gpu card {{ memory = 80 TiB  bf16 = true }}
        plan run {{
          model = {name}  cluster {{ gpu = card  nodes = 1  gpus_per_node = 1 }}
          batch {{ global = 1  micro = 1 }}  precision = bf16
        }}"""
    analysis = analysis_of(text)
    assert codes(analysis) == []
    facts = MODELS[name]._replace(plan=analysis.plans[0]).facts
    assert facts["parallel.parameters_per_rank"] == MODELS[name].facts["model.total_parameters"]


def test_names_are_those_that_people_type() -> None:
    for entry in (*GPUS.values(), *MODELS.values()):
        assert re.fullmatch(r"[a-z][a-z0-9.-]*", entry.name)
        assert re.search(r"\d", entry.name)


@pytest.mark.parametrize("file", ["gpus", "models"])
def test_a_block_is_read_alone_as_with_all_others(file: str) -> None:
    """The catalogue is cut at the lines that begin a block, and only what is referred to is read."""
    source = Source(file, (CATALOGUE / f"{file}.plan").read_text(encoding="utf-8"))
    whole, diagnostics = parse(source)
    assert diagnostics == ()
    assert whole.uses == whole.settings == ()
    assert dict(Outline(source)) == {(block.kind, block.name.text): block for block in whole.blocks}


def test_only_what_is_referred_to_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model, the one that it is derived from, and a card."""
    read = []

    def watched(source: Source, start: int, end: int) -> Block:
        read.append(parse_block(source, start, end))
        return read[-1]

    monkeypatch.setattr(outline, "parse_block", watched)
    text = """
        use "planc/gpus"
        use "planc/models"
        plan run {
          model = llama-3-70b  cluster { gpu = a100-sxm-40gb  nodes = 64  gpus_per_node = 8 }
          shard { stage = 3 }  batch { global = 512  micro = 1 }  precision = bf16
        }"""
    assert codes(analysis_of(text)) == []
    assert sorted(block.name.text for block in read) == ["a100-sxm-40gb", "llama-3-70b", "llama-3-8b"]


def test_a_name_that_is_not_in_the_catalogue() -> None:
    text = 'use "planc/gpus"  cluster one { gpu = h100-sxm-80gib  nodes = 1  gpus_per_node = 8 }'
    (diagnostic,) = analysis_of(text).diagnostics
    assert diagnostic.help == ("did you mean `h100-sxm-80gb`?",)


def test_the_catalogue_may_be_used_and_judged_in_one_run() -> None:
    files = Files()
    catalogue = files.read(str(CATALOGUE / "gpus.plan"))
    plan = Source("own.plan", 'use "planc/gpus"  cluster one { gpu = h100-sxm-80gb  nodes = 1  gpus_per_node = 8 }')
    for sources in ((catalogue, plan), (plan, catalogue)):
        assert analyse(sources, files.load).diagnostics == ()


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "`python -m tests.catalogue.page` writes it"

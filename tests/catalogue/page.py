"""docs/catalogue.md, made of the catalogue: `python -m tests.catalogue.page` writes it."""

from __future__ import annotations

from typing import Any

from planc.diagnostics.amounts import parameters_text
from tests.catalogue.catalogue import Entry, entries
from tests.shared import ROOT

PAGE = ROOT / "docs" / "catalogue.md"

_HEAD = """\
# The catalogue

`use "planc/gpus"` and `use "planc/models"` bring in the cards and models below; only what a plan names is read. They
are written in the language itself ([`gpus.plan`](../planc/catalogue/gpus.plan),
[`models.plan`](../planc/catalogue/models.plan)), so `model mine from llama-3-8b { vocab = 130_000 }` derives one's own,
and a block of the same name in a plan's own file hides the catalogue's.

`python -m tests.catalogue.page` writes this page; edit the catalogue, not the page.
"""

_GPUS = """\
## Cards

Memory is in GiB: what is on the card, and what a process can allocate. Rates are dense peaks in TFLOPS; - is what the
card lacks. Bandwidths are in GB/s, of the link per direction.
"""

_MODELS = """\
## Models

The parameters are what Hugging Face's own classes count for these dimensions; `active` are those that a token passes
through, where that differs.
"""


_RATES = ("fp32", "tf32", "fp16", "bf16", "fp8", "fp4")


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """The text of the page."""
    cards = [_row("name", "published as", "memory", "usable", *_RATES, "memory bandwidth", "link"), _ruler(2, 10)]
    cards += [_card(entry) for entry in entries("gpus").values()]
    dimensions = ("layers", "hidden", "heads", "KV heads", "ffn", "vocab")
    models = [_row("name", "published as", "parameters", "", "active", *dimensions, "family"), _ruler(2, 9, 1)]
    models += [_model(entry) for entry in entries("models").values()]
    return "\n".join((_HEAD, _GPUS, "".join(cards), _MODELS, "".join(models)))


def _card(entry: Entry) -> str:
    gpu = entry.plan["cluster.gpu"].value
    sizes = [_short(gpu[name].value / 2**30) for name in ("memory", "usable_memory")]
    rates = [_rate(gpu[name].value) for name in _RATES]
    speeds = [_short(gpu[name].value / 10**9) for name in ("memory_bandwidth", "link")]
    return _row(f"`{entry.name}`", entry.published, *sizes, *rates, *speeds)


def _rate(value: Any) -> str:
    return "-" if value is False else _short(value / 10**12)


def _short(value: Any) -> str:
    return f"{float(value):.6g}"


def _model(entry: Entry) -> str:
    model = entry.plan["model"].value
    total, active = entry.facts["model.total_parameters"], entry.facts["model.active_parameters"]
    dimensions = [str(model[name].value) for name in ("layers", "hidden", "heads", "kv_heads", "ffn", "vocab")]
    few = "" if active == total else parameters_text(active)
    family = model["family"].value
    return _row(f"`{entry.name}`", entry.published, f"{total:,}", parameters_text(total), few, *dimensions, family)


def _ruler(*columns: int) -> str:
    """The line below a table's head: columns of text and of numbers, in turn."""
    kinds = ("---", "--:", "---")
    return f"|{'|'.join(kind for kind, count in zip(kinds, columns, strict=False) for _ in range(count))}|\n"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    main()

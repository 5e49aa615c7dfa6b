"""What an editor shows at the `|` of a text, without a server."""

from __future__ import annotations

from planc.commands.files import Files
from planc.editing.checking import Checker
from planc.editing.completion import Item, complete
from planc.editing.document import Document
from planc.editing.hovering import hover
from planc.editing.linking import Linked
from planc.editing.subjects import subject_of
from planc.source import Source

#: Parts of a plan, and the beginning of one that uses them.
PARTS = """\
use "planc/gpus"
use "planc/models"
gpu card { memory = 80 GiB  bf16 = 989 TFLOPS }
cluster pair { gpu = card  nodes = 2  gpus_per_node = 8  inter_node = 400 Gbit/s }
model small { layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000 }
policy house { forbid precision == fp16 }
template base { model = small  cluster = pair }
"""
PLAN = PARTS + "plan run from base {\n"

_FILES = Files()
CHECKER = Checker(_FILES.load)


def marked(text: str) -> tuple[Document, int, Linked]:
    """The document of a text, the offset of its `|`, and its links."""
    before, mark, after = text.partition("|")
    assert mark
    source = Source("case.plan", before + after)
    return CHECKER.document(source), len(before), CHECKER.linked(source)


def completed(text: str) -> dict[str, Item]:
    """What may be written at the mark, by its label."""
    document, offset, linked = marked(text)
    items = complete(document, offset, linked, lambda: ("parts.plan", "configs/config.json"), _FILES.load)
    for item in items:
        assert item.start <= offset
    return {item.label: item for item in items}


def hovered(text: str) -> str:
    """What is shown of the word at the mark; empty for nothing."""
    document, offset, linked = marked(text)
    found = hover(document, offset, linked, lambda file, key: subject_of(file, key, _FILES.load))
    if found is None:
        return ""
    assert found.span.start <= offset <= found.span.end
    return found.text

"""Texts as they are while somebody types: random edits of a text, the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator

_PIECES = (
    "{", "}", '"', "=", "\n", " ", "#", "[", "]", "(", ")", ".", ",", "8", "80 G", "in [1, 2]", "model = ",
    "nodes = 3 ",
    'use "planc/models"\n', "plan x from study {}\n", "policy house {\n", "llama-3-8b", "cluster", "from", "when",
    "not in ",
    "require ", "memory.", "cluster.gpu.", 'because "', '"x" = ', 'model m from hf("', "emit = [deepspeed { ", "auto",
    "none",
    'use "other.plan"\n', "precision = fp16", "language = 1\n", "gpu g { memory = 8 GiB }\n", "\t", "\r", "\u2028",
    "\U0001f680", "\ufeff", "template study { }\n",
)  # fmt: skip


def edited(text: str, random: random.Random, count: int) -> Iterator[str]:
    """A text, and what becomes of it by one edit after the other."""
    for _ in range(count):
        yield text
        at, kind = random.randrange(len(text) + 1), random.random()
        if kind < 0.5:
            text = text[:at] + random.choice(_PIECES) + text[at:]
        elif kind < 0.9:
            text = text[:at] + text[at + random.randrange(1, 20) :]
        else:
            lines = text.split("\n")
            line = lines.pop(random.randrange(len(lines)))
            lines.insert(random.randrange(len(lines) + 1), line)
            text = "\n".join(lines)

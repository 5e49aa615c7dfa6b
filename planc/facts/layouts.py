"""Megatron's layout string: which layers, and which ends of the model, each virtual stage of the pipeline holds.

`Ettt|(tt|)*29,m|L` is 32 stages: the embedding and three layers, 29 times two layers, a layer for multi-token prediction,
the loss. As in Megatron-LM (PipelineParallelLayerLayout), commas mean nothing, `(...)*n` repeats what is in brackets and
`x*n` one letter.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_LONGEST = 10_000  # letters of a layout that is written out in full
_LETTERS = frozenset("EtmL|")
#: What is repeated, brackets before letters, as in Megatron-LM: `(...)*n`, then `x*n`.
_REPEATED = (re.compile(r"\(([^()]*)\)\*(\d+)"), re.compile(r"([^()*])\*(\d+)"))


class Chunk(NamedTuple):
    """What one virtual stage holds, in letters of the layout: `E` embedding, `t` layer, `m` MTP layer, `L` loss."""

    letters: str

    def count(self, letter: str) -> int:
        """How many of one kind it holds."""
        return self.letters.count(letter)


@lru_cache(64)
def chunks_of(text: str) -> tuple[Chunk, ...] | str:
    """The virtual stages of a layout, or what is wrong with the text."""
    written = "".join(text.split()).replace(",", "")
    for repeated in _REPEATED:
        found = tuple(repeated.finditer(written))
        if any(4 < len(match[2]) for match in found) or _LONGEST < len(written) + sum(
            len(match[1]) * int(match[2]) for match in found
        ):
            return f"it has more than {_LONGEST} letters"
        written = repeated.sub(lambda match: match[1] * int(match[2]), written)
    for letter in written:
        if letter not in _LETTERS:
            return f"`{letter}` is none of `E`, `t`, `m`, `L`, `|`, `(...)*n`"
    if written.count("E") != 1 or not written.startswith("E"):
        return "the first letter is not the one `E`, the embedding"
    if written.count("L") != 1 or not written.endswith("L"):
        return "the last letter is not the one `L`, the loss"
    return tuple(map(Chunk, written.split("|")))


"""Which rows constants may be fitted on, and which they are judged by: whole models, never single rows."""

from __future__ import annotations

#: Models whose rows constants may be fitted on; every other model is only judged.
FIT = frozenset((
    "nanotron-1B", "nanotron-80B",
    "mpt-125m", "mpt-760m", "mpt-3b", "mpt-13b", "mpt-70b",
    "gpt-1.7B", "gpt-7.5B", "gpt-76.1B", "gpt-175B", "gpt-529.6B",
    "bloom-h14336", "bloom-h12288",
    "zero-bubble-6.2B",
    "vtrain-h1024-l24", "vtrain-h1024-l12", "vtrain-h2048-l20", "vtrain-h2048-l24",
    "llama-3-8b", "llama-3.1-405b", "llama-2-70b", "nemotron-4-15b",
    "golden-gpt",
))  # fmt: skip


def is_fitted(family: str) -> bool:
    """Whether constants may be fitted on the rows of a model."""
    return family in FIT

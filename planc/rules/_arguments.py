"""What the plan's command line tells the script, as far as its flags have names that trainers share."""

from __future__ import annotations

from typing import NamedTuple

from planc.plan.model import Plan

_ON = ("", "true", "1", "yes", "y", "t", "on")


class Argument(NamedTuple):
    """A flag as it is written, and the text behind it; empty where another flag follows."""

    flag: str
    value: str

    @property
    def is_on(self) -> bool:
        """Whether it switches something on, as the parsers of Python read it."""
        return self.value.lower() in _ON


_RECOMPUTING = ("activation_checkpointing", "gradient_checkpointing")


def arguments(plan: Plan) -> dict[str, Argument]:
    """The flags of `launch.args` by name, `-` and `_` being the same; the last of a name counts."""
    words = plan["launch.args"].value
    found: dict[str, Argument] = {}
    if not isinstance(words, tuple):
        return found
    texts = [word for word in words if isinstance(word, str)]
    for at, word in enumerate(texts):
        if not word.startswith("--"):
            continue
        flag, joined, value = word.partition("=")
        if not joined and at + 1 < len(texts) and not texts[at + 1].startswith("--"):
            value = texts[at + 1]
        found[flag[2:].replace("-", "_")] = Argument(flag, value)
    return found


def recomputing_argument(plan: Plan) -> Argument | None:
    """The flag with which the script is told to recompute activations, if there is one."""
    found = arguments(plan)
    return next((found[name] for name in _RECOMPUTING if name in found and found[name].is_on), None)

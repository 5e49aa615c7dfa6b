"""The sizes of the models that torchtitan itself has, in fields of a plan."""

from __future__ import annotations

from collections.abc import Callable

from planc.native.saying import quoted
from planc.native.tree import Entry
from planc.targets._torchtitan_models import Sizes

#: Models whose flavors are all that the language needs; the others have latent attention, or windows.
_PLAIN = ("llama3", "qwen3")

_SIZES = (
    ("layers", "model.layers"), ("hidden", "model.hidden"), ("heads", "model.heads"), ("kv_heads", "model.kv_heads"),
    ("head_dim", "model.head_dim"), ("vocab", "model.vocab"), ("experts", "model.experts.count"),
    ("top_k", "model.experts.top_k"), ("expert_ffn", "model.experts.ffn"),
)  # fmt: skip


def is_plain(name: object) -> bool:
    """Whether the flavors of a model say all of it."""
    return name in _PLAIN


def say(
    tell: Callable[[str, Entry | None, str], None], flavor: Sizes, name: str, chosen: Entry, named: Entry | None
) -> None:
    """What a flavor of a plain model says; `chosen` is where it stands, `named` where its model does."""
    for field, path in _SIZES:
        value = getattr(flavor, field)
        if value:
            tell(path, chosen, str(value))
    tell("model.ffn", chosen, str(flavor.ffn or flavor.expert_ffn))
    tell("model.tied", chosen, "true" if flavor.tied else "false")
    tell("model.family", named, quoted("llama" if name == "llama3" else name))
    if name == "qwen3":
        tell("model.attention", chosen, "full")
        tell("model.attention.qk_norm", chosen, "head")

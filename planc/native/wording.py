"""Settings of a plan that a file does not have, in words that who never saw a plan reads as they are meant."""

from __future__ import annotations

import re

#: What a field and a value of it are called, by the field's name; `{}` is the value.
_WORDS = {
    "stage": "ZeRO stage {}", "data": "{} data ranks", "tensor": "{} tensor ranks", "pipeline": "{} pipeline stages",
    "context": "{} context ranks", "expert": "{} expert ranks", "expert_tensor": "{} tensor ranks for an expert",
    "chunks": "{} chunks a stage", "first_stage_layers": "{} layers in the first stage",
    "last_stage_layers": "{} layers in the last stage", "global": "a global batch of {}",
    "micro": "a micro batch of {}", "accumulation": "{} passes a step", "sequence_length": "sequences of {} tokens",
    "every": "an interval of {}", "duration": "a run of {}", "warmup": "a warm-up of {}", "total": "a schedule of {}",
    "minimum": "a lowest rate of {}", "learning_rate": "a rate of {}", "recipe": "the recipe {}",
    "recompute": "{} recomputation", "layers": "{} layers", "hidden": "a hidden size of {}", "heads": "{} heads",
    "kv_heads": "{} KV heads", "ffn": "an FFN width of {}", "vocab": "a vocabulary of {}", "nodes": "{} nodes",
    "gpus_per_node": "{} cards a node", "precision": "{} precision", "size": "groups of {} ranks", "rank": "rank {}",
}  # fmt: skip

#: Settings of which the value is a part of the words.
_WHOLE = {
    "embedding_as_layer = true": "the embedding counted as a layer",
    "loss_as_layer = true": "the loss counted as a layer", "sequence = true": "sequence parallelism",
    "recompute = none": "no recomputation", "chunks = 1": "one chunk a stage",
}  # fmt: skip

#: The same as arguments of Megatron-LM, where the value is the argument's.
_MEGATRON = {
    "first_stage_layers": "decoder-first-pipeline-num-layers", "last_stage_layers": "decoder-last-pipeline-num-layers",
    "embedding_as_layer": "account-for-embedding-in-pipeline-split",
    "loss_as_layer": "account-for-loss-in-pipeline-split",
    "tensor": "tensor-model-parallel-size", "pipeline": "pipeline-model-parallel-size",
    "context": "context-parallel-size", "expert": "expert-model-parallel-size", "global": "global-batch-size",
    "kv_heads": "num-query-groups", "hidden": "hidden-size", "recompute": "recompute-granularity",
    "expert_tensor": "expert-tensor-parallel-size",
}  # fmt: skip

_NAME = re.compile(r"[A-Z][A-Z0-9_]+")


def argument(name: str) -> str | None:
    """The argument of Megatron-LM that stands for a field, without dashes before it."""
    return _MEGATRON.get(name)


def worded(name: str, value: str) -> str | None:
    """A setting in words, or a variable as shells write it; None for a field that has no such words.

    name: the last part of the field's path; value: as the language writes it.
    """
    if _NAME.fullmatch(name):
        text = value.strip('"')
        return f"`{name}={text}`" if text.isprintable() and '"' not in text else None
    whole = _WHOLE.get(f"{name} = {value}")
    if whole is not None:
        return whole
    words = _WORDS.get(name)
    return words.format(value.replace("-", " ") if name == "recompute" else value) if words is not None else None

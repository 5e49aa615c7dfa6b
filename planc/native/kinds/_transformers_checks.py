"""What is wrong between the arguments of one file of the Trainer, and no field of a plan shows."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.native import faults
from planc.native.kinds import _layer_classes
from planc.native.saying import is_on
from planc.native.tree import Entry, Map, Scalar


def check(root: Map) -> Iterator[Diagnostic]:
    """Everything that is wrong between arguments."""
    yield from _precision(root)
    yield from _checkpointing(root)
    yield from _saving(root)
    config = root.map("fsdp_config")
    for name in ("transformer_layer_cls_to_wrap", "fsdp_transformer_layer_cls_to_wrap"):
        yield from _layer_classes.check(None if config is None else config.find(name))
    yield from _layer_classes.check(root.find("fsdp_transformer_layer_cls_to_wrap"))


def _precision(root: Map) -> Iterator[Diagnostic]:
    first, second = root.find("fp16"), root.find("bf16")
    if first is not None and second is not None and is_on(root, "fp16") and is_on(root, "bf16"):
        message = "`fp16` and `bf16` are both on"
        related = (Label(first.span, "on here"),)
        yield faults.CONFLICTING_SETTINGS.at(second.span, message, "the Trainer refuses to start", related=related)


def _is_sharded(root: Map) -> Entry | None:
    """The argument that turns FSDP on."""
    entry = root.find("fsdp")
    if entry is None or not isinstance(entry.value, Scalar) or entry.value.value in (None, False, ""):
        return None
    return entry


def _checkpointing(root: Map) -> Iterator[Diagnostic]:
    """Activations that are recomputed by the Trainer and by FSDP, or by the Trainer alone under full shards."""
    own = root.find("gradient_checkpointing")
    fsdp, config = _is_sharded(root), root.map("fsdp_config")
    if own is None or not is_on(root, "gradient_checkpointing"):
        return
    names = ("activation_checkpointing", "fsdp_activation_checkpointing")
    other = next((config.find(name) for name in names if config is not None and is_on(config, name)), None)
    if fsdp is not None and other is not None:
        message = "activations are recomputed by the Trainer and by FSDP"
        related = (Label(other.span, "and here"),)
        help = ("keep that of `fsdp_config`, and remove `gradient_checkpointing`",)
        yield faults.CONFLICTING_SETTINGS.at(
            own.span, message, "all weights are gathered once more", related=related, help=help
        )
    reentrant = root.find("gradient_checkpointing_kwargs", "use_reentrant")
    unused = root.find("ddp_find_unused_parameters")
    is_reentrant = reentrant is not None and root.value("gradient_checkpointing_kwargs", "use_reentrant") is True
    if reentrant is not None and unused is not None and is_reentrant and is_on(root, "ddp_find_unused_parameters"):
        message = "re-entrant checkpoints beside `ddp_find_unused_parameters`"
        related = (Label(unused.span, "looks for unused ones"),)
        help = ('write `"use_reentrant": false`',)
        yield faults.CONFLICTING_SETTINGS.at(
            reentrant.span, message, "a parameter is marked ready twice", related=related, help=help
        )


def _saving(root: Map) -> Iterator[Diagnostic]:
    """The best model, of which only the weights are saved, under shards."""
    only, best = root.find("save_only_model"), root.find("load_best_model_at_end")
    shards = root.find("deepspeed") or _is_sharded(root)
    if only is None or best is None or shards is None:
        return
    if is_on(root, "save_only_model") and is_on(root, "load_best_model_at_end"):
        message = "`save_only_model` beside `load_best_model_at_end`, under shards"
        related = (Label(only.span, "no states are saved"), Label(shards.span, "the states are shared"))
        help = ("remove one of the two",)
        yield faults.CONFLICTING_SETTINGS.at(
            best.span, message, "the Trainer refuses to start", related=related, help=help
        )

"""What is wrong between the arguments of one file of the Trainer, and no field of a plan shows."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text
from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.native import faults
from planc.native.keys import setting
from planc.native.kinds import _layer_classes
from planc.native.saying import is_on, whole
from planc.native.tree import Entry, Map, Scalar

#: How activations are computed again: the name of transformers 5.23, and that of earlier releases.
_KWARGS = ("activation_checkpointing_kwargs", "gradient_checkpointing_kwargs")


def check(root: Map) -> Iterator[Diagnostic]:
    """Everything that is wrong between arguments."""
    yield from _batch(root)
    yield from _precision(root)
    yield from _sharing(root)
    yield from _checkpointing(root)
    yield from _saving(root)
    yield from _intervals(root)
    yield from _best(root)
    config = root.map("fsdp_config")
    for name in ("transformer_layer_cls_to_wrap", "fsdp_transformer_layer_cls_to_wrap"):
        yield from _layer_classes.check(None if config is None else config.find(name))
    yield from _layer_classes.check(root.find("fsdp_transformer_layer_cls_to_wrap"))


def _batch(root: Map) -> Iterator[Diagnostic]:
    """Counts that stop the first step."""
    for name in ("per_device_train_batch_size", "gradient_accumulation_steps"):
        entry, count = root.find(name), whole(root.find(name))
        if entry is not None and count is not None and count < 1:
            yield faults.WRONG_VALUE.at(entry.value.span, f"`{name}` is {count_text(count)}", "it has to be at least 1")


def recomputation(root: Map) -> Entry | None:
    """The argument that has activations computed again: of two names the new one counts, unless it is null."""
    new = root.find("activation_checkpointing")
    return new if root.value("activation_checkpointing") is not None else root.find("gradient_checkpointing") or new


def _sharing(root: Map) -> Iterator[Diagnostic]:
    """FSDP and DeepSpeed, each of which shares the states."""
    fsdp, config = _is_sharded(root), root.find("deepspeed")
    if fsdp is None or config is None or (isinstance(config.value, Scalar) and not config.value.value):
        return
    message = "`fsdp` and `deepspeed` are both on"
    related = (Label(fsdp.span, "on here"),)
    yield faults.CONFLICTING_SETTINGS.at(
        config.span, message, "the Trainer refuses to start", related=related, help=("remove one of the two",)
    )


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
    own = recomputation(root)
    fsdp, config = _is_sharded(root), root.map("fsdp_config")
    if own is None or not is_on(root, own.name):
        return
    names = ("activation_checkpointing", "fsdp_activation_checkpointing")
    other = next((config.find(name) for name in names if config is not None and is_on(config, name)), None)
    if fsdp is not None and other is not None:
        message = "activations are recomputed by the Trainer and by FSDP"
        related = (Label(other.span, "and here"),)
        help = (f"keep that of `fsdp_config`, and remove `{own.name}`",)
        yield faults.CONFLICTING_SETTINGS.at(
            own.span, message, "all weights are gathered once more", related=related, help=help
        )
    options = next((name for name in _KWARGS if root.find(name) is not None), _KWARGS[0])
    reentrant = root.find(options, "use_reentrant")
    unused = root.find("ddp_find_unused_parameters")
    is_reentrant = reentrant is not None and root.value(options, "use_reentrant") is True
    if reentrant is not None and unused is not None and is_reentrant and is_on(root, "ddp_find_unused_parameters"):
        message = "re-entrant checkpoints beside `ddp_find_unused_parameters`"
        related = (Label(unused.span, "looks for unused ones"),)
        help = (f"write `{setting(reentrant, 'use_reentrant', 'false')}`",)
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


def _intervals(root: Map) -> Iterator[Diagnostic]:
    """Steps between two logs, evaluations or saves: a share of the run below 1, else a whole number."""
    for kind, usual in (("logging", "steps"), ("eval", "no"), ("save", "steps")):
        entry, steps = root.find(f"{kind}_steps"), _number(root, f"{kind}_steps", 1)
        if entry is None or steps is None or _word(root, f"{kind}_strategy", usual) != "steps":
            continue
        if 1 < steps and steps != int(steps):
            message = f"`{entry.name}` is {steps:g}"
            label = "above 1 it has to be a whole number"
            yield faults.WRONG_VALUE.at(entry.value.span, message, label, help=(f"write `{int(steps)}`",))
        elif kind == "logging" and steps == 0:
            off = setting(entry, "logging_strategy", '"no"')
            help = (f"write `{off}`, or a number of steps",)
            yield faults.WRONG_VALUE.at(
                entry.value.span, "`logging_steps` is 0", "the Trainer refuses to start", help=help
            )


def _best(root: Map) -> Iterator[Diagnostic]:
    """The best model is one that was evaluated and saved: both have to happen at the same steps."""
    entry = root.find("load_best_model_at_end")
    saves, evaluates = _word(root, "save_strategy", "steps"), _word(root, "eval_strategy", "no")
    if entry is None or not is_on(root, "load_best_model_at_end") or root.find("evaluation_strategy") is not None:
        return
    label = "the Trainer refuses to start"
    if saves is None or evaluates is None or saves == "best":
        return
    if saves != evaluates:
        message = f"the best of what is saved by `{saves}` and evaluated by `{evaluates}`"
        same = setting(entry, "eval_strategy", f'"{saves}"')
        help = (f"write `{same}`",)
        yield faults.CONFLICTING_SETTINGS.at(entry.span, message, label, help=help)
        return
    save, each = _number(root, "save_steps", 500), _number(root, "eval_steps", 0)
    each = _number(root, "logging_steps", 500) if each == 0 else each
    if saves != "steps" or save is None or not each or each < 0 or save % each == 0:
        return
    mixed = (save < 1) != (each < 1)
    if mixed or round(save * 1e6) % max(1, round(each * 1e6)):
        message = f"a save every {save:g} steps is no multiple of evaluations every {each:g}"
        places = tuple(Label(found.span) for name in ("save_steps", "eval_steps") if (found := root.find(name)))
        help = (f"write `{setting(entry, 'save_steps', f'{each:g}')}`",)
        yield faults.CONFLICTING_SETTINGS.at(entry.span, message, label, related=places, help=help)


def _word(root: Map, name: str, default: str) -> str | None:
    """A word, or its default; None where it is none."""
    found = default if root.find(name) is None else root.value(name)
    return found if isinstance(found, str) else None


def _number(root: Map, name: str, default: float) -> float | None:
    """A number, or its default; None where it is none."""
    found = default if root.find(name) is None else root.value(name)
    if found is None:
        return default
    return found if isinstance(found, (int, float)) and not isinstance(found, bool) and abs(found) < 1e12 else None

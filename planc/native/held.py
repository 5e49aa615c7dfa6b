"""What the Trainer of Hugging Face holds other files of a job against when it starts: it refuses those that differ, or
takes what they say over its own arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.native import faults
from planc.native.keys import setting
from planc.native.kind import Said
from planc.native.tree import Entry, Map, Scalar
from planc.plan.families import VISION_LAYERS
from planc.source import Span

#: Arguments of LLaMA-Factory that want each rank to have the whole weights.
_OF_WHOLE_WEIGHTS = ("pure_bf16", "predict_with_generate", "pissa_init", "use_unsloth", "use_kt")

_REFUSES = "the Trainer refuses to start"

#: Schedules of DeepSpeed, and the courses of the language that they have after the warmup.
_COURSES = {"WarmupLR": "constant", "WarmupDecayLR": "linear", "WarmupCosineLR": "cosine"}


def check(roots: Mapping[str, Map]) -> Iterator[Diagnostic]:
    """Everything that stops the Trainer between files, beside fields of a plan; the files by their kinds."""
    arguments, config = roots.get("transformers"), roots.get("deepspeed")
    if arguments is not None and config is not None:
        yield from _schedule(arguments, config)
        yield from _precision(arguments, config)
    own = roots.get("llama-factory")  # which hands its arguments on to the Trainer, but for a precision of its own
    if config is not None and own is not None:
        yield from _whole_weights(own, config)
        if arguments is None and own.value("do_train") is True:
            yield from _schedule(own, config)
            yield from _precision(own, config) if own.find("pure_bf16") is None and own.find("fp8") is None else ()
    launcher, model = roots.get("accelerate"), roots.get("hf-config")
    if arguments is not None and launcher is not None:
        yield from _recomputation(arguments, launcher)
    if launcher is not None and model is not None:
        yield from _layers(launcher, model)


def scheduler_of(config: Map | None) -> Entry | None:
    """The schedule of a DeepSpeed configuration, which the Trainer takes over its own (`deepspeed_optim_sched`)."""
    kind = None if config is None else config.value("scheduler", "type")
    return None if config is None or kind is None else config.find("scheduler", "type")


def check_course(said: Iterable[Said], config: Map) -> Iterator[Diagnostic]:
    """A course of the Trainer's own that is another one than that of DeepSpeed's schedule."""
    entry, kind = scheduler_of(config), config.value("scheduler", "type")
    for each in said:
        if entry is None or each.path != "schedule" or each.assumed or _COURSES.get(str(kind), each.text) == each.text:
            continue
        message = f"`{each.key}` has no effect beside DeepSpeed's `scheduler`"
        help = ("remove one of the two",)
        related = (Label(entry.span, "the Trainer takes this one"),)
        yield faults.INERT_KEY.at(each.entry, message, f"DeepSpeed's is `{kind}`", related=related, help=help)


def _whole_weights(arguments: Map, config: Map) -> Iterator[Diagnostic]:
    """What LLaMA-Factory does not do where weights are shared (`get_train_args`)."""
    stage = config.find("zero_optimization", "stage")
    if stage is None or config.value("zero_optimization", "stage") != 3:
        return
    for name in _OF_WHOLE_WEIGHTS:
        entry = arguments.find(name)
        if entry is not None and _is_on(entry):
            message, label = f"`{name}` beside ZeRO stage 3", "LLaMA-Factory refuses to start"
            help = (f"remove `{name}`, or share at stage 2",)
            related = (Label(stage.span, "stage 3 here"),)
            yield faults.CONFLICTING_SETTINGS.at(entry.span, message, label, related=related, help=help)


def _schedule(arguments: Map, config: Map) -> Iterator[Diagnostic]:
    """Numbers of DeepSpeed's schedule; where the Trainer's own is left out, its default counts."""
    parameters = config.map("scheduler", "params")
    if parameters is None:
        return
    steps = _number(arguments, "max_steps", -1)
    if steps is not None and 0 < steps:
        yield from _differs(parameters.find("total_num_steps"), arguments, "max_steps", steps)
    warmup = _number(arguments, "warmup_steps", 0)
    if warmup is not None and (warmup == 0 or 1 <= warmup) and not arguments.value("warmup_ratio"):
        yield from _differs(parameters.find("warmup_num_steps"), arguments, "warmup_steps", max(1, int(warmup)))
    yield from _differs(
        parameters.find("warmup_max_lr"), arguments, "learning_rate", _number(arguments, "learning_rate", 5e-5)
    )


def _differs(entry: Entry | None, arguments: Map, name: str, due: float | None) -> Iterator[Diagnostic]:
    """A number of DeepSpeed's configuration that is another one than the Trainer's."""
    value = entry.value.value if entry is not None and isinstance(entry.value, Scalar) else None
    if entry is None or due is None or isinstance(value, bool) or not isinstance(value, (int, float)) or value == due:
        return
    own = arguments.find(name)
    place, label = (own.span, "here") if own is not None else (_start(arguments), f"`{name}` is left out")
    message = f"`{entry.name}` and `{name}` disagree"
    filled_in = setting(entry, entry.name, '"auto"')
    help = (f"write `{filled_in}`, or {due:g}",)
    yield faults.DISAGREEING_FILES.at(entry.span, message, _REFUSES, related=(Label(place, label),), help=help)


def _precision(arguments: Map, config: Map) -> Iterator[Diagnostic]:
    """A precision that one of the two has on, and the other off. Of two that are on, what the files say tells."""
    names = ("fp16", "bf16")
    if any(isinstance(arguments.value(name), str) for name in names):  # `${...}`: what it is nobody knows
        return
    own = {name: arguments.value(name) is True or arguments.value(f"{name}_full_eval") is True for name in names}
    theirs = {name: config.value(name, "enabled") for name in names}
    if any(own.values()) and any(flag is True for flag in theirs.values()):
        return
    for name in names:
        entry, flag = config.find(name, "enabled"), theirs[name]
        if entry is None or not isinstance(flag, bool) or flag == own[name]:
            continue
        argument = arguments.find(name)
        place, label = (argument.span, "here") if argument is not None else (_start(arguments), f"no `{name}` here")
        message = f"`{name}` is {'on' if flag else 'off'} for DeepSpeed only"
        filled_in = setting(entry, "enabled", '"auto"')
        help = (f"write `{filled_in}`",)
        yield faults.DISAGREEING_FILES.at(entry.span, message, _REFUSES, related=(Label(place, label),), help=help)


def _recomputation(arguments: Map, launcher: Map) -> Iterator[Diagnostic]:
    """Activations that are recomputed by the Trainer, and by FSDP as accelerate sets it up."""
    config = launcher.map("fsdp_config")
    if config is None or launcher.value("distributed_type") != "FSDP":
        return
    other = config.find("fsdp_activation_checkpointing") or config.find("activation_checkpointing")
    own = arguments.find("activation_checkpointing") or arguments.find("gradient_checkpointing")
    if other is None or own is None or not (_is_on(other) and _is_on(own)):
        return
    message = "activations are recomputed by the Trainer and by FSDP"
    help = (f"keep `{other.name}`, and remove `{own.name}`",)
    related = (Label(other.span, "and here"),)
    yield faults.CONFLICTING_SETTINGS.at(own.span, message, _REFUSES, related=related, help=help)


def _layers(launcher: Map, model: Map) -> Iterator[Diagnostic]:
    """A layer of a part that sees, in a model that has none."""
    config = launcher.map("fsdp_config")
    if config is None or launcher.value("distributed_type") != "FSDP":
        return
    if any(name.startswith(("vision", "text_config", "auto_map")) for name in model.names()):
        return
    entry = config.find("fsdp_transformer_layer_cls_to_wrap") or config.find("transformer_layer_cls_to_wrap")
    words = entry.value.value if entry is not None and isinstance(entry.value, Scalar) else None
    kind = model.find("model_type")
    if entry is None or not isinstance(words, str) or kind is None:
        return
    for name in (part.strip() for part in words.split(",")):
        if name in VISION_LAYERS:
            message = f"a model without vision has no `{name}`"
            related = (Label(kind.span, "the model"),)
            help = ("remove it from the list",)
            yield faults.CONFLICTING_SETTINGS.at(
                entry.span, message, "accelerate refuses to wrap the model", related=related, help=help
            )


def _is_on(entry: Entry) -> bool:
    return isinstance(entry.value, Scalar) and entry.value.value is True


def _number(arguments: Map, name: str, default: float) -> float | None:
    """The number of an argument, or its default; None where it is none."""
    found: Any = default if arguments.find(name) is None else arguments.value(name)
    return found if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def _start(node: Map) -> Span:
    return node.span._replace(end=min(node.span.end, node.span.start + 1))

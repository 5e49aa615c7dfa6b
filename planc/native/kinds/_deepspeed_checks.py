"""What is wrong between the settings of one DeepSpeed configuration, and no field of a plan shows."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, either, plural
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label
from planc.native import faults
from planc.native.keys import setting
from planc.native.saying import is_on, whole
from planc.native.tree import Entry, Map, Scalar, Seq, walk
from planc.source import Span

#: Keys of `zero_optimization` that stage 3 alone reads.
_OF_STAGE_3 = (
    "offload_param", "zero_hpz_partition_size", "zero_quantized_weights", "zero_quantized_nontrainable_weights",
    "stage3_prefetch_bucket_size", "stage3_param_persistence_threshold", "stage3_max_live_parameters",
    "stage3_max_reuse_distance", "stage3_gather_16bit_weights_on_model_save", "stage3_model_persistence_threshold",
    "stage3_gather_fp16_weights_on_model_save",
)  # fmt: skip


def check(root: Map, trainer: str | None) -> Iterator[Diagnostic]:
    """Everything that is wrong between settings; `trainer` is who reads the file, where that is known."""
    yield from _numbers(root)
    yield from _batch(root, trainer)
    yield from _precision(root)
    yield from _loss_scale(root)
    yield from _zero(root)
    yield from _quoted_stage(root, trainer)
    yield from _optimizer(root, trainer)
    yield from _schedule(root)


def _numbers(root: Map) -> Iterator[Diagnostic]:
    """Infinities, which a file of JSON may hold, and which DeepSpeed fails on when it prints its configuration."""
    for each in walk(root):
        for entry in each.entries:
            items = entry.value.items if isinstance(entry.value, Seq) else (entry.value,)
            for item in items:
                if isinstance(item, Scalar) and item.value == float("inf"):
                    message = f"`{entry.name}` is no number that DeepSpeed can print"
                    yield faults.WRONG_VALUE.at(item.span, message, "infinite", help=("write a number",))


def _batch(root: Map, trainer: str | None) -> Iterator[Diagnostic]:
    """Three numbers of which two give the third, as far as that shows without the number of ranks."""
    sizes = ("train_batch_size", "train_micro_batch_size_per_gpu")
    if trainer == "deepspeed" and all(root.find(name) is None or _is_null(root, name) for name in sizes):
        size = setting(root.entries[0], sizes[1], "1") if root.entries else f'"{sizes[1]}": 1'
        help = (f"add `{size}`, or what fits",)
        message = "the file has no batch size"
        yield faults.MISSING_KEY.at(Span(root.span.source, root.span.start, root.span.start + 1), message, help=help)
    whole_batch = root.find("train_batch_size")
    micro = root.find("train_micro_batch_size_per_gpu")
    passes = root.find("gradient_accumulation_steps")
    for entry in (whole_batch, micro, passes):
        number = whole(entry)
        if entry is not None and number is not None and number < 1:
            message = f"`{entry.name}` is {count_text(number)}"
            yield faults.WRONG_VALUE.at(entry.value.span, message, "it has to be at least 1")
            return
    total, each, times = whole(whole_batch), whole(micro), whole(passes)
    if whole_batch is None or total is None or (each is None and times is None):
        return
    step = (each or 1) * (times or 1)
    if total % step == 0:
        return
    factors = [f"{name} {count_text(number)}" for name, number in (("micro", each), ("accumulation", times)) if number]
    related = tuple(Label(entry.span) for entry in (micro, passes) if entry is not None and whole(entry) is not None)
    below, above = total // step * step, (total // step + 1) * step
    near = either(
        [f"`{setting(whole_batch, 'train_batch_size', count_text(size))}`" for size in (below, above) if size], "and"
    )
    yield faults.CONFLICTING_SETTINGS.at(
        whole_batch.span,
        f"no number of ranks makes a batch of {count_text(total)}",
        f"{' x '.join(factors)} = {plural(step, 'sample')} a rank; {plural(total % step, 'sample')} left over",
        related=related,
        help=(f"the nearest that some number of ranks makes: {near}",),
    )


def _precision(root: Map) -> Iterator[Diagnostic]:
    names = [name for name in ("fp16", "bf16", "bfloat16", "amp") if is_on(root, name, "enabled")]
    entries = [entry for name in names if (entry := root.find(name, "enabled")) is not None]
    if 1 < len(entries):
        message = f"`{names[0]}` and `{names[1]}` are both enabled"
        related = (Label(entries[0].span, "enabled here"),)
        yield faults.CONFLICTING_SETTINGS.at(entries[1].span, message, "DeepSpeed takes one precision", related=related)


def _is_null(root: Map, name: str) -> bool:
    entry = root.find(name)
    return entry is not None and isinstance(entry.value, Scalar) and entry.value.value is None


def _loss_scale(root: Map) -> Iterator[Diagnostic]:
    """What a loss scale that is adjusted needs, and a fixed one does not."""
    if not is_on(root, "fp16", "enabled") or (root.value("fp16", "loss_scale") or 0) != 0:
        return
    for name in ("loss_scale_window", "min_loss_scale"):
        entry, value = root.find("fp16", name), root.value("fp16", name)
        if entry is not None and isinstance(value, (int, float)) and value <= 0:
            label = "it has to be more than 0, as the loss scale is adjusted"
            yield faults.WRONG_VALUE.at(entry.value.span, f"`fp16.{name}` is {entry.value.span.text}", label)


def _zero(root: Map) -> Iterator[Diagnostic]:
    zero = root.map("zero_optimization")
    if zero is None:
        return
    written = zero.find("stage")
    stage = whole(written) if written is not None else 0
    if stage is None:
        return
    if stage < 3:
        yield from _of_stage_3(zero, written, stage)
    for key in ("offload_optimizer", "offload_param"):
        device = zero.find(key, "device")
        if device is not None and zero.value(key, "device") == "nvme" and zero.value(key, "nvme_path") is None:
            message = f"`{key}` on nvme has no `nvme_path`"
            folder = setting(device, "nvme_path", '"/local_nvme"')
            help = (f"add `{folder}`, a folder on a disk of each node",)
            yield faults.MISSING_KEY.at(device.span, message, "where should it go?", help=help)
    offload = zero.find("offload_optimizer", "device")
    if stage == 0 and offload is not None and zero.value("offload_optimizer", "device") in ("cpu", "nvme"):
        yield _inert(
            offload, "`offload_optimizer` needs ZeRO", written, 0, f"set `{setting(offload, 'stage', '1')}`, 2 or 3"
        )


def _quoted_stage(root: Map, trainer: str | None) -> Iterator[Diagnostic]:
    """Stage 3 in quotes, which DeepSpeed takes for a number, and who loads the model does not (`HfDeepSpeedConfig`)."""
    entry = root.find("zero_optimization", "stage")
    values = (inner.value for each in walk(root) for inner in each.entries)
    is_filled_in = any(isinstance(value, Scalar) and value.value == "auto" for value in values)
    if entry is None or root.value("zero_optimization", "stage") != "3":
        return
    if trainer in ("hf", "accelerate") or (trainer is None and is_filled_in):
        fix = Fix("write `3`", (Edit(entry.value.span, "3"),), safe=True)
        label = "each rank loads the whole model: Transformers looks for the number"
        message = "`zero_optimization.stage` is a text"
        yield faults.WRONG_VALUE.at(entry.value.span, message, label, help=("write `3`",), fixes=(fix,))


def _of_stage_3(zero: Map, written: Entry | None, stage: int) -> Iterator[Diagnostic]:
    """Keys that a lower stage passes over, where they ask for something: one finding for all of them."""
    entries = [entry for name in _OF_STAGE_3 if (entry := zero.find(name)) is not None and _asks(entry)]
    if not entries:
        return
    first = next((entry for entry in entries if entry.name == "offload_param"), entries[0])
    others = [entry for entry in entries if entry is not first]
    more = f" (and {plural(len(others), 'other key')})" if others else ""
    message = f"`{first.name}`{more} has no effect below stage 3"
    help = f"set `{setting(first, 'stage', '3')}`, or remove what is shown"
    yield _inert(first, message, written, stage, help, others)


def _asks(entry: Entry) -> bool:
    """Whether a key asks for something: an `offload_param` on `none`, or a size of 1, does not."""
    value = entry.value
    if isinstance(value, Map):
        return value.value("device") in ("cpu", "nvme")
    asked = getattr(value, "value", None)
    # Templates carry the sizes of stage 3 along at their defaults, or as `auto`: no harm, and no news.
    return asked is True or (entry.name == "zero_hpz_partition_size" and isinstance(asked, int) and 1 < asked)


def _inert(
    entry: Entry, message: str, written: Entry | None, stage: int, help: str, others: list[Entry] | None = None
) -> Diagnostic:
    related = [Label(other.span) for other in others or ()]
    if written is not None:
        related.append(Label(written.span, f"stage {stage} here"))
    return faults.INERT_KEY.at(entry.span, message, f"the stage is {stage}", related=tuple(related), help=(help,))


def _optimizer(root: Map, trainer: str | None) -> Iterator[Diagnostic]:
    norm = root.find("optimizer", "params", "max_grad_norm")
    if norm is not None and root.value("optimizer", "params", "max_grad_norm"):
        fault = faults.INERT_KEY if trainer is None else faults.MISPLACED_KEY
        message = "`max_grad_norm` is no parameter of an optimizer"
        help = ("write `gradient_clipping` at the top of the file",)
        yield fault.at(norm.span, message, "DeepSpeed refuses to make an optimizer with it", help=help)


def _schedule(root: Map) -> Iterator[Diagnostic]:
    total, warmup = (root.find("scheduler", "params", key) for key in ("total_num_steps", "warmup_num_steps"))
    steps, first = whole(total), whole(warmup)
    if total is None or steps is None:
        return
    if steps < 1:
        message = f"`total_num_steps` is {count_text(steps)}"
        yield faults.WRONG_VALUE.at(total.value.span, message, "the rate falls from the first step on")
    elif warmup is not None and first is not None and steps < first:
        message = f"a warm-up of {plural(first, 'step')} in {count_text(steps)}"
        related = (Label(total.span, "all steps"),)
        yield faults.CONFLICTING_SETTINGS.at(warmup.span, message, "it never ends", related=related)

"""What is wrong between flags of Megatron-LM that no field of a plan shows: what its validate_args refuses, or switches
off with no more than a line in the log. Conditions are those of megatron/training/arguments.py, core 0.17.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planc.diagnostics.amounts import count_text, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.native import faults
from planc.native.megatron.flags import Flags, value_of
from planc.native.megatron.training import counted_layers, trains
from planc.native.tree import Entry

_REFUSES = "Megatron refuses to start"

#: Pairs of flags of which Megatron takes one, and why.
_EXCLUDE = (
    ("fp16", "bf16", "one dtype of products"),
    ("fp8-format", "fp4-format", "one narrow dtype"),
    ("train-iters", "train-samples", "the run is counted in iterations or in samples"),
    ("train-iters", "lr-decay-samples", "the run is counted in iterations"),
    ("train-iters", "lr-warmup-samples", "the run is counted in iterations"),
    ("train-iters", "rampup-batch-size", "a batch that grows is counted in samples"),
    ("train-samples", "lr-decay-iters", "the run is counted in samples"),
    ("train-samples", "lr-warmup-iters", "the run is counted in samples"),
    ("lr-warmup-fraction", "lr-warmup-iters", "one length of the warm-up"),
    ("lr-warmup-fraction", "lr-warmup-samples", "one length of the warm-up"),
    ("multi-latent-attention", "group-query-attention", "latent attention has no groups of heads"),
    ("num-layers", "encoder-num-layers", "one number of layers"),
    ("seq-length", "encoder-seq-length", "one length of a sample"),
    ("mock-data", "data-path", "one source of data"),
    ("deterministic-mode", "use-flash-attn", "its backward pass is not deterministic"),
    ("deterministic-mode", "cross-entropy-loss-fusion", "it is not deterministic"),
    ("num-layers-per-virtual-pipeline-stage", "num-virtual-stages-per-pipeline-rank", "both count the chunks"),
    ("num-layers-per-virtual-pipeline-stage", "pipeline-model-parallel-layout", "both count the chunks"),
    ("num-virtual-stages-per-pipeline-rank", "pipeline-model-parallel-layout", "both count the chunks"),
    ("use-torch-fsdp2", "use-distributed-optimizer", "FSDP2 shares the states by itself"),
    ("use-torch-fsdp2", "fp16", "FSDP2 trains in no fp16"),
)  # fmt: skip


class _Need(NamedTuple):
    """A flag, those of which it needs one, and why; `silent` if it is switched off instead of refused."""

    flag: str
    needs: tuple[str, ...]
    reason: str
    silent: bool = False


_NEEDS = (
    _Need("save", ("save-interval", "persistent-save-interval"), "when should it save?"),
    _Need("overlap-param-gather", ("use-distributed-optimizer", "use-megatron-fsdp", "use-custom-fsdp", "optimizer"),
          "there are no shared weights to gather"),
    _Need("overlap-param-gather", ("overlap-grad-reduce",), _REFUSES),
    _Need("tp-comm-overlap", ("sequence-parallel",), _REFUSES),
    _Need("optimizer-cpu-offload", ("use-precision-aware-optimizer",), _REFUSES),
    _Need("mla-down-proj-fusion", ("multi-latent-attention",), _REFUSES),
    _Need("use-torch-fsdp2", ("untie-embeddings-and-output-weights",), _REFUSES),
    _Need("use-torch-fsdp2", ("no-gradient-accumulation-fusion",), _REFUSES),
    _Need("load-main-params-from-ckpt", ("no-load-optim",), _REFUSES),
    _Need("async-save", ("use-persistent-ckpt-worker",), "Megatron saves in step with training", silent=True),
    _Need("num-query-groups", ("group-query-attention",), "every head has its own keys and values", silent=True),
    _Need("moe-router-topk", ("num-experts",), "the model is dense", silent=True),
    _Need("moe-ffn-hidden-size", ("num-experts",), "the model is dense", silent=True),
)  # fmt: skip

_OF_TRAINING = (_Need("save-interval", ("save",), "nothing is saved", silent=True),)

#: Sizes that have to be more than 1 for a flag to do something.
_FROM_TWO = (
    ("sequence-parallel", "tensor-model-parallel-size", "Megatron switches it off at 1"),
)  # fmt: skip


def check(flags: Flags) -> Iterator[Diagnostic]:
    """Everything that is wrong between the flags."""
    yield from _excluded(flags)
    if flags.whole:
        yield from _needed(flags)
    yield from _single_ranks(flags)
    yield from _checkpoints(flags)
    yield from _virtual_stages(flags)
    yield from _recompute(flags)


def _given(flags: Flags, name: str) -> Entry | None:
    """The entry of a flag that is given for certain, and means something: 0 samples of a warm-up are none."""
    entry = flags.find(name)
    return entry if entry is not None and value_of(entry) not in (None, False, 0, "0", "false") else None


def _excluded(flags: Flags) -> Iterator[Diagnostic]:
    for first, second, reason in _EXCLUDE:
        one, other = _given(flags, first), _given(flags, second)
        if one is not None and other is not None:
            message = f"`{other.name}` beside `{one.name}`"
            related = (Label(one.key.span, "the other"),)
            help = (f"keep one of the two: {reason}",)
            yield faults.CONFLICTING_SETTINGS.at(other.key.span, message, _REFUSES, related=related, help=help)


def _needed(flags: Flags) -> Iterator[Diagnostic]:
    for need in (*_NEEDS, *(_OF_TRAINING if trains(flags) else ())):
        entry = flags.find(need.flag)
        if entry is None or value_of(entry) is False or flags.has(*need.needs):
            continue
        dashes = entry.name[: len(entry.name) - len(entry.name.lstrip("-"))]
        message = f"`{entry.name}` without `{dashes}{need.needs[0]}`"
        help = (f"add `{dashes}{need.needs[0]}`, or remove `{entry.name}`",)
        kind = faults.INERT_KEY if need.silent else faults.MISSING_KEY
        yield kind.at(entry.key.span, message, need.reason, help=help)


def _single_ranks(flags: Flags) -> Iterator[Diagnostic]:
    for name, size, harm in _FROM_TWO:
        entry, of = _given(flags, name), flags.find(size)
        if entry is not None and (flags.count(size) == 1 or flags.lacks(size)):
            related = () if of is None else (Label(of.span, ""),)
            yield faults.INERT_KEY.at(entry.key.span, f"`{entry.name}` beside 1 tensor rank", harm, related=related)


def _checkpoints(flags: Flags) -> Iterator[Diagnostic]:
    """Megatron's FSDP and its format of checkpoints go together; a kept save is one of those that are made."""
    form, entry = flags.text("ckpt-format"), flags.find("ckpt-format")
    sharing = _given(flags, "use-megatron-fsdp") or _given(flags, "use-custom-fsdp")
    saves = flags.has("save", "load")
    if sharing is not None and saves and (form not in (None, "fsdp_dtensor") or flags.lacks("ckpt-format")):
        shown = f"`{entry.name}: {form}`" if entry is not None else "checkpoints as `torch_dist`"
        related = (Label(sharing.key.span, ""),) if entry is not None else ()
        help = ("use `fsdp_dtensor`, the one that it has",)
        place = entry.span if entry is not None else sharing.key.span
        message = f"{shown} beside Megatron's FSDP"
        yield faults.CONFLICTING_SETTINGS.at(place, message, _REFUSES, related=related, help=help)
    elif entry is not None and form == "fsdp_dtensor" and flags.lacks("use-megatron-fsdp", "use-custom-fsdp"):
        help = ("use `torch_dist`, or add `--use-megatron-fsdp`",)
        message = "`fsdp_dtensor` is the format of Megatron's FSDP"
        yield faults.CONFLICTING_SETTINGS.at(entry.span, message, _REFUSES, help=help)
    kept, every = flags.count("save-retain-interval"), flags.count("save-interval")
    found, beside = flags.find("save-retain-interval"), flags.find("save-interval")
    if found is not None and beside is not None and kept and every and 0 < every and kept % every:
        message = f"`{found.name}` of {count_text(kept)} is no multiple of {count_text(every)}"
        related = (Label(beside.span, f"a save every {plural(every, 'iteration')}"),)
        help = (f"use {count_text(-(-kept // every) * every)}",)
        yield faults.WRONG_VALUE.at(found.value.span, message, _REFUSES, related=related, help=help)


def _virtual_stages(flags: Flags) -> Iterator[Diagnostic]:
    """Layers of a stage that chunks of a stated size do not share out."""
    name = "num-layers-per-virtual-pipeline-stage"
    entry, each, layers = flags.find(name), flags.count(name), counted_layers(flags)
    stages = flags.count("pipeline-model-parallel-size")
    if entry is None or not each or each < 1 or layers is None or not stages or stages < 1 or layers % stages:
        return  # what the stages do not share out has a rule
    share = layers // stages
    if share % each:
        sizes = [size for size in range(1, share) if share % size == 0]
        message = f"chunks of {plural(each, 'layer')} do not fill a stage of {count_text(share)}"
        label = f"{plural(layers, 'layer')} / {plural(stages, 'stage')} / {count_text(each)}"
        value = quotient_text(share, each)
        related = [
            Label(other.span, "")
            for other in (flags.find("num-layers"), flags.find("pipeline-model-parallel-size"))
            if other
        ]
        help = (f"use {' or '.join(map(count_text, sizes[-3:]))}",) if sizes else ()
        yield faults.WRONG_VALUE.at(
            entry.value.span, message, f"{label} = {value} chunks", related=tuple(related), help=help
        )


def _recompute(flags: Flags) -> Iterator[Diagnostic]:
    """Of full recomputation Megatron wants to know which layers, of selective one it does not."""
    entry, kind = flags.find("recompute-granularity"), flags.text("recompute-granularity")
    method, count = flags.find("recompute-method"), flags.find("recompute-num-layers")
    if entry is None:
        return
    if kind == "selective" and method is not None and value_of(method) is not None:
        message = f"`{method.name}` beside selective recomputation"
        related = (Label(entry.span, ""),)
        yield faults.CONFLICTING_SETTINGS.at(method.key.span, message, _REFUSES, related=related, help=("remove it",))
    if kind == "full" and flags.whole:
        for name, found, value in (("recompute-method", method, "uniform"), ("recompute-num-layers", count, "1")):
            if found is None:
                help = (f"add `--{name} {value}`",)
                yield faults.MISSING_KEY.at(entry.span, f"full recomputation without `--{name}`", _REFUSES, help=help)

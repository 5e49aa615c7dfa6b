"""What LLaMA-Factory refuses of a file whose keys are all right, each by itself.

Reasons are in its 0.9.5: `get_train_args` and `_verify_model_args` of hparams/parser.py, and the `__post_init__` of its
arguments.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic
from planc.native import faults
from planc.native.kinds import _transformers_checks
from planc.native.kinds._finetuning import both, is_open, on, truthy
from planc.native.tree import Entry, Map, Scalar, Seq

_HARM = "LLaMA-Factory refuses to start"

#: Keys that are for supervised fine-tuning, for LoRA, and optimizers of which it takes one.
_OF_SFT = ("predict_with_generate", "neat_packing", "train_on_prompt", "mask_history")
_OF_LORA = ("use_dora", "use_rslora", "pissa_init", "loraplus_lr_ratio", "adapter_name_or_path")
_OPTIMIZERS = ("use_galore", "use_apollo", "use_badam")

#: Pairs of keys of which it takes one.
_PAIRS = (
    ("quantization_bit", "fp8"), ("quantization_bit", "pissa_init"), ("quantization_bit", "resize_vocab"),
    ("use_galore", "use_apollo"), ("use_galore", "use_badam"), ("use_apollo", "use_badam"),
    ("eval_dataset", "val_size"), ("streaming", "max_samples"), ("mask_history", "train_on_prompt"),
)  # fmt: skip


def check(root: Map) -> Iterator[Diagnostic]:
    """Everything that it refuses between keys, those of the Trainer as well."""
    yield from _transformers_checks.check(root)
    for one, other in _PAIRS:
        first, second = on(root, one), on(root, other)
        if first is not None and second is not None:
            yield both(first, second, f"`{other}` beside `{one}`", _HARM, f"remove `{one}` or `{other}`")
    yield from _method(root)
    yield from _stage(root)
    yield from _data(root)
    if any(on(root, name) is not None for name in ("do_train", "do_eval", "do_predict")):
        yield from _run(root)


def _method(root: Map) -> Iterator[Diagnostic]:
    """What goes with some methods of fine-tuning only; without one it is LoRA."""
    named, bits = root.find("finetuning_type"), on(root, "quantization_bit")
    kind = root.value("finetuning_type") if named is not None else "lora"
    if named is not None and bits is not None and kind in ("full", "freeze"):
        help = "write `finetuning_type: lora`, or remove `quantization_bit`"
        yield both(named, bits, f"`quantization_bit` beside `finetuning_type: {kind}`", _HARM, help)
    for name in _OF_LORA:
        own = on(root, name)
        if own is not None and named is not None and kind in ("full", "freeze", "oft"):
            help = f"write `finetuning_type: lora`, or remove `{name}`"
            yield both(named, own, f"`{name}` beside `finetuning_type: {kind}`", _HARM, help)
    pro = on(root, "use_llama_pro")
    if pro is not None and named is not None and kind == "full":
        yield both(
            named, pro, "`use_llama_pro` beside `finetuning_type: full`", _HARM, "write `finetuning_type: freeze`"
        )
    deepspeed = on(root, "deepspeed")
    for name in _OPTIMIZERS:
        own = on(root, name)
        if own is not None and kind == "lora":
            message, help = f"`{name}` beside `finetuning_type: lora`", "write `finetuning_type: full`"
            if named is not None:
                yield both(named, own, message, _HARM, help)
            else:
                label = "without `finetuning_type` it is LoRA: LLaMA-Factory refuses to start"
                yield faults.CONFLICTING_SETTINGS.at(own.span, f"`{name}` beside LoRA", label, help=(help,))
        if own is not None and deepspeed is not None and name != "use_badam":
            yield both(deepspeed, own, f"`{name}` beside `deepspeed`", _HARM, "remove one of the two")
    old, new = on(root, "adapter_name_or_path"), on(root, "create_new_adapter")
    if bits is not None and old is not None and new is not None:
        message = "`create_new_adapter` beside `adapter_name_or_path` and `quantization_bit`"
        yield both(old, new, message, _HARM, "merge the old adapter into the model first")


def _stage(root: Map) -> Iterator[Diagnostic]:
    """What goes with some stages of training only."""
    named = root.find("stage")
    stage = root.value("stage") if named is not None else "sft"
    if named is None or not isinstance(stage, str):
        return
    for name in _OF_SFT if stage in ("pt", "rm", "ppo", "dpo", "kto") else ():
        own = on(root, name)
        if own is not None:
            yield both(named, own, f"`{name}` beside `stage: {stage}`", _HARM, f"remove `{name}`: it is for `sft`")
    best = on(root, "load_best_model_at_end")
    if best is not None and stage in ("rm", "ppo"):
        yield both(named, best, f"`load_best_model_at_end` beside `stage: {stage}`", _HARM, "remove it")
    if stage == "ppo" and truthy(root, "reward_model") is None:
        help = ("name the reward model with `reward_model`",)
        yield faults.MISSING_KEY.at(named.span, "`stage: ppo` without `reward_model`", _HARM, help=help)
    initial, loss = on(root, "pissa_init"), root.value("pref_loss")
    has_reference = stage == "dpo" and not is_open(root, "pref_loss") and loss not in ("orpo", "simpo")
    if initial is not None and (stage in ("ppo", "kto") or has_reference):
        yield both(named, initial, f"`pissa_init` beside `stage: {stage}`", _HARM, "remove `pissa_init`")


def _data(root: Map) -> Iterator[Diagnostic]:
    """How data is held back, read and mixed."""
    size, share = on(root, "val_size"), root.value("val_size")
    streaming = on(root, "streaming")
    if size is not None and root.find("dataset") is None:
        help = ("name the data with `dataset`, or remove `val_size`",)
        yield faults.MISSING_KEY.at(size.span, "`val_size` without `dataset`", _HARM, help=help)
    if size is not None and streaming is not None and isinstance(share, float) and 0 < share < 1:
        message = f"`val_size: {size.value.span.text}` beside `streaming`"
        yield both(streaming, size, message, _HARM, "write a number of samples, such as `val_size: 1000`")
    shares, names = on(root, "interleave_probs"), root.find("dataset")
    if shares is None:
        return
    strategy = root.find("mix_strategy")
    if strategy is None or root.value("mix_strategy") == "concat":
        message = "`interleave_probs` without an interleaving `mix_strategy`"
        help = ("write `mix_strategy: interleave_under`",)
        yield faults.MISSING_KEY.at(shares.span, message, _HARM, help=help)
    count, data = _length(shares), None if names is None else _length(names)
    if names is not None and count and data and count != data:
        message = f"{count} `interleave_probs` for {data} data sets"
        yield both(names, shares, message, _HARM, "write as many as there are data sets")


def _length(entry: Entry) -> int | None:
    """How many values a list has, or a text with commas; None for anything else."""
    value = entry.value
    if isinstance(value, Seq):
        return len(value.items)
    is_text = isinstance(value, Scalar) and isinstance(value.value, str) and not value.is_placeholder
    return len(str(value.value).split(",")) if isinstance(value, Scalar) and is_text else None


def _run(root: Map) -> Iterator[Diagnostic]:
    """What a run needs, by what it is to do."""
    training, streaming = on(root, "do_train"), on(root, "streaming")
    if training is not None and root.find("dataset") is None:
        help = ("name the data with `dataset`",)
        yield faults.MISSING_KEY.at(training.span, "`do_train` without `dataset`", _HARM, help=help)
    if streaming is not None and root.value("max_steps") in (None, -1) and not is_open(root, "max_steps"):
        yield faults.MISSING_KEY.at(
            streaming.span, "`streaming` without `max_steps`", _HARM, help=("write `max_steps`",)
        )
    strategy, word = on(root, "eval_strategy"), root.value("eval_strategy")
    evaluates = on(root, "do_eval") or on(root, "do_predict") or on(root, "predict_with_generate")
    evaluates = evaluates or (strategy if isinstance(word, str) and word != "no" else None)
    if evaluates is not None and truthy(root, "eval_dataset") is None and truthy(root, "val_size") is None:
        help = ("write `eval_dataset`, or a share such as `val_size: 0.1`",)
        message = f"`{evaluates.name}` without `eval_dataset` or `val_size`"
        yield faults.MISSING_KEY.at(evaluates.span, message, _HARM, help=help)
    predicts, generates = on(root, "do_predict"), on(root, "predict_with_generate")
    is_sft = root.value("stage") in (None, "sft") and not is_open(root, "stage")
    if predicts is not None and is_sft and truthy(root, "predict_with_generate") is None:
        help = ("write `predict_with_generate: true`",)
        yield faults.MISSING_KEY.at(predicts.span, "`do_predict` without `predict_with_generate`", _HARM, help=help)
    accuracy, placed = on(root, "compute_accuracy"), root.find("quantization_device_map")
    if generates is not None and accuracy is not None:
        message = "`compute_accuracy` beside `predict_with_generate`"
        yield both(generates, accuracy, message, _HARM, "remove one of the two")
    if training is not None and placed is not None and root.value("quantization_device_map") == "auto":
        yield both(training, placed, "`quantization_device_map: auto` beside `do_train`", _HARM, "remove it")
    engine, word = on(root, "infer_backend"), root.value("infer_backend")
    if training is not None and engine is not None and word in ("vllm", "sglang"):
        yield both(training, engine, f"`infer_backend: {word}` beside `do_train`", _HARM, "remove it")

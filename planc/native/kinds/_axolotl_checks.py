"""What axolotl's validators refuse of a file whose keys are all right, each by itself (utils/schemas/validation.py)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.native import faults
from planc.native.kinds._finetuning import both, is_open, on, truthy
from planc.native.saying import whole
from planc.native.tree import Entry, Map, Scalar, Seq

_HARM = "axolotl refuses to start"

#: Pairs of keys of which it takes one.
_PAIRS = (
    ("warmup_steps", "warmup_ratio"), ("gradient_accumulation_steps", "batch_size"),
    ("saves_per_epoch", "save_steps"), ("evals_per_epoch", "eval_steps"), ("deepspeed", "fsdp"),
    ("test_datasets", "val_set_size"), ("pretraining_dataset", "val_set_size"), ("streaming", "val_set_size"),
    ("max_memory", "gpu_memory_limit"), ("rl", "sample_packing"), ("lr_groups", "loraplus_lr_ratio"),
    ("cut_cross_entropy", "liger_cross_entropy"), ("cut_cross_entropy", "liger_fused_linear_cross_entropy"),
    ("cut_cross_entropy", "chunked_cross_entropy"), ("chunked_cross_entropy", "liger_cross_entropy"),
    ("chunked_cross_entropy", "liger_fused_linear_cross_entropy"),
    ("liger_cross_entropy", "liger_fused_linear_cross_entropy"),
)  # fmt: skip

#: Keys that need another one, and what to write for it.
_NEEDED = (
    ("pretraining_dataset", "max_steps", "write `max_steps`: nothing tells how long the data is"),
    ("streaming", "max_steps", "write `max_steps`: nothing tells how long the data is"),
    ("activation_offloading", "gradient_checkpointing", "write `gradient_checkpointing: true`"),
    ("selective_checkpointing", "gradient_checkpointing", "write `gradient_checkpointing: true`"),
    ("deepcompile", "deepspeed", "name a DeepSpeed file with `deepspeed`, or remove it"),
    ("peft_layers_pattern", "peft_layers_to_transform", "write `peft_layers_to_transform`, or remove it"),
)  # fmt: skip

#: Optimizers that FSDP2 does not run, and FSDP1 does not offload (`check_fsdp2_w_8bit_optimizer` and the one before).
_EIGHT_BIT = ("adamw_8bit", "adamw_bnb_8bit")

#: Flags for what `attn_implementation` says now.
_OLD_ATTENTION = (
    "xformers_attention", "sdp_attention", "flex_attention", "flash_attention", "sage_attention", "eager_attention",
)  # fmt: skip

_LORA_KERNELS = ("lora_mlp_kernel", "lora_qkv_kernel", "lora_o_kernel")


def check(root: Map) -> Iterator[Diagnostic]:
    """Everything that its validators refuse between keys, and a key that another one switches off."""
    for one, other in _PAIRS:
        first, second = on(root, one), on(root, other)
        if first is not None and second is not None:
            yield both(first, second, f"`{other}` beside `{one}`", _HARM, f"remove `{one}` or `{other}`")
    for name, needed, help in _NEEDED:
        entry = on(root, name)
        if entry is not None and truthy(root, needed) is None:
            yield faults.MISSING_KEY.at(entry.span, f"`{name}` without `{needed}`", _HARM, help=(help,))
    yield from _precision(root)
    yield from _batch(root)
    yield from _data(root)
    yield from _preferences(root)
    yield from _generations(root)
    yield from _intervals(root)
    yield from _quantized(root)
    yield from _sharing(root)
    yield from _eight_bits(root)
    yield from _loading(root)
    yield from _attention(root)


def _precision(root: Map) -> Iterator[Diagnostic]:
    """Of two precisions it takes bf16 (`resolve_dtype`)."""
    first = on(root, "bf16") or on(root, "bfloat16")
    second = on(root, "fp16")
    if first is None or second is None:
        return
    if root.value(first.name) == "auto":
        message, label = "`bf16: auto` has no effect beside `fp16`", "fp16 is taken"
        yield faults.INERT_KEY.at(
            first.span, message, label, related=(Label(second.span),), help=("remove one of them",)
        )
    else:
        message, related = f"`fp16` has no effect beside `{first.name}`", (Label(first.span, "beside this"),)
        yield faults.INERT_KEY.at(second.span, message, "bf16 is taken", related=related, help=("remove one of them",))


def _batch(root: Map) -> Iterator[Diagnostic]:
    total = on(root, "batch_size")
    others = ("micro_batch_size", "gradient_accumulation_steps")
    if total is not None and all(truthy(root, name) is None for name in others):
        help = ("write `micro_batch_size`",)
        yield faults.MISSING_KEY.at(total.span, "`batch_size` without `micro_batch_size`", _HARM, help=help)


def _data(root: Map) -> Iterator[Diagnostic]:
    if all(root.find(name) is None for name in ("datasets", "pretraining_dataset")):
        at = root.find("base_model")
        if at is not None:
            yield faults.MISSING_KEY.at(at.span, "neither `datasets` nor `pretraining_dataset`", _HARM)
    template = root.find("chat_template")
    if template is not None and root.value("chat_template") == "jinja" and truthy(root, "chat_template_jinja") is None:
        message = "`chat_template: jinja` without `chat_template_jinja`"
        help = ("write the template as `chat_template_jinja`",)
        yield faults.MISSING_KEY.at(template.span, message, _HARM, help=help)
    datasets, streamed, packed = root.find("datasets"), on(root, "streaming"), on(root, "sample_packing")
    items = datasets.value.items if datasets is not None and isinstance(datasets.value, Seq) else ()
    for item in items:
        word = item.value("type") if isinstance(item, Map) else None
        entry = item.find("type") if isinstance(item, Map) else None
        if entry is not None and isinstance(word, str) and word.startswith("sharegpt"):
            help = ("write `type: chat_template`",)
            yield faults.REMOVED_KEY.at(
                entry.value.span, "axolotl no longer reads data as `sharegpt`", _HARM, help=help
            )
    if streamed is not None and packed is not None and 1 < len(items):
        message = f"`sample_packing` of {len(items)} streamed data sets"
        yield both(streamed, packed, message, _HARM, "name one data set, or remove one of the two")


def _preferences(root: Map) -> Iterator[Diagnostic]:
    """Training on preferences."""
    kind, columns = root.find("rl"), root.find("remove_unused_columns")
    if kind is None or root.value("rl") != "kto" or is_open(root, "remove_unused_columns"):
        return
    if columns is None or root.value("remove_unused_columns") is not False:
        message = "`rl: kto` without `remove_unused_columns: false`"
        help = ("write `remove_unused_columns: false`",)
        yield faults.MISSING_KEY.at(kind.span, message, _HARM, help=help)


def _generations(root: Map) -> Iterator[Diagnostic]:
    """Answers to one prompt, which GRPO holds against each other: several, and all of them in one batch."""
    entry = root.find("trl", "num_generations")
    count = whole(entry)
    if root.value("rl") != "grpo" or entry is None or count is None:
        return
    if count < 2:
        message = f"`num_generations` is {count}"
        yield faults.WRONG_VALUE.at(entry.value.span, message, "it has to be at least 2: nothing would be learnt")
        return
    own = root.find("trl", "generation_batch_size")
    factors = [own] if own is not None else [root.find("micro_batch_size"), root.find("gradient_accumulation_steps")]
    sizes = [1 if factor is None else whole(factor) for factor in factors]
    if any(size is None or size < 1 for size in sizes):
        return
    batch = math.prod(size for size in sizes if size is not None)
    if batch % count:
        message = f"{count} generations do not divide a batch of {batch}"
        related = tuple(Label(factor.span) for factor in factors if factor is not None)
        step = count // math.gcd(count, sizes[0] or 1)
        help = (f"write `generation_batch_size: {(batch // count + 1) * count}`",)
        if own is None:
            help = (f"write `gradient_accumulation_steps: {step}`, or a multiple of it",)
        yield faults.CONFLICTING_SETTINGS.at(entry.span, message, _HARM, related=related, help=help)


def _intervals(root: Map) -> Iterator[Diagnostic]:
    """Strategies that do not go with a number of steps."""
    for name, strategy in (("save_steps", "save_strategy"), ("eval_steps", "eval_strategy"),
                           ("evals_per_epoch", "eval_strategy")):  # fmt: skip
        entry, how, word = on(root, name), on(root, strategy), root.value(strategy)
        if entry is not None and how is not None and isinstance(word, str) and word != "steps":
            help = f"write `{strategy}: steps`, or remove `{name}`"
            yield both(how, entry, f"`{name}` beside `{strategy}: {word[:40]}`", _HARM, help)
    size, word = root.find("val_set_size"), root.value("eval_strategy")
    if size is not None and root.value("val_set_size") == 0 and word != "no" and not is_open(root, "eval_strategy"):
        asked = on(root, "eval_steps") or on(root, "eval_strategy")
        if asked is not None and truthy(root, "test_datasets") is None:
            help = "write a share as `val_set_size`, or remove what asks for evaluations"
            yield both(size, asked, f"`{asked.name}` beside `val_set_size: 0`", _HARM, help)
    best = root.find("save_strategy")
    if best is not None and root.value("save_strategy") == "best" and truthy(root, "metric_for_best_model") is None:
        message = "`save_strategy: best` without `metric_for_best_model`"
        advice = ("write `metric_for_best_model: eval_loss`",)
        yield faults.MISSING_KEY.at(best.span, message, _HARM, help=advice)


def _quantized(root: Map) -> Iterator[Diagnostic]:
    """Weights of few bits: base weights of an adapter, each kind with its own number."""
    kind, named = root.value("adapter"), root.find("adapter")
    four, eight = on(root, "load_in_4bit"), on(root, "load_in_8bit")
    if truthy(root, "adapter") is None and truthy(root, "inference") is None:
        for entry in (each for each in (eight, four) if each is not None):
            help = (f"write `adapter: {'qlora' if entry is four else 'lora'}`, or remove `{entry.name}`",)
            message = f"`{entry.name}` without `adapter`"
            yield faults.CONFLICTING_SETTINGS.at(entry.span, message, _HARM, help=help)
    if named is None or on(root, "merge_lora") is not None:
        return
    if kind == "qlora" and eight is not None:
        either = "write `load_in_4bit: true` in its place, or `adapter: lora`"
        yield both(named, eight, "`load_in_8bit` beside `adapter: qlora`", _HARM, either)
    elif kind == "qlora" and truthy(root, "load_in_4bit") is None and not is_open(root, "load_in_8bit"):
        message = "`adapter: qlora` without `load_in_4bit`"
        help = ("write `load_in_4bit: true`, or `adapter: lora`",)
        yield faults.MISSING_KEY.at(named.span, message, _HARM, help=help)
    kernel = next((found for name in _LORA_KERNELS if (found := on(root, name)) is not None), None)
    if kernel is None:
        return
    if kind == "lora" and eight is not None:
        yield both(eight, kernel, f"`{kernel.name}` beside `load_in_8bit`", _HARM, "remove one of the two")
    remote = on(root, "trust_remote_code")
    if remote is not None:
        yield both(remote, kernel, f"`{kernel.name}` beside `trust_remote_code`", _HARM, "remove one of the two")


def _sharing(root: Map) -> Iterator[Diagnostic]:
    """FSDP and DeepSpeed, each of which shares the states; and an optimizer that goes with FSDP2 alone."""
    deepspeed, config = on(root, "deepspeed"), root.map("fsdp_config")
    named = on(root, "fsdp_config")
    if deepspeed is not None and named is not None:
        help = "remove `deepspeed` or `fsdp_config`"
        yield both(deepspeed, named, "`fsdp_config` beside `deepspeed`", "the Trainer refuses to start", help)
    optimizer = root.find("optimizer")
    if optimizer is None or root.value("optimizer") != "muon":
        return
    if deepspeed is not None:
        yield both(deepspeed, optimizer, "`optimizer: muon` beside `deepspeed`", _HARM, "share by FSDP2")
    elif config is not None and named is not None and version_of(root, config) == "1":
        help = "write `fsdp_version: 2`"
        yield both(named, optimizer, "`optimizer: muon` beside FSDP1", _HARM, help)


def _eight_bits(root: Map) -> Iterator[Diagnostic]:
    """Optimizers with states of 8 bits, beside FSDP."""
    config, optimizer = root.map("fsdp_config"), root.find("optimizer")
    word = root.value("optimizer")
    if config is None or optimizer is None or not isinstance(word, str) or "8bit" not in word:
        return
    version = version_of(root, config)
    offload = on(config, "offload_params") or on(config, "fsdp_offload_params")
    if version == "2" and word in _EIGHT_BIT:
        help = ("write `optimizer: adamw_torch_8bit`",)
        named = root.find("fsdp_version") or root.find("fsdp_config")
        if named is not None:
            yield both(named, optimizer, f"`optimizer: {word}` beside FSDP2", _HARM, *help)
    elif version == "1" and offload is not None:
        help = ("write `optimizer: adamw_torch_fused`, or do not offload",)
        yield both(offload, optimizer, f"`optimizer: {word}` beside `{offload.name}`", _HARM, *help)


def version_of(root: Map, config: Map) -> str | None:
    """The version of FSDP; without one it is the first. None where a template leaves it open."""
    places = (root.find("fsdp_version"), config.find("fsdp_version"), config.find("version"))
    values = [entry.value for entry in places if entry is not None and isinstance(entry.value, Scalar)]
    if any(value.is_placeholder for value in values):
        return None
    return next((str(value.value) for value in values if value.value), "1")


def _loading(root: Map) -> Iterator[Diagnostic]:
    """Weights that one rank loads for all."""
    config, bits = root.map("fsdp_config"), on(root, "load_in_4bit")
    if config is None:
        return
    sparing = on(config, "cpu_ram_efficient_loading") or on(config, "fsdp_cpu_ram_efficient_loading")
    synced = config.find("sync_module_states") or config.find("fsdp_sync_module_states")
    if sparing is None:
        return
    version = version_of(root, config)
    if version == "2" and bits is not None:
        yield both(bits, sparing, f"`{sparing.name}` beside `load_in_4bit` under FSDP2", _HARM, "set it to `false`")
    if version == "1" and synced is not None and isinstance(synced.value, Scalar) and synced.value.value is False:
        label = "all ranks but the first would train on random weights"
        yield both(sparing, synced, f"`{sparing.name}` without `{synced.name}`", label, f"write `{synced.name}: true`")


def _attention(root: Map) -> Iterator[Diagnostic]:
    """How attention is computed: under one name, and by the one that ring attention has."""
    word = root.value("attn_implementation")
    named, old = on(root, "attn_implementation"), [name for name in _OLD_ATTENTION if on(root, name) is not None]
    if named is not None and old:
        entry = root.find(old[0])
        if entry is not None:
            yield both(named, entry, f"`{old[0]}` beside `attn_implementation`", _HARM, f"remove `{old[0]}`")
    pieces = root.find("context_parallel_size") or root.find("sequence_parallel_degree")
    count = whole(pieces)
    if pieces is None or count is None or count < 2:
        return
    is_glm = truthy(root, "use_glm_dsa_kernels") is not None
    is_flash = "flash_attention" in old if named is None else str(word).endswith("flash_attention_2")
    if (
        not is_glm
        and not is_flash
        and not any(is_open(root, name) for name in ("attn_implementation", *_OLD_ATTENTION))
    ):
        message = f"`{pieces.name}` of {count} without flash attention"
        help = ("write `attn_implementation: flash_attention_2`",)
        yield faults.MISSING_KEY.at(pieces.span, message, _HARM, help=help)
    micro: Entry | None = root.find("micro_batch_size")
    packed = on(root, "sample_packing")
    if not is_glm and micro is not None and packed is not None and 1 < (whole(micro) or 0):
        message = "packed sequences that are split want a `micro_batch_size` of 1"
        related = (Label(pieces.span, "split here"), Label(packed.span, "packed here"))
        help = ("write `micro_batch_size: 1`",)
        yield faults.CONFLICTING_SETTINGS.at(micro.span, message, _HARM, related=related, help=help)

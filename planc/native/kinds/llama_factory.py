"""LLaMA-Factory's YAML for training: arguments of the Trainer, and its own beside them in one file."""

from __future__ import annotations

from functools import cache

from planc.native.keys import Reader, check
from planc.native.kind import Content, Kind, Options
from planc.native.kinds import transformers
from planc.native.kinds._finetuning import as_read, say_count, say_modules, say_number
from planc.native.kinds._llama_factory_checks import check as conflicts
from planc.native.saying import Sayer, is_on
from planc.native.tables import Key, Table, load_table, precedes
from planc.native.tree import Map, Tree

#: Keys that no other tool's files have, and those that it shares with others.
_SURE = ("finetuning_type", "cutoff_len", "lora_target", "dataset_dir", "template", "plot_loss", "stage")
_LIKELY = ("model_name_or_path", "dataset", "do_train", "per_device_train_batch_size", "output_dir", "overwrite_cache")

#: Methods that put another optimizer in the place of the Trainer's.
_OWN_OPTIMIZERS = ("use_galore", "use_apollo", "use_badam", "use_adam_mini", "use_muon")

#: The oldest release of transformers that it runs with (0.9.5: 4.55.0 to 5.6.0); what is newly old is not old there.
_OLDEST = "4.55.0"
_OLD = ("renamed", "deprecated")

#: What a plan has no word for, or the program decides.
_WITHHELD = (*transformers.KIND.withheld, "launch.timeout", "checkpoint")


def recognise(tree: Tree) -> int:
    """How sure it is that a tree is one of LLaMA-Factory's files."""
    root = tree.root
    if root is None:
        return 0
    names = set(root.names())
    sure, likely = len(names.intersection(_SURE)), len(names.intersection(_LIKELY))
    if sure and "model_name_or_path" in names and ("finetuning_type" in names or 1 < sure):
        return min(82 + 2 * (sure + likely), 96)
    return 0


def read(tree: Tree, options: Options) -> Content:
    """What the file says, with its keys checked."""
    sayer = Sayer()
    if tree.root is None:
        return sayer.content()
    root = as_read(tree.root)
    # Its arguments are handed to the dataclasses as they stand, so that a key of none of them stops it.
    sayer.report(*check(root, Reader(_table(), version=options.version("llama-factory"))), *conflicts(root))
    if is_on(root, "do_train"):
        transformers.say(_without(root, "bf16" if is_on(root, "fp8") else ""), sayer, options)
        _say(root, sayer)
    return sayer.content()


@cache
def _table() -> Table:
    """Its own keys, and those of the Trainer's arguments in the releases of transformers that it runs with."""
    own, trainer = load_table("llama-factory"), load_table("transformers")
    keys = {name: {part: row[part] for part in row if part not in _OLD} for name, row in trainer.keys.items()}
    gone = {  # `of`: whose releases `since` counts
        name: {**row, "of": "transformers"}
        for name, row in trainer.removed.items()
        if not precedes(_OLDEST, row.get("since", "0"))
    }
    still: dict[str, Key] = {name: {} for name in trainer.removed if name not in gone}
    return own._replace(keys={**still, **keys, **own.keys}, removed={**gone, **own.removed})


def _without(root: Map, name: str) -> Map:
    return root._replace(entries=tuple(entry for entry in root.entries if entry.name != name))


def _say(root: Map, sayer: Sayer) -> None:
    start = root.span._replace(end=min(root.span.end, root.span.start + 1))
    if not say_count(sayer, "batch.sequence_length", root.find("cutoff_len")) and root.find("cutoff_len") is None:
        sayer.assume("batch.sequence_length", "2048", start, "cutoff_len")
    if is_on(root, "fp8"):
        sayer.withhold("precision")
    elif is_on(root, "pure_bf16") and not (is_on(root, "bf16") or is_on(root, "fp16")):
        sayer.say("precision", root.find("pure_bf16"), "bf16")
    _adapter(root, sayer)
    for name in _OWN_OPTIMIZERS:
        if is_on(root, name):
            sayer.withhold("optimizer")
    if is_on(root, "disable_gradient_checkpointing"):
        sayer.say("recompute", root.find("disable_gradient_checkpointing"), "none")
    elif not is_on(root, "gradient_checkpointing"):
        sayer.assume("recompute", "full", start, "disable_gradient_checkpointing")
    if is_on(root, "packing") or is_on(root, "neat_packing"):
        sayer.say("dataset.packed", root.find("packing") or root.find("neat_packing"), "true")


def _adapter(root: Map, sayer: Sayer) -> None:
    kind = root.value("finetuning_type") if root.find("finetuning_type") is not None else "lora"
    if kind == "full":
        return
    if kind != "lora":
        sayer.withhold("adapter")  # orthogonal or frozen: a plan has no word for them
        return
    start = root.span._replace(end=min(root.span.end, root.span.start + 1))
    if root.find("finetuning_type") is not None:
        sayer.say("adapter", root.find("finetuning_type"), "lora")
    else:
        sayer.assume("adapter", "lora", start, "finetuning_type")
    if not say_count(sayer, "adapter.rank", root.find("lora_rank")) and root.find("lora_rank") is None:
        sayer.assume("adapter.rank", "8", start, "lora_rank")
    say_number(sayer, "adapter.alpha", root.find("lora_alpha"))
    say_number(sayer, "adapter.dropout", root.find("lora_dropout"))
    say_modules(sayer, root.find("lora_target"))
    is_plain = root.value("quantization_method") in (None, "bnb") and root.value("quantization_type") in (None, "nf4")
    if root.value("quantization_bit") == 4 and is_plain:
        sayer.say("adapter.base", root.find("quantization_bit"), "nf4")


KIND = Kind(
    "llama-factory",
    "a file of LLaMA-Factory",
    ("yaml", "json"),
    ("finetuning_type", "cutoff_len", "lora_target", "dataset_dir", "template"),
    recognise,
    read,
    targets=("transformers",),
    trainer="hf",
    withheld=_WITHHELD,
)

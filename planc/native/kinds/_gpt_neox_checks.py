"""What is wrong between settings of gpt-neox, and no field of a plan shows: what its validate_values refuses, and MLPs
that it builds of matrices that do not fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, either, plural, quotient_text
from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.native import faults
from planc.native.kinds._gpt_neox_model import GATED, widths
from planc.native.saying import is_on, whole
from planc.native.tables import Key
from planc.native.tree import Map
from planc.native.values import wrong_value

_REFUSES = "gpt-neox refuses to start"

#: The three paths of data that stand together or not at all.
_SPLITS = ("train_data_paths", "valid_data_paths", "test_data_paths")

#: Parameters of optimizers that are numbers.
_NUMBERS = ("lr", "eps", "weight_decay", "momentum")


def check(root: Map) -> Iterator[Diagnostic]:
    """Everything that is wrong between the settings; keys are those that gpt-neox turns them to."""
    yield from _precision(root)
    yield from _sequence(root)
    yield from _data(root)
    yield from _layers(root)
    yield from _width(root)
    yield from _tensor(root)
    yield from _parameters(root)


def _precision(root: Map) -> Iterator[Diagnostic]:
    precision, enabled = root.find("precision"), root.find("fp16", "enabled")
    word = root.value("precision")
    if precision is None or enabled is None or not isinstance(word, str) or word.lower() == "fp16":
        return
    if is_on(root, "fp16", "enabled"):
        related = (Label(enabled.span, "fp16 here"),)
        help = ("set `enabled` to false, or remove `precision`",)
        message = f"`precision` is {word} beside an enabled `fp16`"
        yield faults.CONFLICTING_SETTINGS.at(precision.span, message, _REFUSES, related=related, help=help)


def _sequence(root: Map) -> Iterator[Diagnostic]:
    one, other = root.find("sequence_parallel"), root.find("partition_activations")
    if one is not None and other is not None and is_on(root, one.name) and is_on(root, other.name):
        related = (Label(one.span),)
        message = "`partition_activations` beside `sequence_parallel`"
        help = ("remove it: sequence parallelism divides what it would",)
        yield faults.CONFLICTING_SETTINGS.at(other.span, message, _REFUSES, related=related, help=help)
    size = root.find("model_parallel_size")
    if one is not None and is_on(root, one.name) and size is not None and whole(size) in (0, 1):
        related = (Label(size.span),)
        message = "`sequence_parallel` has no effect beside 1 tensor rank"
        yield faults.INERT_KEY.at(one.span, message, "there is nothing to divide", related=related)


def _data(root: Map) -> Iterator[Diagnostic]:
    given = [entry for name in _SPLITS if (entry := root.find(name)) is not None]
    single = root.find("data_path")
    if given and len(given) < len(_SPLITS):
        missing = [name for name in _SPLITS if root.find(name) is None]
        message = f"`{given[0].name}` without `{missing[0]}`"
        help = ("name data for training, validation and test, or `data_path` for all three",)
        yield faults.MISSING_KEY.at(given[0].key.span, message, _REFUSES, help=help)
    elif given and single is not None and root.value("data_path") is not None:
        related = (Label(given[0].key.span),)
        message = f"`data_path` beside `{given[0].name}`"
        yield faults.CONFLICTING_SETTINGS.at(single.span, message, _REFUSES, related=related, help=("remove one",))


def _layers(root: Map) -> Iterator[Diagnostic]:
    layers, unique = whole(root.find("num_layers")), whole(root.find("num_unique_layers"))
    found, beside = root.find("num_unique_layers"), root.find("num_layers")
    if found is None or beside is None or not layers or not unique or unique < 1 or layers < 1:
        return
    if layers < unique or layers % unique:
        related = (Label(beside.span),)
        message = f"{count_text(unique)} unique layers do not divide {count_text(layers)}"
        yield faults.WRONG_VALUE.at(found.value.span, message, _REFUSES, related=related)


def _width(root: Map) -> Iterator[Diagnostic]:
    """Matrices of an MLP that are rounded to different widths: the first forward pass stops."""
    built, entry = widths(root), root.find("intermediate_size")
    if built is None or entry is None or built.first == built.second:
        return
    step, is_gated = whole(root.find("mlp_multiple_of")) or 1, str(root.value("activation")).lower() in GATED
    unit = 3 if is_gated else 2 * step  # of a multiple of 3 two thirds are even
    asked = whole(entry) or 0
    below, above = asked // unit * unit, -(-asked // unit) * unit
    near = " or ".join(count_text(size) for size in dict.fromkeys((below, above)) if size)
    message = f"an MLP of {count_text(built.first)} columns into {count_text(built.second)} rows"
    related = tuple(Label(found.span) for name in ("mlp_multiple_of", "activation") if (found := root.find(name)))
    label = f"steps of {count_text(2 * step)} for the first, of {count_text(step)} for the second"
    yield faults.WRONG_VALUE.at(entry.value.span, message, label, related=related, help=(f"use {near}",))


def _tensor(root: Map) -> Iterator[Diagnostic]:
    """Tensor ranks that do not divide what they share: heads, KV heads, and the rows of an MLP."""
    entry, size, built = root.find("model_parallel_size"), whole(root.find("model_parallel_size")), widths(root)
    if entry is None or size is None or size < 2:
        return
    shared = [
        (what, key, number) for what, key, number in (
            ("attention head", "num_attention_heads", whole(root.find("num_attention_heads"))),
            ("KV head", "num_kv_heads", whole(root.find("num_kv_heads"))),
            ("MLP row", "intermediate_size", built.second if built is not None else None),
        ) if number is not None and 0 < number
    ]  # fmt: skip
    common = math.gcd(*(number for _, _, number in shared))
    sizes = [str(each) for each in range(2, min(common, 64) + 1) if common % each == 0]
    for what, key, number in shared:
        if number % size:
            found = root.find(key)
            message = f"{plural(size, 'tensor rank')} do not divide {plural(number, what)}"
            related = (Label(found.span, plural(number, what)),) if found is not None else ()
            label = f"{plural(number, what)} / {plural(size, 'rank')} = {quotient_text(number, size)}"
            help = (f"use {either(sizes[-4:])}",) if sizes else ("use 1",)
            yield faults.CONFLICTING_SETTINGS.at(entry.value.span, message, label, related=related, help=help)
            return


def _parameters(root: Map) -> Iterator[Diagnostic]:
    """Numbers of an optimizer that YAML reads as texts, which it compares with numbers."""
    parameters = root.map("optimizer", "params")
    row: Key = {"types": ["float"]}
    for entry in parameters.entries if parameters is not None else ():
        if entry.name in _NUMBERS and isinstance(getattr(entry.value, "value", None), str):
            found = wrong_value(entry, entry.value, row, f"optimizer.params.{entry.name}", "gpt-neox")
            if found is not None:
                yield found

"""What torchtitan's trainer refuses of a file whose keys are all right, each by itself.

Reasons are in torchtitan 0.2.2: distributed/parallel_dims.py and pipeline_parallel.py, components/checkpoint.py and
quantization/, models/llama3/infra/parallelize.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from planc.diagnostics.amounts import either
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label
from planc.native import faults
from planc.native.saying import whole
from planc.native.tree import Entry, Map, Scalar, Seq

#: Sections in which degrees stood one release after the other.
_SECTIONS = ("parallelism", "experimental", "training")

#: Converters of earlier releases, by what they are called now.
_CONVERTERS = {"float8": "quantize.linear.float8", "mx": "quantize.linear.mx"}


class Degrees(NamedTuple):
    """The sizes of the axes as the file has them; 1 where it leaves one out, -1 of `shard` is the rest."""

    replicate: int
    shard: int
    context: int
    tensor: int
    pipeline: int
    expert: int

    @property
    def is_sharded(self) -> bool:
        """Whether FSDP shares the states: over the shard ranks, or over the context ranks."""
        return self.shard != 1 or 1 < self.context


_NAMES = {
    "replicate": "data_parallel_replicate_degree", "shard": "data_parallel_shard_degree",
    "context": "context_parallel_degree", "tensor": "tensor_parallel_degree", "pipeline": "pipeline_parallel_degree",
    "expert": "expert_parallel_degree",
}  # fmt: skip


def degree(root: Map, axis: str) -> Entry | None:
    """Where the file has the size of an axis, in whichever section its release wants it."""
    names = (_NAMES[axis], "data_parallel_degree") if axis == "shard" else (_NAMES[axis],)
    places = ((section, name) for section in _SECTIONS for name in names)
    return next((found for section, name in places if (found := root.find(section, name)) is not None), None)


def degrees(root: Map) -> Degrees:
    """All sizes; faulty ones count as left out."""
    found = {axis: whole(degree(root, axis)) for axis in _NAMES}
    return Degrees(
        **{
            axis: value if value is not None and 0 < value else -1 if axis == "shard" else 1
            for axis, value in found.items()
        }
    )


def converters(root: Map) -> list[str]:
    """What converts the model's layers."""
    found = root.find("model", "converters")
    items: tuple[Any, ...] = found.value.items if found is not None and isinstance(found.value, Seq) else ()
    return [item.value for item in items if isinstance(item, Scalar) and isinstance(item.value, str)]


def check(root: Map, sizes: Degrees) -> Iterator[Diagnostic]:
    """Everything that the trainer refuses beside the keys."""
    yield from _check_degrees(root)
    yield from _check_axes(root, sizes)
    yield from _check_micro_batch(root, sizes)
    yield from _check_compiled(root, sizes)
    yield from _check_recomputation(root)
    yield from _check_converters(root)
    yield from _check_checkpoint(root)


def _check_degrees(root: Map) -> Iterator[Diagnostic]:
    for axis in _NAMES:
        entry = degree(root, axis)
        value = whole(entry)
        if entry is None or value is None or 0 < value or (axis == "shard" and value == -1):
            continue
        label = "1 or more, or -1 for all that are left" if axis == "shard" else "1 or more"
        yield faults.WRONG_VALUE.at(entry.value.span, f"`{entry.name}` is {value}", label)


def _check_axes(root: Map, sizes: Degrees) -> Iterator[Diagnostic]:
    entry, width = root.find("parallelism", "expert_tensor_parallel_degree"), None
    if entry is not None and 1 < sizes.expert:
        width = whole(entry)
    if entry is not None and width is not None and width not in (1, sizes.tensor):
        fit = either([f"`{each}`" for each in dict.fromkeys((1, sizes.tensor))])
        message = f"{width} ranks for an expert, where {sizes.tensor} split a layer"
        yield faults.WRONG_VALUE.at(entry.value.span, message, "the trainer stops", help=(f"write {fit}",))
    replicate = degree(root, "replicate")
    for axis in ("tensor", "pipeline"):
        other = degree(root, axis)
        if not sizes.is_sharded and 1 < sizes.replicate and replicate is not None and other is not None:
            count = getattr(sizes, axis)
            if 1 < count:
                message = f"copies without sharding beside {axis} parallelism of {count}"
                related = (Label(replicate.value.span, f"{sizes.replicate} copies, none of them shared"),)
                help = (f"share over 2 ranks at least: `{_NAMES['shard']} = -1`",)
                yield faults.CONFLICTING_SETTINGS.at(
                    other.value.span, message, "the trainer stops", related=related, help=help
                )


def _check_micro_batch(root: Map, sizes: Degrees) -> Iterator[Diagnostic]:
    entry, local = root.find("training", "local_batch_size"), whole(root.find("training", "local_batch_size"))
    micro = root.find("parallelism", "pipeline_parallel_microbatch_size")
    size = whole(micro)
    if sizes.pipeline == 1 or entry is None or local is None or micro is None or size is None:
        return
    if size < 1:
        yield faults.WRONG_VALUE.at(micro.value.span, f"`{micro.name}` is {size}", "1 or more")
    elif local % size != 0:
        near = [each for each in (local // size * size, (local // size + 1) * size) if 0 < each]
        message = f"a local batch of {local} in micro batches of {size}"
        related = (Label(micro.value.span, f"{size} in a micro batch"),)
        help = (f"write {either([f'`local_batch_size = {each}`' for each in near])}",)
        label = f"leaves {local % size} over: the trainer stops"
        yield faults.WRONG_VALUE.at(entry.value.span, message, label, related=related, help=help)


def _check_compiled(root: Map, sizes: Degrees) -> Iterator[Diagnostic]:
    compiled = root.value("compile", "enable") is True or root.value("training", "compile") is True
    if compiled:
        return
    waits = root.find("parallelism", "enable_async_tensor_parallel")
    help = ("write `enable = true` in `[compile]`",)
    if waits is not None and root.value("parallelism", "enable_async_tensor_parallel") is True and 1 < sizes.tensor:
        message = "asynchronous tensor parallelism of a model that is not compiled"
        yield faults.CONFLICTING_SETTINGS.at(waits.value.span, message, "the trainer stops", help=help)
    mode = root.find("activation_checkpoint", "mode")
    if mode is not None and root.value("activation_checkpoint", "mode") == "memory_budget":
        message = "a memory budget of a model that is not compiled"
        yield faults.CONFLICTING_SETTINGS.at(mode.value.span, message, "the trainer stops", help=help)


def _check_recomputation(root: Map) -> Iterator[Diagnostic]:
    option = root.find("activation_checkpoint", "selective_ac_option")
    value = root.value("activation_checkpoint", "selective_ac_option")
    if option is None or not isinstance(value, str) or root.value("activation_checkpoint", "mode") != "selective":
        return
    if value != "op" and not (value.isdigit() and int(value[:9]) != 0):
        help = ('write `"op"`, or every how manyth layer is computed again: `"2"`',)
        message = f"`selective_ac_option` cannot be `{value[:40]}`"
        yield faults.WRONG_VALUE.at(option.value.span, message, "the trainer stops", help=help)


def _check_converters(root: Map) -> Iterator[Diagnostic]:
    entry, names = root.find("model", "converters"), converters(root)
    if entry is None or not isinstance(entry.value, Seq):
        return
    for item in entry.value.items:
        now = _CONVERTERS.get(item.value) if isinstance(item, Scalar) and isinstance(item.value, str) else None
        if now is not None and isinstance(item, Scalar):
            fix = Fix(f"write `{now}`", (Edit(item.span, f'"{now}"'),), safe=False)
            message = f"torchtitan 0.2.2 knows no converter `{item.value}`"
            yield faults.REMOVED_KEY.at(item.span, message, "gone since 0.2.0", help=(f"write `{now}`",), fixes=(fix,))
    kinds = dict.fromkeys(name.rpartition(".")[2] for name in names if "quantize" in name)
    if 1 < len(kinds):
        message = f"converters of {len(kinds)} kinds: {' and '.join(kinds)}"
        yield faults.CONFLICTING_SETTINGS.at(entry.value.span, message, "the trainer stops", help=("keep one kind",))
    recipe = root.find("quantize", "linear", "float8", "recipe_name")
    gathered = root.find("quantize", "linear", "float8", "enable_fsdp_float8_all_gather")
    if recipe is None or gathered is None or "quantize.linear.float8" not in names:
        return
    float8 = root.map("quantize", "linear", "float8")
    if float8 is not None and isinstance(float8.value("recipe_name"), str) and float8.value(gathered.name) is True:
        message = f"`{gathered.name}` beside a recipe"
        related = (Label(recipe.value.span, "the recipe"),)
        help = ("keep one of them; without a recipe the scaling is tensorwise",)
        yield faults.CONFLICTING_SETTINGS.at(
            gathered.value.span, message, "the trainer stops", related=related, help=help
        )


def _check_checkpoint(root: Map) -> Iterator[Diagnostic]:
    kept = root.find("checkpoint", "keep_latest_k")
    if kept is not None and whole(kept) == 1 and root.value("checkpoint", "enable") is True:
        help = ("write `keep_latest_k = 2`, or 0 for all of them",)
        label = "it may be the one that is being written: the trainer stops"
        yield faults.WRONG_VALUE.at(kept.value.span, "`keep_latest_k` is 1", label, help=help)

"""What is wrong between the settings of one configuration of accelerate, and no field of a plan shows."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.native import faults
from planc.native.kinds import _layer_classes
from planc.native.saying import whole
from planc.native.tree import Entry, Map, Scalar

#: Keys that `deepspeed_config_file` takes over: beside it, accelerate refuses to start.
_TAKEN_OVER = (
    "gradient_accumulation_steps", "gradient_clipping", "zero_stage", "offload_optimizer_device",
    "offload_param_device", "offload_param_nvme_path", "offload_optimizer_nvme_path", "zero3_save_16bit_model",
)  # fmt: skip

#: Which section each type of distribution reads.
_SECTIONS = {"fsdp_config": "FSDP", "deepspeed_config": "DEEPSPEED", "megatron_lm_config": "MEGATRON_LM"}

#: Keys of `fsdp_config` that one version of FSDP reads, and the other passes over.
_OF_VERSION_1 = ("sharding_strategy", "backward_prefetch", "forward_prefetch", "use_orig_params", "sync_module_states")

#: Texts that accelerate takes for a flag.
_FLAGS = ("y", "yes", "t", "true", "on", "1", "n", "no", "f", "false", "off", "0", "none")

_AXES = ("dp_replicate_size", "dp_shard_size", "tp_size", "cp_size", "sp_size")
_PREFIX = "parallelism_config_"


def check(root: Map) -> Iterator[Diagnostic]:
    """Everything that is wrong between settings."""
    yield from _needed(root)
    yield from _words(root)
    yield from _machines(root)
    yield from _rendezvous(root)
    yield from _cards(root)
    yield from _sections(root)
    yield from _fsdp(root)
    yield from _deepspeed(root)
    yield from _axes(root)


def _needed(root: Map) -> Iterator[Diagnostic]:
    """What the launcher refuses to start without; the number of processes its command line may say as well."""
    if root.value("compute_environment") == "AMAZON_SAGEMAKER":
        return
    start = root.span._replace(end=min(root.span.end, root.span.start + 1))
    label = "`accelerate launch` refuses to start"
    if root.find("distributed_type") is None:
        help = ("add what it is, `distributed_type: MULTI_GPU` for one",)
        yield faults.MISSING_KEY.at(start, "the file lacks `distributed_type`", label, help=help)
    processes = root.find("num_processes")
    if processes is None or whole(processes) == -1:
        place, help = start if processes is None else processes.span, ("write it, or pass `--num_processes`",)
        found = faults.MISSING_KEY.at(place, "the file does not say `num_processes`", label, help=help)
        yield found._replace(severity=Severity.INFO)


def version_of(root: Map) -> int:
    """The version of FSDP: 1 where nothing is said."""
    fsdp = root.map("fsdp_config")
    entry = None if fsdp is None else fsdp.find("fsdp_version") or fsdp.find("version")
    version = entry.value.value if entry is not None and isinstance(entry.value, Scalar) else 1
    return 2 if str(version) == "2" else 1


def _words(root: Map) -> Iterator[Diagnostic]:
    """`no` without quotes, which YAML reads as false."""
    for key in ("mixed_precision", "dynamo_backend"):
        entry = root.find(key)
        if entry is not None and root.value(key) is False:
            message = f"`{key}: {entry.value.span.text}` is false in YAML"
            help = (f"write `{key}: 'no'`",)
            yield faults.WRONG_VALUE.at(entry.value.span, message, "accelerate wants the text", help=help)


def _machines(root: Map) -> Iterator[Diagnostic]:
    machines, processes, rank = (root.find(key) for key in ("num_machines", "num_processes", "machine_rank"))
    count, total = whole(machines), whole(processes)
    if machines is None or count is None or count < 1:
        return
    if processes is not None and total is not None and total % count != 0:
        each = total // count
        help = (f"`num_processes` counts those of all machines: write `{each * count}` or `{(each + 1) * count}`",)
        yield faults.CONFLICTING_SETTINGS.at(
            processes.span,
            f"{plural(total, 'process')} on {plural(count, 'machine')}",
            f"accelerate starts {count_text(each)} on each, and loses {count_text(total - each * count)}",
            related=(Label(machines.span),),
            help=help,
        )
    number = whole(rank)
    if rank is not None and number is not None and count <= number:
        message = f"`machine_rank` is {count_text(number)} of {plural(count, 'machine')}"
        help = (f"ranks are counted from 0: 0 to {count - 1}",)
        yield faults.CONFLICTING_SETTINGS.at(
            rank.span, message, "no such machine", related=(Label(machines.span),), help=help
        )
    address = root.find("main_process_ip")
    loopback = root.value("main_process_ip") in ("127.0.0.1", "localhost", "::1")
    by_mpi = root.find("mpirun_config") is not None or root.value("distributed_type") == "MULTI_CPU"
    if address is not None and loopback and 1 < count and not by_mpi:
        message = f"{plural(count, 'machine')} meet at a loopback address"
        help = ("write the address of the first machine, or pass `--main_process_ip`",)
        yield faults.CONFLICTING_SETTINGS.at(
            address.span, message, "each machine waits for itself", related=(Label(machines.span),), help=help
        )


def _rendezvous(root: Map) -> Iterator[Diagnostic]:
    """A rendezvous that the launcher takes from its command line alone, where its own default stands already."""
    backend, machines = root.find("rdzv_backend"), root.find("num_machines")
    word = root.value("rdzv_backend")
    by_hosts = root.value("distributed_type") == "DEEPSPEED"  # whose launcher asks for none
    if backend is None or not isinstance(word, str) or word in ("", "static") or (whole(machines) or 1) < 2 or by_hosts:
        return
    related = () if machines is None else (Label(machines.span),)
    help = (f"pass `--rdzv_backend {word}`, or give each machine its `machine_rank`",)
    message = "accelerate does not take `rdzv_backend` from a file"
    yield faults.INERT_KEY.at(backend.span, message, "it stays `static`", related=related, help=help)


def _cards(root: Map) -> Iterator[Diagnostic]:
    """Processes of a machine against the cards that `gpu_ids` lets them see."""
    entry, processes = root.find("gpu_ids"), root.find("num_processes")
    total, count = whole(processes), 1 if root.find("num_machines") is None else whole(root.find("num_machines"))
    value = root.value("gpu_ids")
    if entry is None or processes is None or not total or not count or count < 1 or total % count:
        return
    words = value.split(",") if isinstance(value, str) else ()
    if not words or not all(word.strip().isdigit() for word in words):
        return  # `all`, or names of cards
    cards, each = len(words), total // count
    if cards < each:
        message = f"{plural(each, 'process')} of a machine see {plural(cards, 'card')}"
        help = (f"write `gpu_ids: all`, or `num_processes: {count_text(cards * count)}`",)
        yield faults.CONFLICTING_SETTINGS.at(
            entry.span, message, "the last ones find no card", related=(Label(processes.span),), help=help
        )
    elif each < cards and 1 < count:
        message = f"{plural(each, 'process')} a machine for {plural(cards, 'card')}"
        help = (f"`num_processes` counts those of all machines: write `{count_text(cards * count)}`",)
        label = f"{count_text(total)} / {plural(count, 'machine')} = {count_text(each)}"
        found = faults.CONFLICTING_SETTINGS.at(processes.span, message, label, related=(Label(entry.span),), help=help)
        yield found._replace(severity=Severity.WARNING)


def _sections(root: Map) -> Iterator[Diagnostic]:
    """A section that the type of distribution does not read."""
    kind = root.find("distributed_type")
    word = root.value("distributed_type")
    for name, reads in _SECTIONS.items():
        section = root.map(name)
        entry = root.find(name)
        if entry is None or section is None or not section.entries or not isinstance(word, str) or word == reads:
            continue
        related = () if kind is None else (Label(kind.span, "this decides"),)
        message = f"`{name}` has no effect beside `distributed_type: {word[:40]}`"
        help = (f"write `distributed_type: {reads}`, or remove the section",)
        yield faults.INERT_KEY.at(entry.key.span, message, "not read", related=related, help=help)


def _fsdp(root: Map) -> Iterator[Diagnostic]:
    fsdp = root.map("fsdp_config")
    if fsdp is None or root.value("distributed_type") != "FSDP":
        return
    yield from _layer_classes.check(_found(fsdp, "transformer_layer_cls_to_wrap"))
    version = _found(fsdp, "version")
    word = version.value.value if version is not None and isinstance(version.value, Scalar) else None
    if version is not None and isinstance(word, str) and word not in ("1", "2"):
        message = f"`{version.name}` cannot be `{word[:40]}`"
        yield faults.WRONG_VALUE.at(version.value.span, message, "there are 1 and 2")
    if version_of(root) == 2:
        entries = [entry for name in _OF_VERSION_1 if (entry := _found(fsdp, name)) is not None]
        if entries:
            others = f" (and {plural(len(entries) - 1, 'other key')})" if entries[1:] else ""
            message = f"`{entries[0].name}`{others} has no effect under FSDP2"
            related = tuple(Label(entry.span) for entry in entries[1:])
            help = ("remove what is shown; `fsdp_reshard_after_forward` stands for the strategy",)
            yield faults.INERT_KEY.at(entries[0].span, message, "of version 1", related=related, help=help)
        again = _found(fsdp, "reshard_after_forward")
        word = str(getattr(again.value, "value", None)).lower() if again is not None else ""
        if again is not None and isinstance(again.value, Scalar) and word not in _FLAGS:
            message = f"`{again.name}` is no flag"
            yield faults.WRONG_VALUE.at(again.value.span, message, "FSDP2 wants one", help=("write `true` or `false`",))
        return
    for name, most in (("sharding_strategy", 5), ("backward_prefetch", 2)):
        entry = _found(fsdp, name)
        number = whole(entry)
        if entry is not None and number is not None and not 1 <= number <= most:
            message = f"`{entry.name}` is {count_text(number)}"
            label = f"numbers go from 1 to {most}"
            yield faults.WRONG_VALUE.at(entry.value.span, message, label, help=("write its name",))
    loading, synced = _found(fsdp, "cpu_ram_efficient_loading"), _found(fsdp, "sync_module_states")
    if synced is None or not _is(synced, False) or (loading is not None and not _is_given(loading)):
        return
    message = "RAM-efficient loading needs `fsdp_sync_module_states`"
    label = "all ranks but the first keep random weights"
    yield faults.CONFLICTING_SETTINGS.at(
        synced.span,
        message,
        label,
        related=(
            Label(loading.span, "one rank loads")
            if loading is not None
            else Label(fsdp.entries[0].span, "left out: it is on"),
        ),
        help=("write `true`",),
    )


def _found(fsdp: Map, name: str) -> Entry | None:
    return fsdp.find(f"fsdp_{name}") or fsdp.find(name)


def _is_given(entry: Entry) -> bool:
    """Whether accelerate's launcher takes a flag for one that is on: a text of any letters is."""
    return isinstance(entry.value, Scalar) and bool(entry.value.value)


def _is(entry: Entry, flag: bool) -> bool:
    return isinstance(entry.value, Scalar) and entry.value.value is flag


def _deepspeed(root: Map) -> Iterator[Diagnostic]:
    config = root.map("deepspeed_config")
    if config is None or root.value("distributed_type") != "DEEPSPEED":
        return
    file = config.find("deepspeed_config_file")
    if file is not None and isinstance(config.value("deepspeed_config_file"), str):
        entries = [entry for name in _TAKEN_OVER if (entry := config.find(name)) is not None]
        precision = root.find("mixed_precision")
        entries.extend([precision] if precision is not None and root.value("mixed_precision") is not None else [])
        if entries:
            others = f" (and {plural(len(entries) - 1, 'other key')})" if entries[1:] else ""
            message = f"`{entries[0].name}`{others} beside `deepspeed_config_file`"
            related = (*(Label(entry.span) for entry in entries[1:]), Label(file.span, "this file is to say it"))
            help = ("remove what is shown, and say it in the DeepSpeed file",)
            found = faults.CONFLICTING_SETTINGS.at(
                entries[0].span, message, "accelerate refuses to start", related=related, help=help
            )
            # Programs that make their own plugin, as the Trainer does, do not ask.
            yield found._replace(severity=Severity.WARNING)
        return
    stage = config.value("zero_stage")
    param = config.find("offload_param_device")
    if param is not None and config.value("offload_param_device") in ("cpu", "nvme") and stage in (0, 1, 2):
        written = config.find("zero_stage")
        related = () if written is None else (Label(written.span, f"stage {stage} here"),)
        message = "`offload_param_device` has no effect below stage 3"
        yield faults.INERT_KEY.at(
            param.span, message, f"the stage is {stage}", related=related, help=("write `zero_stage: 3`",)
        )


def _axes(root: Map) -> Iterator[Diagnostic]:
    axes = root.map("parallelism_config")
    if axes is None:
        return
    short = [entry for name in _AXES if (entry := axes.find(name)) is not None]
    for entry in short:
        message = f"`{entry.name}` is not read: its name has a prefix"
        help = (f"write `{_PREFIX}{entry.name}`",)
        yield faults.UNKNOWN_KEY.at(entry.key.span, message, "the size stays 1", help=help)
    sizes = {name: axes.find(f"{_PREFIX}{name}") for name in _AXES}
    for entry in sizes.values():
        number = _size(entry)
        if entry is not None and number is not None and number < 1:
            message = f"`{entry.name}` is {number}"
            yield faults.WRONG_VALUE.at(entry.value.span, message, "it has to be at least 1")
            return
    world = root.find("num_processes")
    total = _size(world)
    product = 1
    for entry in sizes.values():
        product *= _size(entry) or 1
    written = [entry for entry in sizes.values() if entry is not None and _size(entry) is not None]
    if short or world is None or total is None or not written or product == total:
        return
    if sizes["dp_shard_size"] is None and sizes["dp_replicate_size"] is None and total % product == 0:
        return  # the rest is for the program to say
    factors = " x ".join(count_text(_size(entry)) for entry in written)
    related = tuple(Label(entry.span) for entry in written)
    message = f"the mesh has {plural(product, 'rank')}, the job {count_text(total)}"
    yield faults.CONFLICTING_SETTINGS.at(
        world.span, message, f"{factors} = {count_text(product)}", related=related,
        help=(f"write `num_processes: {count_text(product)}`, or another size",),
    )  # fmt: skip


def _size(entry: Entry | None) -> int | None:
    """The size of an axis; a text of digits is one, too."""
    value = entry.value.value if entry is not None and isinstance(entry.value, Scalar) else None
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 10 else whole(entry)

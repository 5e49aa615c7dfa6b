"""What `accelerate launch` refuses to start with, or passes over."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.native import faults
from planc.native.kinds._options import place_of, spelt, text_of, whole_of
from planc.native.kinds._torchrun_checks import address, handed_on
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.options import Option

#: Of these, accelerate takes one at a time.
_PARADIGMS = ("cpu", "multi_gpu", "tpu", "use_deepspeed", "use_fsdp")

#: Options that only one of them reads, by how they begin.
_READERS = {
    "fsdp_": "use_fsdp", "zero_stage": "use_deepspeed", "offload_": "use_deepspeed", "zero3_": "use_deepspeed",
    "deepspeed_": "use_deepspeed", "megatron_lm_": "use_megatron_lm",
}  # fmt: skip

_REFUSED = "accelerate refuses to start"


def check(launch: Launch) -> Iterator[Diagnostic]:
    """Everything that is wrong with the options of `accelerate launch`."""
    yield from _paradigms(launch)
    yield from _processes(launch)
    yield from _inert(launch)
    yield from _program(launch)
    yield from machines(launch)
    yield from handed_on(launch)
    if 1 < (whole_of(launch.option("num_machines")) or 1):
        yield from address(launch, "main_process_ip", "main_process_port")
    yield from _precision(launch)


def processes_of(launch: Launch) -> tuple[Option, int, int] | None:
    """The option with the number of processes, that number, and on how many machines; None where one is unknown."""
    option, machines = launch.option("num_processes"), launch.option("num_machines")
    total = whole_of(option)
    count = whole_of(machines)
    if machines is None and not launch.open and launch.option("config_file") is None:
        count = 1
    if option is None or total is None or total < 1 or count is None or count < 1:
        return None
    return option, total, count


def waits_for_files(launch: Launch) -> bool:
    """Whether it starts DeepSpeed's launcher for other machines, which finds them in a hostfile."""
    backend = launch.option("deepspeed_multinode_launcher")
    return launch.option("use_deepspeed") is not None and (backend is None or text_of(backend) != "standard")


def _paradigms(launch: Launch) -> Iterator[Diagnostic]:
    given = [option for name in _PARADIGMS if (option := launch.option(name)) is not None]
    if given[1:]:
        message = f"`{spelt(given[0])}` beside `{spelt(given[1])}`"
        related = tuple(Label(outermost(option.written.span)) for option in given[1:])
        yield faults.CONFLICTING_SETTINGS.at(
            outermost(given[0].written.span), message, _REFUSED, related=related, help=("keep one of them",)
        )
    axes = launch.option("use_parallelism_config")
    if axes is not None and not launch.open and launch.option("use_fsdp") is None:
        message = f"`{spelt(axes)}` without `--use_fsdp`"
        help = ("add `--use_fsdp --fsdp_version 2`",)
        yield faults.MISSING_KEY.at(outermost(axes.written.span), message, _REFUSED, help=help)


def _processes(launch: Launch) -> Iterator[Diagnostic]:
    option, several = launch.option("num_processes"), launch.option("multi_gpu")
    total = whole_of(option)
    if option is None or total is None or 1 < total:
        return
    if several is not None:
        message = f"`{spelt(several)}` with {plural(total, 'process')}"
        related = (Label(outermost(several.written.span)),)
        help = ("write the number of cards, or remove `--multi_gpu`",)
        yield faults.CONFLICTING_SETTINGS.at(place_of(option), message, _REFUSED, related=related, help=help)
    elif total < 0 or (total < 1 and any(launch.option(name) for name in ("use_fsdp", "use_deepspeed"))):
        message = f"`{spelt(option)}` is {total}"
        yield faults.WRONG_VALUE.at(place_of(option), message, _REFUSED, help=("write the number of cards",))


def _inert(launch: Launch) -> Iterator[Diagnostic]:
    """Options of a paradigm that nothing asks for: a configuration may."""
    if launch.open or launch.option("config_file") is not None:
        return
    for option in launch.options:
        reader = next((reader for start, reader in _READERS.items() if option.name.startswith(start)), None)
        if reader is not None and launch.option(reader) is None:
            message = f"`{spelt(option)}` has no effect without `--{reader}`"
            help = (f"add `--{reader}`, or remove what is shown",)
            yield faults.INERT_KEY.at(outermost(option.written.span), message, help=help)


def _program(launch: Launch) -> Iterator[Diagnostic]:
    module, bare = launch.option("module"), launch.option("no_python")
    if module is not None and bare is not None:
        message = f"`{spelt(module)}` beside `{spelt(bare)}`"
        related = (Label(outermost(bare.written.span)),)
        yield faults.CONFLICTING_SETTINGS.at(
            outermost(module.written.span), message, _REFUSED, related=related, help=("remove one of the two",)
        )


def machines(launch: Launch) -> Iterator[Diagnostic]:
    """Processes that several machines do not share, a machine that there is not, and nothing that says where they
    meet: a configuration may say the latter, and where none is named, one of the user's own.
    """
    several, rank = launch.option("num_machines"), launch.option("machine_rank")
    count = whole_of(several)
    if several is None or count is None or count < 2:
        return
    related = (Label(outermost(several.written.span), plural(count, "machine")),)
    found = processes_of(launch)
    if found is not None and found[1] % count:
        option, total, _ = found
        each = total // count
        message = f"{plural(total, 'process')} on {plural(count, 'machine')}"
        label = f"accelerate starts {count_text(each)} on each, and loses {count_text(total - each * count)}"
        help = (f"it counts those of all machines: write `{each * count or count}` or `{(each + 1) * count}`",)
        yield faults.CONFLICTING_SETTINGS.at(place_of(option), message, label, related=related, help=help)
    number = whole_of(rank)
    if rank is not None and number is not None and not 0 <= number < count:
        message = f"`{spelt(rank)}` is {number} of {plural(count, 'machine')}"
        help = (f"machines are counted from 0 to {count - 1}",)
        yield faults.CONFLICTING_SETTINGS.at(place_of(rank), message, "no such machine", related=related, help=help)
    if launch.open or launch.option("config_file") is not None:
        return
    yield from _lacking(launch, several, count)


def _lacking(launch: Launch, machines: Option, count: int) -> Iterator[Diagnostic]:
    """What several machines need, if accelerate has no configuration that says it."""
    place = outermost(machines.written.span)
    needed = [("machine_rank", "N", _REFUSED)]
    if not waits_for_files(launch):
        needed.append(("main_process_ip", "HOST", "each looks for a machine `None`"))
    elif launch.option("deepspeed_inclusion_filter") is None:
        needed.append(("deepspeed_hostfile", "FILE", "DeepSpeed finds no other machine"))
    for name, value, harm in needed:
        if launch.option(name) is None:
            help = (f"add `--{name} {value}`",)
            found = faults.MISSING_KEY.at(place, f"{plural(count, 'machine')} without `--{name}`", harm, help=help)
            yield found._replace(severity=Severity.WARNING)


def _precision(launch: Launch) -> Iterator[Diagnostic]:
    """A precision that the program's own argument takes the place of, as the Trainer does it."""
    asked = launch.option("mixed_precision")
    word = text_of(asked)
    if asked is None or word not in ("bf16", "fp16"):
        return
    other = launch.parameter("fp16" if word == "bf16" else "bf16")
    if other is not None and (other.value is None or (text_of(other) or "").lower() == "true"):
        message = f"`--mixed_precision {word}`, and `{spelt(other)}` of the program"
        related = (Label(outermost(other.written.span), "the Trainer takes this one"),)
        found = faults.CONFLICTING_SETTINGS.at(
            place_of(asked), message, "it does nothing", related=related, help=("write the same in both places",)
        )
        yield found._replace(severity=Severity.WARNING)

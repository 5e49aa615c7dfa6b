"""What is wrong between a launch and the files that it names: accelerate's configuration, a hostfile of DeepSpeed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.diagnostics.names import nearest
from planc.native import faults
from planc.native.kind import Options, Recognised
from planc.native.kinds import _accelerate_launch_checks as accelerate
from planc.native.kinds import _slurm_checks, _srun_checks
from planc.native.kinds._deepspeed_launch_checks import slots_of
from planc.native.kinds._options import place_of, spelt, text_of, whole_of
from planc.native.kinds.hostfile import Host, hosts_of
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch, launches
from planc.native.shell.model import Script
from planc.native.shell.options import Option
from planc.native.shell.reading import read
from planc.native.shell.values import Literal, Word
from planc.native.tree import Entry, Map, Scalar
from planc.source import Span

#: Keys of accelerate's configuration that stand for the options of the same names.
_KEYS = ("num_machines", "num_processes", "machine_rank", "main_process_ip")

#: Those of its section for DeepSpeed.
_OF_DEEPSPEED = ("deepspeed_multinode_launcher", "deepspeed_hostfile", "deepspeed_inclusion_filter")


def check(files: Sequence[Recognised], options: Options) -> Iterator[Diagnostic]:
    """Everything that is wrong between the launches of a job's scripts and the files that they name."""
    for file in files:
        if file.kind.name != "shell" or len(files) < 2:
            continue
        script = read(file.tree.source, options.open)
        for launch in launches(script):
            if launch.launcher == "accelerate":
                config = _named(files, launch.option("config_file"), "accelerate")
                if config is not None and config.tree.root is not None:
                    yield from _configured(script, launch, config.tree.root)
            elif launch.launcher == "deepspeed":
                hosts = _named(files, launch.option("hostfile"), "hostfile")
                if hosts is not None:
                    yield from _hosts(launch, hosts_of(hosts.tree))


def answered(files: Sequence[Recognised], options: Options) -> set[Span]:
    """Settings of accelerate's configuration that it takes from the command line alone, where each launch has them."""
    found: dict[Span, bool] = {}
    for file in files:
        if file.kind.name != "shell" or len(files) < 2:
            continue
        for launch in launches(read(file.tree.source, options.open)):
            config = _named(files, launch.option("config_file"), "accelerate")
            root = config.tree.root if config is not None else None
            entry = root.find("rdzv_backend") if root is not None else None
            if entry is not None:
                found[entry.span] = found.get(entry.span, True) and launch.option("rdzv_backend") is not None
    return {span for span, is_given in found.items() if is_given}


def _named(files: Sequence[Recognised], option: Option | None, kind: str) -> Recognised | None:
    """The file of a kind that an option names."""
    path = text_of(option)
    if path is None:
        return None
    names = [(file, file.path or file.tree.source.name) for file in files if file.kind.name == kind]
    found = [file for file, name in names if _last(name) == _last(path)]
    return found[0] if len(found) == 1 else None


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _configured(script: Script, launch: Launch, root: Map) -> Iterator[Diagnostic]:
    """What the command line and the configuration say only together."""
    whole = launch._replace(options=(*_from_file(launch, root), *launch.options))
    told = {(each.code, each.message, each.primary.span) for each in _of(script, launch)}
    for each in _of(script, whole):
        if (each.code, each.message, each.primary.span) not in told and _is_between(each):
            yield each
    machines = whole.option("num_machines")
    count = whole_of(machines)
    if machines is None or count is None or count < 2 or launch.open:
        return
    needed = ("main_process_ip", "HOST", "each looks for a machine `None`")
    if accelerate.waits_for_files(whole):
        needed = ("deepspeed_hostfile", "FILE", "DeepSpeed finds no other machine")
    name, value, harm = needed
    if whole.option(name) is None and whole.option("deepspeed_inclusion_filter") is None:
        option = launch.option("config_file")
        related = (Label(outermost(option.written.span), "this file does not say it either"),) if option else ()
        message = f"{plural(count, 'machine')} without `{name}`"
        help = (f"write `{name}: {value}`, or pass `--{name}`",)
        yield faults.MISSING_KEY.at(outermost(machines.written.span), message, harm, related=related, help=help)


def _of(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    yield from accelerate.machines(launch)
    yield from _srun_checks.check(script, launch)
    yield from _slurm_checks.check(script, launch)


def _is_between(found: Diagnostic) -> bool:
    """Whether it shows two files: what is wrong in one alone is told with that."""
    return len({outermost(label.span).source for label in (found.primary, *found.related)}) > 1


def _from_file(launch: Launch, root: Map) -> Iterator[Option]:
    """The settings of a configuration that no option of a launch takes the place of, as options."""
    section = root.map("deepspeed_config")
    entries = [root.find(name) for name in _KEYS]
    if root.value("distributed_type") == "DEEPSPEED" and not any(
        launch.option(name) for name in ("use_fsdp", "multi_gpu", "cpu", "tpu", "use_megatron_lm")
    ):
        entries.extend(section.find(name) for name in _OF_DEEPSPEED if section is not None)
        entry = root.find("distributed_type")
        if entry is not None:
            yield _option(entry, "use_deepspeed")
    for entry in entries:
        if entry is not None and launch.option(entry.name) is None and _text(entry) is not None:
            yield _option(entry, entry.name)
    several = root.find("num_machines")
    if root.find("machine_rank") is None and launch.option("machine_rank") is None and several is not None:
        yield _option(several, "machine_rank", "0")  # what accelerate takes beside a configuration


def _text(entry: Entry) -> str | None:
    value = entry.value.value if isinstance(entry.value, Scalar) else None
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def _option(entry: Entry, name: str, text: str | None = None) -> Option:
    """A key as an option with its value."""
    value = _text(entry) if text is None else text
    written = Word(entry.key.span, (Literal(entry.name, entry.key.span),))
    return Option(name, written, (Word(entry.value.span, (Literal(value or "", entry.value.span),)),))


def _hosts(launch: Launch, hosts: Sequence[Host]) -> Iterator[Diagnostic]:
    """More nodes than there are hosts, and more cards than they have slots."""
    yield from _filters(launch, hosts)
    nodes, cards = launch.option("num_nodes"), launch.option("num_gpus")
    count, each = whole_of(nodes), whole_of(cards)
    if not hosts or launch.open:
        return
    if nodes is not None and count is not None and len(hosts) < count:
        every = hosts[0].line.to(hosts[-1].line)
        message = f"{plural(count, 'node')} of a hostfile with {plural(len(hosts), 'host')}"
        help = (f"write `{spelt(nodes)}={len(hosts)}`, or add the others",)
        related = (Label(every, plural(len(hosts), "host")),)
        yield faults.DISAGREEING_FILES.at(
            outermost(nodes.written.span), message, "deepspeed starts fewer, and says nothing", related=related,
            help=help,
        )  # fmt: skip
    taken = hosts[:count] if count is not None and 0 < count else hosts
    least = min(taken, key=lambda host: host.num_slots)
    if cards is not None and each is not None and least.num_slots < each:
        message = f"{plural(each, 'process')} on a host with {plural(least.num_slots, 'slot')}"
        related = (Label(least.slots, plural(least.num_slots, "slot")),)
        help = (f"write `{spelt(cards)}={least.num_slots}`, or leave it out",)
        yield faults.DISAGREEING_FILES.at(
            outermost(cards.written.span), message, "the last ones find no card", related=related, help=help
        )


def _filters(launch: Launch, hosts: Sequence[Host]) -> Iterator[Diagnostic]:
    """Hosts and slots of a filter that the hostfile does not have."""
    known = {host.name.text: host for host in hosts}
    for option in filter(None, (launch.option("include"), launch.option("exclude"))):
        for name, slots in slots_of(option):
            host = known.get(name)
            if host is None:
                near = nearest(name, known)
                message, label = f"the hostfile names no `{name[:40]}`", Label(hosts[0].line, "begins here")
                help = (f"did you mean `{near}`?",) if near else ()
            elif any(not 0 <= slot < host.num_slots for slot in slots):
                message = f"`{name[:40]}` has no slot {max(slots)}"
                label, help = Label(host.slots, "its slots"), (f"slots are counted from 0 to {host.num_slots - 1}",)
            else:
                continue
            yield faults.DISAGREEING_FILES.at(
                place_of(option), message, "deepspeed refuses to start", related=(label,), help=help
            )

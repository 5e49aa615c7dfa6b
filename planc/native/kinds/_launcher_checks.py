"""Launchers against what stands around them: cards that they see, tasks that start them, and each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planc.diagnostics.amounts import count_text, plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.native import faults
from planc.native.kinds import _accelerate_launch_checks as accelerate
from planc.native.kinds import _deepspeed_launch_checks as deepspeed
from planc.native.kinds import _launcher_options, _torchrun_checks
from planc.native.kinds._options import spelt, text_of, whole_of
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.model import Command, Script
from planc.native.shell.options import Option
from planc.source import Span

#: Launchers that start the processes of a node.
LAUNCHERS = ("torchrun", "accelerate", "deepspeed")

#: Variables that hide cards from a program.
HIDING = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")

#: The port of DeepSpeed's launcher where none is written.
_PORT = 29500

#: Commands after which another launch may have the port of one before.
_ENDING = ("wait", "kill", "pkill", "killall")


class Shown(NamedTuple):
    """The cards that a variable, or an option, lets a launch see: their list, as it is written, and their number."""

    name: str
    text: str
    place: Span

    @property
    def cards(self) -> int:
        """How many there are: what stands behind a number that is none is hidden."""
        cards = 0
        for item in self.text.split(","):
            if not item.strip() or item.strip().startswith("-"):
                break
            cards += 1
        return cards


class Port(NamedTuple):
    """The port on which a launch listens on this machine.

    option: what says it; None where it is a default. meeting: the name under which nodes meet there, as others may
    under another; None where the port is for one launch alone.
    """

    option: Option | None
    number: int
    meeting: str | None = None

    def is_taken_by(self, other: Port) -> bool:
        """Whether another launch stands in the way of this one."""
        same = self.meeting is None or other.meeting is None or self.meeting == other.meeting
        return self.number == other.number and same


def check(script: Script, launches: Sequence[Launch]) -> Iterator[Diagnostic]:
    """What is wrong with the options of launchers, each by itself and beside the others."""
    own = [launch for launch in launches if launch.launcher in LAUNCHERS]
    for launch in own:
        yield from _launcher_options.check(launch)
        if _launcher_options.is_shifted(launch):
            continue
        if launch.launcher == "torchrun":
            yield from _torchrun_checks.check(launch)
        elif launch.launcher == "accelerate":
            yield from accelerate.check(launch)
        else:
            yield from deepspeed.check(launch)
        yield from _cards(script, launch, len(own) == 1)
    yield from _ports(script, own)
    for launch in own:
        yield from _repeated(script, launch)


def processes_of(launch: Launch) -> tuple[Option, int] | None:
    """The option that says how many processes a node gets, and that number."""
    if launch.launcher == "accelerate":
        found = accelerate.processes_of(launch)
        return None if found is None or found[1] % found[2] else (found[0], found[1] // found[2])
    option = launch.option("nproc_per_node" if launch.launcher == "torchrun" else "num_gpus")
    number = whole_of(option)
    return None if option is None or number is None or number < 1 else (option, number)


def _cards(script: Script, launch: Launch, is_only: bool) -> Iterator[Diagnostic]:
    """Cards that a launch is shown: fewer than it starts processes, or others than it takes."""
    shown = _shown(launch)
    if shown is None and (launch.launcher == "deepspeed" or not is_only):
        shown = _exported(script, launch)
    if shown is None:
        return
    if launch.launcher == "deepspeed" and shown.name == HIDING[0]:
        yield from _overridden(launch, shown)
        return
    found = processes_of(launch)
    if found is None or found[1] <= shown.cards or shown.cards == 0:  # with none, it trains on processors
        return
    option, ranks = found
    message = f"{plural(ranks, 'process')} see {plural(shown.cards, 'card')}"
    related = (Label(shown.place, plural(shown.cards, "card")),)
    help = (f"list {plural(ranks, 'card')} in `{shown.name}`, or start {count_text(max(shown.cards, 1))}",)
    yield faults.CONFLICTING_SETTINGS.at(
        outermost(option.written.span), message, "the last ones find no card", related=related, help=help
    )


def _overridden(launch: Launch, shown: Shown) -> Iterator[Diagnostic]:
    """DeepSpeed's launcher gives each process a card by itself, if an option says which."""
    counts = [option for name in ("num_gpus", "num_nodes") if (option := launch.option(name)) is not None]
    least = {"num_gpus": 1, "num_nodes": 2}
    asked = [option for option in counts if least[option.name] <= (whole_of(option) or 0)]
    asked += [option for name in ("include", "exclude", "hostfile") if (option := launch.option(name)) is not None]
    if asked and not _is_same(launch, shown):
        message = f"`{shown.name}` has no effect beside `{spelt(asked[0])}`"
        related = (Label(outermost(asked[0].written.span), "decides which cards"),)
        help = ("write `--include=localhost:0,1`, with the cards, in the place of both",)
        yield faults.INERT_KEY.at(shown.place, message, "deepspeed passes it over", related=related, help=help)


def _is_same(launch: Launch, shown: Shown) -> bool:
    """Whether the cards that are shown are those that DeepSpeed's launcher takes anyway."""
    option, count = launch.option("include"), whole_of(launch.option("num_gpus"))
    taken = list(range(count)) if count is not None and option is None else []
    for host, slots in deepspeed.slots_of(option):
        taken = sorted(slots) if host == "localhost" else []
    return [item.strip() for item in shown.text.split(",")] == [str(card) for card in taken]


def _shown(launch: Launch) -> Shown | None:
    """The cards that are shown to this launch alone; None where nothing says it for certain."""
    ids = launch.option("gpu_ids") if launch.launcher == "accelerate" else None
    if ids is not None:
        text = text_of(ids)
        words = text.split(",") if text is not None else []
        if not words or not all(word.strip().isdecimal() for word in words):
            return None  # `all`
        return Shown(spelt(ids), ",".join(words), outermost(ids.written.span))
    for each in reversed(launch.environment):
        if each.name in HIDING:
            text = each.value.known if each.value is not None and not each.value.default_of else None
            return None if text is None else Shown(each.name, text, outermost(each.span))
    return None


def _exported(script: Script, launch: Launch) -> Shown | None:
    """The cards that a variable of the script shows to what it starts."""
    if launch.outer is not None or any(each.name in HIDING for each in launch.environment):
        return None
    before = [
        each
        for each in script.exports
        if each.name in HIDING and each.name in launch.command.exported and each.span.start < launch.command.span.start
    ]
    if not before or any(each.context for each in before):
        return None
    last = before[-1]
    text = last.value.known if last.value is not None and not last.value.default_of else None
    return None if text is None else Shown(last.name, text, outermost(last.span))


def _ports(script: Script, launches: Sequence[Launch]) -> Iterator[Diagnostic]:
    """Two launches that run beside each other on this machine, and listen on one port."""
    pauses = [command.span.start for command in script.commands if command.name in _ENDING]
    for index, second in enumerate(launches):
        for first in launches[:index]:
            port, other = _port(first), _port(second)
            if port is None or other is None or not other.is_taken_by(port) or not _runs_on(first.command):
                continue
            if _is_plain(second.command) and not any(
                first.command.span.start < pause < second.command.span.start for pause in pauses
            ):
                yield _taken(first, second, port, other)
                break


def _repeated(script: Script, launch: Launch) -> Iterator[Diagnostic]:
    """A loop that starts one launch after the other on a port, and waits for none of them."""
    kinds = [frame.kind for frame in launch.command.context]
    port = _port(launch)
    if port is None or kinds not in (["loop", "background"], ["loop", "subshell", "background"]):
        return
    loop = launch.command.context[0].span
    if any(command.name in _ENDING and _is_within(command.span, loop) for command in script.commands):
        return
    option = "--rdzv-endpoint=localhost:0" if port.meeting is not None else "--master_port=$((29500 + I))"
    message = f"a loop starts launches beside each other on port {port.number}"
    help = (f"write `{option}`, or wait for each",)
    place = port.option.written.span if port.option is not None else launch.name.span
    found = faults.CONFLICTING_SETTINGS.at(outermost(place), message, "taken from the second on", help=help)
    yield found._replace(severity=Severity.WARNING)  # the loop may have one turn


def _is_within(span: Span, outer: Span) -> bool:
    return span.source is outer.source and outer.start <= span.start and span.end <= outer.end


def _taken(first: Launch, second: Launch, port: Port, other: Port) -> Diagnostic:
    places = [
        outermost(found.option.written.span) if found.option is not None else outermost(launch.name.span)
        for launch, found in ((first, port), (second, other))
    ]
    is_default = "" if other.option is not None else ", the default"
    message = f"two launches beside each other on port {other.number}{is_default}"
    related = (Label(places[0], "still runs"),)
    option = "--rdzv-endpoint=localhost:" if other.meeting is not None else "--master_port="
    help = (f"write `{option}{other.number + 1}` in one of them",)
    return faults.CONFLICTING_SETTINGS.at(places[1], message, "the port is taken", related=related, help=help)


def _port(launch: Launch) -> Port | None:
    """The port on which a launch listens on this machine for certain; accelerate looks for a free one."""
    if launch.outer is not None or launch.open or launch.launcher == "accelerate":
        return None
    endpoint = launch.option("rdzv_endpoint")
    if launch.launcher == "torchrun" and (endpoint is not None or not _torchrun_checks.is_static(launch)):
        return _meeting(launch, endpoint)
    option = launch.option("master_port")
    if option is None:
        return Port(None, _PORT) if launch.launcher == "deepspeed" else None
    number = whole_of(option)
    return None if number is None or number < 1 else Port(option, number)


def _meeting(launch: Launch, endpoint: Option | None) -> Port | None:
    """The port of a rendezvous on this machine."""
    host, _, port = (text_of(endpoint) or "").rpartition(":")
    name = launch.option("rdzv_id")
    meeting = "none" if name is None else text_of(name)
    if host not in _torchrun_checks.LOOPBACK or not port.isdecimal() or not int(port[:9]) or meeting is None:
        return None
    if launch.option("standalone") is not None:
        return None
    return Port(endpoint, int(port[:9]), None if _torchrun_checks.is_static(launch) else meeting)


def _is_plain(command: Command) -> bool:
    return not command.within("loop", "if", "case", "function", "and", "or", "substitution")


def _runs_on(command: Command) -> bool:
    """Whether the script goes on while a command of it runs."""
    return command.within("background") and _is_plain(command)

"""What torchrun refuses to start with, and where its nodes fail to meet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.diagnostics.names import nearest
from planc.native import faults
from planc.native.kinds._options import place_of, spelt, text_of, whole_of
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.options import Option
from planc.native.shell.values import Literal

LOOPBACK = ("localhost", "127.0.0.1", "::1", "[::1]")

#: Words for the number of processes; the last ones are what vendors call their cards.
_PROCESSES = ("auto", "cpu", "gpu", "xpu")
_VENDORS = ("gcu", "hpu", "mlu", "musa", "npu", "privateuseone", "sdaa")

_BACKENDS = ("c10d", "static", "etcd", "etcd-v2")

#: Which streams go to a file: a digit, or one for each of some ranks.
_STREAMS = re.compile(r"[0123]|(?:\d:[0123],)*\d:[0123]")
_HOST = re.compile(r"[\w.:-]+")

#: What `--standalone` takes the place of, with the values that say the same.
_REPLACED = {
    "rdzv_backend": ("c10d",), "rdzv_endpoint": ("localhost:0",), "master_addr": LOOPBACK, "master_port": (),
}  # fmt: skip


class Bounds(NamedTuple):
    """From how many nodes on torchrun starts, and how many it takes at most."""

    least: int
    most: int


def check(launch: Launch) -> Iterator[Diagnostic]:
    """Everything that is wrong with the options of torchrun."""
    yield from _nodes(launch)
    yield from _processes(launch)
    yield from handed_on(launch)
    yield from _endpoint(launch)
    if is_static(launch) and launch.option("rdzv_endpoint") is None:
        yield from address(launch, "master_addr", "master_port")
    yield from _standalone(launch)
    yield from _rank(launch)
    yield from _passed_over(launch)
    bounds = nodes_of(launch)
    for found in _meeting(launch):
        # One node alone may be what is meant, where one is enough.
        is_sure = bounds is not None and 1 < bounds.least
        yield found if is_sure else found._replace(severity=Severity.WARNING)
    yield from _program(launch)


def handed_on(launch: Launch) -> Iterator[Diagnostic]:
    """What is wrong with options that accelerate hands on to torchrun as they are."""
    yield from _limits(launch)
    yield from _formats(launch)
    yield from _backend(launch)


def address(launch: Launch, host: str, port: str) -> Iterator[Diagnostic]:
    """The options of a host and a port that are none."""
    for name in (host, port):
        option, text = launch.option(name), text_of(launch.option(name))
        if option is None or text is None:
            continue
        number = whole_of(option)
        if name == host and not _HOST.fullmatch(text.removeprefix("[").removesuffix("]")):
            message, help = f"`{spelt(option)}` cannot be `{text[:40]}`", "write the name or the address of a machine"
        elif name == port and number is not None and not 0 <= number < 2**16:
            message, help = f"`{spelt(option)}` is {number}", "write a port from 1 to 65535"
        else:
            continue
        yield faults.WRONG_VALUE.at(place_of(option), message, _refused(launch), help=(help,))


def nodes_of(launch: Launch) -> Bounds | None:
    """The nodes that `--nnodes` asks for; None where it does not say, or not in a way that torchrun takes."""
    text = text_of(launch.option("nnodes"))
    try:
        parts = [int(part) for part in text.split(":")] if text is not None and len(text) < 20 else []
    except ValueError:
        return None
    return Bounds(parts[0], parts[-1]) if len(parts) in (1, 2) else None


def is_static(launch: Launch) -> bool | None:
    """Whether the nodes get their ranks from the command line; None where that cannot be told."""
    backend = launch.option("rdzv_backend")
    if launch.option("standalone") is not None:
        return False
    if backend is None:
        return None if launch.open else True
    text = text_of(backend)
    return None if text is None else text == "static"


def has_no_place(launch: Launch) -> bool:
    """Whether nothing says where the nodes meet."""
    return not any(launch.option(name) for name in ("rdzv_endpoint", "master_addr", "rdzv_conf", "standalone"))


def _refused(launch: Launch) -> str:
    return f"{launch.alias} refuses to start"


def _nodes(launch: Launch) -> Iterator[Diagnostic]:
    option, text = launch.option("nnodes"), text_of(launch.option("nnodes"))
    if option is None or text is None:
        return
    bounds = nodes_of(launch)
    if bounds is None:
        message, help = f"`--nnodes` cannot be `{text[:40]}`", "write a number, or `MIN:MAX`"
    elif bounds.least < 1:
        message, help = f"`--nnodes` is {bounds.least}", "write `1`, or the number of nodes"
    elif bounds.most < bounds.least:
        message = f"at least {plural(bounds.least, 'node')}, and at most {bounds.most}"
        help = f"write `--nnodes={bounds.most}:{bounds.least}`"
    else:
        return
    yield faults.WRONG_VALUE.at(place_of(option), message, _refused(launch), help=(help,))


def _processes(launch: Launch) -> Iterator[Diagnostic]:
    option, text = launch.option("nproc_per_node"), text_of(launch.option("nproc_per_node"))
    if option is None or text is None or text in (*_PROCESSES, *_VENDORS):
        return
    number = whole_of(option)
    if number is None:
        help = "`gpu` counts the cards" if text in ("cuda", "gpus", "all") else "write a number, `gpu`, `cpu` or `auto`"
        message = f"`{spelt(option)}` cannot be `{text[:40]}`"
    elif number < 1:
        message, help = f"`{spelt(option)}` is {number}", "write the number of cards, or `gpu`"
    else:
        return
    yield faults.WRONG_VALUE.at(place_of(option), message, _refused(launch), help=(help,))


def _limits(launch: Launch) -> Iterator[Diagnostic]:
    """Numbers below what they count."""
    restarts, interval = launch.option("max_restarts"), launch.option("monitor_interval")
    number = whole_of(restarts)
    if restarts is not None and number is not None and number < 0:
        yield faults.WRONG_VALUE.at(place_of(restarts), f"`{spelt(restarts)}` is {number}", _refused(launch))
    text = text_of(interval)
    try:
        is_positive = text is None or 0 < float(text)
    except ValueError:
        return  # its type is told of
    if interval is not None and not is_positive:
        message = f"`{spelt(interval)}` is {text}, not more than 0"
        yield faults.WRONG_VALUE.at(place_of(interval), message, _refused(launch))


def _formats(launch: Launch) -> Iterator[Diagnostic]:
    """Values with a form of their own."""
    for name, is_fine, help in (
        ("redirects", _is_streams, "write `3`, or `0:3,1:2`: which streams of which rank"),
        ("tee", _is_streams, "write `3`, or `0:3,1:2`: which streams of which rank"),
        ("local_ranks_filter", _is_ranks, "write numbers of ranks: `0,1`"),
        ("rdzv_conf", _is_pairs, "write `KEY=VALUE,KEY=VALUE`"),
    ):
        option, text = launch.option(name), text_of(launch.option(name))
        if option is not None and text is not None and not is_fine(text):
            message = f"`{spelt(option)}` cannot be `{text[:40]}`"
            yield faults.WRONG_VALUE.at(place_of(option), message, _refused(launch), help=(help,))


def _is_streams(text: str) -> bool:
    return _STREAMS.fullmatch(text) is not None


def _is_ranks(text: str) -> bool:
    return not text or all(part.strip().lstrip("+-").isdecimal() for part in text.split(","))


def _is_pairs(text: str) -> bool:
    pairs = [pair.partition("=") for pair in text.split(",")] if text.strip() else []
    return all(key.strip() and value.strip() for key, _, value in pairs)


def _backend(launch: Launch) -> Iterator[Diagnostic]:
    option, text = launch.option("rdzv_backend"), text_of(launch.option("rdzv_backend"))
    if option is None or text is None or text in _BACKENDS or launch.option("standalone") is not None:
        return
    near = nearest(text, _BACKENDS)
    help = (f"did you mean `{near}`?",) if near else ("`c10d` needs nothing beside torch",)
    message = f"torch has no rendezvous `{text[:40]}`"
    found = faults.WRONG_VALUE.at(place_of(option), message, _refused(launch), help=help)
    yield found if near or not text else found._replace(severity=Severity.WARNING)  # a plug-in may have it


def _endpoint(launch: Launch) -> Iterator[Diagnostic]:
    """An address that is none, or has no port, which only `c10d` adds."""
    option = launch.option("rdzv_endpoint")
    text = (text_of(option) or "").strip()
    if option is None or not text or launch.option("standalone") is not None:
        return
    host, port = _parts(text)
    if not _HOST.fullmatch(host) or (port is not None and not (port.isdecimal() and int(port[:9]) < 2**16)):
        message = f"`{text[:40]}` is no address with a port"
    elif port is None and is_static(launch):
        message = f"`{text[:40]}` lacks a port"
    else:
        return
    help = ("write `HOST:PORT`, with a port below 65536",)
    yield faults.WRONG_VALUE.at(place_of(option), message, _refused(launch), help=help)


def _parts(endpoint: str) -> tuple[str, str | None]:
    """Host and port of an endpoint, as torch parts them."""
    if endpoint.startswith("[") and endpoint.endswith("]"):
        return endpoint[1:-1], None
    host, colon, port = endpoint.rpartition(":")
    host = host if colon else endpoint
    return host.removeprefix("[").removesuffix("]"), port if colon else None


def _standalone(launch: Launch) -> Iterator[Diagnostic]:
    """Options that `--standalone` takes the place of."""
    alone = launch.option("standalone")
    if alone is None:
        return
    related = (Label(outermost(alone.written.span), "one node, on a free port"),)
    for name, same in _REPLACED.items():
        option = launch.option(name)
        text = text_of(option)
        if option is not None and text is not None and text not in same:
            message = f"`{spelt(option)}` has no effect beside `--standalone`"
            yield faults.INERT_KEY.at(
                outermost(option.written.span), message, related=related, help=("remove one of the two",)
            )


def _rank(launch: Launch) -> Iterator[Diagnostic]:
    """A number of a node that there is not."""
    rank, nodes, bounds = launch.option("node_rank"), launch.option("nnodes"), nodes_of(launch)
    number = whole_of(rank)
    if rank is None or number is None or nodes is None or bounds is None or not is_static(launch):
        return
    if not 0 <= number < max(bounds.most, 1):
        message = f"`{spelt(rank)}` is {number} of {plural(bounds.most, 'node')}"
        related = (Label(outermost(nodes.written.span), plural(bounds.most, "node")),)
        help = (f"nodes are counted from 0 to {bounds.most - 1}",)
        yield faults.CONFLICTING_SETTINGS.at(place_of(rank), message, "no such node", related=related, help=help)


def _passed_over(launch: Launch) -> Iterator[Diagnostic]:
    """A master that nodes which agree among themselves do not read. A rank beside it is a habit, and harms nobody."""
    backend, option = launch.option("rdzv_backend"), launch.option("master_addr")
    if backend is None or option is None or is_static(launch) is not False or launch.option("rdzv_endpoint") is None:
        return  # without an endpoint there is worse to tell
    related = (Label(outermost(backend.written.span), "the nodes settle who is first"),)
    message = f"`{spelt(option)}` has no effect beside `--rdzv-backend`"
    yield faults.INERT_KEY.at(outermost(option.written.span), message, related=related, help=("remove it",))


def _meeting(launch: Launch) -> Iterator[Diagnostic]:
    """Where several nodes meet."""
    nodes, bounds = launch.option("nnodes"), nodes_of(launch)
    if nodes is None or bounds is None or bounds.most < max(2, bounds.least):
        return
    count = bounds.most
    related = (Label(outermost(nodes.written.span), plural(count, "node")),)
    looped = _at_loopback(launch)
    if looped is not None:
        message = f"{plural(count, 'node')} meet at `{looped[1]}`"
        help = ("name the first node: `--rdzv-endpoint=HOST:PORT`",)
        yield faults.CONFLICTING_SETTINGS.at(
            outermost(looped[0].value.span if looped[0].value is not None else looped[0].written.span),
            message, "each node waits for itself", related=related, help=help,
        )  # fmt: skip
        return
    alone, address = launch.option("standalone"), launch.option("master_addr")
    if alone is not None:
        message = f"`--standalone` beside {plural(count, 'node')}"
        yield faults.CONFLICTING_SETTINGS.at(
            outermost(alone.written.span), message, "each node is a job of its own", related=related,
            help=("remove it, and write `--rdzv-endpoint=HOST:PORT`",),
        )  # fmt: skip
    elif launch.open or launch.option("rdzv_endpoint"):
        return
    elif address is not None and text_of(launch.option("rdzv_backend")) == "c10d":
        message = f"`{spelt(address)}` is not read with `c10d`"
        backend = launch.option("rdzv_backend")
        more = (*related, Label(place_of(backend))) if backend is not None else related
        yield faults.CONFLICTING_SETTINGS.at(
            outermost(address.written.span), message, "each node waits for itself", related=more,
            help=("write `--rdzv-endpoint=HOST:PORT`",),
        )  # fmt: skip
    elif address is None and launch.option("rdzv_conf") is None:
        message = f"{plural(count, 'node')}, and no place to meet"
        help = ("write `--rdzv-backend=c10d --rdzv-endpoint=HOST:PORT`",)
        yield faults.MISSING_KEY.at(outermost(nodes.written.span), message, "the master becomes 127.0.0.1", help=help)


def _at_loopback(launch: Launch) -> tuple[Option, str] | None:
    """The option that names an address which each node has for itself, and that address."""
    for name in ("rdzv_endpoint", "master_addr"):
        option = launch.option(name)
        host = loopback_of(option)
        if option is not None and host is not None:
            return option, host
    return None


def loopback_of(option: Option | None) -> str | None:
    """The host of an address, if that is the machine itself, whichever port the run may choose; None where the
    environment may have another.
    """
    word = option.value if option is not None else None
    first = word.pieces[0] if word is not None and word.pieces else None
    if word is None or not isinstance(first, Literal) or first.default_of:
        return None
    host = word.known if word.known in LOOPBACK else word.prefix.rpartition(":")[0]
    return host if host in LOOPBACK else None


def _program(launch: Launch) -> Iterator[Diagnostic]:
    """A program that is to be a module, and is to be run without Python."""
    module, bare = launch.option("module"), launch.option("no_python")
    if module is not None and bare is not None and launch.option("run_path") is None:
        message = f"`{spelt(module)}` beside `{spelt(bare)}`"
        related = (Label(outermost(bare.written.span)),)
        help = ("remove one of the two",)
        yield faults.CONFLICTING_SETTINGS.at(
            outermost(module.written.span), message, _refused(launch), related=related, help=help
        )

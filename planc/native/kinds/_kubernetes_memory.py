"""The memory of pods: what ranks and their loaders share, and what cards of a network lock."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Fault, Label, Severity
from planc.native import faults
from planc.native.kinds._kubernetes_pods import Number, Pods, maps
from planc.native.saying import is_on, whole
from planc.native.tree import Entry, Map, Scalar

#: An amount of memory or cores, as the API reads it.
QUANTITY = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+\.?\d*)?", re.ASCII)

#: Units of an amount that make it larger.
_UNITS = {
    **{letter: 1000**power for power, letter in enumerate(("", "k", "M", "G", "T", "P", "E"))},
    **{f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", 1)},
}

#: What a container has at /dev/shm by itself.
_OWN = 64 * 1024**2

#: The rule that says the same of a plan.
_SHARED_MEMORY = Fault("PLN624", "scarce-shared-memory", Severity.WARNING, "")


def check_shared(pods: Pods, main: Map, cards: Number) -> Iterator[Diagnostic]:
    """A container's own 64 MiB, by which several ranks and their loaders do not come far."""
    if is_on(pods.spec, "hostIPC"):
        return
    mounts = [mount for mount in maps(main, "volumeMounts") if mount.value("mountPath") in ("/dev/shm", "/dev/shm/")]
    volumes = {volume.value("name"): volume for volume in maps(pods.spec, "volumes")}
    mounted = volumes.get(mounts[0].value("name")) if mounts else None
    help = (
        "mount memory at /dev/shm: a volume `emptyDir: {medium: Memory, sizeLimit: 16Gi}`, and `mountPath: /dev/shm`",
    )
    if not mounts:
        place = main.find("name")
        at = place.value.span if place is not None else main.span._replace(end=main.span.start + 1)
        related = (Label(cards.span, plural(cards.value, "card")),)
        message = f"64 MiB of shared memory for {plural(cards.value, 'rank')}"
        yield _SHARED_MEMORY.at(at, message, "what a container has by itself", related=related, help=help)
    elif mounted is not None:
        empty = mounted.map("emptyDir")
        if empty is not None and empty.find("medium") is None:
            entry = mounted.find("emptyDir")
            assert entry is not None  # it is the map
            message = "shared memory on a disk"
            label = "without `medium: Memory` it is a folder of the node's disk"
            yield _SHARED_MEMORY.at(entry.key.span, message, label, help=("write `medium: Memory`",))
        elif empty is not None:
            yield from _check_size(empty.find("sizeLimit"), cards)


def _check_size(limit: Entry | None, cards: Number) -> Iterator[Diagnostic]:
    """Memory at /dev/shm that is no more than what is there without it; a limit of 0 is none."""
    size = None if limit is None else _bytes_of(limit)
    if limit is not None and size is not None and 0 < size <= _OWN:
        related = (Label(cards.span, plural(cards.value, "card")),)
        message = f"{limit.value.span.text[:20]} of shared memory for {plural(cards.value, 'rank')}"
        label = "a container has 64 MiB by itself"
        help = ("write `sizeLimit: 16Gi`",)
        yield _SHARED_MEMORY.at(limit.value.span, message, label, related=related, help=help)


def _bytes_of(entry: Entry) -> float | None:
    """The bytes of an amount; None if it is none, or one of parts of a byte."""
    value = entry.value.value if isinstance(entry.value, Scalar) else None
    match = QUANTITY.fullmatch(str(value)) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
    unit = None if match is None else _UNITS.get(match[2] or "")
    return None if match is None or unit is None or len(match[1]) > 20 else float(match[1]) * unit


def check_locked(pods: Pods, main: Map) -> Iterator[Diagnostic]:
    limits = main.map("resources", "limits")
    card = (
        next((each for each in limits.entries if each.name.startswith("rdma/")), None) if limits is not None else None
    )
    if card is None or is_on(main, "securityContext", "privileged"):
        return
    added = main.find("securityContext", "capabilities", "add")
    capabilities = added.value.span.text if added is not None else ""
    user = main.find("securityContext", "runAsUser") or pods.spec.find("securityContext", "runAsUser")
    if not any(name in capabilities for name in ("IPC_LOCK", "ALL")):
        help = ("write `securityContext: {capabilities: {add: [IPC_LOCK]}}`",)
        message = f"`{card.name}` without the right to lock memory"
        yield faults.HAMPERED_PODS.at(card.key.span, message, "NCCL falls back to sockets", help=help)
    elif whole(user) and added is not None and user is not None:
        related = (Label(user.value.span, "not root"),)
        message = f"`IPC_LOCK` has no effect for user {whole(user)}"
        label = "capabilities that are added are root's"
        help = ("run as root, or raise the nodes' limit of locked memory",)
        yield faults.HAMPERED_PODS.at(added.value.span, message, label, related=related, help=help)

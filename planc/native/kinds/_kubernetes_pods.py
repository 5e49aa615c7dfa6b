"""The pods of a job of Kubernetes: how many there are and what they have, whichever kind of object makes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from planc.native.kinds import _launcher_checks
from planc.native.kinds._kubernetes_commands import run_of
from planc.native.kinds._options import place_of, spelt, whole_of
from planc.native.saying import whole
from planc.native.shell.embedded import outermost
from planc.native.shell.launching import Launch
from planc.native.shell.options import Option
from planc.native.tree import PLACEHOLDER, Entry, Map, Node, Scalar, Seq
from planc.source import Span

PYTORCHJOB, TRAINJOB, JOBSET, JOB = "PyTorchJob", "TrainJob", "JobSet", "Job"
RUNTIMES = ("TrainingRuntime", "ClusterTrainingRuntime")

#: The group of each kind, and the version that planc knows.
GROUPS = {
    PYTORCHJOB: ("kubeflow.org", "v1"), TRAINJOB: ("trainer.kubeflow.org", "v1alpha1"),
    "TrainingRuntime": ("trainer.kubeflow.org", "v1alpha1"),
    "ClusterTrainingRuntime": ("trainer.kubeflow.org", "v1alpha1"),
    JOBSET: ("jobset.x-k8s.io", "v1alpha2"), JOB: ("batch", "v1"),
}  # fmt: skip

#: What the operators call the container that trains.
_CONTAINERS = {PYTORCHJOB: "pytorch", TRAINJOB: "node", "TrainingRuntime": "node", "ClusterTrainingRuntime": "node"}

#: What a shell script or a tool that fills in templates leaves.
_GAP = re.compile(r"\$\{?\w+|\{\{")

#: Keys under which `$NAME` is the container's own matter.
_OF_THE_CONTAINER = ("command", "args", "env")

#: Launchers, and their option that says how many nodes they wait for.
_NODES_OF = {"torchrun": "nnodes", "accelerate": "num_machines", "deepspeed": "num_nodes"}

#: The options of torchrun where the image says that it is started.
_PROCESSES = re.compile(r"--nproc[-_]per[-_]node(?:=|\s+|$)(\d{1,6})?")
_NODES = re.compile(r"--nnodes(?:=|\s+|$)(\d{1,6}(?![\d:]))?")


class Number(NamedTuple):
    """A number that a file writes, and where."""

    entry: Span
    span: Span
    value: int
    key: str


class Pods(NamedTuple):
    """Pods of one template.

    role: what the object calls them, `Worker`; place: where that stands; counted: where their number is written;
    number: how many there are, None where that is not known; spec: of the pod; main: the container that trains.
    """

    role: str
    place: Span
    counted: Entry | None
    number: int | None
    spec: Map
    main: Map | None


def filled(node: Node) -> Node:
    """A tree in which the gaps of a template are such, but in what the container's own shell fills in."""
    if isinstance(node, Map):
        entries = (
            each if each.name in _OF_THE_CONTAINER else each._replace(value=filled(each.value)) for each in node.entries
        )
        return node._replace(entries=tuple(entries))
    if isinstance(node, Seq):
        return node._replace(items=tuple(map(filled, node.items)))
    if isinstance(node.value, str) and len(node.value) < 400 and _GAP.search(node.value):
        return node._replace(value=PLACEHOLDER)
    return node


def gaps(node: Node) -> Iterator[Scalar]:
    """The gaps of a tree."""
    if isinstance(node, Map):
        for each in node.entries:
            yield from gaps(each.value)
    elif isinstance(node, Seq):
        for item in node.items:
            yield from gaps(item)
    elif node.is_placeholder:
        yield node


def maps(node: Map | None, *path: str) -> tuple[Map, ...]:
    """The objects in the list at a path."""
    found = node.find(*path) if node is not None else None
    items = found.value.items if found is not None and isinstance(found.value, Seq) else ()
    return tuple(item for item in items if isinstance(item, Map))


def pods_of(kind: str, root: Map) -> tuple[Pods, ...]:
    """All pods of an object."""
    if kind == PYTORCHJOB:
        return tuple(_replicas(root))
    if kind == JOB:
        return tuple(_of_job(kind, "job", root.map("spec"), root.span._replace(end=root.span.start + 1), 1))
    path = ("spec", "replicatedJobs") if kind == JOBSET else ("spec", "template", "spec", "replicatedJobs")
    found: list[Pods] = []
    for replicated in maps(root, *path):
        name = replicated.find("name")
        role = str(replicated.value("name") or "job")
        place = name.value.span if name is not None else replicated.span._replace(end=replicated.span.start + 1)
        times = _count(replicated.find("replicas"), 1)
        found.extend(_of_job(kind, role, replicated.map("template", "spec"), place, times))
    return tuple(found)


def _replicas(root: Map) -> Iterator[Pods]:
    roles = root.map("spec", "pytorchReplicaSpecs")
    for entry in roles.entries if roles is not None else ():
        spec = entry.value.map("template", "spec") if isinstance(entry.value, Map) else None
        if isinstance(entry.value, Map) and spec is not None:
            counted = entry.value.find("replicas")
            yield Pods(entry.name, entry.key.span, counted, _count(counted, 1), spec, main_of(PYTORCHJOB, spec))


def _of_job(kind: str, role: str, spec: Map | None, place: Span, times: int | None) -> Iterator[Pods]:
    """The pods of a Job: as many at a time as `parallelism` says, and never more than have yet to complete."""
    pod = spec.map("template", "spec") if spec is not None else None
    if spec is None or pod is None:
        return
    counted, completions = spec.find("parallelism"), spec.find("completions")
    each = _count(counted, 1)
    needed = each if completions is None else _count(completions, 1)
    if each is None or needed is None:
        each = None
    elif needed < each:
        counted, each = completions, needed
    count = each * times if each is not None and times is not None else None
    yield Pods(role, place, counted, count, pod, main_of(kind, pod))


def _count(entry: Entry | None, default: int) -> int | None:
    if entry is None:
        return default
    found = whole(entry)
    return found if found is not None and 0 <= found < 10**6 else None


def main_of(kind: str, spec: Map) -> Map | None:
    """The container that trains: the one that the operator looks for, else the one with cards, else the first."""
    containers = maps(spec, "containers")
    named = [each for each in containers if each.value("name") == _CONTAINERS.get(kind, "")]
    with_cards = [each for each in containers if cards_of(each) is not None]
    return next(iter((*named, *with_cards, *containers)), None)


def resource(container: Map, *path: str) -> tuple[Entry, int | None] | None:
    """The cards that a container asks for, and how many; None if it asks for none."""
    resources = container.map(*path)
    for entry in resources.entries if resources is not None else ():
        if entry.name.endswith("/gpu"):
            return entry, _quantity(entry)
    return None


def _quantity(entry: Entry) -> int | None:
    value = entry.value.value if isinstance(entry.value, Scalar) else None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 6:
        return int(value)
    return whole(entry)


def cards_of(container: Map, path: str = "resources") -> Number | None:
    """The cards of a container: its limit, which is what it asks for as well."""
    found = resource(container, path, "limits") or resource(container, path, "requests")
    entry, count = found if found is not None else (None, None)
    if entry is None or count is None or count < 0:
        return None
    return Number(entry.span, entry.value.span, count, entry.name)


def processes_of(container: Map) -> Number | None:
    """The processes that the command of a container starts in it, where it is told how many."""
    launch = launch_of(container)
    if launch is None:
        return _option(container, _PROCESSES, "--nproc-per-node")
    found = _launcher_checks.processes_of(launch)
    return None if found is None else _number(*found)


def nodes_of(container: Map) -> Number | None:
    """The nodes that the command of a container waits for, where it is told how many."""
    launch = launch_of(container)
    if launch is None:
        return _option(container, _NODES, "--nnodes")
    option = launch.option(_NODES_OF[launch.launcher])
    count = whole_of(option)
    return None if option is None or count is None or count < 1 else _number(option, count)


def launch_of(container: Map) -> Launch | None:
    """The only launch of a container; None if there is none, or several, or it may not run."""
    run = run_of(container)
    found = [each for each in run.launches if each.launcher in _NODES_OF] if run is not None else []
    is_sure = len(found) == 1 and not found[0].command.within("loop", "if", "case", "function")
    return found[0] if is_sure else None


def _number(option: Option, count: int) -> Number:
    written = outermost(option.written.origin)
    value = place_of(option)
    entry = written.to(value) if written.source is value.source and written.start <= value.start else value
    return Number(entry, value, count, spelt(option))


def _option(container: Map, option: re.Pattern[str], key: str) -> Number | None:
    """An option of torchrun where the image itself starts that: `--x=8`, or `--x`, `8`."""
    words = list(_words(container.find("args"))) if container.find("command") is None else []
    for at, word in enumerate(words):
        match = option.match(word.value)
        if match is None:
            continue
        if match[1] is not None:
            return Number(word.span, word.span, int(match[1]), key)
        following = words[at + 1] if at + 1 < len(words) and match.end() == len(word.value) else None
        if following is not None and following.value.isdigit() and len(following.value) <= 6:
            return Number(word.span.to(following.span), following.span, int(following.value), key)
        return None
    return None


def _words(entry: Entry | None) -> Iterator[Scalar]:
    items = entry.value.items if entry is not None and isinstance(entry.value, Seq) else ()
    for item in items:
        if isinstance(item, Scalar) and isinstance(item.value, str) and len(item.value) < 100_000:
            yield item
        elif isinstance(item, Scalar) and isinstance(item.value, int) and not isinstance(item.value, bool):
            yield item._replace(value=str(item.value))

"""What is wrong with the pods of a job beside its keys: what the API and the webhooks refuse, and what costs.

Reasons are in training operator 1.9 (pkg/webhooks/pytorch), the Kubernetes API (PodSpec, ResourceRequirements) and
torch.distributed.run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.amounts import either, plural
from planc.diagnostics.diagnostic import Diagnostic, Edit, Fix, Label, Severity
from planc.diagnostics.names import nearest
from planc.native import faults
from planc.native.kinds import _kubernetes_memory, _kubernetes_nodes
from planc.native.kinds._kubernetes_memory import QUANTITY
from planc.native.kinds._kubernetes_pods import (
    GROUPS,
    JOB,
    PYTORCHJOB,
    TRAINJOB,
    Number,
    Pods,
    cards_of,
    launch_of,
    maps,
    nodes_of,
    processes_of,
    resource,
)
from planc.native.kinds._options import place_of, whole_of
from planc.native.kinds._torchrun_checks import is_static
from planc.native.saying import is_on, whole
from planc.native.tree import Entry, Map, Node, Scalar

_ROLES = ("Master", "Worker")
_NPROC_WORDS = ("auto", "cpu", "gpu")
_POLICIES = {PYTORCHJOB: ("Always", "OnFailure", "Never", "ExitCode"), JOB: ("OnFailure", "Never")}
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")


def check_version(kind: str, root: Map) -> Iterator[Diagnostic]:
    """A version of the API that planc, and today's operator, does not serve."""
    entry = root.find("apiVersion")
    due = "/".join(GROUPS[kind])
    help = (f"write `apiVersion: {due}`",)
    if entry is None:
        at = root.find("kind")
        if at is not None:
            yield faults.MISSING_KEY.at(at.key.span, f"a {kind} lacks `apiVersion`", "the API refuses it", help=help)
    elif root.value("apiVersion") != due and not (isinstance(entry.value, Scalar) and entry.value.is_placeholder):
        fix = Fix(f"write `{due}`", (Edit(entry.value.span, due),), safe=False)
        fixes = (fix,) if isinstance(entry.value, Scalar) else ()
        message = f"{kind} is served as `{due}`"
        yield faults.WRONG_VALUE.at(entry.value.span, message, "no such version", help=help, fixes=fixes)


def check_pytorchjob(root: Map, pods: tuple[Pods, ...]) -> Iterator[Diagnostic]:
    """What the webhook of the training operator refuses."""
    name = root.find("metadata", "name")
    text = root.value("metadata", "name")
    if name is not None and isinstance(text, str) and not _NAME.fullmatch(text):
        label = "small letters, digits and `-`, a letter first"
        yield faults.WRONG_VALUE.at(name.value.span, f"`{text[:70]}` cannot name a PyTorchJob", label)
    yield from _check_processes(root)
    yield from _check_roles(root)
    yield from _kubernetes_nodes.check_roles(root, pods)
    for each in pods:
        yield from _check_containers(each)


def _check_processes(root: Map) -> Iterator[Diagnostic]:
    entry, old = root.find("spec", "nprocPerNode"), root.find("spec", "elasticPolicy", "nProcPerNode")
    if entry is not None and old is not None:
        related = (Label(entry.key.span, "the new name"),)
        message = "`nProcPerNode` stands beside `nprocPerNode`"
        help = ("remove it from `elasticPolicy`",)
        yield faults.OLD_AND_NEW_KEY.at(old.key.span, message, "the API refuses both", related=related, help=help)
    elif old is not None:
        message = "`nProcPerNode` of `elasticPolicy` has another name"
        help = (f'write `nprocPerNode: "{old.value.span.text[:20]}"` in `spec`',)
        yield faults.RENAMED_KEY.at(old.key.span, message, "deprecated", help=help)
    value = entry.value.value if entry is not None and isinstance(entry.value, Scalar) else None
    if entry is None or not isinstance(value, str) or value in _NPROC_WORDS:
        return
    if not value.isdigit() or int(value[:9]) == 0:
        near = nearest(value.lower(), _NPROC_WORDS)
        help = (f'write `"{near or "auto"}"`, or a number in quotes: `"8"`',)
        message = f"`nprocPerNode` cannot be `{value[:40]}`"
        yield faults.WRONG_VALUE.at(entry.value.span, message, "torchrun does not start", help=help)


def _check_roles(root: Map) -> Iterator[Diagnostic]:
    roles, where = root.map("spec", "pytorchReplicaSpecs"), root.find("spec", "pytorchReplicaSpecs")
    if roles is None or where is None:
        return
    for entry in roles.entries:
        if entry.name not in _ROLES:
            near = nearest(entry.name.title(), [role for role in _ROLES if roles.find(role) is None])
            fixes = (Fix(f"write `{near}`", (Edit(entry.key.span, near),), safe=False),) if near else ()
            help = (f"write `{near}`",) if near else ("the roles are `Master` and `Worker`",)
            message = f"a PyTorchJob has no role `{entry.name[:40]}`"
            yield faults.UNKNOWN_KEY.at(entry.key.span, message, "the API refuses it", help=help, fixes=fixes)
    master = roles.find("Master")
    if master is not None and isinstance(master.value, Map):
        counted = master.value.find("replicas")
        count = whole(counted)
        if counted is None:
            message = "`Master` lacks `replicas`"
            yield faults.MISSING_KEY.at(master.key.span, message, "the API wants 1", help=("write `replicas: 1`",))
        elif count is not None and count != 1:
            help = ("write `replicas: 1`, and the others under `Worker`",)
            yield faults.WRONG_VALUE.at(counted.value.span, f"{count} masters", "a job has one master", help=help)
    for role in roles.entries:
        counted = role.value.find("replicas") if isinstance(role.value, Map) and role.name != "Master" else None
        count = whole(counted)
        if counted is not None and count is not None and count < 1:
            yield faults.WRONG_VALUE.at(counted.value.span, f"`replicas` is {count}", "1 or more")
    elastic = root.find("spec", "elasticPolicy")
    if elastic is not None and isinstance(elastic.value, Map) and roles.find("Worker") is None:
        message = "`elasticPolicy` without `Worker`"
        yield faults.MISSING_KEY.at(elastic.key.span, message, "the API refuses it", help=("name the pods `Worker`",))
    if elastic is not None and isinstance(elastic.value, Map):
        yield from _check_bounds(elastic.value)
        yield from _check_master(elastic.value, roles)


def _check_bounds(elastic: Map) -> Iterator[Diagnostic]:
    least, most = elastic.find("minReplicas"), elastic.find("maxReplicas")
    low, high = whole(least), whole(most)
    if least is not None and most is not None and low is not None and high is not None and high < low:
        related = (Label(most.value.span, f"{high} at most"),)
        message = f"at least {low} replicas, and at most {high}"
        yield faults.CONFLICTING_SETTINGS.at(least.value.span, message, "torchrun does not start", related=related)


def _check_master(elastic: Map, roles: Map) -> Iterator[Diagnostic]:
    """A master beside the workers of an elastic job, whose bounds are the number of workers unless they are said."""
    master, workers = roles.find("Master"), roles.map("Worker")
    if master is None or workers is None:
        return
    counted, most = workers.find("replicas"), elastic.find("maxReplicas")
    count = 1 if counted is None else whole(counted)
    limit = count if most is None else whole(most)
    if count is None or limit is None or not 0 < limit <= count:
        return
    place = most.value.span if most is not None else counted.value.span if counted is not None else None
    related = (Label(place, plural(limit, "node") + " at most"),) if place is not None else ()
    message = f"{plural(count + 1, 'pod')} of an elastic job of at most {limit}"
    help = ("leave `Master` out: one of the workers leads",)
    yield faults.CONFLICTING_SETTINGS.at(master.key.span, message, "one has to wait", related=related, help=help)


def _check_containers(pods: Pods) -> Iterator[Diagnostic]:
    containers = maps(pods.spec, "containers")
    names = [each.value("name") for each in containers]
    if containers and "pytorch" not in names and None not in names:
        entry = containers[0].find("name")
        if entry is not None and isinstance(entry.value, Scalar) and not entry.value.is_placeholder:
            fix = Fix("write `pytorch`", (Edit(entry.value.span, "pytorch"),), safe=False)
            message = f"`{pods.role}` has no container `pytorch`"
            label = "the operator looks for `pytorch`, and refuses the job"
            yield faults.WRONG_VALUE.at(entry.value.span, message, label, help=("write `name: pytorch`",), fixes=(fix,))
    for each in containers:
        place = each.find("name")
        if place is not None and each.find("image") is None:
            message = f"a container of `{pods.role}` lacks `image`"
            yield faults.MISSING_KEY.at(place.value.span, message, "the API refuses it", help=("write `image: ...`",))


def check_policy(kind: str, owner: Map | None) -> Iterator[Diagnostic]:
    """Words of `restartPolicy`, which no definition lists."""
    entry = owner.find("restartPolicy") if owner is not None else None
    value = owner.value("restartPolicy") if owner is not None else None
    words = _POLICIES.get(kind, _POLICIES[JOB])
    if entry is not None and isinstance(value, str) and value not in words:
        near = nearest(value, words) or words[0]
        fix = Fix(f"write `{near}`", (Edit(entry.value.span, near),), safe=False)
        listed = either([f"`{word}`" for word in words])
        message = f"`restartPolicy` cannot be `{value[:40]}`"
        yield faults.WRONG_VALUE.at(
            entry.value.span, message, f"it is {listed}", help=(f"write `{near}`",), fixes=(fix,)
        )


def check_job_policy(pods: Pods) -> Iterator[Diagnostic]:
    """A plain Job has to say what becomes of a failed pod: the default of pods is none of a Job."""
    if pods.spec.find("restartPolicy") is None:
        at = pods.spec.entries[0].key.span if pods.spec.entries else pods.place
        help = ("write `restartPolicy: Never`",)
        yield faults.MISSING_KEY.at(at, "the pods of a Job lack `restartPolicy`", "the API refuses it", help=help)


def check_pods(pods: Pods, said: Number | None, total: int | None = None) -> Iterator[Diagnostic]:
    """What costs, or stops the ranks, in the pods of one template.

    said: their processes, as the object says; total: pods of all templates, where these are one job.
    """
    main = pods.main
    for container in (*maps(pods.spec, "containers"), *maps(pods.spec, "initContainers")):
        yield from check_cards(container, "resources")
        yield from check_amounts(container, "resources")
        yield from _check_variables(container)
    for volume in maps(pods.spec, "volumes"):
        yield from _check_amount(volume.find("emptyDir", "sizeLimit"))
    if main is None:
        return
    cards = cards_of(main)
    command = processes_of(main)
    if cards is not None and (command or said) is not None:
        yield from check_counts(command or said, cards)
    yield from _check_twice(said, command, main)
    yield from _check_waiting(pods, main, total)
    yield from _check_rank(pods, main)
    if cards is not None and 1 < cards.value:
        yield from _kubernetes_memory.check_shared(pods, main, cards)
    yield from _check_network(pods, cards)
    yield from _kubernetes_memory.check_locked(pods, main)


def check_counts(processes: Number | None, cards: Number) -> Iterator[Diagnostic]:
    """Processes of a pod against its cards."""
    if processes is None or processes.value == cards.value or not cards.value:
        return
    related = (Label(cards.span, plural(cards.value, "card")),)
    counts = f"{plural(processes.value, 'process')} a pod for {plural(cards.value, 'card')}"
    help = (f"write {cards.value} processes, or `{cards.key}: {processes.value}`",)
    if cards.value < processes.value:
        over = plural(processes.value - cards.value, "process")
        label = f"{over} find no card: invalid device ordinal"
        yield faults.CONFLICTING_SETTINGS.at(processes.span, counts, label, related=related, help=help)
    else:
        idle = plural(cards.value - processes.value, "card")
        label = f"{idle} of each pod stand{'s' if cards.value - processes.value == 1 else ''} idle"
        yield faults.INERT_KEY.at(processes.span, counts, label, related=related, help=help)


def _check_twice(said: Number | None, command: Number | None, container: Map) -> Iterator[Diagnostic]:
    """Processes of a pod that the object says, for torchrun in a variable, and the command otherwise."""
    launch = launch_of(container)
    if said is None or command is None or said.value == command.value or launch is None:
        return
    if launch.launcher == "torchrun":
        related = (Label(command.entry, "torchrun takes its option"),)
        message = f"`{said.key}` is {said.value}, and the command says {command.value}"
        help = (f"write {command.value}, or remove `{command.key}`",)
        yield faults.INERT_KEY.at(said.span, message, "nothing reads it", related=related, help=help)


def check_cards(container: Map, path: str) -> Iterator[Diagnostic]:
    """Cards are whole, and as many are asked for as are allowed."""
    limit, request = resource(container, path, "limits"), resource(container, path, "requests")
    for found in (limit, request):
        if found is not None and found[1] is None:
            entry = found[0]
            value = entry.value.value if isinstance(entry.value, Scalar) else None
            if isinstance(value, str) and not re.fullmatch(r"\d+[kMGT]?", value):  # the table tells of other types
                message = f"`{entry.name}` is {str(value)[:40]}"
                yield faults.WRONG_VALUE.at(entry.value.span, message, "cards are whole: the API refuses it")
    if request is None or (limit is not None and limit[1] == request[1]):
        return
    entry, count = request
    if limit is None and count:
        help = (f"write `{entry.name}: {count}` under `limits`, too",)
        message = f"{plural(count, 'card')} requested without a limit"
        yield faults.MISSING_KEY.at(entry.key.span, message, "the API refuses it", help=help)
    elif limit is not None and count is not None and (limit[1] is not None or _is_empty(limit[0].value)):
        related = (Label(limit[0].key.span, f"a limit of {limit[1] or 0}"),)
        help = (f"write `{entry.name}: {count}` under `limits`, too",)
        message = f"{plural(count, 'card')} requested, and a limit of {limit[1] or 0}"
        yield faults.CONFLICTING_SETTINGS.at(
            entry.value.span, message, "the API refuses it: they have to be equal", related=related, help=help
        )


def check_amounts(container: Map, path: str) -> Iterator[Diagnostic]:
    """Amounts of memory, cores and devices that are none; of cards more is told."""
    for kind in ("limits", "requests"):
        resources = container.map(path, kind)
        for entry in resources.entries if resources is not None else ():
            if not entry.name.endswith("/gpu"):
                yield from _check_amount(entry)


def _check_amount(entry: Entry | None) -> Iterator[Diagnostic]:
    value = entry.value.value if entry is not None and isinstance(entry.value, Scalar) else None
    if entry is None or not isinstance(value, str) or QUANTITY.fullmatch(value):
        return
    unit = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT])i?B?", value.strip(), re.IGNORECASE)
    meant = f"{unit[1]}{unit[2].upper()}i" if unit is not None else None
    fixes = (Fix(f"write `{meant}`", (Edit(entry.value.span, meant),), safe=False),) if meant is not None else ()
    help = (f"write `{meant or '64Gi'}`",)
    message = f"`{entry.name}` cannot be `{value[:40]}`"
    yield faults.WRONG_VALUE.at(entry.value.span, message, "no amount: the API refuses it", help=help, fixes=fixes)


def _is_empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None


def _check_variables(container: Map) -> Iterator[Diagnostic]:
    first: dict[str, Entry] = {}
    for variable in maps(container, "env"):
        name, value = variable.find("name"), variable.value("name")
        if name is None or not isinstance(value, str):
            continue
        other = first.setdefault(value, name)
        if other is not name:
            related = (Label(other.value.span, "first here"),)
            found = faults.DUPLICATE_KEY.at(
                name.value.span, f"`{value[:60]}` is set twice", "this one counts", related=related
            )
            yield found._replace(severity=Severity.WARNING)


def _check_waiting(pods: Pods, main: Map, total: int | None) -> Iterator[Diagnostic]:
    """Nodes that torchrun waits for; `total`: pods of all roles, where these are one job."""
    nodes, number = nodes_of(main), pods.number if total is None else total
    if nodes is None or pods.number is None or number is None or nodes.value == number:
        return
    place = pods.counted.value.span if pods.counted is not None else pods.place
    related = (Label(place, plural(pods.number, "pod")),)
    help = (f"write `{nodes.key}={number}`",)
    label = "the launcher waits for the others" if number < nodes.value else "the others are left out"
    message = f"`{nodes.key}={nodes.value}` for {plural(number, 'pod')}"
    yield faults.CONFLICTING_SETTINGS.at(nodes.span, message, label, related=related, help=help)


def _check_rank(pods: Pods, main: Map) -> Iterator[Diagnostic]:
    """A number of a node that is written in the template of several pods."""
    launch = launch_of(main)
    if launch is None or launch.launcher == "deepspeed" or pods.number is None or pods.number < 2:
        return
    option = launch.option("node_rank" if launch.launcher == "torchrun" else "machine_rank")
    number = whole_of(option)
    if option is None or number is None or (launch.launcher == "torchrun" and not is_static(launch)):
        return
    place = pods.counted.value.span if pods.counted is not None else pods.place
    related = (Label(place, plural(pods.number, "pod")),)
    help = ("leave it out where an operator tells each pod, or write `$(JOB_COMPLETION_INDEX)`",)
    message = f"each of {plural(pods.number, 'pod')} is number {number}"
    label = "the others are waited for"
    yield faults.CONFLICTING_SETTINGS.at(place_of(option), message, label, related=related, help=help)


def _check_network(pods: Pods, cards: Number | None) -> Iterator[Diagnostic]:
    host = pods.spec.find("hostNetwork")
    if host is None or not is_on(pods.spec, "hostNetwork"):
        return
    if pods.number == 1 and pods.role not in _ROLES:
        return
    if pods.spec.value("dnsPolicy") != "ClusterFirstWithHostNet" and pods.spec.find("dnsPolicy") is None:
        label = "names of the cluster, as that of the master, are not found"
        help = ("write `dnsPolicy: ClusterFirstWithHostNet`",)
        yield faults.HAMPERED_PODS.at(host.key.span, "`hostNetwork` without the cluster's names", label, help=help)
    apart = pods.spec.find("affinity", "podAntiAffinity") or pods.spec.find("topologySpreadConstraints")
    if apart is None and (cards is None or cards.value < 8) and pods.number is not None and 1 < pods.number:
        label = "two of them on one node want the same port"
        help = ("add a `podAntiAffinity` on `kubernetes.io/hostname`",)
        message = f"{plural(pods.number, 'pod')} on the network of nodes that they may share"
        yield faults.HAMPERED_PODS.at(host.key.span, message, label, help=help)


def check_trainjob(root: Map) -> Iterator[Diagnostic]:
    """The numbers of a TrainJob: nodes, processes of each, and its cards."""
    nodes, trainer = root.find("spec", "trainer", "numNodes"), root.map("spec", "trainer")
    count = whole(nodes)
    if nodes is not None and count is not None and count < 1:
        yield faults.WRONG_VALUE.at(nodes.value.span, f"`numNodes` is {count}", "1 or more")
    if trainer is None:
        return
    yield from check_cards(trainer, "resourcesPerNode")
    yield from check_amounts(trainer, "resourcesPerNode")
    yield from _check_variables(trainer)
    cards, processes = (
        cards_of(trainer, "resourcesPerNode"),
        processes_of(trainer) or number_of(trainer, "numProcPerNode"),
    )
    if cards is not None:
        yield from check_counts(processes, cards)
    yield from _check_twice(number_of(trainer, "numProcPerNode"), processes_of(trainer), trainer)
    if nodes is not None and count is not None:
        yield from _kubernetes_nodes.check(trainer, count, Label(nodes.value.span, plural(count, "node")))
    waits = nodes_of(trainer)
    if waits is not None and nodes is not None and count is not None and count != waits.value and 0 < count:
        related = (Label(nodes.value.span, plural(count, "node")),)
        message = f"`{waits.key}={waits.value}` for {plural(count, 'node')}"
        label = "the launcher waits for the others" if count < waits.value else "the others are left out"
        help = (f"write `{waits.key}={count}`",)
        yield faults.CONFLICTING_SETTINGS.at(waits.span, message, label, related=related, help=help)


def number_of(node: Map, *path: str) -> Number | None:
    """A number that the object itself says, in quotes or not."""
    entry = node.find(*path)
    if entry is None or not isinstance(entry.value, Scalar):
        return None
    value = entry.value.value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 6:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        return None
    return Number(entry.span, entry.value.span, value, entry.name)


#: Kinds whose numbers of processes the object itself says, and where.
PROCESSES = {PYTORCHJOB: ("spec", "nprocPerNode"), TRAINJOB: ("spec", "trainer", "numProcPerNode")}

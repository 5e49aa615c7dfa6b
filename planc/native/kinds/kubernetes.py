"""Objects of Kubernetes that start a training: PyTorchJob, TrainJob and its runtimes, JobSet, Job."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.native import faults
from planc.native.keys import Reader, check
from planc.native.kind import OF_THE_PROGRAM, Content, Kind, Options, Recognised
from planc.native.kinds import _kubernetes_checks as checks
from planc.native.kinds import _kubernetes_files, _programs, _references, _script_says, _shell_checks, _written_files
from planc.native.kinds._kubernetes_commands import has_variable, run_of
from planc.native.kinds._kubernetes_pods import (
    GROUPS,
    JOB,
    JOBSET,
    PYTORCHJOB,
    RUNTIMES,
    TRAINJOB,
    Number,
    Pods,
    cards_of,
    filled,
    gaps,
    launch_of,
    maps,
    pods_of,
    processes_of,
    resource,
)
from planc.native.saying import Sayer, quoted
from planc.native.tables import load_table
from planc.native.tree import Entry, Map, Scalar, Tree
from planc.source import Span

#: A broken file is told of if it has two of these: the kind and its group.
_MARKS = (*(name for name in GROUPS if name != JOB), "kubeflow.org", "jobset.x-k8s.io", "batch/v1")

#: Characters of a name of a variable; a longer one is none that anybody reads.
_LONGEST = 200

#: Numbers of processes as texts, which earlier releases of the Kubeflow trainer take (an IntOrString).
_TEXTS = ("auto", "cpu", "gpu")

#: The name of an object, which the plan has as well.
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?")


def recognise(tree: Tree) -> int:
    """How sure it is that one of the objects of a file starts a training."""
    kinds = [_kind_of(root) for root in tree.roots if isinstance(root, Map)]
    if any(kind is not None and kind != JOB for kind in kinds):
        return 90
    with_cards = (cards_of(container) for root in _jobs(tree) for container in _containers(root))
    return 80 if any(cards is not None for cards in with_cards) else 0


def _jobs(tree: Tree) -> Iterator[Map]:
    return (root for root in tree.roots if isinstance(root, Map) and _kind_of(root) == JOB)


def _containers(root: Map) -> Iterator[Map]:
    for pods in pods_of(JOB, root):
        yield from maps(pods.spec, "containers")


def _kind_of(root: Map) -> str | None:
    """The kind of an object, if it is one of those that planc knows, of whichever version or of none."""
    kind, version = root.value("kind"), root.value("apiVersion")
    known = GROUPS.get(kind) if isinstance(kind, str) else None
    if known is None or (isinstance(version, str) and version.partition("/")[0] == known[0]):
        return kind if known is not None else None
    is_another = isinstance(version, str) and "/" in version
    return kind if kind != JOB and not is_another and root.find("spec") is not None else None


def read(tree: Tree, options: Options) -> Content:
    """What the objects say, with their keys checked. Of several jobs, which are several plans, nothing is said."""
    sayer = Sayer()
    jobs: list[tuple[str, Map]] = []
    for root in tree.roots:
        kind = _kind_of(root) if isinstance(root, Map) else None
        if kind is None:
            continue
        whole_tree = filled(root)
        assert isinstance(whole_tree, Map)  # filling keeps the shape
        sayer.report(*_gaps(whole_tree), *_judged(kind, whole_tree))
        jobs.append((kind, whole_tree))
    running = [job for job in jobs if job[0] not in RUNTIMES]
    inside: tuple[Recognised, ...] = ()
    if len(running) == 1:
        _say(*running[0], sayer, options)
        inside = tuple(_inside(tree, *running[0]))
    return sayer.content()._replace(inside=inside)


def _inside(tree: Tree, kind: str, root: Map) -> Iterator[Recognised]:
    """The configurations that the command of a job names, and itself writes or has from a ConfigMap beside it."""
    pods = [each for each in pods_of(kind, root) if each.main is not None and _trains(kind, each)]
    main = pods[0].main if len(pods) == 1 or (kind == PYTORCHJOB and pods) else None
    container = root.map("spec", "trainer") if kind == TRAINJOB else main
    run = run_of(container) if container is not None else None
    launch = launch_of(container) if container is not None else None
    if container is None or run is None or launch is None:
        return
    yield from _written_files.named_by(run.script, launch)
    if container is main:
        yield from _kubernetes_files.named_by(launch, _kubernetes_files.mounted(tree, pods[0].spec, container))


def _gaps(root: Map) -> Iterator[Diagnostic]:
    found = next(gaps(root), None)
    if found is not None:
        label = f"`{found.span.text[:60]}` is yet to be filled in"
        yield faults.UNFILLED_TEMPLATE.at(found.span, "the file is a template with gaps", label)


def _judged(kind: str, root: Map) -> Iterator[Diagnostic]:
    """Everything that is wrong with one object."""
    yield from checks.check_version(kind, root)
    table = "trainingruntime" if kind in RUNTIMES else kind.lower()
    for found in _keys(root if kind != JOB else root.map("spec"), table, kind):
        yield _of_release(found, root) if kind == TRAINJOB else found
    pods = pods_of(kind, root)
    if kind in (JOBSET, *RUNTIMES):
        path = ("spec", "replicatedJobs") if kind == JOBSET else ("spec", "template", "spec", "replicatedJobs")
        for replicated in maps(root, *path):
            yield from _keys(replicated.map("template", "spec"), "job", JOB)
    said = checks.number_of(root, *checks.PROCESSES.get(kind, ("spec", "processes")))
    numbers = [each.number for each in pods]
    total = sum(number or 0 for number in numbers) if kind == PYTORCHJOB and None not in numbers else None
    for each in pods:
        yield from _keys(each.spec, "pod", "Pod")
        for name in ("containers", "initContainers"):
            for container in maps(each.spec, name):
                yield from _container_keys(kind, container)
        yield from checks.check_pods(each, said, total)
        if each.main is not None:
            yield from _commands(kind, each.main)
    yield from _policies(kind, root, pods)
    if kind == PYTORCHJOB:
        yield from checks.check_pytorchjob(root, pods)
    elif kind == TRAINJOB:
        yield from checks.check_trainjob(root)
        trainer = root.map("spec", "trainer")
        yield from _commands(kind, trainer) if trainer is not None else ()


def _of_release(found: Diagnostic, root: Map) -> Diagnostic:
    """A fault of a key; what releases of the trainer refuse of which earlier ones had the same version is no error."""
    entry = root.find("spec", "trainer", "numProcPerNode")
    value = root.value("spec", "trainer", "numProcPerNode")
    if entry is None or found.primary.span != entry.value.span or found.code != faults.WRONG_VALUE.code:
        return found
    if not isinstance(value, str) or not (value in _TEXTS or value.isdigit()):
        return found
    label = found.primary._replace(text="refused by the newest releases of the Kubeflow trainer alone")
    return found._replace(severity=Severity.WARNING, primary=label)


def _commands(kind: str, container: Map) -> Iterator[Diagnostic]:
    """What is wrong with the command of a container. Where nodes meet an operator says, a variable, or the image."""
    run = run_of(container)
    is_told = kind in (PYTORCHJOB, TRAINJOB, *RUNTIMES) or has_variable(container, "PET_")
    is_told = is_told or container.find("command") is None
    for found in _shell_checks.check(run.script, run.launches) if run is not None else ():
        if not (is_told and found.code == faults.MISSING_KEY.code and "no place to meet" in found.message):
            yield found


def _started(container: Map, sayer: Sayer, options: Options) -> None:
    """What the program of a container is told, and the files that it names: they may be in the image alone."""
    run = run_of(container)
    if run is None:
        return
    _references.refer(run.script, run.launches, sayer, _written_files.made_by(run.script), here=False)
    _written_files.check(run.script, run.launches, sayer, options)
    launch = launch_of(container)
    if launch is not None:
        _programs.tell(launch, sayer, options)
        _script_says.of_launch(launch, sayer)


def _policies(kind: str, root: Map, pods: tuple[Pods, ...]) -> Iterator[Diagnostic]:
    if kind == PYTORCHJOB:
        roles = root.map("spec", "pytorchReplicaSpecs")
        for entry in roles.entries if roles is not None else ():
            yield from checks.check_policy(kind, entry.value if isinstance(entry.value, Map) else None)
        return
    for each in pods:
        yield from checks.check_policy(kind, each.spec)
        if kind == JOB:
            yield from checks.check_job_policy(each)


def _keys(node: Map | None, name: str, shown: str) -> Iterator[Diagnostic]:
    table = load_table(name)._replace(consumer=shown)
    yield from check(node, Reader(table, has_auto=False, refuses="the API refuses it")) if node is not None else ()


def _container_keys(kind: str, container: Map) -> Iterator[Diagnostic]:
    """Faults of a container's keys. The core API takes `cpu: 0.5`, the definitions of resources do not."""
    for found in _keys(container, "container", "Container"):
        is_share = kind == JOB and "`resources." in found.message and "/gpu`" not in found.message
        if not (is_share and found.code == faults.WRONG_VALUE.code and found.primary.text.endswith(" is a number")):
            yield found


def _say(kind: str, root: Map, sayer: Sayer, options: Options) -> None:
    """The shape of the job, and what its pods are given."""
    sayer.use(root.find("apiVersion"), root.find("kind"))  # the target writes the same
    name = root.value("metadata", "name")
    if isinstance(name, str) and _NAME.fullmatch(name):
        sayer.name(name)
        sayer.use(root.find("metadata", "name"))
    pods = [each for each in pods_of(kind, root) if each.main is not None and _trains(kind, each)]
    _shape(kind, root, pods, sayer)
    _use_cards(kind, root, pods, sayer)
    _text(sayer, "launch.kubernetes.namespace", root.find("metadata", "namespace"))
    main = pods[0].main if len(pods) == 1 or (kind == PYTORCHJOB and pods) else None
    trainer = root.map("spec", "trainer") if kind == TRAINJOB else main
    if trainer is None:
        return
    _text(sayer, "launch.kubernetes.image", trainer.find("image"))
    for variable in maps(trainer, "env"):
        name, value = variable.value("name"), variable.find("value")
        if name == "PYTHONUNBUFFERED" and kind == PYTORCHJOB:
            continue  # the operator sets it for every pod
        if isinstance(name, str) and name.isidentifier() and len(name) < _LONGEST:
            _text(sayer, f"launch.env.{name}", value)
            sayer.use(variable.find("name"))
    _started(trainer, sayer, options)
    policy = root.find("spec", "runPolicy", "activeDeadlineSeconds") if kind == PYTORCHJOB else None
    sayer.say("launch.walltime", policy or root.find("spec", "activeDeadlineSeconds"), unit="s")


def _text(sayer: Sayer, path: str, entry: Entry | None) -> None:
    """A text, where it is one that needs no filling in by the cluster."""
    value = entry.value.value if entry is not None and isinstance(entry.value, Scalar) else None
    if isinstance(value, str) and value.isprintable() and "$" not in value:
        sayer.say(path, entry, quoted(value))


def _trains(kind: str, pods: Pods) -> bool:
    """Whether pods are of the training itself: all roles of a PyTorchJob, else those that have cards."""
    return kind == PYTORCHJOB or (pods.main is not None and cards_of(pods.main) is not None)


def _shape(kind: str, root: Map, pods: list[Pods], sayer: Sayer) -> None:
    if kind == TRAINJOB:
        sayer.say("cluster.nodes", root.find("spec", "trainer", "numNodes"))
        trainer = root.map("spec", "trainer")
        if trainer is not None:
            said = processes_of(trainer) or checks.number_of(trainer, "numProcPerNode")
            _cards(sayer, said or cards_of(trainer, "resourcesPerNode"))
        return
    counts = [each.number for each in pods]
    if not pods or (kind != PYTORCHJOB and len(pods) != 1):
        return
    if None not in counts:
        most = max(pods, key=lambda each: each.number or 0)
        total = sum(count for count in counts if count is not None)
        at = most.counted or Entry(most.place, Scalar(most.place, most.role), Scalar(most.place, total))
        if 0 < total:
            sayer.say("cluster.nodes", at, str(total))
    numbers = [_ranks(kind, root, each) for each in pods]
    if all(number is not None and numbers[0] is not None and number.value == numbers[0].value for number in numbers):
        _cards(sayer, numbers[0])


def _ranks(kind: str, root: Map, pods: Pods) -> Number | None:
    """The ranks of a pod: as the command says, the object, or the cards."""
    said = checks.number_of(root, *checks.PROCESSES.get(kind, ("spec", "processes")))
    assert pods.main is not None  # asked for before
    return processes_of(pods.main) or said or cards_of(pods.main)


def _cards(sayer: Sayer, number: Number | None) -> None:
    if number is not None and 0 < number.value:
        entry = Entry(number.entry, Scalar(_key(number), number.key), Scalar(number.span, number.value))
        sayer.say("cluster.gpus_per_node", entry, str(number.value))


def _use_cards(kind: str, root: Map, pods: list[Pods], sayer: Sayer) -> None:
    """Cards and processes of pods that are as many as is said of a node."""
    said = {each.text for each in sayer.content().said if each.path == "cluster.gpus_per_node"}
    containers = [(each.main, "resources") for each in pods if each.main is not None]
    trainer = root.map("spec", "trainer") if kind == TRAINJOB else None
    if trainer is not None:
        containers.append((trainer, "resourcesPerNode"))
        sayer.use(*(trainer.find(name) for name in ("numProcPerNode",) if str(trainer.value(name)) in said))
    for container, path in containers:
        for section in ("limits", "requests"):
            found = resource(container, path, section)
            if found is not None and str(found[1]) in said:
                sayer.use(found[0])
    count = root.find("spec", "nprocPerNode")
    if count is not None and str(root.value("spec", "nprocPerNode")) in said:
        sayer.use(count)


def _key(number: Number) -> Span:
    return number.entry._replace(end=number.span.start)


KIND = Kind(
    "kubernetes",
    "a job of Kubernetes",
    ("yaml", "json"),
    _MARKS,
    recognise,
    read,
    targets=("kubernetes",),
    withheld=OF_THE_PROGRAM,
)

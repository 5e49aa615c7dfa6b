"""The pod that every kind of Kubernetes job starts once a node, and the files that it gets.

Fields are those of the core API of Kubernetes 1.37 (PodSpec).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.targets._carried import WAIT, carried, launcher_of, port_of
from planc.targets._kubernetes_text import escaped
from planc.targets._launch import option, written
from planc.targets._record import makes_record, record_files
from planc.targets._shell import render

TARGET_NAME = "kubernetes"
PYTORCHJOB, TRAINJOB, JOBSET, JOB = "pytorchjob", "trainjob", "jobset", "job"
KUEUE, VOLCANO = "kueue", "volcano"
INSTANCE = "app.kubernetes.io/instance"
REPLICAS = "node"  # the replicated job; trainer looks for a container of this name

_FOLDER = "/etc/planc"
_HOST = "kubernetes.io/hostname"
_CARDS = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", None: "nvidia.com/gpu"}

#: Name of the container that the operator looks for.
_CONTAINERS = {PYTORCHJOB: "pytorch", TRAINJOB: "node", JOBSET: "node", JOB: "node"}


class Job(NamedTuple):
    """What all of a job's objects share.

    master: the name of the first pod; None where there is no other, or an operator tells them.
    files: what every pod gets, text by name; start: the one among them that it runs.
    """

    name: str
    kind: str
    num_nodes: int
    gpus_per_node: int
    port: int
    master: str | None
    files: Mapping[str, str]
    start: str


def setting(plan: Plan, name: str) -> Any:
    """The value of an option of this target; None where nothing is set."""
    return option(plan, TARGET_NAME, name)


class Pair(NamedTuple):
    """A text of two parts, such as `rdma/hca=8`; without the sign between them there is no value."""

    text: str
    key: str
    value: str | None


def pairs(plan: Plan, name: str, between: str = "=") -> tuple[Pair, ...]:
    """An option that lists texts of two parts."""
    split = ((text, *text.partition(between)) for text in setting(plan, name) or ())
    return tuple(Pair(text, key, value if sign else None) for text, key, sign, value in split)


def _as_map(found: tuple[Pair, ...]) -> dict[str, str | None]:
    return {pair.key: pair.value for pair in found}


def kind_of(plan: Plan) -> str:
    """The kind of job."""
    return str(setting(plan, "kind") or PYTORCHJOB)


def name_of(plan: Plan) -> str:
    """What the job is called."""
    chosen = setting(plan, "name")
    return plan.name if chosen is None else str(chosen)


def card_resource(plan: Plan) -> str | None:
    """The resource by which a pod asks for cards; None where the vendor has no single one."""
    return setting(plan, "gpu_resource") or _CARDS.get(written(plan, "cluster.gpu.vendor"))


def image_of(plan: Plan) -> tuple[str, str] | None:
    """The image of the pods and the field that names it."""
    for path in ("launch.kubernetes.image", "launch.container.image"):
        image = written(plan, path)
        if image is not None:
            return str(image), path
    return None


def mount_parts(mount: str) -> tuple[str, str, str]:
    """Folder of the host, where the pod sees it, and the mode: `ro`, `rw`, or what else stands there."""
    source, *rest = mount.split(":", 2)
    return source, rest[0] if rest else source, rest[1] if 1 < len(rest) else "rw"


def job_of(plan: Plan, facts: Facts) -> Job:
    """The job of a plan without a fault."""
    port = port_of(plan)
    name, kind, nodes = name_of(plan), kind_of(plan), facts["cluster.nodes"]
    launcher = launcher_of(plan, TARGET_NAME)
    found = carried(plan, facts, launcher)
    files, start = dict(found.files), found.script
    records = makes_record(plan) and launcher != "torchrun"  # which makes the record itself
    if records:
        files.update((file.path, file.text) for file in record_files(plan))
    if found.has_modules or 1 < nodes or records:
        start = "pod.sh"
        values = {"script": found.script, "modules": found.has_modules, "several": 1 < nodes, "wait": WAIT}
        values |= {"operator": kind == PYTORCHJOB, "record": records}
        files[start] = render("kubernetes/pod.sh.j2", values)
    return Job(name, kind, nodes, facts["cluster.gpus_per_node"], port, _master(name, kind, nodes), files, start)


def _master(name: str, kind: str, nodes: int) -> str | None:
    if nodes == 1 or kind == PYTORCHJOB:
        return None
    return f"{name}-0.{name}" if kind == JOB else f"{name}-{REPLICAS}-0-0.{name}"


def pod_template(plan: Plan, job: Job) -> dict[str, Any]:
    """The template of the pods."""
    labels = {INSTANCE: job.name, "app.kubernetes.io/managed-by": "planc"}
    metadata: dict[str, Any] = {"labels": labels}
    annotations = _annotations(plan, job)
    if annotations:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": _pod(plan, job)}


def _annotations(plan: Plan, job: Job) -> dict[str, str]:
    found = {}
    if setting(plan, "gang") == KUEUE and setting(plan, "topology"):
        found["kueue.x-k8s.io/podset-required-topology"] = setting(plan, "topology")
        if job.kind == PYTORCHJOB and 1 < plan.value("cluster.nodes"):  # else master and workers are placed apart
            found["kueue.x-k8s.io/podset-group-name"] = job.name
    if setting(plan, "gang") == VOLCANO and job.kind in (JOBSET, JOB):
        found["scheduling.k8s.io/group-name"] = job.name
    return found


def _pod(plan: Plan, job: Job) -> dict[str, Any]:
    volumes, mounts = _volumes(plan, job)
    pod: dict[str, Any] = {"restartPolicy": "Never", "enableServiceLinks": False}
    if job.kind == PYTORCHJOB:
        del pod["restartPolicy"]  # it stands beside the number of replicas
    if setting(plan, "gang") == VOLCANO:
        pod["schedulerName"] = "volcano"
    if on_host_network(plan, job):
        pod |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    if job.kind == JOB and 1 < job.num_nodes:
        pod["subdomain"] = job.name
    if setting(plan, "node_selector"):
        pod["nodeSelector"] = _as_map(pairs(plan, "node_selector"))
    affinity = _affinity(plan, job)
    if affinity:
        pod["affinity"] = affinity
    tolerations = setting(plan, "tolerations")
    if tolerations:
        pod["tolerations"] = [{"key": key, "operator": "Exists"} for key in tolerations]
    pod["containers"] = [_container(plan, job) | {"volumeMounts": mounts}]
    pod["volumes"] = volumes
    return pod


def on_host_network(plan: Plan, job: Job) -> bool:
    """Whether pods use their node's network: as the option says, else where there are several nodes."""
    chosen = setting(plan, "host_network")
    return 1 < job.num_nodes if chosen is None else bool(chosen)


def _affinity(plan: Plan, job: Job) -> dict[str, Any]:
    """One pod a node, all in one domain of the topology where Kueue does not see to that."""
    found: dict[str, Any] = {}
    if job.num_nodes == 1:
        return found
    topology = setting(plan, "topology")
    if topology and setting(plan, "gang") != KUEUE:
        found["podAffinity"] = _required(job, topology)
    found["podAntiAffinity"] = _required(job, _HOST)
    return found


def _required(job: Job, topology: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {INSTANCE: job.name}}, "topologyKey": topology}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def _container(plan: Plan, job: Job) -> dict[str, Any]:
    image = image_of(plan)
    assert image is not None  # a fault has told of it
    container: dict[str, Any] = {
        "name": _CONTAINERS[job.kind],
        "image": image[0],
        "command": ["bash", f"{_FOLDER}/{job.start}"],
    }
    if setting(plan, "workdir"):
        container["workingDir"] = setting(plan, "workdir")
    if job.kind == PYTORCHJOB:
        container["ports"] = [{"name": "pytorchjob-port", "containerPort": job.port}]
    variables = _variables(plan, job)
    if variables:
        container["env"] = variables
    container["resources"] = _resources(plan, job)
    if setting(plan, "rdma"):
        container["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
    return container


def _variables(plan: Plan, job: Job) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if 1 < job.num_nodes:
        found.append({"name": "PLANC_POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
        if job.master is not None:
            found.append({"name": "MASTER_ADDR", "value": job.master})
            found.append({"name": "MASTER_PORT", "value": str(job.port)})
    given: dict[str, str] = written(plan, "launch.env") or {}
    found += [{"name": name, "value": escaped(text)} for name, text in given.items() if name != "MASTER_PORT"]
    return found


def _resources(plan: Plan, job: Job) -> dict[str, Any]:
    limits: dict[str, Any] = {str(card_resource(plan)): job.gpus_per_node, **_as_map(pairs(plan, "rdma"))}
    requests = _as_map(pairs(plan, "requests"))
    return {"limits": limits, **({"requests": requests} if requests else {})}


def _volumes(plan: Plan, job: Job) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The volumes of a pod, and where its container mounts them."""
    memory: dict[str, Any] = {"medium": "Memory"}
    size = written(plan, "launch.kubernetes.shared_memory")
    if size is not None:
        memory["sizeLimit"] = size
    volumes: list[dict[str, Any]] = [
        {"name": "files", "configMap": {"name": job.name, **_places(job)}},
        {"name": "shared-memory", "emptyDir": memory},
    ]
    mounts: list[dict[str, Any]] = [
        {"name": "files", "mountPath": _FOLDER, "readOnly": True},
        {"name": "shared-memory", "mountPath": "/dev/shm"},
    ]
    for number, claim in enumerate(pairs(plan, "claims", ":")):
        volumes.append({"name": f"claim-{number}", "persistentVolumeClaim": {"claimName": claim.key}})
        mounts.append({"name": f"claim-{number}", "mountPath": claim.value})
    for number, mount in enumerate(written(plan, "launch.container.mounts") or ()):
        source, folder, mode = mount_parts(mount)
        volumes.append({"name": f"mount-{number}", "hostPath": {"path": source}})
        mounts.append({"name": f"mount-{number}", "mountPath": folder, **({"readOnly": True} if mode == "ro" else {})})
    return volumes, mounts


def _places(job: Job) -> dict[str, Any]:
    """Which file is which entry of the ConfigMap, where a file lies in a folder, which no entry's name can say."""
    if not any("/" in path for path in job.files):
        return {}
    return {"items": [{"key": entry_of(path), "path": path} for path in job.files]}


def entry_of(path: str) -> str:
    """The entry of the ConfigMap that holds a file."""
    return path.replace("/", "__")


def taken_folders() -> tuple[str, ...]:
    """Folders of a pod at which nothing else can be mounted."""
    return (_FOLDER, "/dev/shm")

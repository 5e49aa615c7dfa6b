"""The objects of each kind of Kubernetes job, as data.

Fields are those of the training operator 1.9 (PyTorchJob), Kubeflow Trainer 2.3 (TrainJob, TrainingRuntime), JobSet's
v1alpha2, Kubernetes 1.37 (Job, Service, ConfigMap), Kueue 0.14 (its labels) and Volcano's v1beta1 (PodGroup).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planc.plan.model import Plan
from planc.targets._kubernetes_pod import (
    JOB,
    JOBSET,
    KUEUE,
    PYTORCHJOB,
    REPLICAS,
    TRAINJOB,
    VOLCANO,
    Job,
    entry_of,
    pod_template,
    setting,
)
from planc.targets._launch import written


def objects(plan: Plan, job: Job) -> tuple[dict[str, Any], ...]:
    """All objects that the file creates: the pods' files first, since a pod without them cannot start."""
    kinds = {PYTORCHJOB: _pytorchjob, TRAINJOB: _trainjob, JOBSET: _jobset, JOB: _indexed_job}
    return (_config_map(plan, job), *kinds[job.kind](plan, job))


def _metadata(plan: Plan, job: Job, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"name": job.name}
    namespace = written(plan, "launch.kubernetes.namespace")
    if namespace is not None:
        found["namespace"] = namespace
    return found | ({"labels": dict(labels)} if labels else {})


def _job_metadata(plan: Plan, job: Job) -> dict[str, Any]:
    """Of the object that users wait for and Kueue queues."""
    labels = dict(written(plan, "launch.kubernetes.labels") or {})
    if setting(plan, "gang") == KUEUE:
        labels["kueue.x-k8s.io/queue-name"] = written(plan, "launch.kubernetes.queue")
    return _metadata(plan, job, labels)


def _config_map(plan: Plan, job: Job) -> dict[str, Any]:
    data = {entry_of(path): text for path, text in job.files.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _metadata(plan, job), "data": data}


def _deadline(plan: Plan) -> dict[str, int]:
    """The limit of the job's time, rounded up to a second."""
    walltime = written(plan, "launch.walltime")
    return {} if walltime is None else {"activeDeadlineSeconds": int(-(-walltime // 1))}


def _pytorchjob(plan: Plan, job: Job) -> tuple[dict[str, Any], ...]:
    # Pods that outlive a failed one would keep their cards: the operator's own default leaves them.
    policy: dict[str, Any] = {"cleanPodPolicy": "Running", "backoffLimit": 0, **_deadline(plan)}
    if setting(plan, "gang") == VOLCANO:
        policy["schedulingPolicy"] = {"minAvailable": job.num_nodes, **_queue(plan)}
    replicas = {"Master": 1} | ({"Worker": job.num_nodes - 1} if 1 < job.num_nodes else {})
    spec = {
        "nprocPerNode": str(job.gpus_per_node),
        "runPolicy": policy,
        "pytorchReplicaSpecs": {
            role: {"replicas": count, "restartPolicy": "Never", "template": pod_template(plan, job)}
            for role, count in replicas.items()
        },
    }
    metadata = _job_metadata(plan, job)
    return ({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": metadata, "spec": spec},)


def _trainjob(plan: Plan, job: Job) -> tuple[dict[str, Any], ...]:
    version = "trainer.kubeflow.org/v1alpha1"
    spec: dict[str, Any] = {"mlPolicy": {"numNodes": job.num_nodes, "torch": {}}}
    template: dict[str, Any] = {"spec": _jobset_spec(plan, job)}
    if setting(plan, "gang") == VOLCANO:
        spec["podGroupPolicy"] = {"volcano": {}}
        queue = _queue(plan)
        if queue:
            template = {"metadata": {"annotations": {"scheduling.volcano.sh/queue-name": queue["queue"]}}, **template}
    spec["template"] = template
    runtime = {"apiVersion": version, "kind": "TrainingRuntime", "metadata": _metadata(plan, job), "spec": spec}
    train = {
        "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": job.name},
        "trainer": {"numNodes": job.num_nodes, "numProcPerNode": job.gpus_per_node},
    }
    metadata = _job_metadata(plan, job)
    return (runtime, {"apiVersion": version, "kind": "TrainJob", "metadata": metadata, "spec": train})


def _jobset(plan: Plan, job: Job) -> tuple[dict[str, Any], ...]:
    metadata, spec = _job_metadata(plan, job), _jobset_spec(plan, job)
    found = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}
    return (*_pod_group(plan, job), found)


def _jobset_spec(plan: Plan, job: Job) -> dict[str, Any]:
    template: dict[str, Any] = {"spec": _job_spec(plan, job)}
    if job.kind == TRAINJOB:
        template = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}, **template}
    return {
        "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
        "failurePolicy": {"maxRestarts": setting(plan, "recreate") or 0},
        "replicatedJobs": [{"name": REPLICAS, "replicas": 1, "template": template}],
    }


def _indexed_job(plan: Plan, job: Job) -> tuple[dict[str, Any], ...]:
    metadata, spec = _job_metadata(plan, job), _job_spec(plan, job)
    found = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    if job.num_nodes == 1:
        return (*_pod_group(plan, job), found)
    # Without an address of its own the Service gives each pod a name; they need it before they are ready.
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(plan, job),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"batch.kubernetes.io/job-name": job.name},
        },
    }
    return (service, *_pod_group(plan, job), found)


def _job_spec(plan: Plan, job: Job) -> dict[str, Any]:
    return {
        "completionMode": "Indexed",
        "completions": job.num_nodes,
        "parallelism": job.num_nodes,
        "backoffLimit": 0,
        **_deadline(plan),
        "template": pod_template(plan, job),
    }


def _pod_group(plan: Plan, job: Job) -> tuple[dict[str, Any], ...]:
    """What tells Volcano to start all pods or none; operators make their own."""
    if setting(plan, "gang") != VOLCANO:
        return ()
    spec = {"minMember": job.num_nodes, **_queue(plan)}
    metadata = _metadata(plan, job)
    return ({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": metadata, "spec": spec},)


def _queue(plan: Plan) -> dict[str, str]:
    queue = written(plan, "launch.kubernetes.queue")
    return {} if queue is None else {"queue": queue}


def longest_name(kind: str, nodes: int) -> int:
    """Characters that the job's name may have, so that what is named after it still has 63."""
    digits = len(str(nodes - 1))
    behind = {
        PYTORCHJOB: len("-worker-") + digits,
        TRAINJOB: len(f"-{REPLICAS}-0-") + digits + len("-abcde"),
        JOBSET: len(f"-{REPLICAS}-0-") + digits + len("-abcde"),
        JOB: 1 + digits + len("-abcde"),
    }
    return 63 - behind[kind]

"""Kubernetes: `kubernetes.yaml`, all objects of a job with one pod a node.

The job is a PyTorchJob of Kubeflow's training operator, a TrainJob with a TrainingRuntime of its own, a JobSet, or a
plain indexed Job with a headless Service, as the option `kind` says. A ConfigMap beside it holds the files that were
compiled of the same plan, the launch script among them, so that what was checked is what runs; the pods start that
script, and no text of the plan stands in a command. Where there are several nodes, `pod.sh` tells the script which one
it is on.
"""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.schema import COUNT0, FLAG, TEXT, Field, Type
from planc.targets import _kubernetes_faults as faults
from planc.targets._carried import needs_script
from planc.targets._faults import CONTAINER, LAUNCH_FAULTS, MISSING_SCRIPT, MODULE_NAME
from planc.targets._kubernetes_check import check_objects
from planc.targets._kubernetes_kinds import objects
from planc.targets._kubernetes_pod import (
    JOB,
    JOBSET,
    KUEUE,
    PYTORCHJOB,
    TARGET_NAME,
    TRAINJOB,
    VOLCANO,
    job_of,
)
from planc.targets._kubernetes_text import documents
from planc.targets._launch import check_launch
from planc.targets._record import NO_RECORD, check_record, record_files
from planc.targets.target import EmittedFile, Start, Target

_TEXTS = Type("list", item=TEXT)

#: What launch scripts cannot do and pods can, or what has a fault of its own here.
_OTHERWISE = (CONTAINER.code, MODULE_NAME.code)


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """What pods cannot do for the plan."""
    yield from check_objects(plan, facts)
    yield from check_record(plan)
    otherwise = _OTHERWISE if needs_script(plan, TARGET_NAME) else (*_OTHERWISE, MISSING_SCRIPT.code)
    yield from (found for found in check_launch(plan, "kubernetes") if found.code not in otherwise)


def emit(plan: Plan, facts: Facts) -> tuple[EmittedFile, ...]:
    """`kubernetes.yaml`; with `evidence`, what makes the record too, which pods get a copy of."""
    return (EmittedFile("kubernetes.yaml", documents(objects(plan, job_of(plan, facts)))), *record_files(plan))


TARGET = Target(
    summary="kubernetes.yaml: a PyTorchJob, TrainJob, JobSet or indexed Job with one pod a node",
    proved="the schemas of training operator 1.9, Trainer 2.3, JobSet v1alpha2 and Kubernetes 1.37; pods run on gloo",
    check=check,
    emit=emit,
    options=(
        Field(
            "kind",
            Type("word", words=(PYTORCHJOB, TRAINJOB, JOBSET, JOB)),
            None,
            f"the kind of job; by default {PYTORCHJOB}",
        ),
        Field("name", TEXT, None, "what the job is called; by default like the plan"),
        Field(
            "launcher",
            Type("target"),
            None,
            "what starts a node's ranks; by default the trainer that has a script of its own, accelerate where the "
            "plan emits it and not torchrun, else torchrun",
        ),
        Field("workdir", TEXT, None, "folder at which the program's paths start; by default the image's"),
        Field(
            "gpu_resource",
            TEXT,
            None,
            "resource of a card; by default `nvidia.com/gpu`, or `amd.com/gpu` where the card's vendor is amd",
        ),
        Field("rdma", _TEXTS, None, 'network cards of a pod and how many it gets, as in `["rdma/hca=8"]`'),
        Field("requests", _TEXTS, None, 'cpu, memory and ephemeral-storage that a pod asks for, as in `["cpu=96"]`'),
        Field("host_network", FLAG, None, "pods use their node's network; by default where there are several nodes"),
        Field("claims", _TEXTS, None, 'volume claims and where they are mounted, as in `["data:/data"]`'),
        Field("node_selector", _TEXTS, None, 'labels that the nodes have, as in `["pool=h100"]`'),
        Field("tolerations", _TEXTS, None, "keys of taints that the pods bear"),
        Field("topology", TEXT, None, "label of the nodes whose value all pods share, such as that of a rack"),
        Field("gang", Type("word", words=(KUEUE, VOLCANO)), None, "who starts all pods or none, by `queue`"),
        Field("recreate", COUNT0, None, "how often all pods are made anew after one failed; trainjob and jobset only"),
    ),
    faults=(
        faults.MISSING_IMAGE, faults.UNSAID, faults.UNUSABLE_TEXT, faults.CLUSTER_VARIABLE, faults.QUEUE,
        faults.NO_NETWORK_CARDS, faults.LAUNCHER, faults.LOST_CHECKPOINTS, NO_RECORD,
        *(fault for fault in LAUNCH_FAULTS if fault.code not in _OTHERWISE),
    ),
    aliases=("k8s", "kube", "kubeflow", "pytorchjob"),
    start=Start(containers=True),
)  # fmt: skip

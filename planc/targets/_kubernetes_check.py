"""What keeps a plan from being said in objects of Kubernetes: the rules of the API and of the operators' webhooks."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.targets._carried import check_launcher
from planc.targets._kubernetes_faults import (
    CLUSTER_VARIABLE,
    LAUNCHER,
    MISSING_IMAGE,
    QUEUE,
    UNSAID,
    UNUSABLE_TEXT,
)
from planc.targets._kubernetes_kinds import longest_name
from planc.targets._kubernetes_pod import (
    JOBSET,
    KUEUE,
    PYTORCHJOB,
    TARGET_NAME,
    TRAINJOB,
    image_of,
    kind_of,
    name_of,
    pairs,
    setting,
)
from planc.targets._kubernetes_resources import check_folders, check_keys, check_resources, option_span, unusable
from planc.targets._kubernetes_text import (
    is_domain,
    is_image,
    is_key,
    is_name,
    is_namespace,
    is_value,
    name_from,
)
from planc.targets._launch import key_span, written

_POD = "launch.kubernetes"

#: Given to each pod by the cluster, whatever the plan says.
_OF_THE_CLUSTER = frozenset(("MASTER_ADDR", "JOB_COMPLETION_INDEX", "PET_LOCAL_ADDR", "PET_RDZV_CONF"))
_OF_THE_OPERATOR = {
    PYTORCHJOB: frozenset((
        "PYTHONUNBUFFERED", "PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT",
    )),
    TRAINJOB: frozenset((
        "PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT",
    )),
}  # fmt: skip


def check_objects(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Everything but what the launch script itself cannot do."""
    yield from _check_image(plan)
    yield from _check_launch(plan)
    yield from _check_name(plan, facts)
    yield from _check_texts(plan)
    yield from check_resources(plan, facts)
    yield from check_folders(plan)
    yield from _check_variables(plan)
    yield from _check_queue(plan)


def _check_image(plan: Plan) -> Iterator[Diagnostic]:
    found = image_of(plan)
    if found is None:
        section = plan["launch.kubernetes.image"].value, plan["launch.container.image"].value
        if all(value is None or (isinstance(value, Unknown) and value.unset) for value in section):
            help = ('write `launch { kubernetes { image = "..." } }`',)
            span = option_span(plan, "kind")
            yield MISSING_IMAGE.at(span, "`kubernetes` is emitted without an image", "runs nothing", help=help)
        return
    image, path = found
    if not is_image(image):
        yield UNUSABLE_TEXT.at(
            plan[path].span,
            "no registry holds an image of this name",
            "as in `registry.example/train:1`",
            help=("name an image in a registry in `launch.kubernetes.image`",),
        )
    elif path == "launch.container.image" and written(plan, "launch.container.runtime") in ("enroot", "apptainer"):
        span = plan["launch.container.runtime"].span
        runtime = written(plan, "launch.container.runtime")
        yield UNSAID.at(
            span,
            f"pods are not run by {runtime}",
            "the cluster has its own runtime",
            help=("name the pods' image in `launch.kubernetes.image`, or leave `runtime` out",),
        )


def _check_launch(plan: Plan) -> Iterator[Diagnostic]:
    if written(plan, "launch.modules"):
        help = ("put the programs into the image",)
        yield UNSAID.at(plan["launch.modules"].span, "an image has no modules to load", "would be left out", help=help)
    if written(plan, "launch.slurm") and not plan.emits("slurm"):
        help = ("emit `slurm` too, or remove it",)
        yield UNSAID.at(plan["launch.slurm"].span, "pods take no options of sbatch", "would be left out", help=help)
    if setting(plan, "recreate") and kind_of(plan) not in (TRAINJOB, JOBSET):
        help = ("write `kind = jobset` or `kind = trainjob`, or use `launch.restarts`",)
        message = f"a {kind_of(plan)} does not make all its pods anew"
        yield UNSAID.at(option_span(plan, "recreate"), message, "would be left out", help=help)
    yield from check_launcher(plan, TARGET_NAME, LAUNCHER, "pods")


def _check_name(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    name, nodes = name_of(plan), facts["cluster.nodes"]
    if isinstance(nodes, Unknown):
        return
    longest = longest_name(kind_of(plan), nodes)
    if is_name(name) and len(name) <= longest:
        return
    usable = name_from(name)[:longest].rstrip("-")
    span = plan.span if setting(plan, "name") is None else option_span(plan, "name")
    if not is_name(name):
        message, label = f"`{name}` cannot name a job", "small letters, digits and `-`, a letter first"
    else:
        message = f"a name of {len(name)} characters, where at most {longest} fit"
        label = "the names of pods and Services follow from it"
    help = (f'write `emit = [kubernetes {{ name = "{usable}" }}]`',) if usable else ()
    yield UNUSABLE_TEXT.at(span, message, label, help=help)


def _check_texts(plan: Plan) -> Iterator[Diagnostic]:
    namespace, queue = written(plan, f"{_POD}.namespace"), written(plan, f"{_POD}.queue")
    if namespace is not None and not is_namespace(namespace):
        yield unusable(plan[f"{_POD}.namespace"].span, f"`{namespace}` cannot name a namespace")
    if queue is not None and not (is_domain(queue) and is_value(queue)):
        yield unusable(plan[f"{_POD}.queue"].span, f"`{queue}` cannot name a queue")
    for key, value in (written(plan, f"{_POD}.labels") or {}).items():
        if not (is_key(key) and is_value(value)):
            yield unusable(key_span(plan, f"{_POD}.labels", key), f"`{key}` is no label that an object may have")
        elif key == "kueue.x-k8s.io/queue-name":
            help = ("write `queue` beside `labels`, and `emit = [kubernetes { gang = kueue }]`",)
            yield QUEUE.at(key_span(plan, f"{_POD}.labels", key), "the label of Kueue is set by hand", help=help)
    yield from _check_nodes(plan)


def _check_nodes(plan: Plan) -> Iterator[Diagnostic]:
    labels = pairs(plan, "node_selector")
    for label in labels:
        if label.value is None or not (is_key(label.key) and is_value(label.value)):
            yield unusable(option_span(plan, "node_selector"), f"`{label.text}` is no label that a node may have")
    yield from check_keys(plan, "node_selector", labels)
    for key in setting(plan, "tolerations") or ():
        if not is_key(key):
            yield unusable(option_span(plan, "tolerations"), f"`{key}` is no taint that a node may have")
    topology = setting(plan, "topology")
    if topology is not None and not is_key(topology):
        yield unusable(option_span(plan, "topology"), f"`{topology}` is no label that a node may have")


def _check_variables(plan: Plan) -> Iterator[Diagnostic]:
    own = _OF_THE_CLUSTER | _OF_THE_OPERATOR.get(kind_of(plan), frozenset())
    for name in written(plan, "launch.env") or {}:
        if name in own:
            message = f"`{name}` is given to every pod by the cluster"
            yield CLUSTER_VARIABLE.at(key_span(plan, "launch.env", name), message, "has no effect, or a wrong one")


def _check_queue(plan: Plan) -> Iterator[Diagnostic]:
    gang, queue = setting(plan, "gang"), written(plan, f"{_POD}.queue")
    if queue is not None and gang is None:
        help = ("write `emit = [kubernetes { gang = kueue }]` or `gang = volcano`",)
        yield QUEUE.at(plan[f"{_POD}.queue"].span, f"nothing says whose queue `{queue}` is", help=help)
    elif gang == KUEUE and queue is None:
        help = ('write `launch { kubernetes { queue = "..." } }`',)
        yield QUEUE.at(option_span(plan, "gang"), "Kueue starts no job without a queue", help=help)

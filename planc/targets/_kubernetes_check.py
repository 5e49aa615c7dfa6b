"""What keeps a plan from being said in objects of Kubernetes: the rules of the API and of the operators' webhooks."""

from __future__ import annotations

from collections.abc import Iterator

from planc.diagnostics.diagnostic import Diagnostic
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.source import Span
from planc.targets._kubernetes_faults import (
    CLUSTER_VARIABLE,
    LAUNCHER,
    LOST_CHECKPOINTS,
    MISSING_IMAGE,
    NO_NETWORK_CARDS,
    QUEUE,
    UNSAID,
    UNUSABLE_TEXT,
)
from planc.targets._kubernetes_kinds import longest_name
from planc.targets._kubernetes_pod import (
    JOBSET,
    KUEUE,
    OWN_SCRIPT,
    PYTORCHJOB,
    TARGET_NAME,
    TRAINJOB,
    card_resource,
    image_of,
    kind_of,
    launcher_of,
    mount_parts,
    name_of,
    own_launchers,
    pairs,
    setting,
    taken_folders,
)
from planc.targets._kubernetes_text import (
    is_amount,
    is_domain,
    is_folder,
    is_image,
    is_key,
    is_name,
    is_namespace,
    is_value,
    name_from,
)
from planc.targets._launch import choice_of, key_span, written

_POD = "launch.kubernetes"

#: Trainers that start all nodes from one of them, by ssh.
_FROM_ONE_NODE = ("gpt-neox", "megatron-bridge")

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
_REQUESTS = ("cpu", "memory", "ephemeral-storage")


def check_objects(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Everything but what the launch script itself cannot do."""
    yield from _check_image(plan)
    yield from _check_launch(plan)
    yield from _check_name(plan, facts)
    yield from _check_texts(plan)
    yield from _check_resources(plan, facts)
    yield from _check_folders(plan)
    yield from _check_checkpoints(plan)
    yield from _check_variables(plan)
    yield from _check_queue(plan)


def _span(plan: Plan, name: str) -> Span:
    """Where an option stands, or the target's name where it is not written."""
    choice = choice_of(plan, TARGET_NAME)
    assert choice is not None  # its check runs only where it is emitted
    return choice.options[name].span


def _check_image(plan: Plan) -> Iterator[Diagnostic]:
    found = image_of(plan)
    if found is None:
        section = plan["launch.kubernetes.image"].value, plan["launch.container.image"].value
        if all(value is None or (isinstance(value, Unknown) and value.unset) for value in section):
            help = ('write `launch { kubernetes { image = "..." } }`',)
            yield MISSING_IMAGE.at(_span(plan, "kind"), "`kubernetes` is emitted without an image", "runs nothing",
                                   help=help)  # fmt: skip
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
        yield UNSAID.at(_span(plan, "recreate"), message, "would be left out", help=help)
    yield from _check_launcher(plan)


def _check_launcher(plan: Plan) -> Iterator[Diagnostic]:
    launcher, own = launcher_of(plan), own_launchers(plan)
    if launcher != "torchrun" and not plan.emits(launcher):
        help = (f"emit `{launcher}` too",)
        yield LAUNCHER.at(_span(plan, "launcher"), f"`{launcher}` is not emitted", help=help)
        return
    for choice in plan.targets:
        written_here = choice.is_written and choice.name not in _FROM_ONE_NODE
        if choice.name in (*OWN_SCRIPT, *_FROM_ONE_NODE) and (choice.name != launcher or not written_here):
            message = f"pods do not start the command of `{choice.name}`"
            label = f"they start that of `{launcher}`" if own else "its flags would reach no program"
            help = (f"emit `{choice.name}` in another plan",)
            yield LAUNCHER.at(choice.span, message, label, help=help)


def _check_name(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    name, nodes = name_of(plan), facts["cluster.nodes"]
    if isinstance(nodes, Unknown):
        return
    longest = longest_name(kind_of(plan), nodes)
    if is_name(name) and len(name) <= longest:
        return
    usable = name_from(name)[:longest].rstrip("-")
    span = plan.span if setting(plan, "name") is None else _span(plan, "name")
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
        yield _unusable(plan[f"{_POD}.namespace"].span, f"`{namespace}` cannot name a namespace")
    if queue is not None and not (is_domain(queue) and is_value(queue)):
        yield _unusable(plan[f"{_POD}.queue"].span, f"`{queue}` cannot name a queue")
    for key, value in (written(plan, f"{_POD}.labels") or {}).items():
        if not (is_key(key) and is_value(value)):
            yield _unusable(key_span(plan, f"{_POD}.labels", key), f"`{key}` is no label that an object may have")
        elif key == "kueue.x-k8s.io/queue-name":
            help = ("write `queue` beside `labels`, and `emit = [kubernetes { gang = kueue }]`",)
            yield QUEUE.at(key_span(plan, f"{_POD}.labels", key), "the label of Kueue is set by hand", help=help)
    for key, value in pairs(plan, "node_selector").items():
        if not (is_key(key) and is_value(value)):
            yield _unusable(_span(plan, "node_selector"), f"`{key}` is no label that a node may have")
    for key in setting(plan, "tolerations") or ():
        if not is_key(key):
            yield _unusable(_span(plan, "tolerations"), f"`{key}` is no taint that a node may have")
    topology = setting(plan, "topology")
    if topology is not None and not is_key(topology):
        yield _unusable(_span(plan, "topology"), f"`{topology}` is no label that a node may have")


def _unusable(span: Span, message: str, label: str = "refused by the API") -> Diagnostic:
    return UNUSABLE_TEXT.at(span, message, label)


def _check_resources(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    cards = setting(plan, "gpu_resource")
    if cards is not None and not _is_extended(cards):
        yield _unusable(_span(plan, "gpu_resource"), f"`{cards}` is no resource of a device plugin")
    elif card_resource(plan) is None:
        vendor = written(plan, "cluster.gpu.vendor")
        help = ('write `emit = [kubernetes { gpu_resource = "..." }]`, as `kubectl describe node` lists it',)
        yield UNSAID.at(_span(plan, "kind"), f"cards of {vendor} have no single resource", "asks for none", help=help)
    for name, amount in pairs(plan, "rdma").items():
        if name == card_resource(plan):
            yield _unusable(_span(plan, "rdma"), f"`{name}` are the cards themselves", "asked for twice")
        elif not (_is_extended(name) or name.startswith("hugepages-")) or not is_key(name):
            yield _unusable(_span(plan, "rdma"), f"`{name}` is no resource of a device plugin")
        elif not is_amount(amount) or (_is_extended(name) and not amount.isdecimal()):
            yield _unusable(_span(plan, "rdma"), f"`{name}={amount}` is no resource and its count")
    for name, amount in pairs(plan, "requests").items():
        if name not in _REQUESTS:
            message = f"`{name}` cannot be asked for without a limit"
            yield _unusable(_span(plan, "requests"), message, f"takes {', '.join(f'`{known}`' for known in _REQUESTS)}")
        elif not is_amount(amount):
            yield _unusable(_span(plan, "requests"), f"`{name}={amount}` is no resource and its amount")
    nodes, nics = facts["cluster.nodes"], written(plan, "cluster.nics.count")
    if nics is not None and not isinstance(nodes, Unknown) and 1 < nodes and not setting(plan, "rdma"):
        help = ('write `emit = [kubernetes { rdma = ["rdma/hca=1"] }]`, as `kubectl describe node` lists it',)
        span = plan["cluster.nics"].span
        yield NO_NETWORK_CARDS.at(span, f"pods see none of their node's {nics} network cards", help=help)


def _is_extended(name: str) -> bool:
    """Whether a device plugin may announce a resource of this name."""
    return "/" in name and is_key(name) and not name.startswith(("kubernetes.io/", "requests."))


def _check_folders(plan: Plan) -> Iterator[Diagnostic]:
    taken = set(taken_folders())
    for claim, folder in pairs(plan, "claims", ":").items():
        span = _span(plan, "claims")
        if not is_domain(claim):
            yield _unusable(span, f"`{claim}` cannot name a volume claim")
        elif not is_folder(folder):
            yield _unusable(span, f"`{claim}:{folder}` is no claim and a folder for it")
        elif folder in taken:
            yield _unusable(span, f"two volumes are mounted at `{folder}`")
        taken.add(folder)
    for mount in written(plan, "launch.container.mounts") or ():
        span = plan["launch.container.mounts"].span
        source, folder, mode = mount_parts(mount)
        if not (is_folder(source) and is_folder(folder)) or mode not in ("ro", "rw"):
            yield _unusable(span, f"`{mount}` cannot be mounted", "as in `/data:/data:ro`")
        elif folder in taken:
            yield _unusable(span, f"two volumes are mounted at `{folder}`")
        taken.add(folder)
    workdir = setting(plan, "workdir")
    if workdir is not None and not workdir.startswith("/"):
        yield _unusable(_span(plan, "workdir"), f"`{workdir}` is no absolute path")


def _check_checkpoints(plan: Plan) -> Iterator[Diagnostic]:
    """A folder for checkpoints on no volume; those of a node by its name have a rule of their own."""
    folder = written(plan, "checkpoint.directory")
    if folder is None or not plan.is_written("checkpoint.directory") or "://" in folder:
        return
    place = folder if folder.startswith("/") else f"{setting(plan, 'workdir') or ''}/{folder}"
    mounted = [*pairs(plan, "claims", ":").values()]
    mounted += [mount_parts(mount)[1] for mount in written(plan, "launch.container.mounts") or ()]
    if not any(f"{place}/".startswith(f"{volume.rstrip('/')}/") for volume in mounted):
        help = ('mount a volume there: `emit = [kubernetes { claims = ["CLAIM:FOLDER"] }]`',)
        span = plan["checkpoint.directory"].span
        yield LOST_CHECKPOINTS.at(span, f"no volume is mounted at `{folder}`", "gone when the pod ends", help=help)


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
        yield QUEUE.at(_span(plan, "gang"), "Kueue starts no job without a queue", help=help)

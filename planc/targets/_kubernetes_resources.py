"""What is wrong with the resources that a pod asks for, and with the folders that it mounts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planc.diagnostics.diagnostic import Diagnostic
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown
from planc.source import Span
from planc.targets._carried import span_of_option
from planc.targets._checkpoints import CHECKPOINTS, RESUMED, checkpoint_folders
from planc.targets._kubernetes_faults import LOST_CHECKPOINTS, NO_NETWORK_CARDS, UNSAID, UNUSABLE_TEXT
from planc.targets._kubernetes_pod import TARGET_NAME, Pair, card_resource, mount_parts, pairs, setting, taken_folders
from planc.targets._kubernetes_text import is_amount, is_domain, is_folder, is_key
from planc.targets._launch import written
from planc.targets._record import NO_RECORD, makes_record

_REQUESTS = ("cpu", "memory", "ephemeral-storage")
_LIST = ", as `kubectl describe node` lists it"


def option_span(plan: Plan, name: str) -> Span:
    """Where an option stands, or the target's name where it is not written."""
    return span_of_option(plan, TARGET_NAME, name)


def unusable(span: Span, message: str, label: str = "refused by the API") -> Diagnostic:
    """The fault of a text whose form Kubernetes refuses."""
    return UNUSABLE_TEXT.at(span, message, label)


def check_keys(plan: Plan, name: str, found: tuple[Pair, ...]) -> Iterator[Diagnostic]:
    """A key of an option that stands there twice: the second would replace the first."""
    seen: set[str] = set()
    for pair in found:
        if pair.key in seen:
            yield unusable(option_span(plan, name), f"`{pair.key}` is written twice", "the first would be lost")
        seen.add(pair.key)


def check_resources(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Cards, network cards, requests and shared memory."""
    cards = setting(plan, "gpu_resource")
    if cards is not None and not _is_extended(cards):
        yield unusable(option_span(plan, "gpu_resource"), f"`{cards}` is no resource of a device plugin")
    elif card_resource(plan) is None:
        vendor = written(plan, "cluster.gpu.vendor")
        help = (f'write `emit = [kubernetes {{ gpu_resource = "..." }}]`{_LIST}',)
        span = option_span(plan, "kind")
        yield UNSAID.at(span, f"cards of {vendor} have no single resource", "asks for none", help=help)
    yield from _check_network_cards(plan, facts)
    requests = pairs(plan, "requests")
    for pair in requests:
        if pair.key not in _REQUESTS:
            takes = ", ".join(f"`{known}`" for known in _REQUESTS)
            yield unusable(option_span(plan, "requests"), f"`{pair.text}` asks for nothing by itself", f"takes {takes}")
        elif pair.value is None or not is_amount(pair.value):
            yield unusable(option_span(plan, "requests"), f"`{pair.text}` is no resource and its amount")
    yield from check_keys(plan, "requests", requests)
    memory = written(plan, "launch.kubernetes.shared_memory")
    if memory is not None and not is_amount(memory):
        yield unusable(plan["launch.kubernetes.shared_memory"].span, f"`{memory}` is no amount of memory")


def _check_network_cards(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    found, span = pairs(plan, "rdma"), option_span(plan, "rdma")
    for pair in found:
        pages = pair.key.startswith("hugepages-") and is_key(pair.key)
        if pair.key == card_resource(plan):
            yield unusable(span, f"`{pair.key}` are the cards themselves", "asked for twice")
        elif not pages and not _is_extended(pair.key):
            yield unusable(span, f"`{pair.key}` is no resource of a device plugin")
        elif pair.value is None or not is_amount(pair.value) or not (pages or pair.value.isdecimal()):
            yield unusable(span, f"`{pair.text}` is no resource and its count")
        elif pages and not setting(plan, "requests"):
            yield unusable(span, f"`{pair.key}` without a request for cpu or memory", "refused together")
    yield from check_keys(plan, "rdma", found)
    nodes, nics = facts["cluster.nodes"], written(plan, "cluster.nics.count")
    if nics is not None and not isinstance(nodes, Unknown) and 1 < nodes and not found:
        help = (f'write `emit = [kubernetes {{ rdma = ["rdma/hca=1"] }}]`{_LIST}',)
        message = f"pods see none of their node's {nics} network cards"
        yield NO_NETWORK_CARDS.at(plan["cluster.nics"].span, message, help=help)


def _is_extended(name: str) -> bool:
    """Whether a device plugin may announce a resource of this name."""
    return "/" in name and is_key(name) and not name.startswith(("kubernetes.io/", "requests."))


def check_folders(plan: Plan) -> Iterator[Diagnostic]:
    """Folders that cannot be mounted, or two at one place; and checkpoints in none of them."""
    taken = set(taken_folders())
    for claim in pairs(plan, "claims", ":"):
        folder = (claim.value or "").rstrip("/")
        span = option_span(plan, "claims")
        if not is_domain(claim.key) or not is_folder(folder):
            yield unusable(span, f"`{claim.text}` is no claim and a folder for it", "as in `data:/data`")
        elif folder in taken:
            yield unusable(span, f"two volumes are mounted at `{folder}`")
        taken.add(folder)
    for mount in written(plan, "launch.container.mounts") or ():
        span = plan["launch.container.mounts"].span
        source, place, mode = mount_parts(mount)
        folder = place.rstrip("/")
        if not (is_folder(source) and is_folder(folder)) or mode not in ("ro", "rw"):
            yield unusable(span, f"`{mount}` cannot be mounted", "as in `/data:/data:ro`")
        elif folder in taken:
            yield unusable(span, f"two volumes are mounted at `{folder}`")
        taken.add(folder)
    workdir = setting(plan, "workdir")
    if workdir is not None and not workdir.startswith("/"):
        yield unusable(option_span(plan, "workdir"), f"`{workdir}` is no absolute path")
    yield from _check_checkpoints(plan)


def _check_checkpoints(plan: Plan) -> Iterator[Diagnostic]:
    """Folders of checkpoints on no volume: that of this run, and that of the run which it goes on from."""
    mounted = [claim.value or "" for claim in pairs(plan, "claims", ":")]
    mounted += [mount_parts(mount)[1] for mount in written(plan, "launch.container.mounts") or ()]
    labels = {CHECKPOINTS: "gone when the pod ends", RESUMED: "not in a new pod"}
    for field, folder in checkpoint_folders(plan):
        place = folder if folder.startswith("/") else f"{setting(plan, 'workdir') or ''}/{folder}"
        if not _is_below(place, mounted):
            help = ('mount a volume there: `emit = [kubernetes { claims = ["CLAIM:FOLDER"] }]`',)
            yield LOST_CHECKPOINTS.at(plan[field].span, f"no volume is mounted at `{folder}`", labels[field], help=help)
        elif field == CHECKPOINTS and makes_record(plan) and not _is_below(_parent(place), mounted):
            message, label = "the record of the run ends with the pod", f"it would lie beside `{folder}`, on no volume"
            help = (f'write `directory = "{folder.rstrip("/")}/{plan.name}"`',)
            yield NO_RECORD.at(plan[field].span, message, label, help=help)


def _parent(place: str) -> str:
    return place.rstrip("/").rpartition("/")[0]


def _is_below(place: str, volumes: Sequence[str]) -> bool:
    """Whether a folder lies on a volume that is mounted."""
    return any(f"{place}/".startswith(f"{volume.rstrip('/')}/") for volume in volumes)

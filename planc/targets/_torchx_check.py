"""What keeps a plan from being said in a job of TorchX: it depends on the scheduler that starts it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planc.diagnostics.amounts import count_text
from planc.diagnostics.diagnostic import Diagnostic
from planc.plan.model import Plan, Record
from planc.targets._carried import check_launcher, span_of_option
from planc.targets._checkpoints import CHECKPOINTS, RESUMED, checkpoint_folders
from planc.targets._kubernetes_text import is_image
from planc.targets._launch import choice_of, is_unset, key_span, option, written
from planc.targets._shell import is_bare
from planc.targets._torchx_faults import LOST_CHECKPOINTS, UNSAID

TARGET_NAME = "torchx"
CWD, DOCKER, SLURM, KUBERNETES = "local_cwd", "local_docker", "slurm", "kubernetes"
SCHEDULERS = (CWD, DOCKER, SLURM, KUBERNETES)
_CONTAINERS = (DOCKER, KUBERNETES)

#: Options of sbatch that TorchX hands on; `time` is one more, from `launch.walltime`.
SLURM_KEYS = ("partition", "constraint", "comment", "mail-user", "mail-type")

#: What TorchX puts in place of the job's number in a text for Slurm, even if it stood there before.
_MACRO = "${app_id}"

_OF_THE_NODE = frozenset(("MASTER_ADDR", "PET_RDZV_CONF"))


def setting(plan: Plan, name: str) -> Any:
    """The value of an option of this target; None where nothing is set."""
    return option(plan, TARGET_NAME, name)


def image_path(plan: Plan) -> str:
    """The field that names the image of the containers."""
    own = setting(plan, "scheduler") == KUBERNETES and written(plan, "launch.kubernetes.image") is not None
    return "launch.kubernetes.image" if own else "launch.container.image"


def mount_parts(mount: str) -> tuple[str, str, str]:
    """Folder of the host, where the container sees it, and the mode: `ro`, `rw`, or what else stands there."""
    source, *rest = mount.split(":", 2)
    return source, rest[0] if rest else source, rest[1] if 1 < len(rest) else "rw"


def check_job(plan: Plan) -> Iterator[Diagnostic]:
    """Everything but what the launch script itself cannot do."""
    choice, scheduler = choice_of(plan, TARGET_NAME), setting(plan, "scheduler")
    assert choice is not None  # the target's check runs only where it is emitted
    if scheduler is None:
        if _is_unset_option(plan, "scheduler"):
            help = (f"write `emit = [torchx {{ scheduler = {CWD} }}]`, or another of its words",)
            yield UNSAID.at(choice.span, "nothing says which scheduler starts the job", help=help)
        return
    yield from check_launcher(plan, TARGET_NAME, UNSAID, "its nodes")
    yield from _check_containers(plan, scheduler) if scheduler in _CONTAINERS else _check_bare(plan, scheduler)
    yield from _check_settings(plan, scheduler)
    nodes = written(plan, "cluster.nodes")
    if scheduler in (CWD, DOCKER) and nodes is not None and 1 < nodes:
        span, help = span_of_option(plan, TARGET_NAME, "scheduler"), (f"write `scheduler = {SLURM}` or `{KUBERNETES}`",)
        message = f"`{scheduler}` starts all {count_text(nodes)} nodes on one machine"
        yield UNSAID.at(span, message, "each with the same cards", help=help)
    for name in written(plan, "launch.env") or {}:
        if name in _OF_THE_NODE or name.upper().startswith("TORCHX_"):
            message = f"`{name}` is set on every node of a job"
            yield UNSAID.at(key_span(plan, "launch.env", name), message, "the plan's value would be dropped")
    if scheduler == SLURM and _holds_macro(plan.fields):
        span = span_of_option(plan, TARGET_NAME, "scheduler")
        yield UNSAID.at(span, f"a text of the plan holds `{_MACRO}`", "TorchX would put the job's number there")


def _is_unset_option(plan: Plan, name: str) -> bool:
    """Whether an option of this target is merely not written."""
    choice = choice_of(plan, TARGET_NAME)
    return choice is not None and choice.options[name].value is None


def _check_containers(plan: Plan, scheduler: str) -> Iterator[Diagnostic]:
    path, runtime = image_path(plan), written(plan, "launch.container.runtime")
    image, span = written(plan, path), span_of_option(plan, TARGET_NAME, "scheduler")
    if image is None and is_unset(plan, path):
        help = ('write `launch { container { image = "..." } }`',)
        yield UNSAID.at(span, f"`{scheduler}` starts containers, and no image is named", help=help)
    elif image is not None and not is_image(image):
        yield UNSAID.at(plan[path].span, "no registry holds an image of this name", "as in `registry.example/train:1`")
    if runtime in ("enroot", "apptainer"):
        help = ("write `runtime = docker`, or leave it out",)
        yield UNSAID.at(plan["launch.container.runtime"].span, f"`{scheduler}` runs no image by {runtime}", help=help)
    if scheduler == DOCKER and is_unset(plan, "cluster.cpu_memory"):
        help = ("write the memory of the node in `cluster.cpu_memory`",)
        yield UNSAID.at(span, "a container without a limit gets 64 MiB of /dev/shm", "NCCL needs more", help=help)
    if written(plan, "launch.modules"):
        help = ("put the programs into the image",)
        yield UNSAID.at(
            plan["launch.modules"].span, "an image has no modules to load", "the script would stop", help=help
        )
    if written(plan, "cluster.gpu.vendor") not in (None, "nvidia"):
        vendor = written(plan, "cluster.gpu.vendor")
        yield UNSAID.at(
            span, f"`{scheduler}` asks for cards of nvidia, the plan has {vendor}", help=("emit `kubernetes`",)
        )
    places: set[str] = set()
    for mount in written(plan, "launch.container.mounts") or ():
        source, folder, mode = mount_parts(mount)
        at = plan["launch.container.mounts"].span
        if not (source.startswith("/") and folder.startswith("/")) or mode not in ("ro", "rw"):
            yield UNSAID.at(at, f"`{mount}` cannot be mounted", "as in `/data:/data:ro`")
        elif folder.rstrip("/") in places:
            yield UNSAID.at(at, f"two folders are mounted at `{folder}`")
        places.add(folder.rstrip("/"))
    yield from _check_checkpoints(plan, places)


def _check_checkpoints(plan: Plan, places: set[str]) -> Iterator[Diagnostic]:
    """Folders of checkpoints in the container itself: that of this run, and that of the run which it goes on from."""
    labels = {CHECKPOINTS: "gone with the container", RESUMED: "not in a new one"}
    for field, folder in checkpoint_folders(plan):
        if not any(f"{folder}/".startswith(f"{place}/") for place in places):
            help = ('mount one there: `launch { container { mounts = ["/OUTSIDE:/FOLDER"] } }`',)
            yield LOST_CHECKPOINTS.at(plan[field].span, f"no folder is mounted at `{folder}`", labels[field], help=help)


def _check_bare(plan: Plan, scheduler: str) -> Iterator[Diagnostic]:
    if written(plan, "launch.container.image") is not None and not plan.emits("slurm", "kubernetes", "skypilot"):
        help = (f"write `scheduler = {DOCKER}` or `{KUBERNETES}`, or emit `slurm`",)
        span = plan["launch.container"].span
        yield UNSAID.at(span, f"`{scheduler}` starts no container", "would be left out", help=help)
    if setting(plan, "image_repo") is not None:
        yield UNSAID.at(span_of_option(plan, TARGET_NAME, "image_repo"), f"`{scheduler}` makes no image", "left out")


def _check_settings(plan: Plan, scheduler: str) -> Iterator[Diagnostic]:
    """What is handed to the scheduler, and what it takes."""
    for name in ("slurm", "kubernetes"):
        if name != scheduler and written(plan, f"launch.{name}") and not plan.emits(name):
            help = (f"emit `{name}` too, or remove it",)
            span = plan[f"launch.{name}"].span
            yield UNSAID.at(span, f"`{scheduler}` takes nothing of `launch.{name}`", "would be left out", help=help)
    if scheduler == SLURM:
        for key, value in (written(plan, "launch.slurm") or {}).items():
            span = key_span(plan, "launch.slurm", key)
            if key not in SLURM_KEYS:
                help = ("set `launch.walltime`" if key == "time" else "emit `slurm` instead of `torchx`",)
                yield UNSAID.at(span, f"TorchX hands no `{key}` to Slurm", help=help)
            elif not _is_setting(value):
                yield UNSAID.at(span, f"the value of `{key}` cannot stand in a setting of TorchX", "plain text")
    if scheduler == KUBERNETES:
        yield from _check_kubernetes(plan)
    repository = setting(plan, "image_repo")
    if repository is not None and not (is_image(repository) and _is_setting(repository)):
        span = span_of_option(plan, TARGET_NAME, "image_repo")
        yield UNSAID.at(span, f"`{repository}` is no repository of images", "as in `registry.example/train`")


def _check_kubernetes(plan: Plan) -> Iterator[Diagnostic]:
    span = span_of_option(plan, TARGET_NAME, "scheduler")
    if is_unset(plan, "launch.kubernetes.queue"):
        help = ('write `launch { kubernetes { queue = "..." } }`, a queue of Volcano',)
        yield UNSAID.at(span, "TorchX starts no pods without a queue of Volcano", help=help)
    for name in ("queue", "namespace"):
        value = written(plan, f"launch.kubernetes.{name}")
        if value is not None and not _is_setting(value):
            at = plan[f"launch.kubernetes.{name}"].span
            yield UNSAID.at(at, f"`{value}` cannot stand in a setting of TorchX", "plain text")
    for name in ("labels", "shared_memory"):
        if written(plan, f"launch.kubernetes.{name}") and not plan.emits("kubernetes"):
            help = ("emit `kubernetes` instead, or remove it",)
            at = plan[f"launch.kubernetes.{name}"].span
            yield UNSAID.at(at, f"TorchX takes no `{name}` of its pods", "would be left out", help=help)


def _is_setting(text: str) -> bool:
    """Whether the text is one value of `key=value,...`, and may stand in an #SBATCH line."""
    return is_bare(text) and not any(sign in text for sign in ",;=")


def _holds_macro(value: Any) -> bool:
    """Whether a text anywhere below a value holds the macro that TorchX replaces for Slurm."""
    if isinstance(value, str):
        return _MACRO in value
    if isinstance(value, Record):
        return _holds_macro(value.fields)
    if isinstance(value, dict):
        return any(_holds_macro(getattr(item, "value", item)) for item in value.values())
    return isinstance(value, tuple) and any(_holds_macro(item) for item in value)

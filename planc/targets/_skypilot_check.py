"""What keeps a plan from being said in a task of SkyPilot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from planc.diagnostics.diagnostic import Diagnostic
from planc.facts.facts import Facts
from planc.plan.model import Plan, Record
from planc.targets._cards import another_card
from planc.targets._carried import check_launcher, span_of_option
from planc.targets._checkpoints import CHECKPOINTS, RESUMED, checkpoint_folders
from planc.targets._kubernetes_text import is_image
from planc.targets._launch import choice_of, key_span, option, written
from planc.targets._skypilot_cards import NAMES
from planc.targets._skypilot_faults import BARE_MACHINE, LOST_CHECKPOINTS, UNSAID

TARGET_NAME = "skypilot"
HOME = "~/sky_workdir"  # where SkyPilot puts `workdir`, and starts the program

#: The clouds of SkyPilot 0.14.1 (sky/skylet/constants.py, ALL_CLOUDS).
_CLOUDS = frozenset((
    "aws", "azure", "gcp", "ibm", "lambda", "scp", "oci", "kubernetes", "k8s", "runpod", "vast", "vsphere", "cudo",
    "fluidstack", "paperspace", "primeintellect", "do", "nebius", "ssh", "slurm", "hyperbolic", "seeweb", "shadeform",
    "yotta", "mithril", "verda", "*",
))  # fmt: skip
_ANY_DEPTH = ("kubernetes", "k8s")  # the name of a context may have slashes

_NAME = re.compile(r"[a-zA-Z0-9]+(?:[._-]{1,2}[a-zA-Z0-9]+)*")
_BUCKET = re.compile(r"(s3|gs|r2|nebius|oci|cos|https|coreweave|tigris)://[A-Za-z0-9._/-]*[A-Za-z0-9]")
_FOLDER = re.compile(r"(/|~/)[A-Za-z0-9._/-]*[A-Za-z0-9_-]")

#: Set on every node by SkyPilot or by the Ray below it, or by the script from what they say.
_OF_THE_NODE = frozenset((
    "MASTER_ADDR", "CUDA_VISIBLE_DEVICES", "RAY_CLIENT_MODE", "RAY_JOB_ID", "RAY_RAYLET_PID", "PYTHONUNBUFFERED",
    "PET_LOCAL_ADDR", "PET_RDZV_CONF",
))  # fmt: skip


def setting(plan: Plan, name: str) -> Any:
    """The value of an option of this target; None where nothing is set."""
    return option(plan, TARGET_NAME, name)


def accelerator_of(plan: Plan) -> str | None:
    """What SkyPilot calls the card: the option, else the name of a card of the catalogue."""
    chosen, card = setting(plan, "accelerator"), plan["cluster.gpu"].value
    if chosen is not None:
        return str(chosen)
    return NAMES.get(card.word or "") if isinstance(card, Record) else None


def mounts(plan: Plan, name: str) -> tuple[tuple[str, str], ...]:
    """What the option `buckets` or `volumes` mounts: the source, and where."""
    return tuple((source, folder) for source, _, folder in (text.rpartition(":") for text in setting(plan, name) or ()))


def check_task(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """Everything but what the launch script itself cannot do."""
    yield from _check_resources(plan)
    yield from check_launcher(plan, TARGET_NAME, UNSAID, "its machines")
    yield from _check_launch(plan)
    if not _NAME.fullmatch(plan.name):
        help = ("call the plan otherwise",)
        yield UNSAID.at(plan.span, f"`{plan.name}` cannot name a task", "refused by SkyPilot", help=help)
    yield from _check_mounts(plan)
    yield from _check_checkpoints(plan)


def _check_resources(plan: Plan) -> Iterator[Diagnostic]:
    name = accelerator_of(plan)
    span = span_of_option(plan, TARGET_NAME, "accelerator")
    if name is None and isinstance(plan["cluster.gpu"].value, Record):
        help = ('write `emit = [skypilot { accelerator = "..." }]`, a name that `sky gpus list` shows',)
        message = f"SkyPilot has no one name for `{plan['cluster.gpu'].value.word}`"
        yield UNSAID.at(span, message, "asks for no card", help=help)
    elif name is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.-]*", name):
        yield UNSAID.at(span, f"`{name}` is no name of a card", "its number follows from `cluster.gpus_per_node`")
    elif name is not None and another_card(plan, name):
        message = f"`{name}` is asked for, the plan is for `{another_card(plan, name)}`"
        yield UNSAID.at(span, message, "checked for another card", help=("write the card into `cluster`",))
    infra = setting(plan, "infra")
    if infra is not None:
        cloud, *places = infra.split("/")
        deep = cloud.lower() in _ANY_DEPTH
        if cloud.lower() not in _CLOUDS or "" in places or (2 < len(places) and not deep) or not infra.isprintable():
            label = "as in `aws/us-east-1` or `k8s/CONTEXT`"
            yield UNSAID.at(
                span_of_option(plan, TARGET_NAME, "infra"), f"`{infra}` is no place that SkyPilot knows", label
            )
    size = setting(plan, "disk_size")
    if size is not None and size < 2**30:
        yield UNSAID.at(span_of_option(plan, TARGET_NAME, "disk_size"), "a disk of less than 1 GiB", "a whole number")


def _check_launch(plan: Plan) -> Iterator[Diagnostic]:
    if not setting(plan, "setup") and written(plan, "launch.container.image") is None and not _has_own(plan):
        choice = choice_of(plan, TARGET_NAME)
        if choice is not None:
            help = ('write `skypilot { setup = "pip install torch" }` and what the program needs, or an image',)
            yield BARE_MACHINE.at(choice.span, "nothing installs torch on the machines", "they have none", help=help)
    modules = written(plan, "launch.modules")
    if modules and not (setting(plan, "infra") or "").lower().startswith("slurm"):
        help = ("install the programs in `setup`, or put them into an image",)
        span = plan["launch.modules"].span
        yield UNSAID.at(span, "machines of a cloud have no modules to load", "the script would stop", help=help)
    for name in ("slurm", "kubernetes"):
        if written(plan, f"launch.{name}") and not plan.emits(name):
            help = (f"emit `{name}` too, or remove it",)
            span = plan[f"launch.{name}"].span
            yield UNSAID.at(span, f"SkyPilot takes nothing of `launch.{name}`", "would be left out", help=help)
    image, runtime = written(plan, "launch.container.image"), written(plan, "launch.container.runtime")
    if image is not None and not is_image(image):
        span, label = plan["launch.container.image"].span, "as in `registry.example/train:1`"
        yield UNSAID.at(span, "no registry holds an image of this name", label)
    elif image is not None and runtime in ("enroot", "apptainer"):
        help = ("write `runtime = docker`, or leave it out",)
        yield UNSAID.at(plan["launch.container.runtime"].span, f"SkyPilot runs no image by {runtime}", help=help)
    if written(plan, "launch.container.mounts"):
        help = ("mount a bucket with the option `buckets`, or a volume with `volumes`",)
        span = plan["launch.container.mounts"].span
        yield UNSAID.at(span, "no folder of a host is mounted by SkyPilot", "would be left out", help=help)
    for name in written(plan, "launch.env") or {}:
        if name in _OF_THE_NODE or name.upper().startswith("SKYPILOT_"):
            message = f"`{name}` is set on every node of a task"
            yield UNSAID.at(key_span(plan, "launch.env", name), message, "the plan's value would be dropped")


def _has_own(plan: Plan) -> bool:
    """Whether the machines may come with the programs: nodes of a cluster, or an environment that the plan names."""
    cloud = (setting(plan, "infra") or "").partition("/")[0].lower()
    return cloud in ("slurm", "ssh") or written(plan, "launch.venv") is not None


def _check_mounts(plan: Plan) -> Iterator[Diagnostic]:
    workdir = setting(plan, "workdir")
    if workdir is not None and (not workdir.strip() or "$" in workdir or not workdir.isprintable()):
        label = "a folder of the machine on which `sky` is called, without `$`"
        yield UNSAID.at(span_of_option(plan, TARGET_NAME, "workdir"), f'`"{workdir}"` is no folder to be copied', label)
    seen: set[str] = set()
    for name, form, like in (("buckets", _BUCKET, "s3://runs:/data"), ("volumes", _NAME, "data:/data")):
        span = span_of_option(plan, TARGET_NAME, name) if setting(plan, name) else plan.span
        for text, (source, folder) in zip(setting(plan, name) or (), mounts(plan, name), strict=True):
            if not form.fullmatch(source) or not _FOLDER.fullmatch(folder) or ".." in folder.split("/"):
                yield UNSAID.at(span, f'`"{text}"` is nothing mounted at a folder', f"as in `{like}`")
            elif folder in seen or folder == HOME:
                yield UNSAID.at(span, f"two things are mounted at `{folder}`", "the first would be lost")
            seen.add(folder)


def _check_checkpoints(plan: Plan) -> Iterator[Diagnostic]:
    """Folders of checkpoints on the machine itself: that of this run, and that of the run which it goes on from."""
    mounted = [at for name in ("buckets", "volumes") for _, at in mounts(plan, name)]
    labels = {CHECKPOINTS: "gone with the machine", RESUMED: "not on a new one"}
    for field, folder in checkpoint_folders(plan):
        place = folder if folder.startswith("/") else f"{HOME}/{folder}"
        if not any(f"{place}/".startswith(f"{at}/") for at in mounted):
            at = place if _FOLDER.fullmatch(place) else "FOLDER"
            help = (f'mount a bucket there: `emit = [skypilot {{ buckets = ["s3://BUCKET:{at}"] }}]`',)
            yield LOST_CHECKPOINTS.at(plan[field].span, f"nothing is mounted at `{folder}`", labels[field], help=help)

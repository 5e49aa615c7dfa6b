"""What a Slurm job needs to start its tasks in a container: by pyxis, an option of srun, or by apptainer, a command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from planc.diagnostics.diagnostic import Diagnostic
from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.targets._launch import written
from planc.targets._slurm_faults import MOUNT, RUNTIME

#: `/outside`, `/outside:/inside` or `/outside:/inside:flags`.
_MOUNT = re.compile(r"/[^,:\s]*(?::/[^,:\s]*(?::[^,:\s]+)?)?")

#: What apptainer wants to be told of the cards, by their maker.
_CARDS = {"nvidia": "--nv", "amd": "--rocm"}


def check_container(plan: Plan) -> Iterator[Diagnostic]:
    """What is wrong with the container of a Slurm job."""
    image = written(plan, "launch.container.image")
    if image is None:
        return
    runtime = written(plan, "launch.container.runtime")
    if runtime not in ("enroot", "apptainer"):
        span = plan["launch.container"].span if runtime is None else plan["launch.container.runtime"].span
        message = (
            "nothing says what runs the container" if runtime is None else f"`slurm` writes nothing for `{runtime}`"
        )
        yield RUNTIME.at(span, message, help=("write `runtime = enroot` for pyxis, or `runtime = apptainer`",))
    if not image.strip() or image.startswith(("-", "~")):
        yield MOUNT.at(plan["launch.container.image"].span, f'`"{image}"` is no image of a container')
    for mount in written(plan, "launch.container.mounts") or ():
        if not _MOUNT.fullmatch(mount):
            label = "neither `/outside` nor `/outside:/inside`"
            yield MOUNT.at(plan["launch.container.mounts"].span, f'`"{mount}"` is no mount of one folder', label)


def container_values(plan: Plan, facts: Facts, names: tuple[str, ...]) -> dict[str, Any]:
    """What the template is filled with; `names` are variables that hold in the container whatever its image sets."""
    image = written(plan, "launch.container.image")
    if image is None:
        return {"container": None}
    vendor = facts["cluster.gpu.vendor"]
    mounts = tuple(
        mount if ":" in mount else f"{mount}:{mount}" for mount in written(plan, "launch.container.mounts") or ()
    )
    return {
        "container": written(plan, "launch.container.runtime"),
        "image": image,
        "mounts": mounts,
        "cards": _CARDS.get(vendor) if isinstance(vendor, str) else "--nv",
        "names": names,
    }

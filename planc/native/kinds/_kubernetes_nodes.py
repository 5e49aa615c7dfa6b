"""Where the pods of a job meet, of which an operator says the number: launchers tell of one that they are given."""

from __future__ import annotations

import re
from collections.abc import Iterator

from planc.diagnostics.amounts import plural
from planc.diagnostics.diagnostic import Diagnostic, Label
from planc.native import faults
from planc.native.kinds._kubernetes_pods import Pods, launch_of, maps
from planc.native.kinds._options import place_of
from planc.native.kinds._torchrun_checks import LOOPBACK, loopback_of
from planc.native.shell.launching import Launch
from planc.native.shell.options import Option
from planc.native.shell.values import Unknown
from planc.native.tree import Map

#: Variables that an operator sets for each pod, and that are no less than the number of pods (training operator 1.9,
#: pkg/controller.v1/pytorch/envvar.go).
_OF_PODS = ("PET_NNODES", "WORLD_SIZE")
_VARIABLE = re.compile(r"\$[({]?(\w+)")

#: Options with the number of nodes, and with the address at which they meet, by launcher.
_NODES = {"torchrun": "nnodes", "accelerate": "num_machines"}
_ADDRESSES = {"torchrun": ("rdzv_endpoint", "master_addr"), "accelerate": ("main_process_ip",)}


def check_roles(root: Map, pods: tuple[Pods, ...]) -> Iterator[Diagnostic]:
    """Workers of a PyTorchJob, which torchrun is told of without an option; a master may call itself as it likes."""
    numbers = [each.number for each in pods if each.number is not None]
    if len(numbers) < len(pods) or root.find("spec", "elasticPolicy") is not None:
        return
    for each in pods:
        if each.main is not None and each.role != "Master" and each.number:
            place = each.counted.value.span if each.counted is not None else each.place
            has_master = any(other.role == "Master" for other in pods)
            leader = "$(MASTER_ADDR)" if has_master else f"{root.value('metadata', 'name')}-worker-0"
            yield from check(each.main, sum(numbers), Label(place, plural(each.number, "pod")), leader, True)


def check(
    container: Map, count: int, label: Label, leader: str = "$(PET_MASTER_ADDR)", is_told: bool = False
) -> Iterator[Diagnostic]:
    """An address that each of several pods has for itself, where an operator tells the launcher of all of them.

    label: where their number stands; leader: what to call the first of them; is_told: whether torchrun knows their
    number without an option.
    """
    launch = launch_of(container)
    if launch is None or count < 2 or launch.launcher not in _NODES or not _waits(launch, is_told):
        return
    if any(variable.value("value") in LOOPBACK for variable in maps(container, "env")):
        return  # the operator's own address may come after it
    for name in _ADDRESSES[launch.launcher]:
        option = launch.option(name)
        host = loopback_of(option)
        if option is not None and host is not None:
            message = f"{plural(count, 'pod')} meet at `{host}`"
            help = (f"name the pod that leads: `{leader}`",)
            yield faults.CONFLICTING_SETTINGS.at(
                place_of(option), message, "each pod waits for itself", related=(label,), help=help
            )
            return


def _waits(launch: Launch, is_told: bool) -> bool:
    """Whether an operator says for how many nodes a launcher waits: by a variable that torchrun reads itself, or that
    its command hands over.
    """
    option = launch.option(_NODES[launch.launcher])
    if launch.open or launch.option("standalone") is not None:
        return False
    if option is None:
        return is_told and launch.launcher == "torchrun"
    return _variable_of(option) in _OF_PODS


def _variable_of(option: Option) -> str | None:
    word = option.value
    if word is None or len(word.pieces) != 1:
        return None
    piece = word.pieces[0]
    if not isinstance(piece, Unknown):
        return piece.default_of
    match = _VARIABLE.match(piece.text)
    return piece.name or (match[1] if match is not None else None)

"""What no file can tell of a plan's machines, and the command that would show it: never a fault, a list for a person.

Which lines are listed follows from the plan: cables between nodes are nothing to a run on one. Each states what has to
hold, with the plan's own numbers, and a command of the tool that knows.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import NamedTuple

from planc.diagnostics.amounts import plural, speed_text
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown


class Verification(NamedTuple):
    """What has to hold on the machines of a plan: its name, the plan's name, the claim, and the command to run."""

    name: str
    plan: str
    claim: str
    command: str


def verifications(plan: Plan, facts: Facts) -> Iterator[Verification]:
    """What a person would look at before the run, in the order from a card to the whole cluster."""
    nodes, cards = _count(facts["cluster.nodes"]), _count(facts["cluster.gpus_per_node"])
    if _is_nvidia(facts):
        for name, claim, command in _of_cards(plan, cards):
            yield Verification(name, plan.name, claim, command)
    if 1 < nodes:
        for name, claim, command in _of_networks(facts, nodes):
            yield Verification(name, plan.name, claim, command)
    for name, claim, command in _of_software(plan, nodes):
        yield Verification(name, plan.name, claim, command)


def _of_cards(plan: Plan, cards: int) -> Iterator[tuple[str, str, str]]:
    """Source: nvidia-smi(1); Fabric Manager User Guide; NCCL user guide, GPU troubleshooting."""
    versions = plan.value("versions")
    cuda = versions.get("cuda") if isinstance(versions, dict) else None
    yield (
        "driver",
        "the same driver on every node" + (f", which runs CUDA {cuda}" if cuda else ""),
        "nvidia-smi --query-gpu=driver_version --format=csv,noheader",
    )
    yield (
        "cards",
        f"{plural(cards, 'card')} on every node, not cut up by MIG, without uncorrected ECC errors",
        "nvidia-smi --query-gpu=index,name,mig.mode.current,ecc.errors.uncorrected.volatile.total --format=csv",
    )
    yield ("clocks", "no card is slowed down by heat or power", "nvidia-smi -q -d PERFORMANCE")
    if 1 < cards:
        yield ("topology", "cards of a node reach each other as the plan's `link` says", "nvidia-smi topo -m")
        yield (
            "fabric manager",
            "it runs where NVSwitches join the cards, in the version of the driver",
            "systemctl status nvidia-fabricmanager",
        )
        yield (
            "access control",
            "PCIe access control is off, which would send traffic between cards over the processor",
            "sudo lspci -vvv | grep ACSCtl",
        )


def _of_networks(facts: Facts, nodes: int) -> Iterator[tuple[str, str, str]]:
    """Source: ibstat(8); NCCL user guide, networking troubleshooting; nccl-tests, README."""
    yield ("ports", "every network port is Active and LinkUp, at its full rate", "ibstat")
    if _is_nvidia(facts):
        yield (
            "kernel module",
            "network cards read the memory of GPUs: the module is loaded, or the kernel has dma-buf (5.12)",
            "lsmod | grep nvidia_peermem",
        )
    yield ("locked memory", "unlimited, also inside the job: RDMA registers buffers", "ulimit -l")
    bandwidth = facts["cluster.inter_node"]
    reached = "" if isinstance(bandwidth, Unknown) else f": {speed_text(bandwidth)} a card, less what NCCL takes"
    yield (
        "cables",
        f"the network between {nodes} nodes carries what the plan counts with{reached}",
        f"all_reduce_perf -b 1G -e 8G -f 2  # of nccl-tests, one process a card on all {nodes} nodes",
    )
    yield (
        "names",
        "every node resolves the first one's name to an address that the others reach",
        "getent hosts FIRST_NODE",
    )


def _of_software(plan: Plan, nodes: int) -> Iterator[tuple[str, str, str]]:
    yield (
        "collectives",
        "the NCCL that the program loads is the one that the plan means",
        "python -c 'import torch; print(torch.__version__, torch.version.cuda, torch.cuda.nccl.version())'",
    )
    if 1 < nodes:
        yield ("packages", "every node has the same packages", "pip freeze | sha256sum")
        directory = plan.value("checkpoint.directory")
        if isinstance(directory, str):
            command = f"df -hT -- {shlex.quote(directory)}"
            yield ("checkpoints", "all nodes see one checkpoint folder, and it has room", command)


def _is_nvidia(facts: Facts) -> bool:
    """Whether the cards are NVIDIA's, whose compute capability says so too: of others planc knows no command."""
    vendor = facts["cluster.gpu.vendor"]
    return vendor == "nvidia" or not isinstance(facts["cluster.gpu.compute_capability"], Unknown)


def _count(value: object) -> int:
    return value if isinstance(value, int) else 1

"""The environment that all launch scripts share: what planc sets besides the plan's own variables, and why.

A variable that the plan writes in `launch.env` is the plan's, and one that the caller has set is the caller's; planc
sets the rest. What only the node knows (threads, the folder of build caches) is worked out in `templates/shell/`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from planc.facts.engine import engines
from planc.facts.facts import Facts
from planc.plan.model import Plan, Unknown

#: The allocator listens to the first of these that is set (torch 2.13, c10/cuda/CUDAAllocatorConfig.h).
_ALLOCATOR = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")

#: Compute capability from which on the order of launches does not depend on the number of connections.
_BLACKWELL = 10


class Variable(NamedTuple):
    """A variable of the run: its reason, empty for one of the plan's own, and another name that means the same."""

    name: str
    value: str
    reason: str = ""
    other: str = ""


def environment(plan: Plan, facts: Facts) -> tuple[Variable, ...]:
    """The variables that a script exports unless the caller has set them: the plan's own, as written, then planc's."""
    own = _known(facts, "launch.env", {})
    added = [variable for variable in _added(plan, facts) if not {variable.name, variable.other} & own.keys()]
    return (*(Variable(name, value) for name, value in own.items()), *added)


def script_values(variables: tuple[Variable, ...]) -> dict[str, Any]:
    """What `templates/shell/environment.sh.j2` is filled with."""
    return {
        "env": tuple((variable.name, variable.value) for variable in variables),
        "reasons": {variable.name: variable.reason for variable in variables if variable.reason},
        "others": {variable.name: variable.other for variable in variables if variable.other},
    }


def _added(plan: Plan, facts: Facts) -> list[Variable]:
    vendor = facts["cluster.gpu.vendor"]
    is_nvidia = vendor == "nvidia" or isinstance(vendor, Unknown)
    found = []
    if plan.emits("deepspeed"):
        minutes = str(plan.value("launch.timeout") // 60)
        found.append(Variable("DEEPSPEED_TIMEOUT", minutes, "DeepSpeed: minutes until a collective is given up."))
    if is_nvidia:
        reason = "PyTorch: segments that grow, as free memory in pieces is of no use to a large tensor."
        found.append(Variable(_ALLOCATOR[0], "expandable_segments:True", reason, _ALLOCATOR[1]))
    if _relies_on_one_connection(plan, facts):
        reason = "Megatron: before Blackwell its overlap of tensor and context ranks relies on the order of launches."
        found.append(Variable("CUDA_DEVICE_MAX_CONNECTIONS", "1", reason))
    if plan.emits("megatron", "megatron-bridge") and _known(facts, "train.deterministic", False):
        reason = "Megatron: a deterministic run asks for an algorithm that adds up in a fixed order."
        found.append(Variable("NCCL_ALGO", "Ring", reason))
        reason = "PyTorch: without a workspace of stated size cuBLAS is refused in a deterministic run."
        found.append(Variable("CUBLAS_WORKSPACE_CONFIG", ":4096:8", reason))
        reason = "TransformerEngine: no kernel that adds up in another order each time."
        found.append(Variable("NVTE_ALLOW_NONDETERMINISTIC_ALGO", "0", reason))
    names = _known(facts, "cluster.nics.names", ())
    if names and 1 < facts["cluster.nodes"]:
        found.append(Variable("NCCL_IB_HCA", ",".join(names), "NCCL: the network cards that the cluster names."))
    return found + _caches(plan)


def _relies_on_one_connection(plan: Plan, facts: Facts) -> bool:
    """Whether Megatron asserts one connection, and no trainer of the plan gathers weights beside its products.

    It asks for the major version of the card's architecture, which of AMD's is 9 as well (`get_device_arch_version`): a
    card that is not known to be Blackwell or later may be one with which it does not start.
    """
    capability = facts["cluster.gpu.compute_capability"]
    is_older = isinstance(capability, Unknown) or capability < _BLACKWELL
    is_split = 1 < facts["parallel.tensor"] or 1 < facts["parallel.context"]
    is_megatron = {engine.name for engine in engines(plan)} == {"megatron"}
    return is_megatron and is_split and is_older and facts["shard.stage"] < 2


def _caches(plan: Plan) -> list[Variable]:
    """Folders that the options of `env` name: one that all nodes share for data, one of the node for what is built."""
    options = next((choice.options for choice in plan.targets if choice.name == "env"), None)
    if options is None:
        return []
    found = []
    data, build = options.value("data_cache"), options.value("build_cache")
    if data is not None:
        found.append(Variable("HF_HOME", data, "Hugging Face: downloads lie where all nodes see them."))
    if build is not None:
        found.append(Variable("PLANC_CACHE", build, "The disk of the node on which kernels are built."))
    return found


def _known(facts: Facts, path: str, otherwise: Any) -> Any:
    value = facts[path]
    return otherwise if isinstance(value, Unknown) else value

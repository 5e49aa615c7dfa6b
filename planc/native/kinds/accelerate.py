"""The YAML that `accelerate config` writes and `accelerate launch` reads."""

from __future__ import annotations

from planc.native.keys import Reader, check
from planc.native.kind import Content, Kind, Options
from planc.native.kinds import _layer_classes
from planc.native.kinds._accelerate_checks import check as settings
from planc.native.kinds._accelerate_checks import version_of
from planc.native.saying import Sayer, is_on, quoted, whole
from planc.native.tables import load_table
from planc.native.tree import Entry, Map, Scalar, Tree

_SURE = (
    "distributed_type", "compute_environment", "main_training_function", "parallelism_config", "downcast_bf16",
    "machine_rank", "same_network",
)  # fmt: skip
_LIKELY = (
    "num_machines", "num_processes", "mixed_precision", "fsdp_config", "deepspeed_config", "main_process_ip",
    "main_process_port", "rdzv_backend", "use_cpu", "gpu_ids",
)  # fmt: skip

#: What the program decides, or the files and options beside this one.
_WITHHELD = (
    "batch", "recompute", "optimizer", "schedule", "pipeline", "train", "dataset", "checkpoint", "launch.timeout",
    "shard", "offload", "precision", "adapter",
)  # fmt: skip

#: Sharding strategies of FSDP1, by name and by number: the stage, and whether each node has a whole copy.
_STRATEGIES = {
    "FULL_SHARD": (3, False), "SHARD_GRAD_OP": (2, False), "NO_SHARD": (0, False), "HYBRID_SHARD": (3, True),
    "HYBRID_SHARD_ZERO2": (2, True), "1": (3, False), "2": (2, False), "3": (0, False), "4": (3, True), "5": (2, True),
}  # fmt: skip

#: Keys as people write them who know the flags of other launchers, by what they are here.
_MEANT = {
    "nnodes": "num_machines", "num_nodes": "num_machines", "node_rank": "machine_rank", "nproc": "num_processes",
    "nproc_per_node": "num_processes", "num_gpus": "num_processes", "world_size": "num_processes",
    "master_addr": "main_process_ip", "main_process_addr": "main_process_ip", "master_port": "main_process_port",
    "precision": "mixed_precision",
}  # fmt: skip

_EXCHANGES = {"allgather": "all-gather", "alltoall": "ring"}

_STATE_DICTS = {"SHARDED_STATE_DICT": "sharded", "FULL_STATE_DICT": "full"}


def recognise(tree: Tree) -> int:
    """How sure it is that a tree is accelerate's configuration."""
    root = tree.root
    if root is None:
        return 0
    names = set(root.names())
    sure, likely = len(names.intersection(_SURE)), len(names.intersection(_LIKELY))
    if sure == 0 or sure + likely < 2:
        return 0
    return min(50 + 10 * sure + 5 * likely, 95)


def read(tree: Tree, options: Options) -> Content:
    """What the file says, with its keys checked."""
    sayer, root = Sayer(), tree.root
    if root is None:
        return sayer.content()
    found = tuple(settings(root))
    told = {each.primary.span for each in found}  # the table knows less of these
    reader = Reader(load_table("accelerate"), version=options.version("accelerate"), meant=_MEANT)
    sayer.report(*found, *(each for each in check(root, reader) if each.primary.span not in told))
    _cluster(root, sayer)
    word = root.value("mixed_precision")
    if word in ("bf16", "fp16", "fp8"):  # `no` leaves it to the program: the Trainer has its own flags
        sayer.say("precision", root.find("mixed_precision"), word)
    kind = root.value("distributed_type")
    if kind == "FSDP":
        _fsdp(root, sayer)
    elif kind == "DEEPSPEED":
        _deepspeed(root, sayer)
    elif kind == "MULTI_GPU":
        sayer.say("shard.stage", root.find("distributed_type"), "0")
    if kind in ("FSDP", "DEEPSPEED"):
        backend = "deepspeed" if kind == "DEEPSPEED" else f"fsdp{version_of(root)}"
        sayer.say("emit.accelerate.backend", root.find("distributed_type"), backend)
    _axes(root, sayer)
    return sayer.content()


def _cluster(root: Map, sayer: Sayer) -> None:
    """Machines, and processes a machine: `num_processes` counts those of all machines."""
    if root.value("distributed_type") == "MULTI_CPU" or is_on(root, "use_cpu"):
        return
    machines, processes = root.find("num_machines"), root.find("num_processes")
    count, total = whole(machines), whole(processes)
    if count is None and machines is None:
        count = 1
    if count is None or count < 1:
        return
    sayer.say("cluster.nodes", machines)
    if total is not None and 0 < total and total % count == 0:
        sayer.say("cluster.gpus_per_node", processes, str(total // count))
        if machines is None:
            sayer.say("cluster.nodes", processes, "1")
    port = root.find("main_process_port")
    if whole(port):
        sayer.say("launch.env.MASTER_PORT", port, quoted(str(whole(port))))


def _fsdp(root: Map, sayer: Sayer) -> None:
    fsdp = root.map("fsdp_config")
    if fsdp is None:
        return
    if version_of(root) == 2:
        again = _found(fsdp, "fsdp_reshard_after_forward")
        flag = again.value.value if again is not None and isinstance(again.value, Scalar) else None
        if isinstance(flag, bool):
            sayer.say("shard.stage", again, "3" if flag else "2")
        elif again is None:
            sayer.say("shard.stage", root.find("distributed_type"), "3")
    else:
        strategy = _found(fsdp, "fsdp_sharding_strategy")
        word = strategy.value.value if strategy is not None and isinstance(strategy.value, Scalar) else None
        stage = _STRATEGIES.get(str(word).upper())
        if stage is not None:
            sayer.say("shard.stage", strategy, str(stage[0]))
    for name, path, text in (
        ("fsdp_offload_params", "offload.weights", "cpu"), ("fsdp_offload_params", "offload.optimizer", "cpu"),
        ("fsdp_activation_checkpointing", "recompute", "full"),
    ):  # fmt: skip
        if is_on(fsdp, name) or is_on(fsdp, name.removeprefix("fsdp_")):
            sayer.say(path, _found(fsdp, name), text)
    layer = _found(fsdp, "fsdp_transformer_layer_cls_to_wrap")
    is_text = layer is not None and isinstance(layer.value, Scalar) and isinstance(layer.value.value, str)
    if is_text and not any(_layer_classes.check(layer)):  # else it is told already
        sayer.say("emit.accelerate.layer_class", layer)
    layout = _found(fsdp, "fsdp_state_dict_type")
    word = _STATE_DICTS.get(str(getattr(layout.value, "value", "")).upper()) if layout is not None else None
    if word is not None:
        sayer.say("checkpoint.format", layout, word)


def _found(fsdp: Map, name: str) -> Entry | None:
    """A key of `fsdp_config`, with its prefix or without."""
    return fsdp.find(name) or fsdp.find(name.removeprefix("fsdp_"))


def _deepspeed(root: Map, sayer: Sayer) -> None:
    config = root.map("deepspeed_config")
    if config is None:
        return
    file = config.find("deepspeed_config_file")
    path = config.value("deepspeed_config_file")
    if file is not None and isinstance(path, str) and path not in ("", "none", "None"):
        sayer.refer(path, file.value.span, "deepspeed")
        return  # what else stands here is not read, and its own fault
    sayer.say("shard.stage", config.find("zero_stage"))
    passes = config.find("gradient_accumulation_steps")
    if whole(passes):
        sayer.say("batch.accumulation", passes)
    clip = config.value("gradient_clipping")
    if isinstance(clip, (int, float)) and not isinstance(clip, bool) and clip:
        sayer.say("optimizer.clip", config.find("gradient_clipping"))
    stage = config.value("zero_stage")
    for key, field, least in (
        ("offload_optimizer_device", "offload.optimizer", 1), ("offload_param_device", "offload.weights", 3),
    ):  # fmt: skip
        device = config.value(key)
        if device in ("cpu", "nvme") and isinstance(stage, int) and least <= stage:
            sayer.say(field, config.find(key), device)


def _exchange(axes: Map, sayer: Sayer) -> None:
    """How ranks of one sequence exchange keys and values: accelerate gathers them unless it is told otherwise."""
    strategy, ranks = axes.find("parallelism_config_cp_comm_strategy"), axes.find("parallelism_config_cp_size")
    word = _EXCHANGES.get(str(axes.value("parallelism_config_cp_comm_strategy")))
    if strategy is not None and word is not None:
        sayer.say("context", strategy, word)
    elif strategy is None and ranks is not None:
        sayer.assume("context", "all-gather", ranks.span, "parallelism_config_cp_comm_strategy")


def _axes(root: Map, sayer: Sayer) -> None:
    """The sizes of the mesh, which only names with the prefix set."""
    axes = root.map("parallelism_config")
    if axes is None:
        return
    for name, path in (("tp_size", "parallel.tensor"), ("cp_size", "parallel.context")):
        entry = axes.find(f"parallelism_config_{name}")
        if whole(entry):
            sayer.say(path, entry)
    if (whole(axes.find("parallelism_config_cp_size")) or 1) > 1:
        _exchange(axes, sayer)
    ulysses = axes.find("parallelism_config_sp_size")
    if (whole(ulysses) or 1) > 1:
        sayer.say("parallel.context", ulysses)
        sayer.say("context", ulysses, "ulysses")
    shard, copies = (axes.find(f"parallelism_config_{name}") for name in ("dp_shard_size", "dp_replicate_size"))
    if whole(shard) and (whole(copies) or 1) > 1:
        sayer.say("shard.size", shard)


KIND = Kind(
    "accelerate",
    "a configuration of accelerate",
    ("yaml", "json"),
    _SURE,
    recognise,
    read,
    targets=("accelerate",),
    trainer="accelerate",
    withheld=_WITHHELD,
)

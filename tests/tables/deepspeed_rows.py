"""What DeepSpeed's source says of keys that no pydantic model describes, read by people.

The names, and the defaults where there are any, come from the reader itself, which is watched (`deepspeed.py`); here
stand the types of those whose default says nothing, and the words and bounds that the code checks. `UNWATCHED` are keys
that other parts read, when they are used: each with the file of DeepSpeed in which its name stands.
"""

from __future__ import annotations

from tests.tables.common import Row


def one_of(*words: str) -> Row:
    """A text of a list."""
    return {"types": ["string"], "words": list(words)}


def folded(*words: str) -> Row:
    """A text of a list, in whatever case."""
    return {"types": ["string"], "words": list(words), "folded": list(words)}


def maybe(row: Row) -> Row:
    """A value that may be null."""
    return row | {"types": [*row["types"], "null"]}


def list_of(row: Row) -> Row:
    """A list whose items are like this."""
    return {"types": ["list"], "items": row}


def object_of(unknown: str = "ignored", **keys: Row) -> Row:
    """An object with these keys."""
    return {"types": ["object"], "keys": keys, "unknown": unknown}


INT: Row = {"types": ["int"]}
COUNT: Row = {"types": ["int"], "minimum": 1}
FLOAT: Row = {"types": ["float"]}
BOOL: Row = {"types": ["bool"]}
TEXT: Row = {"types": ["string"]}
TEXTS = list_of(TEXT)
OPEN: Row = {"types": ["object"], "unknown": "open"}
DTYPE = maybe(folded("fp16", "bf16", "fp32"))

#: Types of the watched keys, by their paths; `dtype` is put in for the texts that DeepSpeed's enumeration takes.
WATCHED: dict[str, Row] = {
    "train_batch_size": maybe(COUNT),
    "train_micro_batch_size_per_gpu": maybe(COUNT),
    "gradient_accumulation_steps": maybe(COUNT),
    "gradient_clipping": FLOAT,
    "steps_per_print": {"types": ["int", "float", "null"]},
    "vocabulary_size": maybe(INT),
    "log_level": maybe(folded("debug", "info", "warning", "error", "critical")),
    "communication_data_type": DTYPE,
    "seq_parallel_communication_data_type": DTYPE,
    "gradient_allreduce_op": folded("mean", "sum"),
    "datastates_ckpt": {"types": ["object", "bool"], "unknown": "open"},
    "optimizer": object_of(),
    "optimizer.legacy_fusion": BOOL,
    "scheduler": object_of(),
    "activation_checkpointing": object_of(),
    "activation_checkpointing.number_checkpoints": maybe(INT),
    "aio": maybe(object_of()),
    "autotuning": object_of(),
    "autotuning.arg_mappings": maybe(OPEN),
    "autotuning.max_train_batch_size": maybe(COUNT),
    "autotuning.metric": one_of("throughput", "latency", "flops"),
    "autotuning.metric_path": maybe(TEXT),
    "autotuning.model_info": maybe(object_of()),
    "autotuning.model_info.hidden_size": maybe(INT),
    "autotuning.model_info.num_layers": maybe(INT),
    "autotuning.model_info.num_params": maybe(INT),
    "autotuning.model_info_path": maybe(TEXT),
    "autotuning.tuner_type": one_of("gridsearch", "random", "model_based"),
    "checkpoint": object_of(),
    "checkpoint.tag_validation": folded("Ignore", "Warn", "Fail"),
    "checkpoint.parallel_write": object_of(),
    "checkpoint.writer": maybe(object_of()),
    "checkpoint.writer.type": maybe(folded("mock", "python", "fast")),
    "checkpoint.writer.data_parallel": maybe(folded("replica", "socket", "machine")),
    "data_efficiency": object_of(),
    "data_efficiency.data_routing": object_of(),
    "data_efficiency.data_routing.random_ltd": object_of(),
    "data_efficiency.data_sampling": object_of(),
    "data_efficiency.data_sampling.curriculum_learning": object_of(),
    "data_efficiency.data_sampling.dynamic_batching": object_of(),
    "data_efficiency.data_sampling.dynamic_batching.lr_scaling_method": one_of("linear", "sqrt", "none"),
    "data_efficiency.data_sampling.dynamic_batching.max_batch_size": COUNT,
    "data_efficiency.data_sampling.dynamic_batching.sequence_picking_order": one_of("dataloader", "random", "seqlen"),
    "data_types": object_of(),
    "data_types.grad_accum_dtype": maybe(one_of("dtype")),
    "data_types.param_dtype": maybe(one_of("dtype")),
    "data_types.buffer_dtype": maybe(one_of("dtype")),
    "data_types.keep_in_fp32_modules": {"types": ["list", "string"], "items": TEXT, "words": ["auto"]},
    "expert_parallel": object_of(),
    "flops_profiler": object_of(),
    "flops_profiler.output_file": maybe(TEXT),
    "pipeline": object_of(
        stages={"types": ["string", "int"]},
        partition=TEXT,
        seed_layers=BOOL,
        activation_checkpoint_interval=INT,
        pipe_partitioned=BOOL,
        grad_partitioned=BOOL,
        use_reentrant=maybe(BOOL),
    ),
    "timers": object_of(),
    "torch_autocast": object_of(),
    "torch_autocast.dtype": one_of("dtype"),
    "torch_autocast.lower_precision_safe_modules": TEXTS,
}

#: Bounds that AutoEP checks beside the types of its configuration.
EXPERT_PARALLEL: dict[str, Row] = {
    "autoep_size": COUNT,
    "comm_num_sm": COUNT,
    "comm_qp_margin": {"minimum": 0},
    "comm_max_tokens_per_rank": {"minimum": 0},
    "num_expert_groups": {"minimum": 1},
    "num_limited_groups": {"minimum": 1},
    "load_balance_coeff": {"types": ["null"]},
    "expert_w3": {"types": ["string", "null"]},
    "top_k": {"types": ["int", "string"], "words": ["auto"]},
    "routed_scaling_factor": {"types": ["float", "string"], "words": ["auto"]},
}

_SCHEDULE = object_of(
    difficulty=list_of(INT),
    max_step=list_of(INT),
    total_curriculum_step=INT,
    difficulty_step=INT,
    root_degree=INT,
)

#: One metric of a curriculum.
_METRIC = object_of(
    index_to_sample_path=TEXT,
    index_to_metric_path=TEXT,
    difficulty_type=one_of("value", "percentile"),
    clustering_type=TEXT,
    min_difficulty=INT,
    max_difficulty=INT,
    schedule_type=one_of("fixed_discrete", "fixed_root", "fixed_linear", "custom"),
    schedule_config=_SCHEDULE,
)

_RANDOM_LTD_SCHEDULE = object_of(
    min_value=INT,
    max_value=INT,
    schedule_type=one_of("fixed_linear"),
    schedule_config=object_of(require_steps=INT, seq_per_step=INT),
)

_DATA_CONSTANTS = "runtime/data_pipeline/constants.py"
_AUTOTP = "module_inject/autotp_config.py"
_RANDOM_LTD = "data_efficiency.data_routing.random_ltd"
_SAMPLING = "data_efficiency.data_sampling"

#: Keys that are read only when what they configure is used, by their paths, with the file in which their names stand.
UNWATCHED: dict[str, tuple[str, Row]] = {
    "sequence_parallel_size": ("runtime/config.py", COUNT),
    "data_parallel_size": ("__init__.py", COUNT),
    "allgather_size": ("runtime/zero/config.py", INT | {"deprecated": "read where zero_optimization is a flag"}),
    f"{_SAMPLING}.curriculum_learning.data_cluster_path": (_DATA_CONSTANTS, TEXT),
    f"{_SAMPLING}.curriculum_learning.curriculum_metrics": (_DATA_CONSTANTS, OPEN | {"values": _METRIC}),
    f"{_SAMPLING}.dynamic_batching.max_tokens": (_DATA_CONSTANTS, COUNT),
    f"{_SAMPLING}.dynamic_batching.metrics_path": (_DATA_CONSTANTS, TEXT),
    f"{_RANDOM_LTD}.total_layer_num": (_DATA_CONSTANTS, INT),
    f"{_RANDOM_LTD}.random_ltd_layer_num": (_DATA_CONSTANTS, INT),
    f"{_RANDOM_LTD}.random_ltd_layer_id": (_DATA_CONSTANTS, list_of(INT)),
    f"{_RANDOM_LTD}.model_mask_name": (_DATA_CONSTANTS, maybe(TEXT)),
    f"{_RANDOM_LTD}.model_type": (_DATA_CONSTANTS, one_of("encoder", "decoder")),
    f"{_RANDOM_LTD}.micro_batch_size": (_DATA_CONSTANTS, INT | {"doc": "DeepSpeed sets it itself"}),
    f"{_RANDOM_LTD}.global_batch_size": (_DATA_CONSTANTS, INT | {"doc": "DeepSpeed sets it itself"}),
    f"{_RANDOM_LTD}.hidden_state_order": (_DATA_CONSTANTS, TEXT),
    f"{_RANDOM_LTD}.random_ltd_schedule": (_DATA_CONSTANTS, _RANDOM_LTD_SCHEDULE),
    f"{_RANDOM_LTD}.layer_token_lr_schedule": (_DATA_CONSTANTS, object_of(enabled=BOOL)),
}

_LAYER_SPEC = object_of(
    patterns=TEXTS,
    partition_type=folded("row", "column", "skip"),
    gather_output=BOOL,
    grad_allreduce=BOOL,
    shape=maybe({"types": ["list"]}),
    partition_dim=maybe(INT),
    model_types=maybe(TEXTS),
)

#: What validators and readers say of keys of pydantic's models, beside the types of the fields.
MODELS: dict[str, Row] = {
    "fp16.loss_scale": {"minimum": 0},
    "zero_optimization.compute_grad_norm": {"doc": "false is taken below ZeRO stage 3, and not without ZeRO"},
    "zero_optimization.zenflow.select_strategy": {"words": ["auto", "step", "epoch"]},
    "zero_optimization.zenflow.select_interval": {"words": ["auto"]},
    "zero_optimization.zenflow.update_interval": {"words": ["auto"], "minimum": 1},
    "zero_optimization.leaf_module.classes": {"types": ["list", "string"]},
    "zero_optimization.leaf_module.names": {"types": ["list", "string"]},
    "zero_optimization.leaf_module.name_suffixes": {"types": ["list", "string"]},
    "tensor_parallel.partition_config": {
        "unknown": "ignored",
        "keys": {
            "tp_size": INT,
            "layer_specs": list_of(_LAYER_SPEC),
            "embedding_partition_dim": INT,
            "lm_head_patterns": TEXTS,
            "use_default_specs": BOOL,
            "strict_mode": BOOL,
        },
    },
    "zero_optimization.cpu_offload_use_pin_memory": {
        "deprecated": "it has no effect; use pin_memory of offload_param or offload_optimizer",
    },
}

#: Keys that earlier releases read. Since when they do not was looked up in the releases.
REMOVED: dict[str, Row] = {
    "aio.thread_count": {"since": "0.16.4", "renamed": "aio.intra_op_parallelism"},
    "compile.backend": {"since": "0.14.4", "doc": "pass it to engine.compile()"},
    "compile.enabled": {"since": "0.14.4", "doc": "call engine.compile()"},
    "compile.kwargs": {"since": "0.14.4", "doc": "pass them to engine.compile()"},
    "seq_parallel_comm_data_type": {"since": "0.16.5", "renamed": "seq_parallel_communication_data_type"},
}

#: The keys that DeepSpeed itself refuses by name, with the release that began to.
REFUSED: dict[str, Row] = {
    "amp": {"since": "0.19.8", "doc": "use fp16, bf16 or torch_autocast"},
    "compression_training": {"since": "0.19.7"},
    "curriculum_learning": {"since": "0.19.8", "renamed": f"{_SAMPLING}.curriculum_learning"},
    "eigenvalue": {"since": "0.19.8"},
    "elasticity": {"since": "0.19.8", "doc": "set the batch sizes themselves"},
    "graph_harvesting": {"since": "0.19.8"},
    "nebula": {"since": "0.19.7"},
    "progressive_layer_drop": {"since": "0.19.8"},
    "quantize_training": {"since": "0.19.7"},
    "sparse_attention": {"since": "0.19.7"},
    "sparse_gradients": {"since": "0.19.8"},
    "zero_optimization.mics_hierarchical_params_gather": {"since": "0.19.7"},
    "zero_optimization.mics_shard_size": {"since": "0.19.7"},
    "zero_optimization.zeropp_loco_param": {"since": "0.19.8"},
}

#: Optimizers of earlier releases.
REMOVED_OPTIMIZERS: dict[str, Row] = {
    "OneBitAdam": {"since": "0.19.7"},
    "OneBitLamb": {"since": "0.19.7"},
    "ZeroOneAdam": {"since": "0.19.7"},
}

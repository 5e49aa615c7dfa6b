"""The language as data: every kind of block, section and field, with type, default, meaning and other names.

The resolver, `explain`, editors and the reference read this one table. A field is written once here, and a section of the
plan is a tuple of fields; `also` holds what consumers call the field, for "did you mean" (Megatron-LM of 2026-08,
torchtitan 0.3.0, DeepSpeed 0.19.8, Hugging Face). Names of derived numbers are in DERIVED; the facts supply them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from planc.plan.units import (
    BANDWIDTH,
    BYTES,
    ENERGY,
    EPOCHS,
    FLOP,
    FLOP_PER_TOKEN,
    MONEY,
    PLAIN,
    POWER,
    RATE,
    SAMPLES,
    STEPS,
    TIME,
    TOKEN_RATE,
    TOKENS,
    Dimension,
    exact,
)  # fmt: skip


class Type(NamedTuple):
    """The type of a field.

    form: `count` (exact whole number, at least `minimum`), `number`, `share` (a number from 0 to 1), `quantity` (of one
        of `dimensions`; PLAIN among them admits a count), `flag`, `text`, `word` (one of `words`), `version`, `reference`
        (a block of the kind `of`), `list` and `map` (of `item`), `record` (section `of`), `variant` (section `of`, made
        from one of `words`), `target` (a name that may be emitted), `money` (a price per `of`: h or kWh).
    """

    form: str
    dimensions: tuple[Dimension, ...] = ()
    words: tuple[str, ...] = ()
    of: str = ""
    item: Any = None
    minimum: Any = None
    flag: bool = False  # `true` and `false` are legal as well
    length: int = 0  # of a list; 0: any
    positive: bool = False  # more than 0: what takes no time at all is no run, and no interval
    by_variant: tuple[tuple[str, tuple[str, ...]], ...] = ()  # which of the words each variant of its section has


class Follows(NamedTuple):
    """A default that is worked out from other fields of the same block."""

    paths: tuple[str, ...]
    function: Callable[..., Any]
    text: str


class Field(NamedTuple):
    """One field: `required` if it has to be written, `only` the variants of its section that have it."""

    name: str
    type: Type
    default: Any = None
    doc: str = ""
    also: tuple[str, ...] = ()
    required: bool = False
    only: tuple[str, ...] = ()


AUTO = "auto"  # a default that stands for "worked out from the other fields"

COUNT = Type("count", (PLAIN,), minimum=1)
COUNT0 = Type("count", (PLAIN,), minimum=0)
NUMBER = Type("number", (PLAIN,))
POSITIVE = Type("number", (PLAIN,), minimum=0)
FACTOR = Type("number", (PLAIN,), minimum=1 / 16)  # never 0, by which a time would vanish
SHARE = Type("share", (PLAIN,), minimum=0)
FLAG = Type("flag")
TEXT = Type("text")
VERSION = Type("version")
SIZE = Type("quantity", (BYTES,), minimum=0)
SPEED = Type("quantity", (BANDWIDTH,), minimum=0)
DURATION = Type("quantity", (TIME,), minimum=0)
RATE_OR_FLAG = Type("quantity", (RATE,), minimum=0, flag=True)
TARGET = Type("target")


def _quantity(*dimensions: Dimension) -> Type:
    return Type("quantity", dimensions, minimum=0)


def _time(*dimensions: Dimension) -> Type:
    return Type("quantity", dimensions, minimum=0, positive=True)


def _word(*words: str) -> Type:
    return Type("word", words=words)


def _word_by_variant(**words: tuple[str, ...]) -> Type:
    """A word of which each variant of the section has its own."""
    return Type("word", words=tuple(word for own in words.values() for word in own), by_variant=tuple(words.items()))


def _variant(of: str, *words: str) -> Type:
    return Type("variant", of=of, words=words)


def _list(item: Type) -> Type:
    return Type("list", item=item)


def _ref(kind: str) -> Type:
    return Type("reference", of=kind)


def _section(name: str) -> Type:
    return Type("record", of=name)


DTYPE = _word("fp32", "fp16", "bf16", "fp8")
F = Field

_GPU = (
    F("memory", SIZE, None, "what is on the card; an 80 GB card has 80 GiB", ("mem", "vram", "hbm", "gpu_memory", "device_memory"), required=True),
    F("usable_memory", SIZE, Follows(("memory",), lambda memory: exact(memory * 98, 100), "98 % of `memory`"), "what a process can allocate of it"),
    F("fp32", RATE_OR_FLAG, None, "peak rate of dense matrix products; `true`: has it, rate unknown; `false`: lacks it"),
    F("tf32", RATE_OR_FLAG, None, "peak rate of dense matrix products; `true`: has it, rate unknown; `false`: lacks it"),
    F("fp16", RATE_OR_FLAG, None, "peak rate of dense matrix products; `true`: has it, rate unknown; `false`: lacks it", ("half",)),
    F("bf16", RATE_OR_FLAG, None, "peak rate of dense matrix products; `true`: has it, rate unknown; `false`: lacks it", ("bfloat16",)),
    F("fp8", RATE_OR_FLAG, None, "peak rate of dense matrix products; `true`: has it, rate unknown; `false`: lacks it"),
    F("fp4", RATE_OR_FLAG, None, "peak rate of dense matrix products; `true`: has it, rate unknown; `false`: lacks it"),
    F("memory_bandwidth", SPEED, None, "of the card's memory", ("hbm_bandwidth", "bandwidth")),
    F("link", SPEED, None, "to the fast domain, per direction (half of the NVLink figure)", ("nvlink", "nvlink_bandwidth")),
    F("pcie", SPEED, None, "of PCIe, per direction"),
    F("compute_capability", NUMBER, None, "CUDA compute capability, such as `9.0`", ("sm", "cuda_arch")),
    F("power", Type("quantity", (POWER,), minimum=0), None, "at full load", ("tdp",)),
    F("vendor", _word("nvidia", "amd", "intel", "google"), None, "who makes the card"),
)  # fmt: skip

_CLUSTER = (
    F("gpu", _ref("gpu"), None, "the card; one rank a GPU", ("accelerator", "gpu_type", "device"), required=True),
    F("nodes", COUNT, None, "machines in the job", ("nnodes", "num_nodes", "num_machines", "hosts", "num_hosts"), required=True),
    F("gpus_per_node", COUNT, None, "cards used per node, one rank each", ("nproc_per_node", "num_gpus", "gpus", "num_gpus_per_node", "devices"), required=True),
    F("domain", COUNT, Follows(("gpus_per_node",), lambda gpus: gpus, "`gpus_per_node`"), "GPUs that share the fast link; 72 for an NVL72 rack", ("nvlink_domain",)),
    F("intra_node", SPEED, Follows(("gpu.link",), lambda link: link, "`gpu.link`"), "per GPU and direction, inside a domain"),
    F("inter_node", SPEED, Follows(("nics.count", "nics.speed", "gpus_per_node"), lambda count, speed, gpus: exact_quotient(count * speed, gpus), "`nics.count * nics.speed / gpus_per_node`"), "per GPU and direction, between domains", ("network_bandwidth",)),
    F("nics", _section("nics"), None, "network cards of a node"),
    F("cpu_memory", SIZE, None, "memory of a node's host", ("ram", "host_memory")),
    F("cpu_cores", COUNT, None, "CPU cores of a node", ("cpus", "cores", "num_cpus")),
    F("local_disk", SIZE, None, "disk of a node", ("scratch",)),
    F("storage", SPEED, None, "of the shared file system, for the whole job"),
    F("mtbf_per_gpu", DURATION, None, "mean time between failures of one GPU", ("mtbf",)),
    F("price_per_gpu", Type("money", of="h", minimum=0), None, "price of one GPU for an hour", ("price",)),
    F("energy_price", Type("money", of="kWh", minimum=0), None, "price of a kilowatt hour"),
    F("groups", _list(_ref("cluster")), None, "unlike nodes, instead of `gpu` and `nodes`"),
)  # fmt: skip

_NICS = (
    F("count", COUNT, None, "network cards per node"),
    F("speed", SPEED, None, "of one network card, per direction"),
    F("names", _list(TEXT), None, "as `NCCL_IB_HCA` wants them", ("nccl_ib_hca", "hca")),
)  # fmt: skip

_MODEL = (
    F("layers", COUNT, None, "transformer layers", ("num_layers", "num_hidden_layers", "n_layers", "n_layer", "num_blocks"), required=True),
    F("hidden", COUNT, None, "hidden size", ("hidden_size", "dim", "d_model", "n_embd", "hidden_dim"), required=True),
    F("heads", COUNT, None, "attention heads", ("num_attention_heads", "n_heads", "n_head", "num_heads"), required=True),
    F("kv_heads", COUNT, Follows(("heads",), lambda heads: heads, "`heads`"), "key and value heads; 1 is MQA", ("num_key_value_heads", "num_query_groups", "n_kv_heads", "num_kv_heads", "group_query_attention")),
    F("head_dim", COUNT, Follows(("hidden", "heads"), lambda hidden, heads: exact_quotient(hidden, heads), "`hidden / heads`"), "size of one head", ("kv_channels", "head_size")),
    F("ffn", COUNT, None, "width of the dense MLP", ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_hidden", "ffn_dim", "mlp_hidden_size"), required=True),
    F("vocab", COUNT, None, "tokens in the vocabulary", ("vocab_size", "padded_vocab_size"), required=True),
    F("max_sequence_length", COUNT, None, "longest sequence that the model takes; rows of learned positions", ("max_position_embeddings", "n_positions", "max_seq_len", "block_size")),
    F("tied", FLAG, False, "the output layer shares the embedding", ("tie_word_embeddings", "tied_embeddings", "untie_embeddings_and_output_weights", "tie_embeddings")),
    F("gated", FLAG, True, "SwiGLU-like MLP", ("swiglu", "gated_linear_unit")),
    F("bias", _word("none", "qkv", "attention", "mlp", "all"), "none", "which linear layers have a bias; `mlp` includes experts and router, `all` is `attention` and `mlp`", ("add_qkv_bias", "attention_bias", "mlp_bias", "enable_bias", "disable_bias_linear", "qkv_bias", "use_bias")),
    F("output_bias", FLAG, False, "the output layer has a bias"),
    F("norm", _word("rmsnorm", "layernorm"), "rmsnorm", "normalization of the layers", ("normalization", "norm_type")),
    F("norms", COUNT, 2, "norms of a layer: 1 where attention and MLP read the same one, 4 with one behind each as well"),
    F("embedding_norm", FLAG, False, "a norm after the embedding", ("word_embeddings_layernorm",)),
    F("positions", _word("rope", "learned", "alibi"), "rope", "how positions are encoded", ("position_embedding_type", "position_embedding", "pos_emb")),
    F("dropout", SHARE, 0, "hidden and attention dropout", ("hidden_dropout", "attention_dropout", "hidden_dropout_prob", "attn_dropout", "resid_pdrop", "attn_pdrop")),
    F("attention", _variant("attention", "full", "sliding", "mla"), "full", "what a token looks back at", ("multi_latent_attention", "attention_type", "layer_types")),
    F("experts", _section("experts"), None, "mixture of experts", ("moe",)),
    F("mtp_layers", COUNT0, 0, "layers for multi-token prediction", ("num_nextn_predict_layers", "mtp_num_layers")),
    F("parameters", COUNT, None, "stated total, checked against the dimensions", ("num_parameters", "params", "n_params")),
    F("family", TEXT, None, "Hugging Face `model_type`; gives the layer class", ("model_type", "architecture", "hf_model_type")),
)  # fmt: skip

_ATTENTION = (
    F("window", COUNT, None, "tokens that a layer looks back", ("sliding_window", "window_size", "attention_window"), only=("sliding",)),
    F("every", COUNT, None, "a full layer every n", ("window_attn_skip_freq", "sliding_window_pattern"), only=("sliding",)),
    F("q_lora_rank", COUNT, None, "rank of the compressed queries", only=("mla",)),
    F("kv_lora_rank", COUNT, None, "rank of the compressed keys and values", required=True, only=("mla",)),
    F("qk_nope_head_dim", COUNT, None, "head size without positions", ("qk_head_dim",), required=True, only=("mla",)),
    F(
        "qk_rope_head_dim",
        COUNT,
        None,
        "head size with positions",
        ("qk_pos_emb_head_dim",),
        required=True,
        only=("mla",),
    ),
    F("v_head_dim", COUNT, None, "head size of the values", required=True, only=("mla",)),
    F("qk_norm", _word("none", "head", "full"), "none", "norms of queries and keys: one over each head, or one over all heads together", ("qk_layernorm", "use_qk_norm"), only=("full", "sliding")),
    F("sinks", FLAG, False, "a learned sink for each attention head", ("attention_sinks",), only=("full", "sliding")),
)  # fmt: skip

_EXPERTS = (
    F("count", COUNT, None, "routed experts", ("num_experts", "n_routed_experts", "num_local_experts", "n_experts", "num_moe_experts"), required=True),
    F("top_k", COUNT, None, "experts active per token", ("num_experts_per_tok", "moe_router_topk", "topk", "moe_top_k"), required=True),
    F("ffn", COUNT, None, "width of one expert", ("moe_intermediate_size", "moe_ffn_hidden_size"), required=True),
    F("shared", COUNT0, 0, "always-on experts", ("n_shared_experts", "num_shared_experts")),
    F("shared_ffn", COUNT, Follows(("experts.ffn",), lambda ffn: ffn, "`ffn`"), "width of one shared expert", ("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size")),
    F("shared_gate", FLAG, False, "a gate scales what the shared experts give", ("shared_expert_gate",)),
    F("dense_layers", COUNT0, 0, "leading dense layers", ("first_k_dense_replace", "num_dense_layers", "moe_first_k_dense_replace")),
    F("every", COUNT, 1, "an MoE layer every n", ("moe_layer_freq", "decoder_sparse_step", "interleave_moe_layer_step", "moe_every")),
)  # fmt: skip

_PARALLEL = (
    F("tensor", COUNT, 1, "ranks that split each layer", ("tp", "tensor_parallel", "tensor_model_parallel_size", "tensor_parallel_degree", "autotp_size", "tp_size", "tensor_parallel_size", "tensor_model_parallel", "tp_degree", "mp_size", "model_parallel_size")),
    F("sequence", FLAG, False, "norm and dropout split over the tensor ranks too", ("sequence_parallel", "enable_sequence_parallel", "sp", "sequence_parallelism")),
    F("pipeline", COUNT, 1, "groups of consecutive layers", ("pp", "pipeline_parallel", "pipeline_model_parallel_size", "pipeline_parallel_degree", "stages", "pipeline_parallel_size", "pp_size", "pp_degree", "pipeline_stages", "num_stages")),
    F("context", COUNT, 1, "ranks that split one sequence", ("cp", "context_parallel", "context_parallel_size", "context_parallel_degree", "sequence_parallel_size", "cp_size", "cp_degree", "ulysses_degree")),
    F("expert", COUNT, 1, "ranks that share out the experts", ("ep", "ep_size", "expert_model_parallel_size", "expert_parallel_degree", "expert_parallel", "expert_parallel_size", "autoep_size", "ep_degree", "moe_ep_size")),
    F("expert_tensor", COUNT, 1, "ranks that split one expert", ("etp", "expert_tensor_parallel_size", "expert_tensor_parallel_degree", "etp_size")),
    F("data", COUNT, AUTO, "replicas: world / (tensor x pipeline x context)", ("dp", "data_parallel", "data_parallel_size", "replicas", "dp_size", "dp_degree", "data_parallel_degree", "num_replicas")),
)  # fmt: skip

_SHARD = (
    F("stage", Type("count", (PLAIN,), minimum=0, words=("0", "1", "2", "3")), 0, "states that data-parallel ranks share: optimizer, gradients, weights", ("zero", "zero_stage", "use_distributed_optimizer", "use_megatron_fsdp", "data_parallel_sharding_strategy", "reshard_after_forward", "fsdp_reshard_after_forward", "sharding_strategy", "distributed_optimizer")),
    F("size", COUNT, Follows(("parallel.data",), lambda data: data, "`parallel.data`"), "HSDP: share over this many ranks, replicate over the rest", ("mics_shard_size", "data_parallel_shard_degree", "num_distributed_optimizer_instances", "data_parallel_replicate_degree", "dp_shard", "hsdp", "fsdp_size")),
    F("secondary_size", COUNT, None, "weights stay shared over this many ranks after the forward pass", ("zero_hpz_partition_size", "hpz", "reshard_after_forward", "fsdp_reshard_after_forward")),
    F("bucket", COUNT, None, "elements per reduction", ("reduce_bucket_size", "ddp_bucket_size", "bucket_size", "allgather_bucket_size")),
)  # fmt: skip

_BATCH = (
    F("global", Type("quantity", (PLAIN, TOKENS, SAMPLES), minimum=1), None, "samples per optimizer step of the whole job, or tokens", ("train_batch_size", "global_batch_size", "gbs", "batch_size"), required=True),
    F("micro", COUNT, AUTO, "samples per replica and forward pass", ("mbs", "micro_batch_size", "train_micro_batch_size_per_gpu", "local_batch_size", "per_device_train_batch_size", "micro_batch", "pipeline_parallel_microbatch_size", "microbatch_size")),
    F("accumulation", COUNT, AUTO, "micro batches per replica and step", ("gradient_accumulation_steps", "num_microbatches", "grad_accum", "grad_acc", "gradient_accumulation", "grad_accum_steps")),
    F("sequence_length", COUNT, None, "tokens a sample", ("seq_length", "seq_len", "max_seq_length", "sequence", "max_length", "context_length")),
    F("ramp", _variant("ramp", "linear", "stepped"), None, "a batch size that grows to `global`", ("rampup_batch_size", "batch_ramp", "step_batch_size_schedule", "batch_size_rampup")),
)  # fmt: skip

_RAMP = (
    F("start", COUNT, None, "first global batch", ("start_batch_size",), only=("linear",), required=True),
    F("increment", COUNT, None, "added at each step up", ("batch_size_increment",), only=("linear",), required=True),
    F("over", _quantity(SAMPLES), None, "samples until the full batch", ("ramp_samples",), only=("linear",), required=True),
    F("at", _list(_quantity(TOKENS, SAMPLES)), None, "where each size begins", only=("stepped",), required=True),
    F("global", _list(COUNT), None, "the sizes", only=("stepped",), required=True),
)  # fmt: skip

_PRECISION = (
    F("gradients", DTYPE, AUTO, "dtype in which gradients are accumulated and reduced", ("grad_accum_dtype", "mixed_precision_reduce", "reduce_dtype", "communication_data_type", "grad_reduce_in_bf16", "grad_dtype", "accumulate_allreduce_grads_in_fp32")),
    F("master", DTYPE, "fp32", "dtype of the optimizer's copy of the weights", ("main_params_dtype", "bf16_master_weights_and_grads", "master_weights", "use_precision_aware_optimizer", "dtype")),
    F("loss_scale", POSITIVE, AUTO, "factor of the loss; `auto` is dynamic", ("initial_loss_scale",), only=("fp16",)),
    F("recipe", _word_by_variant(fp8=("delayed", "tensorwise", "blockwise", "rowwise", "mxfp8"), fp4=("nvfp4",)), None, "scaling recipe", ("fp8_recipe", "fp4_recipe", "converters"), only=("fp8", "fp4")),
    F("format", _word("e4m3", "hybrid"), None, "fp8 format", ("fp8_format",), only=("fp8",)),
    F("weights", _word("fp8", "bf16"), None, "dtype in which weights are gathered", ("fp8_param_gather", "fp4_param_gather"), only=("fp8", "fp4")),
)  # fmt: skip

_RECOMPUTE = (
    F("modules", _list(TEXT), None, "modules that are recomputed, as the trainer names them", ("recompute_modules",), only=("selective",)),
    F("method", _word("uniform", "block"), None, "which layers: `uniform` chunks of all, or the first `block` of each stage", ("recompute_method",), only=("full",)),
    F("layers", COUNT, None, "layers of a chunk, or of the block", ("recompute_num_layers", "recompute_layers"), only=("full",)),
)  # fmt: skip

_PIPELINE = (
    F("chunks", COUNT, None, "model chunks per rank", ("virtual_stages", "num_virtual_stages_per_pipeline_rank", "virtual_pipeline_model_parallel_size", "num_model_chunks"), required=True, only=("interleaved",)),
    F("group", COUNT, None, "micro batches of a chunk before the next chunk takes its turn", ("microbatch_group_size_per_virtual_pipeline_stage", "microbatch_group_size"), only=("interleaved",)),
    F("limit", POSITIVE, 1, "in-flight memory in multiples of 1F1B", only=("zero-bubble",)),
    F("first_stage_layers", COUNT0, None, "layers of the first stage", ("decoder_first_pipeline_num_layers", "pipeline_parallel_first_stage_less_layers", "first_stage_less_layers", "num_layers_in_first_pipeline_stage")),
    F("last_stage_layers", COUNT0, None, "layers of the last stage", ("decoder_last_pipeline_num_layers", "pipeline_parallel_last_stage_less_layers", "last_stage_less_layers", "num_layers_in_last_pipeline_stage")),
    F("layers", _list(COUNT0), None, "layers of every (virtual) stage", ("module_fqns_per_model_part", "layers_per_stage")),
    F("embedding_as_layer", FLAG, False, "the embedding counts as a layer in the split", ("account_for_embedding_in_pipeline_split",)),
    F("loss_as_layer", FLAG, False, "the loss counts as a layer in the split", ("account_for_loss_in_pipeline_split",)),
    F("layout", TEXT, None, "Megatron's layout string", ("pipeline_model_parallel_layout",)),
)  # fmt: skip

_CONTEXT: tuple[Field, ...] = ()

_EXPERT = (
    F("capacity_factor", POSITIVE, None, "`none` is dropless", ("moe_expert_capacity_factor", "moe_capacity_factor")),
    F(
        "dispatch",
        _word("all-to-all", "all-gather", "deepep"),
        None,
        "how tokens reach experts",
        ("moe_token_dispatcher_type", "moe_flex_dispatcher_backend", "dispatcher"),
    ),
)  # fmt: skip

_OFFLOAD = (
    F(
        "optimizer",
        _word("cpu", "nvme"),
        None,
        "where optimizer states live",
        ("offload_optimizer", "device", "optimizer_cpu_offload", "enable_cpu_offload", "cpu_offload"),
    ),
    F("weights", _word("cpu", "nvme"), None, "where weights live", ("offload_param", "parameters", "params", "offload_params", "param_offload")),
    F("activations", FLAG, False, "activations go to the host", ("fine_grained_activation_offloading", "activation_offloading", "cpu_checkpointing")),
    F("path", TEXT, None, "folder for nvme", ("nvme_path",)),
)  # fmt: skip

_OPTIMIZER = (
    F("learning_rate", POSITIVE, None, "peak learning rate", ("lr",)),
    F("betas", _list(SHARE)._replace(length=2), None, "decay of the moments, of Adam and Lion", ("adam_betas", "adam_beta1", "adam_beta2", "beta1", "beta2")),
    F("epsilon", POSITIVE, None, "epsilon of Adam", ("eps", "adam_eps")),
    F("weight_decay", POSITIVE, None, "decoupled weight decay", ("wd",)),
    F("momentum", SHARE, None, "momentum of SGD and Muon", ("sgd_momentum",)),
    F("clip", POSITIVE, None, "largest gradient norm", ("gradient_clipping", "clip_grad", "max_norm", "max_grad_norm", "grad_clip")),
    F("states", DTYPE, "fp32", "dtype of the moments", ("exp_avg_dtype", "bf16_optimizer_states", "exp_avg_sq_dtype", "use_precision_aware_optimizer", "optimizer_states_dtype")),
)  # fmt: skip

_SCHEDULE = (
    F("warmup", Type("quantity", (STEPS, TOKENS, PLAIN), minimum=0), None, "time until the peak; a share is one of `total`", ("warmup_steps", "warmup_num_steps", "lr_warmup_iters", "warmup_ratio", "lr_warmup_steps", "lr_warmup_samples", "num_warmup_steps")),
    F("total", _time(STEPS, TOKENS), Follows(("train.duration",), lambda duration: duration, "`train.duration`"), "time until the end", ("total_steps", "total_num_steps", "lr_decay_iters", "decay_steps", "lr_decay_samples", "num_training_steps")),
    F("minimum", POSITIVE, None, "lowest learning rate", ("min_lr", "cos_min_ratio", "min_lr_factor", "min_lr_ratio")),
)  # fmt: skip

_TRAIN = (
    F(
        "duration",
        _time(STEPS, TOKENS, SAMPLES, EPOCHS),
        None,
        "length of the run",
        ("train_iters", "train_samples", "max_steps", "steps", "num_train_epochs", "epochs", "total_tokens", "num_steps", "train_steps"),
    ),
    F("seed", COUNT0, None, "seed of the random numbers", ("random_seed",)),
    F("deterministic", FLAG, False, "same result on every run of one card", ("deterministic_mode", "deterministic_algorithms")),
    F("compile", FLAG, False, "the model is compiled by `torch.compile`", ("torch_compile",)),
)  # fmt: skip

_DATASET = (
    F("name", TEXT, None, "what the data is called", ("dataset_name", "dataset")),
    F("version", TEXT, None, "which state of it"),
    F("digest", TEXT, None, "checksum of it", ("sha256", "hash")),
    F("path", TEXT, None, "where it lies", ("data_path", "data_dir")),
    F("size", _quantity(TOKENS, SAMPLES), None, "how much there is", ("num_tokens",)),
    F("shards", COUNT, None, "number of files", ("num_shards",)),
    F("workers", COUNT0, None, "loader processes per rank", ("num_workers", "dataloader_num_workers")),
    F("packed", FLAG, False, "several documents a sample", ("packing",)),
    F("drop_last", FLAG, True, "drop an odd last batch", ("dataloader_drop_last",)),
)  # fmt: skip

_ADAPTER = (
    F("rank", COUNT, None, "rank of the low-rank update", ("r", "lora_rank"), required=True),
    F("alpha", POSITIVE, None, "scale of the update", ("lora_alpha",)),
    F("dropout", SHARE, 0, "on the adapter's input", ("lora_dropout",)),
    F("modules", _list(TEXT), None, "modules that are adapted, as the model names them", ("target_modules",)),
    F(
        "base",
        _word("bf16", "fp16", "fp32", "fp8", "nf4"),
        None,
        "dtype of the frozen weights; nf4 is QLoRA",
        ("quantization",),
    ),
)  # fmt: skip

_CHECKPOINT = (
    F("every", _time(STEPS, TIME), None, "between two saves", ("interval", "save_interval", "save_steps", "save_freq", "checkpoint_interval")),
    F("directory", TEXT, None, "where checkpoints go", ("folder", "save", "output_dir", "path", "ckpt_dir", "checkpoint_dir", "save_dir")),
    F("keep", COUNT, None, "how many are kept", ("keep_latest_k", "save_total_limit", "keep_last")),
    F("write_time", DURATION, None, "measured time of one save"),
    F("async", FLAG, False, "training goes on while it is written", ("async_save", "async_mode")),
    F("format", _word("sharded", "full", "universal", "safetensors"), None, "layout on disk", ("ckpt_format", "load_universal")),
)  # fmt: skip

_RESUME = (
    F("directory", TEXT, None, "where the checkpoint lies", ("load", "initial_load_path", "path", "resume_from_checkpoint", "load_dir")),
    F("step", COUNT0, None, "step of the checkpoint", ("ckpt_step", "load_step")),
    F("saved_by", _ref("plan"), None, "the plan that wrote it"),
)  # fmt: skip

_LAUNCH = (
    F("script", TEXT, None, "what to run", ("program", "entrypoint", "command")),
    F("args", _list(TEXT), None, "its arguments", ("arguments", "script_args")),
    F("walltime", DURATION, None, "limit of the job", ("time", "time_limit", "wallclock")),
    F("restarts", COUNT0, 0, "how often a failed worker group is started again", ("max_restarts",)),
    F("timeout", _time(TIME), 600, "time after which a collective is given up", ("distributed_timeout_minutes", "train_timeout_seconds", "deepspeed_timeout", "ddp_timeout", "nccl_timeout")),
    F("min_nodes", COUNT, None, "elastic: the job starts with this many nodes"),
    F("venv", TEXT, None, "virtual environment to activate", ("virtualenv", "conda")),
    F("modules", _list(TEXT), None, "environment modules to load"),
    F("container", _section("container"), None, "what the job runs in"),
    F("env", Type("map", item=TEXT), None, "environment variables", ("environment",)),
    F("slurm", Type("map", item=TEXT), None, "sbatch options, named without `--`"),
    F("kubernetes", _section("kubernetes"), None, "where the job is created"),
)  # fmt: skip

_CONTAINER = (
    F("image", TEXT, None, "image of the container", required=True),
    F("runtime", _word("enroot", "apptainer", "docker"), None, "what runs it"),
    F("mounts", _list(TEXT), None, "folders of the host that the container sees"),
)  # fmt: skip

_KUBERNETES = (
    F("namespace", TEXT, None, "namespace of the job"),
    F("queue", TEXT, None, "Kueue or Volcano queue"),
    F("image", TEXT, None, "image of the pods"),
    F("shared_memory", TEXT, None, "size of /dev/shm"),
    F("labels", Type("map", item=TEXT), None, "labels of the job"),
)  # fmt: skip

_LOG = (
    F("every", _time(STEPS), None, "between two lines", ("log_interval", "logging_steps")),
    F("directory", TEXT, None, "where the records go", ("logging_dir",)),
    F("to", _list(_word("tensorboard", "wandb")), None, "who receives them", ("report_to", "tensorboard", "wandb", "trackers")),
)  # fmt: skip

_PROFILE = (
    F("start", _quantity(STEPS), None, "first step traced", ("profile_step_start",)),
    F("length", _time(STEPS), None, "number of steps traced", ("profile_length", "profile_steps")),
    F("ranks", _list(COUNT0), None, "ranks that are traced", ("profile_ranks",)),
)  # fmt: skip

_EVIDENCE = (
    F("metrics", _list(TEXT), None, "metrics that the record must hold, as the run's log spells them"),
    F("file", TEXT, None, "where the run writes them"),
)  # fmt: skip

_CALIBRATION = (
    F("compute", FACTOR, 1, "measured time of computation / predicted"),
    F("communication", FACTOR, 1, "measured time of communication that is not hidden / predicted"),
    F("memory", FACTOR, 1, "measured memory of activations and buffers / predicted"),
)  # fmt: skip

_PLAN = (
    F("model", _ref("model"), None, "what is trained", required=True),
    F("cluster", _ref("cluster"), None, "what it runs on", ("hardware", "resources"), required=True),
    F("policies", _list(_ref("policy")), (), "policies by which the plan is judged"),
    F("emit", _list(TARGET), (), "what `compile` writes", ("targets", "outputs")),
    F("versions", Type("map", item=VERSION), None, "versions of the consumers, such as `torch`"),
    F("parallel", _section("parallel"), {}, "sizes of the parallel axes", ("parallelism", "parallelism_config")),
    F("shard", _section("shard"), {}, "ZeRO and FSDP", ("zero", "fsdp", "zero_optimization", "sharding", "fsdp_config", "deepspeed_config")),
    F("batch", _section("batch"), {}, "samples per step"),
    F("precision", _variant("precision", "fp32", "bf16", "fp16", "fp8", "fp4"), None, "dtype of matrix products", ("dtype", "mixed_precision", "mixed_precision_param", "data_types", "fp4_format"), required=True),
    F("recompute", _variant("recompute", "none", "selective", "full"), "none", "activations that are computed again", ("activation_checkpointing", "recompute_granularity", "gradient_checkpointing", "activation_checkpoint")),
    F("pipeline", _variant("pipeline", "1f1b", "interleaved", "zero-bubble", "dual"), "1f1b", "schedule and split of the stages", ("pipeline_parallel_schedule",)),
    F("context", _variant("context", "ring", "ulysses", "all-gather", "hierarchical"), "ring", "how context ranks exchange", ("cp_comm_type", "context_parallel_rotate_method")),
    F("expert", _section("expert"), {}, "how tokens reach experts"),
    F("offload", _section("offload"), {}, "states that are kept outside the card", ("cpu_offload_config",)),
    F("optimizer", _variant("optimizer", "adamw", "adamw-8bit", "adafactor", "sgd", "lion", "muon"), "adamw", "what updates the weights", ("optim",)),
    F("schedule", _variant("schedule", "constant", "linear", "cosine", "wsd", "inverse-sqrt"), None, "course of the learning rate", ("scheduler", "lr_scheduler", "lr_decay_style")),
    F("train", _section("train"), {}, "length of the run and its randomness", ("training", "debug")),
    F("dataset", _section("dataset"), None, "the data that is trained on", ("data", "dataloader")),
    F("adapter", _variant("adapter", "lora"), None, "low-rank fine-tuning", ("peft",)),
    F("checkpoint", _section("checkpoint"), None, "what is saved, when and where", ("checkpointing",)),
    F("resume", _section("resume"), None, "where the run goes on from", ()),
    F("launch", _section("launch"), {}, "what is started and how", ("run", "launcher", "comm")),
    F("log", _section("log"), None, "log lines", ("logging", "metrics")),
    F("profile", _section("profile"), None, "a window of steps that is traced", ("profiling", "profiler")),
    F("evidence", _section("evidence"), None, "what the record of the run holds"),
    F("calibration", _section("calibration"), {}, "factors that `planc calibrate` found on this cluster"),
)  # fmt: skip


def exact_quotient(dividend: int, divisor: int) -> Any:
    """dividend / divisor, exact: an int where it is whole, else a Fraction (which a count then refuses)."""
    return exact(dividend, divisor)


#: Fields by kind of block or name of section.
SECTIONS: dict[str, tuple[Field, ...]] = {
    "gpu": _GPU, "cluster": _CLUSTER, "model": _MODEL, "plan": _PLAN, "template": _PLAN,
    "nics": _NICS, "attention": _ATTENTION, "experts": _EXPERTS,
    "parallel": _PARALLEL, "shard": _SHARD, "batch": _BATCH, "ramp": _RAMP, "precision": _PRECISION,
    "recompute": _RECOMPUTE, "pipeline": _PIPELINE, "context": _CONTEXT, "expert": _EXPERT, "offload": _OFFLOAD,
    "optimizer": _OPTIMIZER, "schedule": _SCHEDULE, "train": _TRAIN, "dataset": _DATASET, "adapter": _ADAPTER,
    "checkpoint": _CHECKPOINT, "resume": _RESUME, "launch": _LAUNCH, "container": _CONTAINER,
    "kubernetes": _KUBERNETES, "log": _LOG, "profile": _PROFILE, "evidence": _EVIDENCE,
    "calibration": _CALIBRATION,
}  # fmt: skip

#: Kinds of block, in the order in which messages list them.
KINDS = ("gpu", "cluster", "model", "policy", "plan", "template")

#: Other names of fields whose value is written differently here: what to know about it.
WRITTEN_OTHERWISE: dict[str, str] = {
    "untie_embeddings_and_output_weights": "it says the opposite: write `tied = false`",
    "disable_bias_linear": "it says the opposite: write `bias = none`",
    "add_qkv_bias": "write `bias = qkv`",
    "multi_latent_attention": "write `attention = mla { ... }`",
    "layer_types": "write `attention = sliding { window = ...  every = ... }`",
    "group_query_attention": "write the number of key and value heads",
    "moe_shared_expert_intermediate_size": "it is the width of all shared experts together, `shared_ffn` that of one",
    "use_distributed_optimizer": "write `shard { stage = 1 }`",
    "use_megatron_fsdp": "write `shard { stage = 3 }`",
    "data_parallel_sharding_strategy": "`optim` is stage 1, `optim_grads` 2 and `optim_grads_params` 3",
    "reshard_after_forward": "always is `stage = 3`, never is 2, a number of ranks is `secondary_size`",
    "fsdp_reshard_after_forward": "always is `stage = 3`, never is 2, a number of ranks is `secondary_size`",
    "num_distributed_optimizer_instances": "it counts the replicas, `size` the ranks that share one",
    "data_parallel_replicate_degree": "it counts the replicas, `size` the ranks that share one",
    "rampup_batch_size": "write `ramp = linear { start = ...  increment = ...  over = ... }`",
    "step_batch_size_schedule": "write `ramp = stepped { at = [...]  global = [...] }`",
    "grad_reduce_in_bf16": "write `gradients = bf16`",
    "accumulate_allreduce_grads_in_fp32": "write `gradients = fp32`",
    "bf16_master_weights_and_grads": "write `master = bf16`",
    "bf16_optimizer_states": "write `states = bf16`",
    "use_precision_aware_optimizer": "it follows from the dtypes that are written there",
    "converters": "write `precision = fp8 { recipe = ... }`",
    "fp4_format": "write `precision = fp4`, which is e2m1",
    "gradient_checkpointing": "write `recompute = full`",
    "pipeline_parallel_first_stage_less_layers": "it is a difference, `first_stage_layers` a number of layers",
    "pipeline_parallel_last_stage_less_layers": "it is a difference, `last_stage_layers` a number of layers",
    "first_stage_less_layers": "it is a difference, `first_stage_layers` a number of layers",
    "last_stage_less_layers": "it is a difference, `last_stage_layers` a number of layers",
    "module_fqns_per_model_part": "write how many layers each stage has",
    "moe_flex_dispatcher_backend": "write `dispatch = deepep`",
    "optimizer_cpu_offload": "write `optimizer = cpu`",
    "enable_cpu_offload": "write `optimizer = cpu`",
    "adam_beta1": "write both of them: `betas = [0.9, 0.95]`",
    "adam_beta2": "write both of them: `betas = [0.9, 0.95]`",
    "cos_min_ratio": "it is a share of the peak, `minimum` a learning rate",
    "min_lr_factor": "it is a share of the peak, `minimum` a learning rate",
    "train_iters": "a length has a unit: `1000 steps`",
    "train_samples": "a length has a unit: `2M samples`",
    "steps": "a length has a unit: `1000 steps`",
    "max_steps": "a length has a unit: `1000 steps`",
    "save_interval": "an interval has a unit: `500 steps`",
    "log_interval": "an interval has a unit: `10 steps`",
    "load_universal": "write `format = universal`",
    "distributed_timeout_minutes": "a time has a unit: `10 min`",
    "train_timeout_seconds": "a time has a unit: `600 s`",
    "deepspeed_timeout": "a time has a unit: `10 min`",
    "tensorboard": "write `log { to = [tensorboard] }`",
    "wandb": "write `log { to = [wandb] }`",
}

_AXES = ("tensor", "context", "expert", "pipeline", "data", "shard")

#: Derived numbers that are floats: times and shares. `==` on them is a fault.
APPROXIMATE = frozenset((
    "memory.headroom", "memory.total", "memory.free", "memory.reserve", "memory.peak", "pipeline.bubble", "pipeline.bubble_with_head",
    *(f"communication.{axis}.{number}" for axis in _AXES for number in ("bytes", "time", "exposed")),
    *(f"step.{number}" for number in ("time", "compute", "communication", "bubble", "optimizer", "tokens_per_second", "tokens_per_second_per_card", "mfu", "hfu")),
    "memory.context", "memory.transient", "train.time", "train.gpu_time", "train.gpu_hours", "train.cost", "train.energy", "train.energy_cost",
    *(f"checkpoint.{number}" for number in ("run_time", "run_gpu_time", "run_cost")), "checkpoint.lost", "checkpoint.planned_interval", "checkpoint.failures", "world.mtbf", "checkpoint.save_time", "checkpoint.best_interval", "checkpoint.best_overhead", "checkpoint.overhead",
))  # fmt: skip

#: Derived numbers that a policy may read, with their dimension; the facts supply them.
DERIVED: dict[str, Dimension] = {
    "world.size": PLAIN,
    "shard.replicas": PLAIN,
    "parallel.expert_data": PLAIN,
    "batch.tokens": TOKENS,
    "batch.tokens_per_card": TOKENS,
    "model.total_parameters": PLAIN,
    "model.active_parameters": PLAIN,
    "memory.weights": BYTES,
    "memory.gradients": BYTES,
    "memory.optimizer": BYTES,
    "memory.total": BYTES,
    "memory.capacity": BYTES,
    "memory.free": BYTES,
    "memory.headroom": PLAIN,
    "memory.activations": BYTES,
    "memory.working_set": BYTES,
    "memory.buffers": BYTES,
    "memory.logits": BYTES,
    "memory.transient": BYTES,
    "memory.context": BYTES,
    "memory.reserve": BYTES,
    "memory.peak": BYTES,
    "memory.states": BYTES,
    "memory.host": BYTES,
    **{f"communication.{axis}.bytes": BYTES for axis in _AXES},
    **{f"communication.{axis}.time": TIME for axis in _AXES},
    **{f"communication.{axis}.exposed": TIME for axis in _AXES},
    "step.time": TIME,
    "step.compute": TIME,
    "step.communication": TIME,
    "step.bubble": TIME,
    "step.optimizer": TIME,
    "step.tokens_per_second": TOKEN_RATE,
    "step.tokens_per_second_per_card": TOKEN_RATE,
    "step.mfu": PLAIN,
    "step.hfu": PLAIN,
    "pipeline.bubble": PLAIN,
    "pipeline.bubble_with_head": PLAIN,
    "pipeline.first_in_flight": PLAIN,
    "pipeline.last_in_flight": PLAIN,
    "flops.per_token": FLOP_PER_TOKEN,
    "step.flops": FLOP,
    "step.hardware_flops": FLOP,
    "flops.peak": RATE,
    "train.tokens": TOKENS,
    "train.steps": STEPS,
    "train.time": TIME,
    "train.gpu_time": TIME,
    "train.gpu_hours": PLAIN,
    "train.cost": MONEY,
    "train.energy": ENERGY,
    "train.energy_cost": MONEY,
    "world.mtbf": TIME,
    "checkpoint.size": BYTES,
    "checkpoint.lost": TIME,
    "checkpoint.run_time": TIME,
    "checkpoint.run_gpu_time": TIME,
    "checkpoint.run_cost": MONEY,
    "checkpoint.failures": PLAIN,
    "checkpoint.save_time": TIME,
    "checkpoint.planned_interval": TIME,
    "checkpoint.best_interval": TIME,
    "checkpoint.best_overhead": PLAIN,
    "checkpoint.overhead": PLAIN,
}

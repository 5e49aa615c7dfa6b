"""What a plan says in the words of torchtitan: settings by key, in the order in which they are written.

Keys are those of torchtitan 0.3.0 (trainer.py, config/configs.py, components/) for flags, and of 0.2.2
(config/job_config.py) for TOML; most are the same. Only for a plan without obstacles.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.units import STEPS, Amount
from planc.targets._data import real
from planc.targets._deepspeed_schedule import course, steps_of
from planc.targets._launch import is_unset, written
from planc.targets._torchtitan_models import TOML, Trained, form, recipe, trained
from planc.targets._torchtitan_pipeline import SCHEDULES, chunk_layers, stated_layers

#: Datasets that torchtitan registers by name (hf_datasets/text_datasets.py, DATASETS).
DATASETS = ("c4", "c4_test", "c4_validation")

#: Steps of the profiler's own warmup that torchtitan takes by default.
_PROFILER_WARMUP = 3

_ADAMW = "optimizer.param_groups.0.optimizer_kwargs"

Setting = tuple[str, Any]


def settings(plan: Plan, facts: Facts) -> tuple[Setting, ...]:
    """Every key with its value: a bool, a number, a text, None, or a tuple of texts or of lists of texts."""
    toml = form(plan) == TOML
    found = [*(_old_model(plan) if toml else ()), *_training(plan, facts), *_precision(plan)]
    found += [*_parallelism(plan, facts), *(_old_layout(plan) if toml else _new_layout(plan))]
    found += [*(_old_rest(plan) if toml else _new_rest(plan)), *_schedule(plan, facts)]
    found += [*_checkpoint(plan), *_records(plan)]
    return tuple(found)


def dp_shard(plan: Plan) -> int:
    """Replicas that share one copy of the states: at stage 0 each keeps its own."""
    size: int = 1 if plan.value("shard.stage") == 0 else plan.value("shard.size")
    return size


def activation_checkpoint(plan: Plan) -> str:
    """torchtitan's word for the activations that are computed again."""
    word: str = plan.value("recompute")
    return word


def _training(plan: Plan, facts: Facts) -> Iterator[Setting]:
    micro = plan.value("batch.micro")
    staged = 1 < plan.value("parallel.pipeline")
    # A pipeline takes all the micro batches of a step in one pass, which is one local batch.
    yield "training.local_batch_size", micro * plan.value("batch.accumulation") if staged else micro
    yield "training.global_batch_size", facts["batch.global"]
    if not is_unset(plan, "batch.sequence_length"):
        yield "training.seq_len", plan.value("batch.sequence_length")
    clip = written(plan, "optimizer.clip")
    # torchtitan clips at 1.0 by itself: a limit that no norm reaches says that the plan clips nothing.
    yield "training.max_norm", real(clip) if clip else float("inf")
    if not is_unset(plan, "train.duration"):
        yield "training.steps", steps_of(plan, facts, "train.duration")
    yield "training.enable_cpu_offload", written(plan, "offload.weights") == "cpu"


def _precision(plan: Plan) -> Iterator[Setting]:
    yield "training.dtype", "float32"
    yield "training.mixed_precision_param", "float32" if plan.value("precision") == "fp32" else "bfloat16"
    yield "training.mixed_precision_reduce", "float32"


def _parallelism(plan: Plan, facts: Facts) -> Iterator[Setting]:
    shard, stages = dp_shard(plan), plan.value("parallel.pipeline")
    yield "parallelism.data_parallel_replicate_degree", plan.value("parallel.data") // shard
    yield "parallelism.data_parallel_shard_degree", shard
    yield "parallelism.fsdp_reshard_after_forward", "always" if plan.value("shard.stage") == 3 else "never"
    yield "parallelism.tensor_parallel_degree", plan.value("parallel.tensor")
    yield "parallelism.context_parallel_degree", plan.value("parallel.context")
    yield "parallelism.expert_parallel_degree", plan.value("parallel.expert")
    yield "parallelism.pipeline_parallel_degree", stages
    if stages == 1:
        return
    yield "parallelism.pipeline_parallel_schedule", SCHEDULES[plan.value("pipeline")]
    yield "parallelism.pipeline_parallel_microbatch_size", plan.value("batch.micro")
    stated = stated_layers(plan, facts)
    if stated is not None:
        yield "parallelism.module_fqns_per_model_part", _modules(plan, stated)
        return
    yield "parallelism.pipeline_parallel_first_stage_less_layers", int(plan.value("pipeline.embedding_as_layer"))
    yield "parallelism.pipeline_parallel_last_stage_less_layers", int(plan.value("pipeline.loss_as_layer"))
    longest = chunk_layers(plan)
    if longest is not None:
        yield "parallelism.pipeline_parallel_layers_per_stage", longest


def _modules(plan: Plan, layers: tuple[int, ...]) -> tuple[tuple[str, ...], ...]:
    """Names of the modules of every virtual stage."""
    head = "output" if form(plan) == TOML else "lm_head"
    parts, begin = [], 0
    for at, count in enumerate(layers):
        names = [f"layers.{layer}" for layer in range(begin, begin + count)]
        begin += count
        parts.append((*(("tok_embeddings",) if at == 0 else ()), *names,
                      *(("norm", head) if at == len(layers) - 1 else ())))  # fmt: skip
    return tuple(parts)


def _new_layout(plan: Plan) -> Iterator[Setting]:
    if 1 < plan.value("parallel.tensor"):
        yield "parallelism.enable_sequence_parallel", plan.value("parallel.sequence")
    if 1 < plan.value("parallel.pipeline") or 1 < plan.value("parallel.expert"):
        # torchtitan refuses to capture a pipeline, or experts whose dispatch waits for the host.
        yield "training.disable_cuda_graphs", True


def _old_layout(plan: Plan) -> Iterator[Setting]:
    if 1 < plan.value("parallel.expert"):
        yield "parallelism.expert_tensor_parallel_degree", plan.value("parallel.expert_tensor")
        if written(plan, "expert.dispatch") is not None:
            backend = "deepep" if written(plan, "expert.dispatch") == "deepep" else "standard"
            yield "parallelism.expert_parallel_comm_backend", backend
    if 1 < plan.value("parallel.context"):
        method = "alltoall" if plan.value("context") == "ring" else "allgather"
        yield "parallelism.context_parallel_rotate_method", method


def _old_model(plan: Plan) -> Iterator[Setting]:
    model = trained(plan)
    assert isinstance(model, Trained)
    yield "model.name", model.module
    yield "model.flavor", model.flavor
    scaling = recipe(plan)
    if not scaling:
        return
    is_mx, gathered = scaling == "mxfp8", written(plan, "precision.weights") == "fp8"
    yield "model.converters", (f"quantize.linear.{'mx' if is_mx else 'float8'}",)
    if is_mx:
        yield "quantize.linear.mx.recipe_name", "mxfp8_cublas"
    elif gathered:  # which excludes a `recipe_name`; without one the scaling is tensorwise
        yield "quantize.linear.float8.enable_fsdp_float8_all_gather", True
        yield "quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp", True
    else:
        yield "quantize.linear.float8.recipe_name", scaling


def _new_rest(plan: Plan) -> Iterator[Setting]:
    for path, key in (("learning_rate", "lr"), ("epsilon", "eps"), ("weight_decay", "weight_decay")):
        value = written(plan, f"optimizer.{path}")
        if value is not None:
            yield f"{_ADAMW}.{key}", real(value)
    betas = written(plan, "optimizer.betas")
    if betas is not None:
        yield f"{_ADAMW}.betas", tuple(str(real(beta)) for beta in betas)
    is_short = written(plan, "optimizer.states") == "bf16"
    yield "optimizer.implementation", "fused_opt_states_bf16" if is_short else "fused"
    compiled = plan.value("train.compile")
    yield "compile.enable", compiled
    if not compiled:  # which async tensor parallelism, on in some configurations, needs
        yield "compile.enable_async_tensor_parallel", False
    yield from _dataset(plan, ("dataloader.dataset", "dataloader.dataset_path", "dataloader.num_workers"))
    start, length = steps(plan, "profile.start"), steps(plan, "profile.length")
    traces = start is not None and length is not None
    yield "profiler.enable_profiling", traces
    if start is not None and length is not None:
        yield "profiler.profile_freq", start + length
        yield "profiler.profiler_active", length
        yield "profiler.profiler_warmup", min(start, _PROFILER_WARMUP)
        yield "profiler.profiler_repeat", 1


def _old_rest(plan: Plan) -> Iterator[Setting]:
    yield "optimizer.name", "AdamW"
    for path, key in (("learning_rate", "lr"), ("epsilon", "eps"), ("weight_decay", "weight_decay")):
        value = written(plan, f"optimizer.{path}")
        if value is not None:
            yield f"optimizer.{key}", real(value)
    for key, beta in zip(("beta1", "beta2"), written(plan, "optimizer.betas") or (), strict=False):
        yield f"optimizer.{key}", real(beta)
    yield "activation_checkpoint.mode", activation_checkpoint(plan)
    if activation_checkpoint(plan) == "selective":
        yield "activation_checkpoint.selective_ac_option", "op"
    yield "compile.enable", plan.value("train.compile")
    yield from _dataset(plan, ("training.dataset", "training.dataset_path", "training.dataloader.num_workers"))


def _dataset(plan: Plan, keys: tuple[str, str, str]) -> Iterator[Setting]:
    if written(plan, "dataset") is None:
        return
    name, path, workers = (written(plan, f"dataset.{field}") for field in ("name", "path", "workers"))
    values = (name if name in DATASETS else None, path, workers)
    yield from ((key, value) for key, value in zip(keys, values, strict=True) if value is not None)


def _schedule(plan: Plan, facts: Facts) -> Iterator[Setting]:
    kind = course(plan)
    if kind is None:
        if written(plan, "optimizer.learning_rate") is None:
            return
        kind = "constant"  # torchtitan would warm up for 200 steps and decay to zero
    warmup, total = steps_of(plan, facts, "schedule.warmup"), steps_of(plan, facts, "schedule.total")
    yield "lr_scheduler.warmup_steps", warmup
    if total is not None and kind != "constant":
        yield "lr_scheduler.total_steps", total
    if kind == "constant":
        yield "lr_scheduler.decay_ratio", 0.0
        return
    if form(plan) != TOML:  # where nothing said is none already
        yield "lr_scheduler.decay_ratio", None
    yield "lr_scheduler.decay_type", kind
    minimum = written(plan, "schedule.minimum")
    yield "lr_scheduler.min_lr_factor", real(minimum / plan.value("optimizer.learning_rate")) if minimum else 0.0


def _checkpoint(plan: Plan) -> Iterator[Setting]:
    saves, directory, step = written(plan, "checkpoint") is not None, *resumed(plan)
    if not saves and directory is None and step is None:
        return
    yield "checkpoint.enable", True
    if saves:
        folder, keep, every = (written(plan, f"checkpoint.{name}") for name in ("directory", "keep", "every"))
        interval = steps(plan, "checkpoint.every")
        if folder is not None:
            yield "checkpoint.folder", folder
        if every is not None:
            yield "checkpoint.interval", interval
        if keep is not None:
            yield "checkpoint.keep_latest_k", keep
        yield "checkpoint.async_mode", "async" if plan.value("checkpoint.async") else "disabled"
    else:
        yield "checkpoint.load_only", True
    if directory is not None:
        yield "checkpoint.initial_load_path", directory
        yield "checkpoint.initial_load_model_only", False
    if step is not None:
        yield "checkpoint.load_step", step


def resumed(plan: Plan) -> tuple[str | None, int | None]:
    """The checkpoint of another folder that the run begins with, and the step of one in its own folder."""
    if written(plan, "resume") is None:
        return None, None
    directory, step = written(plan, "resume.directory"), written(plan, "resume.step")
    own = written(plan, "checkpoint.directory") if written(plan, "checkpoint") is not None else None
    if directory is None or directory == own:
        return None, step
    return (directory if step is None else f"{directory.rstrip('/')}/step-{step}"), None


def _records(plan: Plan) -> Iterator[Setting]:
    if written(plan, "log") is not None:
        every, directory, to = (written(plan, f"log.{name}") for name in ("every", "directory", "to"))
        if every is not None:
            yield "metrics.log_freq", steps(plan, "log.every")
        if to is not None:
            yield "metrics.enable_tensorboard", "tensorboard" in to
            yield "metrics.enable_wandb", "wandb" in to
        if directory is not None:
            yield "metrics.save_tb_folder", directory
    timeout = _seconds(plan.value("launch.timeout"))
    yield "comm.init_timeout_seconds", timeout
    yield "comm.train_timeout_seconds", timeout
    if not is_unset(plan, "train.seed"):
        yield "debug.seed", plan.value("train.seed")
    yield "debug.deterministic", plan.value("train.deterministic")
    if any(written(plan, path) is not None for path in ("checkpoint.directory", "log.directory")):
        # Folders of the plan lie where the script is called, torchtitan's own below this one.
        yield ("job.dump_folder" if form(plan) == TOML else "dump_folder"), "."


def steps(plan: Plan, path: str) -> int | None:
    """A length or an interval in steps; None where it is not set, or counted otherwise."""
    amount = written(plan, path)
    if isinstance(amount, Amount):
        return int(amount.value) if amount.dimension == STEPS else None
    return None if amount is None else int(amount)


def _seconds(timeout: Any) -> int:
    """Whole seconds, of which torchtitan takes its timeouts, rounded up."""
    return int(-(-timeout // 1))

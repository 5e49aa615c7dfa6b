"""The content of nanotron.yaml, from the plan's values and facts alone.

Keys are those of nanotron, main of 2025 (src/nanotron/config/{config,models_config,parallelism_config}.py). nanotron
refuses keys that it does not know; what it has a default for and the plan does not speak of is left out.
"""

from __future__ import annotations

from typing import Any

from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.targets._data import real
from planc.targets._deepspeed_schedule import course, steps_of
from planc.targets._launch import option, written

#: Courses of the rate; a constant one is a line that falls nowhere.
STYLES = {None: "linear", "constant": "linear", "linear": "linear", "cosine": "cosine"}


def nanotron_config(plan: Plan, facts: Facts) -> dict[str, Any]:
    """The whole file as data, in the order in which it is written."""
    seed = written(plan, "train.seed")
    general = {"project": plan.name, "run": plan.name}
    config: dict[str, Any] = {
        "general": general if seed is None else {**general, "seed": seed},
        "parallelism": _parallelism(plan, facts),
        "model": _model(plan, facts),
    }
    tokenizer, every = option(plan, "nanotron", "tokenizer"), written(plan, "log.every")
    if tokenizer is not None:
        config["tokenizer"] = {"tokenizer_name_or_path": tokenizer}
    config["checkpoints"] = _checkpoints(plan)
    if every is not None:
        config["logging"] = {"iteration_step_info_interval": every}
    config["tokens"] = {
        "sequence_length": facts["batch.sequence_length"],
        "train_steps": facts["train.steps"],
        "micro_batch_size": facts["batch.micro"],
        "batch_accumulation_per_replica": facts["batch.accumulation"],
    }
    config["optimizer"] = _optimizer(plan, facts)
    config["data_stages"] = [_stage(plan)]
    return config


def _parallelism(plan: Plan, facts: Facts) -> dict[str, Any]:
    return {
        "dp": facts["parallel.data"],
        "pp": facts["parallel.pipeline"],
        "tp": facts["parallel.tensor"],
        "pp_engine": "1f1b",
        "tp_mode": "REDUCE_SCATTER" if plan.value("parallel.sequence") else "ALL_REDUCE",
        "recompute_layer": plan.value("recompute") == "full",
    }


def _model(plan: Plan, facts: Facts) -> dict[str, Any]:
    length, longest = facts["batch.sequence_length"], written(plan, "model.max_sequence_length") or 0
    return {
        "model_config": {
            "is_llama_config": True,
            "hidden_size": plan.value("model.hidden"),
            "intermediate_size": plan.value("model.ffn"),
            "max_position_embeddings": max(length, longest),
            "num_attention_heads": plan.value("model.heads"),
            "num_hidden_layers": plan.value("model.layers"),
            "num_key_value_heads": plan.value("model.kv_heads"),
            "rope_theta": real(option(plan, "nanotron", "rope_theta")),
            "tie_word_embeddings": plan.value("model.tied"),
            "vocab_size": plan.value("model.vocab"),
        },
        "init_method": {"std": real(option(plan, "nanotron", "init_std"))},
        "dtype": "bfloat16",
    }


def _checkpoints(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = {
        "checkpoints_path": plan.value("checkpoint.directory"),
        "checkpoint_interval": int(plan.value("checkpoint.every").value),
    }
    if written(plan, "resume.directory") is not None:
        found["resume_checkpoint_path"] = written(plan, "resume.directory")
    return found


def _optimizer(plan: Plan, facts: Facts) -> dict[str, Any]:
    first, second = written(plan, "optimizer.betas")
    clip = written(plan, "optimizer.clip")
    return {
        "optimizer_factory": {
            "name": "adamW",
            "adam_beta1": real(first),
            "adam_beta2": real(second),
            "adam_eps": real(plan.value("optimizer.epsilon")),
            "torch_adam_is_fused": True,
        },
        "zero_stage": plan.value("shard.stage"),
        "weight_decay": real(plan.value("optimizer.weight_decay")),
        "clip_grad": None if clip is None else real(clip),
        "accumulate_grad_in_fp32": True,
        "learning_rate_scheduler": _schedule(plan, facts),
    }


def _schedule(plan: Plan, facts: Facts) -> dict[str, Any]:
    kind, rate = course(plan), real(plan.value("optimizer.learning_rate"))
    total = facts["train.steps"] if kind in (None, "constant") else steps_of(plan, facts, "schedule.total")
    warmup = 0 if kind is None else steps_of(plan, facts, "schedule.warmup")
    assert isinstance(total, int)
    assert isinstance(warmup, int)
    minimum = rate if kind in (None, "constant") else real(written(plan, "schedule.minimum") or 0)
    return {
        "learning_rate": rate,
        "lr_warmup_steps": warmup,
        # A linear warmup of no steps would still take the first step at a rate of zero.
        "lr_warmup_style": "linear" if warmup else "constant",
        "lr_decay_style": STYLES[kind],
        "lr_decay_starting_step": warmup,
        "lr_decay_steps": total - warmup,
        "min_decay_lr": minimum,
    }


def _stage(plan: Plan) -> dict[str, Any]:
    data: dict[str, Any] = {
        "dataset": {"dataset_folder": [plan.value("dataset.path")]},
        "seed": written(plan, "train.seed"),
    }
    if written(plan, "dataset.workers") is not None:
        data["num_loading_workers"] = written(plan, "dataset.workers")
    return {"name": "train", "start_training_step": 1, "data": data}

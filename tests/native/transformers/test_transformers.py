"""Arguments of the Trainer: what is wrong in them, what they say, and beside a DeepSpeed file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planc.commands.files import Files
from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.native.job import ALONE, judge
from planc.native.kind import Recognised
from tests.native.judging import found_in, loud, plan_text, recognised, with_other_values

GOOD: dict[str, Any] = {
    "output_dir": "out",
    "per_device_train_batch_size": 4,
    "gradient_accumulation_steps": 2,
    "bf16": True,
    "learning_rate": 2e-5,
    "weight_decay": 0.1,
    "max_grad_norm": 1.0,
    "lr_scheduler_type": "cosine",
    "max_steps": 1000,
    "save_steps": 100,
    "gradient_checkpointing": True,
}

DEEPSPEED: dict[str, Any] = {
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 2,
    "gradient_clipping": 1.0,
    "bf16": {"enabled": True},
    "optimizer": {"type": "AdamW", "params": {"lr": 2e-5, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.1}},
    "zero_optimization": {"stage": 2},
}


def places(found: tuple[Diagnostic, ...]) -> list[tuple[str, str]]:
    return [(each.code, each.primary.span.text) for each in found]


FAULTY: tuple[tuple[dict[str, Any], list[tuple[str, str]]], ...] = (
    ({"bf16": True, "fp16": True}, [("PLN075", '"bf16": true')]),
    (
        {"fsdp": "full_shard", "fsdp_config": {"activation_checkpointing": True}},
        [("PLN075", '"gradient_checkpointing": true')],
    ),
    (
        {"gradient_checkpointing_kwargs": {"use_reentrant": True}, "ddp_find_unused_parameters": True},
        [("PLN075", '"use_reentrant": true')],
    ),
    (
        {
            "save_only_model": True,
            "load_best_model_at_end": True,
            "eval_strategy": "steps",
            "eval_steps": 100,
            "fsdp": "full_shard",
            "gradient_checkpointing": False,
        },
        [("PLN075", '"load_best_model_at_end": true')],
    ),
    ({"load_best_model_at_end": True}, [("PLN075", '"load_best_model_at_end": true')]),
    ({"logging_steps": 0}, [("PLN063", "0")]),
    ({"save_steps": 2.5}, [("PLN063", "2.5")]),
    ({"gradient_accumulation_steps": 0}, [("PLN063", "0")]),
    ({"per_device_train_batch_size": 0}, [("PLN063", "0")]),
    ({"warmup_steps": 2000}, [("PLN701", '"warmup_steps": 2000')]),
    (
        {
            "fsdp": "full_shard",
            "activation_checkpointing": True,
            "fsdp_config": {"activation_checkpointing": True},
        },
        [("PLN074", '"gradient_checkpointing"'), ("PLN075", '"activation_checkpointing": true')],
    ),
    ({"fsdp": True, "gradient_checkpointing": False, "deepspeed": {}}, [("PLN075", '"deepspeed": {}')]),
    ({"deepspeed": {"zero_optimisation": {"stage": 2}}}, [("PLN062", '"zero_optimisation"')]),
)

SOUND: tuple[dict[str, Any], ...] = (
    {},
    {"fp16": False},
    {"fsdp": "full_shard", "gradient_checkpointing": False, "fsdp_config": {"activation_checkpointing": True}},
    {"gradient_checkpointing_kwargs": {"use_reentrant": False}, "ddp_find_unused_parameters": True},
    {"save_only_model": True, "load_best_model_at_end": True, "eval_strategy": "steps", "eval_steps": 50},
    {"model_name_or_path": "some/model", "dataset_name": "some/data"},
    {"deepspeed": {"zero_optimization": {"stage": 2}, "gradient_clipping": "auto"}},
)


@pytest.mark.parametrize(("changes", "expected"), FAULTY, ids=range(len(FAULTY)))
def test_what_is_wrong_is_reported_at_its_place(changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert places(found_in("args.json", json.dumps(GOOD | changes))) == expected


@pytest.mark.parametrize("changes", SOUND, ids=range(len(SOUND)))
def test_what_is_near_it_is_not(changes: dict[str, Any]) -> None:
    assert places(found_in("args.json", json.dumps(GOOD | changes))) == []


def test_the_arguments_say_fields_of_a_plan() -> None:
    assert plan_text("args.json", json.dumps(GOOD)).split("\n") == [
        "batch {", "micro = 4", "accumulation = 2", "}", "precision = bf16",
        "optimizer {", "learning_rate = 2e-5", "weight_decay = 0.1", "clip = 1", "betas = [0.9, 0.999]",
        "epsilon = 1e-8", "}", "schedule = cosine", "train {", "duration = 1000 steps", "}",
        "checkpoint {", "every = 100 steps", 'directory = "out"', "}", "recompute = full",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"activation_checkpointing": True}, True),
        ({"activation_checkpointing": False}, False),  # the new name counts
        ({"activation_checkpointing": None}, True),
        ({"activation_checkpointing": True, "activation_checkpointing_kwargs": {"every_n_layers": 2}}, False),
        ({"activation_checkpointing": True, "activation_checkpointing_kwargs": {"every_n_layers": 1}}, True),
    ],
)
def test_activations_are_recomputed_by_the_new_name(changes: dict[str, Any], says: bool) -> None:
    assert ("recompute = full" in plan_text("args.json", json.dumps(GOOD | changes)).split("\n")) == says


def test_a_share_of_the_steps_is_a_warm_up() -> None:
    assert "warmup = 0.1" in plan_text("args.json", json.dumps(GOOD | {"warmup_steps": 0.1}))


def test_without_a_course_the_rate_falls_in_a_line() -> None:
    arguments = {key: value for key, value in GOOD.items() if key != "lr_scheduler_type"}
    assert "schedule = linear" in plan_text("args.json", json.dumps(arguments)).split("\n")
    (found,) = found_in("args.json", json.dumps({**arguments, "warmup_steps": 2000}))
    assert (found.code, found.primary.span.text) == ("PLN701", '"warmup_steps": 2000')


def together(arguments: dict[str, Any], config: dict[str, Any]) -> tuple[Diagnostic, ...]:
    """What is found in arguments and the DeepSpeed file that they name."""
    files = [recognised("args.json", json.dumps(arguments)), recognised("ds.json", json.dumps(config))]
    known = [file for file in files if isinstance(file, Recognised)]
    assert len(known) == 2
    return loud(judge(known, lambda name, importer: "none").diagnostics)


def test_files_that_agree_are_clean() -> None:
    assert places(together(GOOD, DEEPSPEED)) == []
    auto = {**DEEPSPEED, "train_micro_batch_size_per_gpu": "auto", "gradient_clipping": "auto"}
    assert places(together(GOOD, auto)) == []


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"train_micro_batch_size_per_gpu": 8}, "train_micro_batch_size_per_gpu"),
        ({"gradient_accumulation_steps": 1}, "gradient_accumulation_steps"),
        ({"gradient_clipping": 0.5}, "gradient_clipping"),
        ({"bf16": {"enabled": False}, "fp16": {"enabled": True}}, "fp16.enabled"),
    ],
)
def test_files_that_disagree_are_shown_at_both_places(changes: dict[str, Any], path: str) -> None:
    (found,) = together(GOOD, {**DEEPSPEED, **changes})
    assert found.code == "PLN071"
    assert f"`{path}`" in found.message
    assert {found.primary.span.source.name, found.related[0].span.source.name} == {"args.json", "ds.json"}


def test_a_default_of_the_trainer_disagrees_as_well() -> None:
    arguments = {key: value for key, value in GOOD.items() if key not in ("learning_rate", "weight_decay")}
    found = together(arguments, DEEPSPEED)
    assert [each.message for each in found] == [
        "`optimizer.params.lr` is not the default of `learning_rate`",
        "`optimizer.params.weight_decay` is not the default of `weight_decay`",
    ]
    assert found[0].related[0].text == "`learning_rate` is left out, so it is 5e-5"


def test_a_norm_that_nobody_clips_at_is_told() -> None:
    config = {key: value for key, value in DEEPSPEED.items() if key != "gradient_clipping"}
    (found,) = together(GOOD, config)
    assert (found.code, found.severity, found.primary.span.text) == ("PLN071", Severity.WARNING, '"max_grad_norm": 1.0')


def test_no_value_stops_planc() -> None:
    text = json.dumps(GOOD | {"deepspeed": DEEPSPEED, "fsdp": "full_shard", "fsdp_config": {"version": 2}})
    for what, changed in with_other_values("args.json", text):
        try:
            found_in("args.json", changed, "transformers")
        except Exception as error:
            raise AssertionError(what) from error


@pytest.mark.parametrize(("version", "told"), [("4.46.0", []), ("5.23.0", [("PLN065", "gradient_checkpointing")])])
def test_a_new_name_is_asked_for_of_a_release_that_has_it(version: str, told: list[tuple[str, str]]) -> None:
    file = recognised("args.json", json.dumps(GOOD))
    assert isinstance(file, Recognised)
    beside = ALONE._replace(settings=(f"versions.transformers={version}",))
    found = judge((file,), Files().load, beside).diagnostics
    assert [(each.code, each.primary.span.text.strip('"')) for each in found] == told

"""DeepSpeed's configurations: what is wrong with their keys and between them, and what is near it and is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planc.diagnostics.diagnostic import Diagnostic, Severity
from planc.native.job import Beside, judge
from planc.native.kind import Options, Recognised
from planc.native.saying import written
from tests.native.judging import (
    VALUES,
    corpus,
    found_in,
    is_known_good,
    judged,
    loud,
    plan_text,
    recognised,
    with_other_values,
)

OLD = "stage3_gather_fp16_weights_on_model_save"

GOOD = {
    "train_batch_size": 64,
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 2,
    "gradient_clipping": 1.0,
    "bf16": {"enabled": True},
    "zero_optimization": {
        "stage": 3,
        "reduce_bucket_size": 5e8,
        "offload_optimizer": {"device": "cpu", "pin_memory": True},
        "offload_param": {"device": "nvme", "nvme_path": "/local_nvme"},
        "zero_hpz_partition_size": 8,
    },
    "optimizer": {"type": "AdamW", "params": {"lr": 3e-5, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}},
    "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_num_steps": 100, "total_num_steps": 1000}},
    "steps_per_print": 10,
}

#: What is changed in it (by dotted path; None takes a key away), and what is reported then: code and text of the place.
FAULTY: tuple[tuple[dict[str, Any], tuple[tuple[str, str], ...]], ...] = (
    ({"gradient_cliping": 1.0}, (("PLN062", '"gradient_cliping"'),)),
    ({"zero_optimisation": {"stage": 1}}, (("PLN062", '"zero_optimisation"'),)),
    ({"zero_optimization.stge": 3}, (("PLN062", '"stge"'),)),
    ({"my_own_key": 1}, (("PLN062", '"my_own_key"'),)),
    ({"overlap_comm": True}, (("PLN067", '"overlap_comm"'),)),
    ({"train_batch_size": "64"}, (("PLN063", '"64"'),)),
    ({"gradient_clipping": "1.0"}, (("PLN063", '"1.0"'),)),
    ({"zero_optimization.stage": 4}, (("PLN063", "4"),)),
    ({"zero_optimization.reduce_bucket_size": 0.5}, (("PLN063", "0.5"),)),
    ({"zero_optimization.offload_optimizer.device": "gpu"}, (("PLN063", '"gpu"'),)),
    ({"optimizer.type": "AdamV"}, (("PLN063", '"AdamV"'),)),
    ({"scheduler.type": "WarmupLinearLR"}, (("PLN063", '"WarmupLinearLR"'),)),
    ({"scheduler.params.total_num_steps": 0}, (("PLN063", "0"),)),
    ({"scheduler.params.warmup_num_steps": 2000}, (("PLN075", '"warmup_num_steps": 2000'),)),
    ({"fp16": {"enabled": True}}, (("PLN075", '"enabled": true'),)),
    ({"gradient_accumulation_steps": 3}, (("PLN075", '"train_batch_size": 64'),)),
    ({"gradient_accumulation_steps": 0}, (("PLN063", "0"),)),
    ({"zero_optimization.cpu_offload": True}, (("PLN074", '"cpu_offload"'),)),
    ({f"zero_optimization.{OLD}": True}, (("PLN065", f'"{OLD}"'),)),
    ({"sparse_attention": {"mode": "fixed"}}, (("PLN066", '"sparse_attention"'),)),
    ({"optimizer.type": "OneBitAdam", "optimizer.params": {}}, (("PLN066", '"OneBitAdam"'),)),
    ({"zero_optimization.offload_param.nvme_path": None}, (("PLN070", '"device": "nvme"'),)),
    ({"zero_optimization.stage": 2}, (("PLN068", '"offload_param": {"device": "nvme", "nvme_path": "/local_nvme"}'),)),
    ({"zero_optimization.sub_group_size": "auto"}, (("PLN069", '"auto"'),)),
    ({"optimizer.params.max_grad_norm": 1.0}, (("PLN068", '"max_grad_norm": 1.0'),)),
)  # fmt: skip

#: Near misses: what is changed, and nothing is wrong with it.
SOUND: tuple[dict[str, Any], ...] = (
    {},
    {"gradient_accumulation_steps": 4},
    {"train_batch_size": 128},
    {"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto"},
    {"gradient_clipping": "auto", "bf16.enabled": "auto", "fp16": {"enabled": "auto"}},
    {"zero_optimization.reduce_bucket_size": "auto", "zero_optimization.stage3_prefetch_bucket_size": "auto"},
    {"fp16": {"enabled": False}},
    {"zero_optimization.stage": 2, "zero_optimization.offload_param": {"device": "none"},
     "zero_optimization.zero_hpz_partition_size": 1},
    {"optimizer.type": "adamw"},
    {"optimizer.type": "SGD", "optimizer.params": {"lr": 0.1}},
    {"scheduler.type": "CosineAnnealingLR", "scheduler.params": {"T_max": 100}},
    {"zero_optimization.stage3_max_live_parameters": 1e9},
    {"zero_optimization.stage": 0, "zero_optimization.offload_param": None, "zero_optimization.offload_optimizer": None,
     "zero_optimization.zero_hpz_partition_size": None},
)  # fmt: skip


def changed(changes: dict[str, Any]) -> str:
    """The good configuration with other values."""
    data = json.loads(json.dumps(GOOD))
    for path, value in changes.items():
        *outer, name = path.split(".")
        at = data
        for key in outer:
            at = at[key]
        at.pop(name, None)
        if value is not None:
            at[name] = value
    return json.dumps(data)


def places(found: tuple[Diagnostic, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((each.code, each.primary.span.text) for each in found)


@pytest.mark.parametrize(
    ("changes", "reported"), FAULTY, ids=[f"{next(iter(changes))}-{at}" for at, (changes, _) in enumerate(FAULTY)]
)
def test_what_is_wrong_is_reported_at_its_place(changes: dict[str, Any], reported: tuple[tuple[str, str], ...]) -> None:
    found = found_in("ds.json", changed(changes))
    assert places(found) == reported
    for each in found:
        assert len(each.message.split()) <= 12, each.message
        assert each.primary.text or each.help, each.message


@pytest.mark.parametrize("changes", SOUND, ids=range(len(SOUND)))
def test_what_is_near_it_is_not(changes: dict[str, Any]) -> None:
    assert places(found_in("ds.json", changed(changes))) == ()


def reported(text: str, **options: Any) -> tuple[Diagnostic, ...]:
    """What is reported where the command line says more than the file."""
    file = recognised("ds.json", text)
    assert isinstance(file, Recognised)
    trainer = options.pop("trainer", None)
    return loud(judge([file], lambda name, importer: "none", Beside(options=Options(trainer), **options)).diagnostics)


def test_the_batch_is_held_against_the_world() -> None:
    assert places(reported(changed({}), world=8)) == ()
    (found,) = reported(changed({}), world=16)
    assert (found.code, found.primary.span.text) == ("PLN201", '"train_batch_size": 64')
    sizes = ("train_batch_size", 128), ("gradient_accumulation_steps", 1), ("train_micro_batch_size_per_gpu", 2)
    first, second, third = (f'`"{key}": {size}`' for key, size in sizes)
    assert found.help == (f"what would agree: {first}, {second} or {third}",)
    assert [edit.text for fix in found.fixes for edit in fix.edits] == ["128", "1", "2"]


def test_auto_needs_somebody_who_resolves_it() -> None:
    text = changed({"gradient_clipping": "auto"})
    assert places(reported(text, trainer="hf")) == places(reported(text)) == ()
    assert places(reported(text, trainer="deepspeed")) == (("PLN069", '"auto"'),)
    (found,) = reported(changed({"zero_optimization.stage": "auto"}), trainer="deepspeed")
    assert (found.severity, found.primary.text) == (Severity.ERROR, "deepspeed takes `0`")
    (found,) = reported(changed({"zero_optimization.sub_group_size": "auto"}), trainer="hf")
    assert (found.severity, found.primary.text) == (Severity.ERROR, "who fills in the others refuses to start")
    (found,) = reported(changed({"zero_optimization.sub_group_size": "auto"}))
    assert (found.severity, found.primary.text) == (Severity.WARNING, "deepspeed takes `1000000000`")


def test_a_removed_key_is_none_of_a_release_that_has_it() -> None:
    text = changed({"sparse_attention": {"mode": "fixed"}})
    assert places(reported(text, settings=('versions.deepspeed = "0.14.5"',))) == ()
    (found,) = reported(text, settings=('versions.deepspeed = "0.19.8"',))
    assert (found.code, found.severity) == ("PLN066", Severity.ERROR)
    assert [each.severity for each in reported(text)] == [Severity.WARNING]


def test_how_to_state_an_earlier_release_is_told_where_none_is_stated() -> None:
    text = changed({"sparse_attention": {"mode": "fixed"}})
    (found,) = reported(text)
    assert found.help == ("remove the key", "or state an earlier release: `--set versions.deepspeed=...`")
    (found,) = reported(text, settings=('versions.deepspeed = "0.19.8"',))
    assert found.help == ("remove the key",)


def test_an_old_flag_is_mended_to_the_object_that_it_stands_for() -> None:
    (found,) = reported(changed({"zero_optimization.offload_optimizer": None, "zero_optimization.cpu_offload": True}))
    (fix,) = found.fixes
    assert (fix.safe, [edit.text for edit in fix.edits]) == (True, ['"offload_optimizer": {"device": "cpu"}'])
    off = changed({"zero_optimization.offload_optimizer": None, "zero_optimization.cpu_offload": False})
    assert reported(off) == ()


def test_a_norm_among_the_parameters_stops_who_has_deepspeed_make_the_optimizer() -> None:
    text = changed({"optimizer.params.max_grad_norm": 1.0})
    assert [each.severity for each in reported(text)] == [Severity.WARNING]
    assert [(each.code, each.severity) for each in reported(text, trainer="hf")] == [("PLN067", Severity.ERROR)]


def test_the_file_says_fields_of_a_plan() -> None:
    assert plan_text("ds.json", changed({})).split("\n") == [
        "batch {", "global = 64", "micro = 4", "accumulation = 2", "}", "precision = bf16",
        "shard {", "stage = 3", "bucket = 500000000", "secondary_size = 8", "}",
        "offload {", "optimizer = cpu", "weights = nvme", 'path = "/local_nvme"', "}",
        "optimizer = adamw {", "learning_rate = 3e-5", "weight_decay = 0.1", "betas = [0.9, 0.95]", "epsilon = 1e-8",
        "clip = 1", "}",
    ]  # fmt: skip


def test_a_key_that_stands_twice_is_shown_with_the_first() -> None:
    (found,) = found_in("ds.json", '{"train_batch_size": 8, "fp16": {"enabled": true, "enabled": false}}')
    assert (found.code, found.primary.span.text, found.related[0].span.text) == ("PLN064", '"enabled"', '"enabled"')


def test_a_misspelt_key_is_renamed_in_its_quotes() -> None:
    (found,) = found_in("ds.json", changed({"gradient_cliping": 1.0, "gradient_clipping": None}))
    assert [edit.text for fix in found.fixes for edit in fix.edits] == ['"gradient_clipping"']


def test_a_number_in_quotes_is_mended_for_certain() -> None:
    (found,) = found_in("ds.json", changed({"train_batch_size": "64"}))
    assert [(fix.safe, edit.text) for fix in found.fixes for edit in fix.edits] == [(True, "64")]


def test_no_value_stops_planc() -> None:
    for what, text in with_other_values("ds.json", changed({})):
        try:
            found_in("ds.json", text, "deepspeed")
        except Exception as error:
            raise AssertionError(what) from error
    assert len(VALUES) > 5


@pytest.mark.parametrize("value", [1e-5, 1e22, 0.1, 123456789.0, 5e8, 1e-300, -2.5])
def test_numbers_are_those_of_the_language(value: float) -> None:
    text = written(value)
    assert text is not None
    assert float(text) == value


#: Errors in files of the corpus that somebody ran: why they are errors all the same.
HOLDING = {
    "deepspeed_configs_zero2_torch_compile.json": "DeepSpeed 0.19.8 refuses a key in `compile`",
}


def test_the_corpus_is_read_without_a_false_error() -> None:
    for row, text in corpus("ds json"):
        file = recognised(row["file"], text)
        assert isinstance(file, Recognised), row["file"]
        if file.kind.name != "deepspeed" or not is_known_good(row) or "gpt-neox" in row["file"]:
            continue
        errors = [each for each in judged(row["file"], text).diagnostics if each.severity is Severity.ERROR]
        assert bool(errors) == any(row["file"].endswith(name) for name in HOLDING), (row["file"], places(tuple(errors)))


def test_a_text_that_pydantic_takes_for_no_whole_number_is_told() -> None:
    (found,) = found_in("ds.json", changed({"zero_optimization.reduce_bucket_size": "5e8"}))
    assert (found.code, found.help) == ("PLN063", ("write `500000000`",))
    assert found_in("ds.json", changed({"zero_optimization.reduce_bucket_size": "500000000"})) == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"zero_optimization": {"stage": 1}}', "bucket = 500000000"),
        ('{"zero_optimization": {"stage": 2, "cpu_offload": true}}', "optimizer = cpu"),
        ('{"zero_optimization": {"stage": 2}}', "clip = 1"),
        ('{"bf16": {"enabled": true, "bf16_master_weights_and_grads": true}, "steps_per_print": 1}', "master = bf16"),
        ('{"bf16": {"enabled": true, "bf16_optimizer_states": true}, "steps_per_print": 1}', "states = bf16"),
    ],
)
def test_what_deepspeed_takes_is_said(text: str, line: str) -> None:
    assert line in plan_text("ds.json", text).split("\n")


def test_without_shards_there_is_no_bucket() -> None:
    assert "bucket" not in plan_text("ds.json", '{"zero_optimization": {"stage": 0, "reduce_bucket_size": 5}}')

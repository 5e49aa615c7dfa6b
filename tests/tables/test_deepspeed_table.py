"""The table of ds_config.json, made anew and held against what DeepSpeed takes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest

from tests.consumers.running import needs
from tests.tables.common import Row, at, committed, text_of, versions_of
from tests.tables.fitting import SAMPLES, fits

pytestmark = [pytest.mark.consumer, needs("deepspeed", "accelerate", "transformers")]


@pytest.fixture(scope="module")
def table() -> Row:
    """The committed table of the installed DeepSpeed."""
    installed = version("deepspeed")
    if installed not in versions_of("deepspeed"):
        pytest.skip(f"there is no table of deepspeed {installed}")
    return committed("deepspeed", installed)


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """DeepSpeed as on a machine without cards."""
    monkeypatch.setenv("DS_ACCELERATOR", "cpu")
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def config(**keys: Any) -> Any:
    """A configuration of one process, as DeepSpeed reads it."""
    from deepspeed.runtime.config import DeepSpeedConfig

    return DeepSpeedConfig({"train_batch_size": 1, **keys})


def test_the_table_is_made_of_the_installed_release(table: Row) -> None:
    from tests.tables import deepspeed

    assert text_of(deepspeed.table()) == text_of(table)


def fields_of(model: Any, row: Row) -> Iterator[tuple[Any, str, Row]]:
    """Every key of a model and of those inside it, with the model that reads it."""
    from tests.tables.models import nested

    names = {field.alias or name: field for name, field in model.model_fields.items()}
    for name, key in row["keys"].items():
        inner = nested(names[name].annotation) if name in names else None
        if inner is None:
            yield model, name, key
        else:
            yield from fields_of(inner, key)


def test_pydantic_takes_what_the_table_says(table: Row) -> None:
    from pydantic import ValidationError

    from tests.tables.deepspeed import models

    wrong: list[Any] = []
    asked = 0
    for path, section in models():
        for model, name, key in fields_of(section, at(table, path)):
            for value in SAMPLES:
                # A flag for a number is a slip, whether pydantic makes a number of it or a validator does not.
                if value == "auto" or (isinstance(value, bool) and {"int", "float"} & set(key.get("types", ()))):
                    continue
                others = {"stage": 1} if name == "compute_grad_norm" else {}
                try:
                    model(**others, **{name: value})
                    taken = True
                except (ValidationError, AssertionError, ValueError, TypeError):
                    taken = False
                asked += 1
                if taken != fits(value, key):
                    wrong.append((path, model.__name__, name, value, taken))
    assert wrong == []
    assert 2000 < asked


def test_auto_is_left_out_of_the_sections_of_pydantic(table: Row) -> None:
    from tests.tables.deepspeed import models

    for path, section in models():
        assert at(table, path)["auto_dropped"]
        for model, name, key in fields_of(section, at(table, path)):
            if "default" in key and not {"renamed", "deprecated", "same"} & set(key) and name != "overlap_comm":
                (field,) = (own for own, field in model.model_fields.items() if name in (field.alias, own))
                assert getattr(model(**{name: "auto"}), field) == key["default"], (path, name)
    nested = config(zero_optimization={"stage": 2, "offload_optimizer": {"device": "auto"}})
    assert nested.zero_config.offload_optimizer.device == "none"


def test_a_key_that_models_do_not_know_is_refused(table: Row) -> None:
    from pydantic import ValidationError

    for path in ("zero_optimization", "fp16", "bf16", "tensor_parallel", "compile", "wandb"):
        assert at(table, path)["unknown"] == "rejected"
        with pytest.raises(ValidationError):
            config(**{path: {"no_such_key": 1}})
    assert table["unknown"] == "ignored"
    config(no_such_key=1, checkpoint={"no_such_key": 1})


@pytest.mark.parametrize(
    "path",
    [
        "checkpoint.tag_validation",
        "checkpoint.writer.data_parallel",
        "checkpoint.writer.type",
        "communication_data_type",
        "gradient_allreduce_op",
        "seq_parallel_communication_data_type",
        "torch_autocast.dtype",
    ],
)
def test_the_reader_takes_the_words_and_no_others(table: Row, path: str) -> None:
    key = at(table, path)
    for word in key["words"]:
        config(**nest(path, word))
        if word in key.get("folded", ()):
            config(**nest(path, word.swapcase()))
    with pytest.raises(Exception, match=r"."):
        config(**nest(path, "no such word"))


def nest(path: str, value: Any) -> dict[str, Any]:
    """A configuration with one value at a path."""
    for name in reversed(path.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


def test_the_removed_keys_that_deepspeed_names_are_refused(table: Row) -> None:
    from deepspeed.runtime.config import DeepSpeedConfigError

    from tests.tables.deepspeed_rows import REFUSED

    for path in REFUSED:
        assert path in table["removed"]
        with pytest.raises(DeepSpeedConfigError):
            config(**nest(path, {}))


def test_every_schedule_is_built_with_what_it_requires(table: Row) -> None:
    import torch
    from deepspeed.runtime import lr_schedules

    rows = at(table, "scheduler")["variants"]["rows"]
    weight = torch.nn.Parameter(torch.zeros(1))
    for name, row in rows.items():
        kind = getattr(lr_schedules, name, None) or getattr(torch.optim.lr_scheduler, name)
        optimizer = torch.optim.AdamW([weight], lr=0.1)
        given: dict[str, Any] = dict.fromkeys(row.get("required", ()), 10)
        for key in given:
            with pytest.raises(TypeError):
                kind(optimizer, **{other: value for other, value in given.items() if other != key})
        if "milestones" in given:
            given["milestones"] = [10]
        if name == "OneCycleLR":
            given["total_steps"] = 10
        kind(optimizer, **given)
        with pytest.raises(TypeError):
            kind(optimizer, **given, no_such_parameter=1)

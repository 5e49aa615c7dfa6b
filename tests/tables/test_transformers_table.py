"""The table of the Trainer's arguments, made anew and held against the class."""

from __future__ import annotations

import json
import os
import typing
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.consumers.running import needs
from tests.tables.common import Row, committed, text_of, versions_of

pytestmark = [pytest.mark.consumer, needs("transformers", "accelerate")]

#: Words of these are a hint of the command line alone: from a file the class takes any, and something later refuses.
_UNCHECKED = {"ddp_backend", "dataloader_multiprocessing_context", "log_level", "log_level_replica"}


@pytest.fixture(scope="module")
def table() -> Row:
    """The committed table of the installed transformers."""
    installed = version("transformers")
    if installed not in versions_of("transformers"):
        pytest.skip(f"there is no table of transformers {installed}")
    return committed("transformers", installed)


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    """An environment that the class may fill."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def arguments(**given: Any) -> Any:
    """Arguments as the class makes them, on a machine without cards."""
    import transformers

    made: Any = transformers.TrainingArguments
    return made(**{"use_cpu": True, "output_dir": "out"} | given)


def from_file(path: Path, text: str) -> Any:
    """Arguments as a program reads them from a file."""
    import transformers

    path.write_text(text)
    parser: Any = transformers.HfArgumentParser([typing.cast(Any, transformers.TrainingArguments)])
    read = parser.parse_yaml_file if path.suffix == ".yaml" else parser.parse_json_file
    (made,) = read(str(path))
    return made


def test_the_table_is_made_of_the_installed_release(table: Row) -> None:
    from tests.tables import transformers

    assert text_of(transformers.table()) == text_of(table)


def test_the_defaults_make_arguments(table: Row, tmp_path: Path) -> None:
    defaults = {name: key["default"] for name, key in table["keys"].items() if "default" in key}
    assert len(defaults) == len(table["keys"])
    made = from_file(tmp_path / "arguments.json", json.dumps(defaults | {"use_cpu": True}))
    assert made.learning_rate == table["keys"]["learning_rate"]["default"]


def test_words_are_taken_and_others_refused(table: Row) -> None:
    beside = {"eval_strategy": "steps", "eval_steps": 10, "dataloader_num_workers": 1, "save_strategy": "steps"}
    asked = 0
    for name, key in table["keys"].items():
        if "words" not in key or name in _UNCHECKED | {"train_sampling_strategy"}:
            continue
        for word in key["words"]:
            arguments(**beside | {name: word})
        with pytest.raises(ValueError, match="no such word"):
            arguments(**beside | {name: "no such word"})
        asked += 1
    assert 6 <= asked


def test_a_bare_no_of_yaml_is_no_word(table: Row, tmp_path: Path) -> None:
    assert "bool" not in table["keys"]["eval_strategy"]["types"]
    with pytest.raises(ValueError, match="False is not a valid"):
        from_file(tmp_path / "arguments.yaml", "use_cpu: true\neval_strategy: no\n")


def test_nothing_is_converted(table: Row, tmp_path: Path) -> None:
    assert not [name for name, key in table["keys"].items() if "coerced" in key]
    made = from_file(tmp_path / "arguments.yaml", "use_cpu: true\nlearning_rate: 2e-5\nmax_steps: '10'\n")
    assert (made.learning_rate, made.max_steps) == ("2e-5", "10")


def test_what_is_gone_is_refused_and_its_successor_is_known(table: Row, tmp_path: Path) -> None:
    for name in (*table["removed"], "no_such_argument"):
        with pytest.raises(ValueError, match="not used by the HfArgumentParser"):
            from_file(tmp_path / "arguments.json", json.dumps({"use_cpu": True, name: 1}))
        with pytest.raises(TypeError):
            arguments(**{name: 1})


def test_an_old_name_is_read_as_the_new_one(table: Row) -> None:
    renamed = {name: key["renamed"] for name, key in table["keys"].items() if "renamed" in key}
    assert renamed["gradient_checkpointing"] == "activation_checkpointing"
    for old, new in renamed.items():
        value: Any = {"use_reentrant": False} if old.endswith("_kwargs") else True
        with pytest.warns(FutureWarning, match=old):
            assert getattr(arguments(**{old: value}), new) == value


def test_bounds_are_checked(table: Row) -> None:
    for name, key in table["keys"].items():
        if "minimum" in key:
            arguments(**{name: key["minimum"]})
            with pytest.raises(ValueError, match=name):
                arguments(**{name: key["minimum"] - 1})


def test_keys_of_fsdp_that_need_the_first_version_do_nothing_in_the_second(table: Row) -> None:
    keys = table["keys"]["fsdp_config"]["keys"]
    values = {"backward_prefetch": "BACKWARD_PRE", "limit_all_gathers": True}
    asked = 0
    for name, key in keys.items():
        if key.get("only") == "fsdp_config.version = 1":
            value = values.get(key.get("same", name), not key.get("default"))
            for release in (1, 2):
                plain = arguments(fsdp=True, fsdp_config={"version": release}).fsdp_plugin_args
                made = arguments(fsdp=True, fsdp_config={"version": release, name: value}).fsdp_plugin_args
                assert (made == plain) == (release == 2), (name, release)
            asked += 1
    assert asked == 10
    assert arguments(fsdp=True).fsdp_plugin_args["fsdp_version"] == keys["version"]["default"]
    assert (
        arguments(fsdp=True, fsdp_config={"no_such_key": 1}).fsdp_plugin_args == arguments(fsdp=True).fsdp_plugin_args
    )


def test_the_sections_of_classes_refuse_other_keys(table: Row) -> None:
    section = table["keys"]["accelerator_config"]
    assert section["unknown"] == "rejected"
    arguments(accelerator_config={name: key["default"] for name, key in section["keys"].items()})
    with pytest.raises(TypeError):
        arguments(accelerator_config={"no_such_key": 1})

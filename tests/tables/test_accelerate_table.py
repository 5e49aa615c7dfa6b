"""The table of accelerate's YAML, made anew and held against what the launcher makes of each key."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.consumers.running import needs
from tests.tables.common import Row, committed, text_of, versions_of

pytestmark = [pytest.mark.consumer, needs("accelerate")]

#: Settings under which the launcher hands on what it hands on at all.
_SETTINGS: dict[str, Any] = {
    "deepspeed_config": {"distributed_type": "DEEPSPEED", "num_machines": 2, "num_processes": 2},
    "dynamo_config": {"distributed_type": "MULTI_GPU"},
    "fp8_config": {"distributed_type": "MULTI_GPU", "mixed_precision": "fp8"},
    "fsdp_config": {"distributed_type": "FSDP"},
    "megatron_lm_config": {"distributed_type": "MEGATRON_LM"},
    "parallelism_config": {"distributed_type": "FSDP"},
}
_BESIDE: dict[str, Any] = {
    "deepspeed_config": {"deepspeed_multinode_launcher": "pdsh"},
    "fsdp_config": {"fsdp_cpu_ram_efficient_loading": False},
    "parallelism_config": {"parallelism_config_cp_size": 2, "parallelism_config_sp_size": 2},
}

_UNUSED = "the launcher hands it on to nothing"


@pytest.fixture(scope="module")
def table() -> Row:
    """The committed table of the installed accelerate."""
    installed = version("accelerate")
    if installed not in versions_of("accelerate"):
        pytest.skip(f"there is no table of accelerate {installed}")
    return committed("accelerate", installed)


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    """An environment that the launcher may fill."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def launched(path: Path, config: dict[str, Any]) -> Any:
    """What the launcher would start for a file: its command, and the environment."""
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env

    path.write_text(yaml.safe_dump({"main_process_port": 0, "num_processes": 2} | config))
    arguments = launch_command_parser().parse_args(["--config_file", str(path), "train.py"])
    arguments, _, _ = _validate_launch_command(arguments)
    if config["distributed_type"] != "DEEPSPEED":
        return prepare_multi_gpu_env(arguments)
    arguments.deepspeed_fields_from_accelerate_config = ""
    arguments.main_process_ip = "127.0.0.1"
    command, environment = prepare_deepspeed_cmd_env(arguments)
    if command is not None:
        port = command.index("--master_port")
        command = command[:port] + command[port + 2 :]
    return [command, environment]


def values_of(row: Row) -> tuple[Any, Any]:
    """Two values of a key that cannot mean the same."""
    if "words" in row:
        return row["words"][0], row["words"][1]
    kind = row["types"][0]
    pairs: dict[str, tuple[Any, Any]] = {
        "bool": (True, False),
        "int": (1, 2),
        "float": (0.5, 0.25),
        "string": ("a", "b"),
    }
    return pairs[kind] if kind != "list" else ([True, False, False], [False, False, False])


def test_the_table_is_made_of_the_installed_release(table: Row) -> None:
    from tests.tables import accelerate

    assert text_of(accelerate.table()) == text_of(table)


def test_the_sections_hand_on_what_the_table_says(table: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import accelerate.utils.launch

    monkeypatch.setattr(accelerate.utils.launch, "is_fp8_available", lambda: True)
    path = tmp_path / "config.yaml"
    asked = 0
    for section, settings in _SETTINGS.items():
        for name, row in table["keys"][section]["keys"].items():
            if len(row.get("words", ("", ""))) < 2:
                continue
            beside = {key: value for key, value in _BESIDE.get(section, {}).items() if key != row.get("same")}
            made = [launched(path, {**settings, section: {**beside, name: value}}) for value in values_of(row)]
            assert (made[0] == made[1]) == (row.get("doc") == _UNUSED), (section, name)
            asked += 1
    assert 80 < asked


@pytest.mark.parametrize("section", [name for name in _SETTINGS if name != "fp8_config"])
def test_unknown_keys_of_sections_change_nothing(table: Row, tmp_path: Path, section: str) -> None:
    assert table["keys"][section]["unknown"] == "ignored"
    settings, beside = _SETTINGS[section], _BESIDE.get(section, {})
    path = tmp_path / "config.yaml"
    unknown = launched(path, {**settings, section: {**beside, "no_such_key": 1}})
    assert unknown == launched(path, {**settings, section: beside or {"no_key_either": 1}})


def test_fp8_is_read_by_the_names_of_the_arguments(table: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    from accelerate.utils import MSAMPRecipeKwargs

    monkeypatch.setenv("ACCELERATE_FP8_OPTIMIZATION_LEVEL", "O1")
    assert "fp8_config.optimization_level" in table["removed"]
    assert MSAMPRecipeKwargs().opt_level == "O2"
    monkeypatch.setenv("ACCELERATE_FP8_OPT_LEVEL", "O1")
    assert "opt_level" in table["keys"]["fp8_config"]["keys"]
    assert MSAMPRecipeKwargs().opt_level == "O1"


def test_keys_at_the_top_are_read_and_others_refused(table: Row, tmp_path: Path) -> None:
    from accelerate.commands.config.config_args import load_config_from_file

    path = tmp_path / "config.yaml"
    sagemaker = {
        "distributed_type": "DATA_PARALLEL",
        "compute_environment": "AMAZON_SAGEMAKER",
        "ec2_instance_type": "p",
        "iam_role_name": "r",
    }
    for name, row in table["keys"].items():
        base = sagemaker if "AMAZON_SAGEMAKER" in row.get("only", "") else {"distributed_type": "NO"}
        path.write_text(yaml.safe_dump({name: row.get("default")} | base))
        load_config_from_file(str(path))
    for name in ("no_such_key", *(name for name in table["removed"] if "." not in name)):
        path.write_text(yaml.safe_dump({"distributed_type": "NO", name: {}}))
        with pytest.raises(ValueError, match="unknown keys"):
            load_config_from_file(str(path))
    path.write_text("num_processes: 2\n")
    with pytest.raises(ValueError, match="distributed_type"):
        load_config_from_file(str(path))


@pytest.mark.parametrize("value", ["{gpu_ids: 0}", "{mixed_precision: no}"])
def test_texts_at_the_top_have_to_be_texts(table: Row, tmp_path: Path, value: str) -> None:
    given = yaml.safe_load(value)
    (name,) = given
    assert "string" in table["keys"][name]["types"] and "int" not in table["keys"][name]["types"]
    with pytest.raises(AttributeError):
        launched(tmp_path / "config.yaml", {"distributed_type": "MULTI_GPU", **given})

"""The script that reads the flags of torchtitan, over a small source of the same form."""

from __future__ import annotations

from pathlib import Path

from tests.tables import torchtitan_flags
from tests.tables.common import Row, at, committed

_TRAINER = """
from torchtitan.tools.profiler import Profiler
from torchtitan.config.configs import TrainingConfig
from torchtitan.components.optimizer import Container
from torchtitan.components.checkpointer.dcp import CheckpointManager

class Trainer:
    class Config(Configurable.Config):
        model_spec: Annotated[Spec | None, Suppress] = None
        dump_folder: str = "./outputs"
        training: TrainingConfig = field(default_factory=TrainingConfig)
        profiler: Profiler.Config = field(default_factory=Profiler.Config)
        optimizer: Container.Config = field(default_factory=Container.Config)
        checkpoint: Base.Config = field(default_factory=CheckpointManager.Config)
"""

_TRAINING = """
class TrainingConfig:
    steps: int = 10
    offload: bool = False
    dtype: Literal["bfloat16", "float32"] = "float32"
    seed: int | None = None
"""

_OF_ONE = """
class {outer}:
    class Config(Configurable.Config):
        _owner: ClassVar[type | None] = None
        every: int = 5
        names: list[str] = field(default_factory=list)
        parts: list[list[str]] | None = None
        call: Callable | None = None
"""


def source(root: Path) -> Path:
    """A release of torchtitan."""
    files = {
        "torchtitan/trainer.py": _TRAINER, "torchtitan/config/configs.py": _TRAINING,
        "torchtitan/tools/profiler.py": _OF_ONE.format(outer="Profiler"),
        "torchtitan/components/optimizer.py": _OF_ONE.format(outer="Container"),
        "torchtitan/components/validate.py": _OF_ONE.format(outer="Validator"),
        "torchtitan/components/checkpointer/dcp.py": _OF_ONE.format(outer="CheckpointManager"),
        "torchtitan/components/checkpointer/torch_checkpointing.py": "class TorchCheckpointingManager:\n"
        "    class Config(Base.Config):\n        own: int = 1\n",
        "torchtitan/hf_datasets/text_datasets.py": _OF_ONE.format(outer="HuggingFaceTextDataLoader"),
        "torchtitan/models/llama3/config_registry.py": "def llama3_8b():\n    ...\ndef _helper():\n    ...\n",
        "torchtitan-0.4.dist-info/METADATA": "",
    }  # fmt: skip
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def row(table: Row, path: str) -> Row:
    """What a table says of a flag."""
    return at(table, path)


def test_the_flags_are_the_fields_of_the_configuration(tmp_path: Path) -> None:
    table = torchtitan_flags.table(source(tmp_path))
    assert (table["version"], table["unknown"]) == ("0.4", "rejected")
    assert "model_spec" not in table["keys"]
    assert row(table, "training.steps") == {"types": ["int"], "default": 10}
    assert row(table, "training.offload") == {"types": ["bool"], "default": False, "flag": True}
    assert row(table, "training.dtype")["words"] == ["bfloat16", "float32"]
    assert row(table, "training.seed")["types"] == ["int", "null"]
    assert row(table, "training")["unknown"] == "rejected"


def test_what_a_word_does_not_tell_says_nothing(tmp_path: Path) -> None:
    table = torchtitan_flags.table(source(tmp_path))
    assert set(row(table, "profiler")["keys"]) == {"every", "names", "parts", "call"}
    assert "string" in row(table, "profiler.names")["types"]
    assert row(table, "profiler.parts") == {}


def test_a_section_of_several_classes_is_open(tmp_path: Path) -> None:
    table = torchtitan_flags.table(source(tmp_path))
    assert row(table, "checkpoint")["unknown"] == "open"
    assert {"every", "own"} <= set(row(table, "checkpoint")["keys"])
    assert "lr" in row(table, "optimizer.param_groups")["values"]["keys"]["optimizer_kwargs"]["keys"]


def test_functions_of_registries_are_listed(tmp_path: Path) -> None:
    assert row(torchtitan_flags.table(source(tmp_path)), "config")["words"] == ["llama3_8b"]
    assert "llama3_8b" in row(committed("torchtitan-flags", "0.3.0"), "config")["words"]

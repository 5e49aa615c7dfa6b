"""The keys of LLaMA-Factory's YAML, read from its source: `python -m tests.tables.llama_factory SOURCE`.

SOURCE is a folder that holds the package `llamafactory`, such as an unpacked wheel. Its training arguments are those of
transformers (`Seq2SeqTrainingArguments`) and a few of its own. The table has the latter, and those that the former has
beside `TrainingArguments`, which have a table; they are read from the installed package.
"""

from __future__ import annotations

import ast
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.tables.common import Row, write
from tests.tables.source import Module, Rules, fields, fixed, load, object_of, of_choices, row_of_field

CONSUMER = "llama-factory"

#: The classes of which a file for training is made (`_TRAIN_ARGS` in hparams/parser.py), with their modules.
CLASSES = (
    ("model_args", "ModelArguments"), ("data_args", "DataArguments"), ("training_args", "TrainingArguments"),
    ("finetuning_args", "FinetuningArguments"), ("generating_args", "GeneratingArguments"),
)  # fmt: skip

#: Types of torch, which no file has.
_TYPES: dict[str, Row] = {"dtype": {"types": []}, "GenerationConfig": {}}

#: Enumerations whose members' values, not their names, stand in a file.
_WORDS = ("AttentionFunction", "EngineName", "QuantizationMethod", "RopeScaling")

#: Fields that no file sets: the classes fill them in.
_INTERNAL = ("compute_dtype", "device_map", "model_max_length", "block_diag_attn")


def table(root: Path, of_transformers: Path) -> Row:
    """The keys of the release in a folder; `of_transformers` is the folder that holds that package."""
    rules = Rules(types={**_TYPES, **{name: _words(root, name) for name in _WORDS}}, unknown="rejected")
    keys: dict[str, Row] = {}
    for module, name in CLASSES:
        rows = object_of(load(root, f"llamafactory/hparams/{module}.py"), name, rules)["keys"]
        keys |= {key: _with_word(row) for key, row in rows.items()}
    keys |= _of_sequences(load(of_transformers, "transformers/training_args_seq2seq.py"), rules)
    for name in _INTERNAL:
        del keys[name]
    version = version_of(root)
    return {
        "consumer": CONSUMER,
        "version": version,
        "source": f"the classes of arguments in llamafactory {version}, but for those of the Trainer",
        "unknown": "rejected",
        "keys": keys,
    }


def _of_sequences(module: Module, rules: Rules) -> dict[str, Row]:
    """The arguments of `Seq2SeqTrainingArguments` that `TrainingArguments` lacks."""
    known = {field.name for field in fields(module, "TrainingArguments")}
    own = [field for field in fields(module, "Seq2SeqTrainingArguments") if field.name not in known]
    return {field.name: row_of_field(field, rules) for field in own}


def _words(root: Path, name: str) -> Row:
    """The row of an enumeration of texts."""
    module, node = load(root, "llamafactory/extras/constants.py").class_of(name) or (None, None)
    assert module is not None and node is not None, name
    return of_choices([fixed(module, each.value) for each in node.body if isinstance(each, ast.Assign)])


def _with_word(row: Row) -> Row:
    """A row whose default is a member of an enumeration, with the member's value in its place."""
    default, words = row.get("default"), row.get("words", ())
    if not isinstance(default, str) or not words or default in words:
        return row
    return row | {"default": {"HF": "huggingface"}.get(default, default.lower())}


def version_of(root: Path) -> str:
    """The version of the release in a folder: that of the metadata beside the package."""
    (metadata,) = root.glob("llamafactory-*.dist-info")
    found = re.fullmatch(r"llamafactory-(.+)\.dist-info", metadata.name)
    assert found is not None, metadata
    return found[1]


if __name__ == "__main__":
    spec = find_spec("transformers")
    assert spec is not None and spec.origin is not None, "transformers is not installed"
    write(table(Path(sys.argv[1]), Path(spec.origin).parents[1]))

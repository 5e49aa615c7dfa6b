"""The files that programs are told of on their command lines, each read as what the program takes it for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planc.native.kinds._references import refer
from planc.native.saying import Sayer
from tests.commands.cli import planc
from tests.native.shell.scripts import script, started


def references(text: str) -> list[tuple[str, str | None, bool]]:
    """The files that a script names: their paths, kinds, and whether planc has to know them."""
    sayer = Sayer()
    refer(script(text), tuple(started(text)), sayer, frozenset())
    return [(each.path, each.kind, each.sure) for each in sayer.content().references]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torchrun run_train.py --config-file a.yaml", [("a.yaml", "nanotron", True)]),
        ("torchrun other.py --config-file a.yaml", [("a.yaml", None, False)]),
        ("accelerate launch --config_file b.yaml sft.py --config a.yaml",
         [("b.yaml", "accelerate", True), ("a.yaml", None, False)]),
        ("python ./deepy.py train.py -d configs 125M local.yml",
         [("configs/125M.yml", "gpt-neox", True), ("configs/local.yml", "gpt-neox", True)]),
        ("python deepy.py train.py --hostfile $H 125M.yml", []),
        ("accelerate launch -m axolotl.cli.train a.yml", [("a.yml", "axolotl", True)]),
        ("CUDA_VISIBLE_DEVICES=0 axolotl train a.yml --learning-rate 1e-4", [("a.yml", "axolotl", True)]),
        ("axolotl fetch examples", []),
        ("FORCE_TORCHRUN=1 llamafactory-cli train a.yaml", [("a.yaml", "llama-factory", True)]),
        ("env X=1 llamafactory-cli train $CONFIG", []),
        ("torchrun -m torchtitan.train --job.config_file a.toml", [("a.toml", "torchtitan", True)]),
        ("torchrun pretrain_gpt.py --yaml-cfg a.yaml", [("a.yaml", "megatron", True)]),
        ("deepspeed --hostfile hosts train.py --deepspeed ds.json",
         [("hosts", "hostfile", True), ("ds.json", "deepspeed", True)]),
        ("torchrun train.py a.json", [("a.json", None, False)]),
        ("torchrun train.py a.json b.json", []),
    ],
)  # fmt: skip
def test_files_are_named_as_what_the_program_reads(line: str, expected: list[tuple[str, str | None, bool]]) -> None:
    assert references(f"#!/bin/bash\n{line}\n") == expected


@pytest.mark.parametrize(
    ("folder", "path"),
    [
        ('$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)', "ds.json"), ("$(dirname $(realpath $0))", "ds.json"),
        ("${BASH_SOURCE%/*}", "ds.json"), ("$PWD", "ds.json"), ("$SLURM_SUBMIT_DIR", "ds.json"),
        ("$(dirname $(dirname $0))", None), ('$(cd "$(dirname "$0")/.." && pwd)', None), ("$WORK", None),
    ],
)  # fmt: skip
def test_the_folder_of_the_script_is_known_by_many_names(folder: str, path: str | None) -> None:
    text = f"#!/bin/bash\nD={folder}\ntorchrun train.py --deepspeed $D/ds.json\n"
    assert [each[0] for each in references(text)] == ([] if path is None else [path])


@pytest.mark.parametrize(
    "before",
    ["wget -O ds.json https://example.org", "make_it --out=ds.json", "cp a.json ds.json", "cd work", "pushd $X"],
)
def test_a_file_that_is_made_or_lies_elsewhere_is_not_missed(tmp_path: Path, before: str) -> None:
    (tmp_path / "a.json").write_text('{"zero_optimization": {"stage": 2}}', encoding="utf-8")
    launch = "torchrun --standalone train.py --deepspeed ds.json --bf16 True --output_dir out"
    for line, expected in ((before, ""), ("cd .", "PLN073"), ('cd "$(dirname "$0")"', "PLN073")):
        (tmp_path / "train.sh").write_text(f"#!/bin/bash\n{line}\n{launch}\n", encoding="utf-8")
        out = planc("lint", "train.sh", cwd=tmp_path).stdout
        assert expected in out and ("PLN073" in out) == bool(expected)


def test_a_file_that_may_be_of_any_program_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text("#!/bin/bash\ntorchrun --standalone train.py own.yaml\n", encoding="utf-8")
    (tmp_path / "own.yaml").write_text("colors: [red]\n", encoding="utf-8")
    assert planc("lint", "train.sh", cwd=tmp_path).stdout == "Found no faults in 1 file.\n"


def test_files_of_gpt_neox_are_laid_over_each_other(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    sizes = '{"num_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "train_micro_batch_size_per_gpu": 4}\n'
    (tmp_path / "configs" / "125M.yml").write_text(sizes, encoding="utf-8")
    local = '{"train_micro_batch_size_per_gpu": 8, "vocab_file": "v", "launcher": "slurm"}\n'
    (tmp_path / "configs" / "local.yml").write_text(local, encoding="utf-8")
    script = "#!/bin/bash\npython ./deepy.py train.py -d configs 125M local\n"
    (tmp_path / "train.sh").write_text(script, encoding="utf-8")
    printed = planc("lint", "train.sh", "--output-format", "concise", cwd=tmp_path).stdout
    assert "`train_micro_batch_size_per_gpu` stands in two files" in printed


def test_a_script_of_a_tool_alone_is_one(tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text("#!/bin/bash\nllamafactory-cli train a.yaml\n", encoding="utf-8")
    (tmp_path / "a.yaml").write_text("model_name_or_path: m\nstage: sft\nfinetuning_typ: lora\n", encoding="utf-8")
    assert "a.yaml:3:1: error[PLN062]" in planc("lint", "train.sh", "--output-format", "concise", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("call", "config"),
    [
        (
            "llamafactory-cli train a.yaml{}",
            "model_name_or_path: m\nfinetuning_type: full\ndo_train: true\ndataset: d",
        ),
        ("axolotl train a.yaml{}", "base_model: m\ndatasets: [{path: p, type: t}]\noutput_dir: out"),
    ],
)
def test_the_command_line_of_a_tool_wins_over_its_file(tmp_path: Path, call: str, config: str) -> None:
    is_axolotl = call.startswith("axolotl")
    key = "micro_batch_size" if is_axolotl else "per_device_train_batch_size"
    (tmp_path / "a.yaml").write_text(f"{config}\ndeepspeed: ds.json\n{key}: 8\n", encoding="utf-8")
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 4}', encoding="utf-8")

    def codes(more: str) -> list[str]:
        (tmp_path / "train.sh").write_text("#!/bin/bash\n" + call.format(more) + "\n", encoding="utf-8")
        printed = planc("lint", "train.sh", "--output-format", "json", cwd=tmp_path).stdout
        return [each["code"] for each in json.loads(printed)["diagnostics"] if each["code"] == "PLN071"]

    assert codes("") == ["PLN071"]
    assert codes(f" --{key.replace('_', '-')} 4" if is_axolotl else f" {key}=4") == []
    assert codes(f" --{key.replace('_', '-')} 2" if is_axolotl else f" {key}=2") == ["PLN071"]

"""Launches beside the files that they name: accelerate's configuration, a hostfile, a DeepSpeed file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.cli import planc
from tests.native.judging import plan_text

CONFIG = (
    "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 2\nnum_processes: 16\n"
    "machine_rank: 0\nmain_process_ip: 10.0.0.1\nmain_process_port: 29500\n"
)
JOB = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=8\n"
LAUNCH = "accelerate launch --config_file acc.yaml"
OWN_RANK = f"{JOB}srun bash -c '{LAUNCH} --machine_rank $SLURM_NODEID train.py'\n"


def lint(folder: Path, script: str, **files: str) -> list[str]:
    """What `planc lint` prints of a script that names the files beside it: a line a finding, without its file."""
    (folder / "train.sh").write_text(script, encoding="utf-8")
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return planc("lint", "train.sh", "--output-format", "concise", cwd=folder).stdout.splitlines()


def test_one_rank_in_a_configuration_is_that_of_all_nodes(tmp_path: Path) -> None:
    script = f"{JOB}srun {LAUNCH} train.py\n"
    (found,) = lint(tmp_path, script, acc_yaml=CONFIG)
    assert found.startswith("acc.yaml:5:15: error[PLN075] each of 2 nodes is number 0")
    (found,) = lint(tmp_path, script, acc_yaml=CONFIG.replace("machine_rank: 0\n", ""))
    assert "each of 2 nodes is number 0" in found
    assert lint(tmp_path, OWN_RANK, acc_yaml=CONFIG) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "num_machines: 2\nnum_processes: 16",
            "num_machines: 4\nnum_processes: 32",
            "accelerate waits for 4 nodes of 2",
        ),
        ("num_processes: 16", "num_processes: 8", "4 processes on a node with 8 cards"),
        ("num_processes: 16", "num_processes: 32", "16 processes on a node with 8 cards"),
        ("main_process_ip: 10.0.0.1\n", "", "2 machines without `main_process_ip`"),
    ],
)
def test_a_configuration_that_does_not_fit_its_job_is_told(tmp_path: Path, old: str, new: str, told: str) -> None:
    found = lint(tmp_path, OWN_RANK, acc_yaml=CONFIG.replace(old, new))
    assert any(line.startswith("acc.yaml:") and told in line for line in found), found
    assert len(found) == 1


def test_a_rendezvous_that_the_command_line_says_as_well_is_no_fault_of_the_file(tmp_path: Path) -> None:
    config = CONFIG.replace("machine_rank: 0\n", "rdzv_backend: c10d\n")
    own = OWN_RANK.replace("--machine_rank $SLURM_NODEID", "--rdzv_backend c10d")
    assert lint(tmp_path, own, acc_yaml=config) == []
    found = lint(tmp_path, OWN_RANK, acc_yaml=config)
    assert ["accelerate does not take `rdzv_backend` from a file" in line for line in found] == [True]
    other = f"{own}srun bash -c '{LAUNCH} --machine_rank $SLURM_NODEID evaluate.py'\n"
    assert any("accelerate does not take `rdzv_backend`" in line for line in lint(tmp_path, other, acc_yaml=config))


def test_a_trainer_that_accelerate_starts_fills_in_what_accelerate_leaves(tmp_path: Path) -> None:
    config = (
        "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_machines: 1\nnum_processes: 8\n"
        "deepspeed_config: {deepspeed_config_file: ds.json}\n"
    )
    optimizer = '"optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto"}}'
    text = '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto", ' + optimizer + "}"
    trainer = f"{LAUNCH} sft.py --per_device_train_batch_size 2 --bf16 --output_dir out\n"
    assert lint(tmp_path, trainer, acc_yaml=config, ds_json=text) == []
    (found,) = lint(tmp_path, f"{LAUNCH} sft.py\n", acc_yaml=config, ds_json=text)
    assert "warning[PLN069] nothing resolves `auto` of `optimizer.params.betas` here" in found
    wrong = text.replace('"stage": 2', '"stage": 2, "sub_group_size": "auto"')
    assert any("error[PLN069]" in line for line in lint(tmp_path, f"{LAUNCH} sft.py\n", acc_yaml=config, ds_json=wrong))


def test_a_launch_with_what_a_sourced_file_sets(tmp_path: Path) -> None:
    script = f"{JOB}source ./env.sh\nsrun accelerate launch --config_file $CONFIG train.py\n"
    (found,) = lint(tmp_path, script, acc_yaml=CONFIG, env_sh="CONFIG=acc.yaml\n")
    assert "each of 2 nodes is number 0" in found


def test_an_option_takes_the_place_of_a_key(tmp_path: Path) -> None:
    config = CONFIG.replace("num_machines: 2", "num_machines: 1").replace("main_process_ip: 10.0.0.1\n", "")
    more = "--num_machines 2 --main_process_ip $HOST --machine_rank $SLURM_NODEID"
    assert lint(tmp_path, f"{JOB}srun bash -c '{LAUNCH} {more} train.py'\n", acc_yaml=config) == []
    (found,) = lint(tmp_path, f"{JOB}srun bash -c '{LAUNCH} {more} --num_processes 15 train.py'\n", acc_yaml=config)
    assert "15 processes on 2 machines" in found


def test_cards_that_a_variable_hides_from_a_configuration(tmp_path: Path) -> None:
    config = CONFIG.replace("num_machines: 2", "num_machines: 1").replace("num_processes: 16", "num_processes: 4")
    script = f"#!/bin/bash\nCUDA_VISIBLE_DEVICES=0,1 {LAUNCH} train.py\n"
    (found,) = lint(tmp_path, script, acc_yaml=config)
    assert found.startswith("train.sh:2:1: error[PLN603] 2 visible cards for 4 ranks a node")
    assert lint(tmp_path, script.replace("0,1", "0,1,2,3"), acc_yaml=config) == []


def test_deepspeed_meets_through_a_hostfile(tmp_path: Path) -> None:
    config = CONFIG.replace("MULTI_GPU", "DEEPSPEED").replace("main_process_ip: 10.0.0.1\n", "")
    config += "deepspeed_config:\n  zero_stage: 2\n"
    script = f"#!/bin/bash\n{LAUNCH} train.py\n"
    (found,) = lint(tmp_path, script, acc_yaml=config)
    assert "error[PLN070] 2 machines without `deepspeed_hostfile`" in found
    assert lint(tmp_path, script, acc_yaml=f"{config}  deepspeed_hostfile: hosts\n") == []
    (found,) = lint(tmp_path, script, acc_yaml=f"{config}  deepspeed_multinode_launcher: standard\n")
    assert "2 machines without `main_process_ip`" in found


HOSTS = "one slots=4\ntwo slots=4\n"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--num_nodes=4", "4 nodes of a hostfile with 2 hosts"), ("--num_nodes=1", ""), ("--num_gpus=4", ""),
        ("--num_gpus=8", "8 processes on a host with 4 slots"), ("--num_nodes=2 --num_gpus=2", ""), ("", ""),
        ("--num_nodes=$N", ""),
    ],
)  # fmt: skip
def test_nodes_and_cards_of_a_hostfile(tmp_path: Path, options: str, told: str) -> None:
    script = f"#!/bin/bash\ndeepspeed --hostfile=my.hostfile {options} train.py\n"
    found = lint(tmp_path, script, my_hostfile=HOSTS)
    assert [told in line and line.startswith("train.sh:2:") for line in found] == [True] * bool(told), found


def test_an_option_of_accelerate_is_taken_over_its_configuration(tmp_path: Path) -> None:
    config = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 8\n"
    script = f"#!/bin/bash\n{LAUNCH} --mixed_precision bf16 --use_fsdp --fsdp_version 2 train.py\n"
    assert lint(tmp_path, script, acc_yaml=f"{config}mixed_precision: fp16\n") == []


def test_options_of_accelerate_are_said_as_its_configuration_says_them() -> None:
    options = "--use_deepspeed --zero_stage 3 --mixed_precision bf16 --gradient_clipping 0.5 --num_processes 8"
    said = plan_text("a.sh", f"#!/bin/bash\naccelerate launch {options} train.py\n").split("\n")
    assert {"stage = 3", "precision = bf16", "clip = 0.5", "nodes = 1", "gpus_per_node = 8"} <= set(said)
    said = plan_text("a.sh", "#!/bin/bash\naccelerate launch --mixed_precision bf16 train.py --fp16 false\n").split(
        "\n"
    )
    assert not any(line.startswith("precision") for line in said)


def test_a_precision_that_a_deepspeed_file_contradicts_is_told(tmp_path: Path) -> None:
    script = "#!/bin/bash\naccelerate launch --use_deepspeed --deepspeed_config_file ds.json {} train.py\n"
    file = '{"fp16": {"enabled": true}, "zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 1}'
    (found,) = lint(tmp_path, script.format("--mixed_precision bf16"), ds_json=file)
    assert "PLN071" in found
    assert lint(tmp_path, script.format("--mixed_precision fp16"), ds_json=file) == []


@pytest.mark.parametrize(
    ("launch", "nodes", "cards"),
    [
        ("deepspeed --num_gpus 4", 1, 4), ("deepspeed --include=localhost:0,3", 1, 2), ("deepspeed", None, None),
        ("deepspeed --num_gpus 4 --hostfile hosts", None, 4), ("deepspeed --include=one:0,3", None, None),
        ("srun deepspeed --num_gpus 4", None, 4), ("accelerate launch --num_processes 4", 1, 4),
        ("accelerate launch --num_processes 4 --config_file x", None, None),
    ],
)  # fmt: skip
def test_machines_of_a_launch_that_names_no_number(launch: str, nodes: int | None, cards: int | None) -> None:
    said = plan_text("a.sh", f"#!/bin/bash\n{launch} train.py\n").split("\n")
    assert [f"nodes = {nodes}" in said, f"gpus_per_node = {cards}" in said] == [nodes is not None, cards is not None]


def test_variables_before_a_command_are_those_of_the_program() -> None:
    said = plan_text("a.sh", "#!/bin/bash\nexport A=1 B=2\nB=3 torchrun --nproc_per_node 2 train.py\n").split("\n")
    assert {'A = "1"', 'B = "3"'} <= set(said)
    several = plan_text("a.sh", "#!/bin/bash\nB=3 torchrun --nproc_per_node 2 a.py\ntorchrun b.py\n")
    assert "B =" not in several

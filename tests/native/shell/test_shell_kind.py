"""Scripts as files of a job: what they say, the files that they name, and what these say beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planc.diagnostics.diagnostic import Diagnostic
from planc.native.kind import Recognised
from tests.commands.cli import planc
from tests.native.judging import found_in, judged, plan_text, recognised

HERE = Path(__file__).parent


def test_machines_are_said_and_a_command_line_wins() -> None:
    said = plan_text("a.sh", "#!/bin/bash\ntorchrun --nnodes 2 --nproc_per_node=8 --master_addr h train.py\n")
    assert said.split("\n")[:4] == ["cluster {", "nodes = 2", "gpus_per_node = 8", "}"]


def test_of_several_launches_none_is_taken() -> None:
    text = "#!/bin/bash\nfor n in 1 2; do torchrun --nproc_per_node=8 a.py; done\ntorchrun --nproc_per_node=4 b.py\n"
    assert plan_text("a.sh", text) == ""


def test_variables_that_the_program_gets_are_judged() -> None:
    (found,) = found_in("a.sh", "#!/bin/bash\nexport TORCH_DISTRIBUTED_DEBUG=DETAIL\ntorchrun --standalone train.py\n")
    assert (found.code, found.primary.span.text) == ("PLN609", "TORCH_DISTRIBUTED_DEBUG=DETAIL")


def test_arguments_of_the_trainer_are_said_where_they_are_written() -> None:
    text = (
        '#!/bin/bash\nMBS=4\nARGS="--per_device_train_batch_size $MBS --output_dir out --bf16 true"\n'
        "torchrun --standalone --nproc_per_node 8 train.py $ARGS --gradient_accumulation_steps 2\n"
    )
    said = plan_text("a.sh", text).split("\n")
    assert "micro = 4" in said
    assert "precision = bf16" in said
    micro = next(each for each in judged("a.sh", text).composed.ranges if each.said.path == "batch.micro")
    assert (micro.said.value.text, micro.said.value.line) == ("4", 2)


def lint(folder: Path, script: str, **files: str) -> str:
    """What `planc lint` prints of a script and the files beside it, a line each."""
    (folder / "train.sh").write_text(script, encoding="utf-8")
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return planc("lint", "train.sh", "--output-format", "concise", cwd=folder).stdout


def test_a_deepspeed_file_is_found_through_the_script(tmp_path: Path) -> None:
    arguments = "--deepspeed ds.json --per_device_train_batch_size 4 --output_dir out"
    script = f"#!/bin/bash\ndeepspeed --num_gpus 8 train.py {arguments}\n"
    printed = lint(tmp_path, script, ds_json='{"train_micro_batch_size_per_gpu": 8, "gradient_cliping": 1.0}')
    assert "ds.json:1:2: error[PLN071]" in printed
    assert "ds.json:1:39: error[PLN062]" in printed


def test_a_file_of_accelerate_gives_way_to_the_command_line(tmp_path: Path) -> None:
    script = "#!/bin/bash\naccelerate launch --config_file acc.yaml --num_machines 1 --num_processes 4 train.py\n"
    config = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 8\n"
    assert lint(tmp_path, script, acc_yaml=config) == ""


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    printed = lint(tmp_path, "#!/bin/bash\ndeepspeed train.py --deepspeed_config gone.json\n")
    assert "train.sh:2:" in printed
    assert "warning[PLN073]" in printed


def test_a_configuration_that_the_script_writes_is_judged_in_it(tmp_path: Path) -> None:
    script = (
        '#!/bin/bash\ncat > ds.json <<EOF\n{\n  "gradient_cliping": 1.0,\n  "train_batch_size": $BATCH\n}\nEOF\n'
        "deepspeed train.py --deepspeed ds.json\n"
    )
    assert lint(tmp_path, script).startswith("train.sh:4:3: error[PLN062] deepspeed")
    assert len(lint(tmp_path, script).splitlines()) == 1


@pytest.mark.parametrize("text", ["#!/bin/bash\necho hello\n", "echo 1\n", "#!/usr/bin/env python\nprint(1)\n"])
def test_scripts_that_train_nothing_are_none(text: str) -> None:
    found = recognised("a.sh", text)
    assert isinstance(found, Diagnostic)
    assert found.code == "PLN061"


@pytest.mark.parametrize("name", ["train.sbatch", "run.sh", "job", "launch.slurm"])
def test_a_script_is_known_by_what_it_starts(name: str) -> None:
    found = recognised(name, "#!/usr/bin/env bash\nsrun torchrun train.py\n")
    assert isinstance(found, Recognised)
    assert found.kind.name == "shell"


@pytest.mark.parametrize("line", ["#SBATCH --nodes=1", "#PBS -l select=1:ngpus=8", "#BSUB -n 1"])
def test_a_script_is_known_by_its_scheduler(line: str) -> None:
    found = recognised("job.sh", f"#!/bin/bash\n{line}\n./run\n")
    assert isinstance(found, Recognised)
    assert found.kind.name == "shell"


def test_hostile_scripts_are_answered() -> None:
    for text in (
        "#!/bin/bash\n" + "(" * 50_000,
        "#!/bin/bash\ntorchrun " + "$(" * 5_000,
        "#!/bin/bash\ntorchrun \0 x\r\n",
    ):
        found_in("a.sh", text, "shell")


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [("90", 5400), ("90:30", 5430), ("10:00:00", 36000), ("2-00", 172800), ("1-12:30", 131400), ("1-00:00:10", 86410)],
)
def test_the_limit_of_a_job_is_read_as_slurm_reads_it(limit: str, seconds: int) -> None:
    said = plan_text("a.sbatch", f"#!/bin/bash\n#SBATCH --time={limit}\nsrun torchrun --standalone train.py\n")
    assert f"walltime = {seconds} s" in said.split("\n")


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("#PBS -l walltime=10:00:00", 36000),
        ("#PBS -l select=1:ngpus=8,walltime=90", 90),
        ("#PBS -l walltime=24:00", 1440),
        ("#PBS -l walltime=1:00:00:00", 86400),
        ("#BSUB -W 24:00", 86400),
        ("#BSUB -W 90/host", 5400),
        ("#$ -l gpu=8 -l h_rt=1::", 3600),
        ("#$ -l h_rt=90", 90),
    ],
)
def test_the_limit_of_a_job_is_read_as_each_scheduler_reads_it(line: str, seconds: int) -> None:
    said = plan_text("a.sh", f"#!/bin/bash\n{line}\ntorchrun --standalone train.py\n")
    assert f"walltime = {seconds} s" in said.split("\n")


def test_flags_of_megatron_are_judged_as_those_of_its_files() -> None:
    text = (
        "#!/bin/bash\nARGS=(--num-layers 30 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048\n"
        "  --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --train-iters 100\n"
        "  --pipeline-model-parallel-size 4)\n"
        'torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py "${ARGS[@]}"\n'
    )
    (found,) = found_in("a.sh", text)
    assert (found.code, found.primary.span.line) == ("PLN106", 4)


def test_a_file_that_two_scripts_name_is_judged_with_each(tmp_path: Path) -> None:
    call = "#!/bin/bash\ndeepspeed train.py --deepspeed ds.json --output_dir out --per_device_train_batch_size"
    (tmp_path / "one.sh").write_text(f"{call} 4\n", encoding="utf-8")
    (tmp_path / "two.sh").write_text(f"{call} 8\n", encoding="utf-8")
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 4}', encoding="utf-8")
    for names in ((".",), ("one.sh", "two.sh"), ("two.sh",)):
        printed = planc("lint", *names, "--output-format", "json", cwd=tmp_path).stdout
        (found,) = json.loads(printed)["diagnostics"]
        assert found["code"] == "PLN071"
        assert "two.sh" in json.dumps(found)
        assert "one.sh" not in json.dumps(found)


def test_what_one_script_names_is_not_held_against_what_stands_beside_it(tmp_path: Path) -> None:
    config = "machine_rank: 0\ndistributed_type: MULTI_GPU\nmixed_precision: fp16\nnum_processes: 8\n"
    (tmp_path / "other.yaml").write_text(config, encoding="utf-8")
    (tmp_path / "ds.json").write_text('{"train_batch_size": 8, "bf16": {"enabled": true}}', encoding="utf-8")
    (tmp_path / "train.sh").write_text("#!/bin/bash\ndeepspeed train.py --deepspeed ds.json\n", encoding="utf-8")
    assert planc("lint", ".", cwd=tmp_path).stdout == "Found no faults in 3 files.\n"


def test_the_nodes_of_the_job_are_those_that_slurm_tells() -> None:
    text = "#!/bin/bash\n#SBATCH --nodes=4\nsrun torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 a.py --x\n"
    assert plan_text("a.sbatch", text).split("\n")[:3] == ["cluster {", "nodes = 4", "gpus_per_node = 8"]


def test_an_argument_that_only_the_run_knows_has_no_default() -> None:
    call = (
        "#!/bin/bash\ntorchrun --standalone --nproc_per_node 8 train.py --output_dir out --per_device_train_batch_size"
    )
    assert "accumulation = 1" in plan_text("a.sh", f"{call} 4\n")
    assert "accumulation" not in plan_text("a.sh", f'{call} 4 --gradient_accumulation_steps "$STEPS"\n')


def test_a_program_that_srun_starts_is_read_as_one_that_a_launcher_starts() -> None:
    call = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n"
    flags = "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --train-iters 9 --micro-batch-size 2"
    assert "micro = 2" in plan_text("a.sbatch", f"{call}srun python pretrain_gpt.py {flags}\n").split("\n")
    alone = plan_text("a.sbatch", f"{call}python prepare.py\npython pretrain_gpt.py {flags}\n").split("\n")
    assert "micro = 2" in alone and "nodes = 2" not in alone
    found = found_in("a.sbatch", f"{call}srun python -u pretrain_gpt.py {flags} --lr 1e-4 2e-4\n")
    assert "`--lr` takes one value" in [each.message for each in found]

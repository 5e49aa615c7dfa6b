"""Scripts as plans: what they start, options of Slurm, modules; what only the run knows is listed, never guessed."""

from __future__ import annotations

import pytest

from planc.native.importing import Plan, plan_of
from tests.compiling import analysed, errors, file_of, load
from tests.native.test_importing import job_of, unmarked

SBATCH = """\
#!/bin/bash
#SBATCH --job-name=llama-8b
#SBATCH -p gpu
#SBATCH --account=proj42
#SBATCH --qos=high
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=48
#SBATCH --time=1-00:00:00
#SBATCH --output=logs/%x-%j.out
#SBATCH --exclusive
set -euo pipefail
module load cuda/12.4 nccl
source /srv/venv/bin/activate
cd /srv/code
export NCCL_DEBUG=INFO
export MASTER_ADDR=$(scontrol show hostnames | head -n 1)
export WANDB_PROJECT=$USER-runs
srun --cpus-per-task=48 torchrun --nnodes=$SLURM_NNODES --nproc-per-node=8 --max-restarts=2 \\
  --rdzv-backend=c10d --rdzv-endpoint="$MASTER_ADDR:29500" \\
  train.py --model_name_or_path my/model --deepspeed ds.json --per_device_train_batch_size 4 --bf16 \\
  --gradient_accumulation_steps 2 --max_steps 100 --warmup_steps 10 --output_dir out --run_name "$RUN"
"""
DEEPSPEED = '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": "auto"}'


def imported(**files: str) -> Plan:
    """The plan of files whose names have `_` for the last dot."""
    job = job_of({".".join(name.rsplit("_", 1)): text for name, text in files.items()})
    return plan_of(job, "imported", load)


def lines(plan: Plan) -> list[str]:
    """The lines of a plan without indents and without blanks beside `=`."""
    return [" = ".join(part.strip() for part in line.split(" = ")) for line in (plan.text or "").splitlines()]


def left(plan: Plan) -> list[tuple[str, str]]:
    """The keys that no field stands for, with their values."""
    return [(each.key, each.value) for each in plan.left]


def test_a_job_of_slurm() -> None:
    plan = imported(train_sbatch=SBATCH, ds_json=DEEPSPEED)
    for line in (
        "nodes = 4", "gpus_per_node = 8", 'script = "train.py"', 'args = ["--model_name_or_path", "my/model"]',
        "walltime = 86400 s", "restarts = 2", 'venv = "/srv/venv"', 'modules = ["cuda/12.4", "nccl"]',
        'NCCL_DEBUG = "INFO"', 'partition = "gpu"', 'account = "proj42"', 'qos = "high"', "micro = 4",
        "emit = [deepspeed { trainer = hf }, transformers { backend = deepspeed }, slurm]",
    ):  # fmt: skip
        assert line in lines(plan), plan.text
    assert left(plan) == [
        ("--run_name", '"$RUN"'), ("--cpus-per-task", "48"), ("cd", "/srv/code"), ("WANDB_PROJECT", "$USER-runs"),
        ("#SBATCH --cpus-per-task", "48"), ("#SBATCH --output", "logs/%x-%j.out"),
    ]  # fmt: skip
    assert unmarked(plan) == []


def test_the_plan_of_a_job_gives_one_that_asks_for_the_same() -> None:
    plan = imported(train_sbatch=SBATCH, ds_json=DEEPSPEED)
    text = (
        (plan.text or "").replace("# gpu = ...", "gpu = h100-sxm-80gb").replace("# recompute = ...", "recompute = full")
    )
    text = f'use "planc/gpus"\nuse "planc/models"\n{text}'.replace("# model = ...", "model = llama-3-8b")
    analysis = analysed(text)
    assert errors(analysis) == []
    job = file_of(analysis.plans[0], "job.sbatch")
    for option in ("partition=gpu", "account=proj42", "qos=high", "nodes=4", "gpus-per-node=8", "time=1-00:00:00"):
        assert f"#SBATCH --{option}\n" in job
    assert "--model_name_or_path" in job and "my/model" in job
    assert "cuda/12.4" in job


@pytest.mark.parametrize(
    ("command", "emit"),
    [
        ("torchrun --nproc-per-node=8 --nnodes=1 train.py", "emit = [torchrun]"),
        ("accelerate launch --num_processes 8 --num_machines 1 train.py", "emit = [accelerate]"),
        ("deepspeed --num_gpus 8 train.py", "emit = [deepspeed-launcher]"),
        ("python train.py", None),
        ("#SBATCH -N 1\nsrun torchrun --nproc-per-node=8 --nnodes=1 train.py", "emit = [slurm]"),
        (
            "#SBATCH -N 1\nsrun accelerate launch --num_processes 8 --num_machines 1 train.py",
            "emit = [slurm { launcher = accelerate }, accelerate]",
        ),
        ("#SBATCH -N 2\n#SBATCH --ntasks-per-node=4\nsrun python train.py", "emit = [slurm { launcher = srun }]"),
    ],
)
def test_the_launcher_is_a_target(command: str, emit: str | None) -> None:
    plan = imported(run_sh=f"#!/bin/bash\n{command} --epochs 3\n")
    written = [line for line in lines(plan) if line.startswith("emit")]
    assert written == ([] if emit is None else [emit])
    assert ('args = ["--epochs", "3"]' in lines(plan)) == (emit is not None)


def test_tasks_of_srun_are_ranks() -> None:
    job = "#!/bin/bash\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=4\nsrun {}python train.py\n"
    plan = imported(run_sh=job.format(""))
    assert {"nodes = 2", "gpus_per_node = 4"} <= set(lines(plan))
    assert "nodes = 2" not in lines(imported(run_sh=job.format("--ntasks=1 ")))


def test_a_module_of_python_is_listed() -> None:
    plan = imported(run_sh="#!/bin/bash\ntorchrun --nproc-per-node=8 --nnodes=1 -m my.train --x 1\n")
    assert [path.path for path in plan.missing if path.path == "launch.script"] == ["launch.script"]
    assert left(plan) == [("-m", "my.train"), ("--x", "1")]


def test_the_flag_before_the_file_of_deepspeed_is_kept() -> None:
    command = "deepspeed --num_gpus 8 train.py --deepspeed --deepspeed_config ds.json -v\n"
    plan = imported(run_sh=f"#!/bin/bash\n{command}", ds_json='{"train_micro_batch_size_per_gpu": 1}')
    flags = 'deepspeed { config_flag = ["--deepspeed", "--deepspeed_config"] }'
    assert f"emit = [{flags}, deepspeed-launcher]" in lines(plan) or f"emit = [deepspeed-launcher, {flags}]" in lines(
        plan
    )
    assert 'args = ["-v"]' in lines(plan)


def test_flags_that_fields_stand_for_are_no_arguments() -> None:
    flags = (
        "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 "
        "--micro-batch-size 4 --global-batch-size 32 --train-iters 100 --lr 1e-4 --bf16 --adam-beta1 0.9 "
        "--adam-beta2 0.95 --group-query-attention --num-query-groups 4 --log-throughput --vocab-file $VOCAB"
    )
    plan = imported(run_sh=f"#!/bin/bash\ntorchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py {flags}\n")
    assert 'args = ["--log-throughput"]' in lines(plan)
    assert "betas = [0.9, 0.95]" in lines(plan)
    assert left(plan) == [("--vocab-file", "$VOCAB")]
    assert "emit = [megatron, torchrun]" in lines(plan)


LAUNCHER = (
    '#!/bin/bash\nLAUNCHER="accelerate launch --config_file acc.yaml --num_machines {} --num_processes {}"\n'
    "$LAUNCHER train.py\n"
)
ACCELERATE = "distributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 1\nmixed_precision: bf16\n"


@pytest.mark.parametrize("machines", ["$SLURM_NNODES", "2"])
@pytest.mark.parametrize("processes", ["$WORLD", "16"])
def test_what_the_run_decides_is_not_taken_from_a_file(machines: str, processes: str) -> None:
    plan = imported(run_sh=LAUNCHER.format(machines, processes), acc_yaml=ACCELERATE)
    found = lines(plan)
    assert "nodes = 1" not in found and "gpus_per_node = 1" not in found
    assert ("nodes = 2" in found) == (machines == "2")
    assert ("gpus_per_node = 8" in found) == (machines == "2" and processes == "16")
    assert {each.path for each in plan.missing} >= ({"cluster"} if machines != "2" else set())
    assert "precision = bf16" in found


def test_a_variable_that_a_target_sets_is_left_out_alone() -> None:
    plan = imported(
        run_sh="#!/bin/bash\nexport HOME=/x\nexport NCCL_DEBUG=INFO\ntorchrun --nproc-per-node=8 train.py\n"
    )
    assert "emit = [torchrun]" in lines(plan)
    assert 'NCCL_DEBUG = "INFO"' in lines(plan)
    assert left(plan) == [("HOME", "/x")]


def test_a_launcher_that_a_trainer_does_without_is_told() -> None:
    flags = "--module llama3 --config llama3_8b --training.local-batch-size 4 --training.steps 9"
    plan = imported(run_sh=f"#!/bin/bash\ntorchrun --nproc_per_node 8 --nnodes 1 -m torchtitan.train {flags}\n")
    assert [target for target, _ in plan.refused] == ["torchrun"]
    assert "emit = [torchtitan]" in lines(plan)


def test_nodes_that_the_plan_has_are_not_listed_and_a_card_by_name_is() -> None:
    head = "#!/bin/bash\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=1\n"
    launch = "srun torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint $HEAD:29500 train.py\n"
    assert left(imported(train_sbatch=f"{head}#SBATCH --gres=gpu:8\n{launch}")) == []
    assert left(imported(train_sbatch=f"{head}#SBATCH --gres=gpu:h100:8\n{launch}")) == [
        ("#SBATCH --gres", "gpu:h100:8")
    ]
    other = launch.replace("--nnodes 2", "--nnodes 4")
    assert ("#SBATCH -N", "2") in left(imported(train_sbatch=f"{head}#SBATCH --gres=gpu:8\n{other}"))


def test_what_llama_factory_hands_to_torchrun_is_taken_from_variables() -> None:
    arguments = "stage: sft\ndo_train: true\nfinetuning_type: full\nmodel_name_or_path: m\ntemplate: llama3\n"
    command = "llamafactory-cli train sft.yaml\n"
    plan = imported(run_sh=f"FORCE_TORCHRUN=1 NNODES=2 NPROC_PER_NODE=8 NODE_RANK=0 {command}", sft_yaml=arguments)
    assert {"nodes = 2", "gpus_per_node = 8"} <= {*lines(plan)}
    assert {("FORCE_TORCHRUN", "1"), ("NODE_RANK", "0")} <= {*left(plan)}
    assert not {"NNODES", "NPROC_PER_NODE"} & {key for key, _ in left(plan)}
    plan = imported(run_sh=f"NNODES=$COUNT NPROC_PER_NODE=${{CARDS:-8}} {command}", sft_yaml=arguments)
    assert not {"nodes = 2", "gpus_per_node = 8"} & {*lines(plan)}
    assert {("NNODES", "$COUNT"), ("NPROC_PER_NODE", "${CARDS:-8}")} <= {*left(plan)}


def test_a_length_of_torchtitan_that_the_schedule_takes_is_not_said_to_be_left_out() -> None:
    text = "[model]\nname = 'llama3'\n[lr_scheduler]\nwarmup_steps = 2\n[training]\nsteps = 9\nlocal_batch_size = 1\n"
    assert "total = 9 steps  # follows from `steps` of llama3.toml" in lines(imported(llama3_toml=text))

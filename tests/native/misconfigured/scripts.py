"""Kinds that show in the script of a job: its options, its launcher, and where its nodes meet."""

from __future__ import annotations

from tests.native.misconfigured.case import Case

#: By which nodes meet, whatever their ranks.
RENDEZVOUS = "--rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d --rdzv_endpoint=$first:29500"

#: A job of two nodes with eight cards each, which torchrun starts once a node.
JOB = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:8
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=8 RENDEZVOUS a.py
""".replace("RENDEZVOUS", RENDEZVOUS)

#: A job of two nodes in which srun starts a process for each card.
NATIVE = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --gres=gpu:2
srun python a.py
"""


def _job(old: str, new: str) -> dict[str, str]:
    assert old in JOB
    return {"job.sbatch": JOB.replace(old, new)}


CASES = (
    Case(
        "L01",
        "PLN075",
        "job.sbatch: #SBATCH --ntasks-per-node=8",
        _job("node=1", "node=8"),
        (("--ntasks-per-node=8", "--ntasks-per-node=1"),),
    ),
    Case(
        "L02",
        "PLN075",
        "job.sbatch: #SBATCH --ntasks-per-node=1",
        {"job.sbatch": NATIVE.replace("node=2", "node=1")},
        (("--ntasks-per-node=1", "--ntasks-per-node=2"),),
    ),
    Case(
        "L02",
        "PLN075",
        "job.sbatch: #SBATCH --ntasks=2",
        {"job.sbatch": NATIVE.replace("#SBATCH --gres", "#SBATCH --ntasks=2\n#SBATCH --gres")},
        (("--ntasks=2", "--ntasks=4"),),
    ),
    Case(
        "L02",
        "PLN075",
        "job.sbatch: python",
        {"job.sbatch": NATIVE.replace("srun ", "")},
        (("python a.py", "srun python a.py"),),
    ),
    Case(
        "L03",
        "PLN075",
        "job.sbatch: --cpus-per-task=8",
        {"job.sbatch": "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --exclusive\nsrun --cpus-per-task=8 python a.py\n"},
        (("--cpus-per-task=8", "--ntasks-per-node=8 --cpus-per-task=8"),),
    ),
    Case(
        "L04",
        "PLN075",
        "job.sbatch: #SBATCH --gpus-per-task=1",
        {"job.sbatch": NATIVE.replace("--gres=gpu:2", "--gpus-per-task=1")},
        (("--gpus-per-task=1", "--gpus-per-node=2"),),
    ),
    Case(
        "L05",
        "PLN063",
        "job.sbatch: $SLURM_GPUS_PER_NODE",
        {
            "job.sbatch": "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gpus-per-node=a100:4\n"
            "torchrun --standalone --nproc_per_node=$SLURM_GPUS_PER_NODE a.py\n"
        },
        (("=$SLURM_GPUS_PER_NODE", "=$SLURM_GPUS_ON_NODE"),),
    ),
    Case(
        "L06",
        "PLN075",
        "job.sbatch: $SLURM_PROCID",
        _job(RENDEZVOUS, "--node_rank $SLURM_PROCID --master_addr $first --master_port 29500"),
        (
            ("srun torchrun", "srun bash -c 'torchrun"),
            ("29500 a.py", "29500 a.py'"),
            ("first=$(scontrol", "export first=$(scontrol"),
        ),
    ),
    Case(
        "L08",
        "PLN075",
        "job.sbatch: $SLURM_LAUNCH_NODE_IPADDR:29500",
        _job("$first:29500", "$SLURM_LAUNCH_NODE_IPADDR:29500"),
        (("=$SLURM_LAUNCH_NODE_IPADDR:29500", "=$first:29500"),),
    ),
    Case(
        "L09",
        "PLN075",
        "run.sh: --master_port",
        {
            "run.sh": "#!/bin/bash\n"
            "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 --master_port 29500 a.py &\n"
            "CUDA_VISIBLE_DEVICES=2,3 torchrun --nproc_per_node=2 --master_port 29500 b.py &\nwait\n"
        },
        (("29500 b.py", "29501 b.py"),),
    ),
    Case(
        "L10",
        "PLN075",
        "job.sbatch: $RANDOM",
        _job(
            f"srun torchrun --nnodes=2 --nproc_per_node=8 {RENDEZVOUS} a.py",
            f"export first\nsrun bash -c 'torchrun --nnodes=2 --nproc_per_node=8 {RENDEZVOUS} a.py'".replace(
                "$SLURM_JOB_ID", "$RANDOM"
            ),
        ),
        (("=$RANDOM", "=$SLURM_JOB_ID"),),
    ),
    Case(
        "L11",
        "PLN068",
        "job.sbatch: --master_addr",
        _job("29500 a.py", "29500 --master_addr $first a.py"),
        (("--master_addr $first ", ""),),
    ),
    Case(
        "L16",
        "PLN075",
        "job.sbatch: 0",
        _job(
            JOB.splitlines()[-1],
            "srun accelerate launch --num_machines 2 --num_processes 16 --machine_rank 0 --main_process_ip $first "
            "--main_process_port 29500 a.py",
        ),
        (
            ("--machine_rank 0", "--machine_rank $SLURM_PROCID"),
            ("srun accelerate", "export first; srun bash -c 'accelerate"),
            ("29500 a.py", "29500 a.py'"),
        ),
    ),
    Case(
        "L17",
        "PLN068",
        "run.sh: CUDA_VISIBLE_DEVICES=2,4",
        {"run.sh": "#!/bin/bash\nCUDA_VISIBLE_DEVICES=2,4 deepspeed --num_gpus 2 a.py\n"},
        (("CUDA_VISIBLE_DEVICES=2,4 deepspeed --num_gpus 2", "deepspeed --include localhost:2,4"),),
    ),
    Case(
        "L24",
        "PLN075",
        "job.sbatch: USR1@600",
        _job("#SBATCH --gres", "#SBATCH --signal=USR1@600\n#SBATCH --gres"),
        (("--signal=USR1@600", "--signal=B:USR1@600"),),
    ),
)

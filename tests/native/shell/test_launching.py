"""The commands that start training, through those that start others, with the options that each parser takes."""

from __future__ import annotations

import pytest

from planc.native.shell.embedded import outermost
from tests.native.shell.scripts import options_of, started, text_of


def chain(text: str) -> list[list[str]]:
    """The launchers of each launch, from the inside."""
    found = []
    for launch in started(text):
        names = []
        at = launch
        while at is not None:
            names.append(at.launcher)
            if at.outer is None:
                break
            at = at.outer
        found.append(names)
    return found


@pytest.mark.parametrize(
    ("text", "launchers", "script"),
    [
        ("torchrun t.py", ["torchrun"], "t.py"),
        ("/opt/bin/torchrun t.py", ["torchrun"], "t.py"),
        ("python -m torch.distributed.run t.py", ["torchrun"], "t.py"),
        ("python3 -u -m torch.distributed.launch --use_env t.py", ["torchrun"], "t.py"),
        ("accelerate launch t.py", ["accelerate"], "t.py"),
        ("accelerate-launch t.py", ["accelerate"], "t.py"),
        ("python -m accelerate.commands.launch t.py", ["accelerate"], "t.py"),
        ("deepspeed t.py", ["deepspeed"], "t.py"),
        ("python t.py", ["python"], "t.py"),
        ("python3.11 -u -W ignore t.py", ["python"], "t.py"),
        ("python -m pkg.train", ["python"], "pkg.train"),
        ("srun python t.py", ["python", "srun"], "t.py"),
        ("srun -N 2 -n16 --gres gpu:8 --exclusive -l torchrun t.py", ["torchrun", "srun"], "t.py"),
        ("srun ./train.sh", ["bash", "srun"], "./train.sh"),
        ("srun hostname", ["srun"], "hostname"),
        ("pbsdsh -n 1 -v -- torchrun t.py", ["torchrun", "pbsdsh"], "t.py"),
        ("blaunch -z host1 torchrun t.py", ["torchrun", "blaunch"], "t.py"),
        ("blaunch host1 torchrun t.py", ["torchrun", "blaunch"], "t.py"),
        ("jsrun -n2 -a1 -g 6 --bind=rs bash run.sh", ["bash", "jsrun"], "run.sh"),
        ("mpirun -np 8 -x A -mca b c --bind-to none python t.py", ["python", "mpirun"], "t.py"),
        ("srun bash -c 'cd x && torchrun t.py'", ["torchrun", "srun"], "t.py"),
        ("bash -lc \"exec torchrun t.py\"", ["torchrun"], "t.py"),
        ("bash <<'E'\ntorchrun t.py\nE", ["torchrun"], "t.py"),
        ("eval \"torchrun\" t.py", ["torchrun"], "t.py"),
        ("bash train.sh 1", ["bash"], "train.sh"),
        ("./train.sh 1", ["bash"], "./train.sh"),
        ("sbatch -N 2 job.sbatch", ["sbatch"], "job.sbatch"),
        ("exec torchrun t.py", ["torchrun"], "t.py"),
        ("env -u B A=1 torchrun t.py", ["torchrun"], "t.py"),
        ("nohup torchrun t.py &", ["torchrun"], "t.py"),
        ("time torchrun t.py", ["torchrun"], "t.py"),
        ("timeout -k 5 3600 torchrun t.py", ["torchrun"], "t.py"),
        ("nice -n 5 taskset -c 0-7 stdbuf -oL torchrun t.py", ["torchrun"], "t.py"),
        ("numactl --cpunodebind=0 -m 0 torchrun t.py", ["torchrun"], "t.py"),
        ("apptainer exec --nv -B /a:/b img.sif torchrun t.py", ["torchrun"], "t.py"),
        ("srun singularity exec --nv $IMAGE.sif bash -c 'torchrun t.py'", ["torchrun", "srun"], "t.py"),
        ("docker run --rm -it --gpus all -v /a:/b image:1 torchrun t.py", ["torchrun"], "t.py"),
        ("docker exec -e A=1 box torchrun t.py", ["torchrun"], "t.py"),
        ("conda run -n env torchrun t.py", ["torchrun"], "t.py"),
        ("L='torchrun --nnodes 2'; C='t.py --lr 1'; $L $C", ["torchrun"], "t.py"),
        ("RUN=(torchrun --nnodes 2 t.py); \"${RUN[@]}\"", ["torchrun"], "t.py"),
        ("if a; then torchrun t.py; fi", ["torchrun"], "t.py"),
    ],
)  # fmt: skip
def test_what_starts_training(text: str, launchers: list[str], script: str) -> None:
    assert chain(text) == [launchers]
    assert text_of(started(text)[0].script) == script


@pytest.mark.parametrize(
    "text",
    [
        "echo torchrun t.py",
        "A=$(python port.py)",
        "jsrun --unheard 1 torchrun t.py",
        "python -c 'import torch'",
        "accelerate config",
        "$LAUNCHER t.py",
        "docker run --unheard image torchrun t.py",
        "docker run --entrypoint python image torchrun t.py",
        "docker run image",
        "apptainer run img.sif torchrun t.py",
        "cat <<E\ntorchrun t.py\nE",
        "# torchrun t.py",
        "torchrun() { a; }",
        "bash -c \"$COMMAND\"",
        "python",
    ],
)  # fmt: skip
def test_what_starts_none_or_cannot_be_told(text: str) -> None:
    assert started(text) == []


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("--nproc_per_node 8 --nnodes=2", {"nproc_per_node": ["8"], "nnodes": ["2"]}),
        ("--nproc-per-node=8 --standalone", {"nproc_per_node": ["8"], "standalone": []}),
        ("--rdzv-endpoint $HOST:29500", {"rdzv_endpoint": ["?$HOST*"]}),
        ('--rdzv-endpoint "$HOST:29500"', {"rdzv_endpoint": ["?$HOST"]}),
        ("--rdzv-endpoint=$HOST:29500", {"rdzv_endpoint": ["?$HOST"]}),
        ("--standal --max_r 3", {"standalone": [], "max_restarts": ["3"]}),
        ("--nnodes 1 --nnodes 2", {"nnodes": ["1", "2"][1:]}),
        ("-r 3", {"redirects": ["3"]}),
    ],
)
def test_options_of_torchrun(line: str, options: dict[str, list[str]]) -> None:
    (launch,) = started(f"torchrun {line} t.py --nnodes 9")
    assert options_of(launch.options) == options
    assert text_of(launch.script) == "t.py" and not launch.strange and not launch.open
    assert options_of(launch.parameters) == {"nnodes": ["9"]}


def test_modules_of_launchers() -> None:
    (launch,) = started("torchrun --nnodes 2 -m pkg.train --lr 1")
    assert launch.module and text_of(launch.script) == "pkg.train" and [*options_of(launch.parameters)] == ["lr"]
    (launch,) = started("python -m pkg.train -m 1")
    assert launch.module and launch.launcher == "python" and [*options_of(launch.parameters)] == ["m"]


def test_accelerate_takes_no_beginning_of_a_name_and_either_form() -> None:
    (launch,) = started("accelerate launch --config-file f.yaml --num_processes 8 --num_proc 4 --use_deepspeed t.py")
    assert options_of(launch.options) == {"config_file": ["f.yaml"], "num_processes": ["8"], "use_deepspeed": []}
    assert options_of(launch.strange) == {"num_proc": ["4"]} and launch.open


def test_arguments_of_the_program() -> None:
    text = """ARGS="--bf16 --lr -1e-4"
deepspeed --num_gpus 8 t.py --deepspeed ds.json --per-device-train-batch-size=4 $ARGS --fsdp "full_shard offload" a=b $X
"""
    (launch,) = started(text)
    assert options_of(launch.parameters) == {
        "deepspeed": ["ds.json"], "per_device_train_batch_size": ["4"], "bf16": [], "lr": ["-1e-4"],
        "fsdp": ["full_shard offload", "a=b", "?$X*"],
    }  # fmt: skip
    batch, rate = launch.parameter("per_device_train_batch_size"), launch.parameter("learning_rate", "lr")
    assert batch is not None and batch.value is not None and batch.value.origin.text == "4"
    assert batch.written.span.text == "--per-device-train-batch-size=4"
    assert rate is not None and rate.value is not None
    assert (rate.value.origin.text, rate.value.origin.line) == ("-1e-4", 1)
    assert launch.parameter("unheard") is None
    assert len(launch.arguments) == 10


def test_words_that_only_the_run_knows_leave_the_options_open() -> None:
    (launch,) = started("torchrun $OPTIONS --nnodes 2 t.py $MORE")
    assert launch.open and options_of(launch.options) == {"nnodes": ["2"]} and text_of(launch.script) == "t.py"
    (launch,) = started("torchrun --nnodes 2 $PROGRAM --lr 1")
    assert not launch.open and text_of(launch.script) == "?$PROGRAM*" and [*options_of(launch.parameters)] == ["lr"]


def test_variables_for_a_launch() -> None:
    (launch,) = started("A=1 nohup env B=$C torchrun t.py")
    assert [(each.name, text_of(each.value)) for each in launch.environment] == [("A", "1"), ("B", "?$C")]
    (launch,) = started("A=1 srun bash -c 'B=2 torchrun t.py'")
    assert [(each.name, text_of(each.value)) for each in launch.environment] == [("B", "2")]
    assert launch.outer is not None
    assert [(each.name, text_of(each.value)) for each in launch.outer.environment] == [("A", "1")]


def test_a_text_for_another_shell_sees_what_is_exported() -> None:
    text = "export N=4\nM=8\nsrun bash -c 'torchrun --nnodes $N --nproc_per_node $M t.py'"
    (launch,) = started(text)
    assert options_of(launch.options) == {"nnodes": ["4"], "nproc_per_node": ["?$M*"]}
    (launch,) = started(text.replace("'", '"').replace("$N", "\\$N"))
    assert options_of(launch.options) == {"nnodes": ["4"], "nproc_per_node": ["8"]}
    assert outermost(launch.name.span).text == "torchrun"


def test_a_command_in_a_function_runs_where_it_is_called() -> None:
    text = 'run() { torchrun --nnodes $N "$@"; }\nN=2\nrun t.py --lr 1'
    (launch,) = started(text)
    assert options_of(launch.options) == {"nnodes": ["2"]} and text_of(launch.script) == "t.py"
    assert [frame.kind for frame in launch.command.context] == ["function"]


def test_slurm_takes_short_options_with_their_values() -> None:
    (launch,) = started("srun -N2 -n=16 -c 4 --ntasks-per-node=8 -u --mpi pmix --container-image x:1 python t.py")
    outer = launch.outer
    assert outer is not None and options_of(outer.options) == {
        "nodes": ["2"], "ntasks": ["16"], "cpus_per_task": ["4"], "ntasks_per_node": ["8"], "unbuffered": [],
        "mpi": ["pmix"],
    }  # fmt: skip
    assert options_of(outer.strange) == {"container_image": ["x:1"]}, "of a plugin"

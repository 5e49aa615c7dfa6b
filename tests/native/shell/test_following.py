"""Scripts in several files: what one sources or starts is read as a part of it, with what its variables hold there."""

from __future__ import annotations

from pathlib import Path

import pytest

from planc.native.shell.launching import launches
from planc.native.shell.model import Script
from planc.native.shell.reading import read
from planc.source import Source
from tests.commands.cli import planc
from tests.native.shell.scripts import options_of, text_of

BATCH = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n"


def whole(text: str, **files: str) -> Script:
    """A script, and beside it files whose names have a `_` for the dot."""
    sources = {name.replace("_", "."): Source(name.replace("_", "."), each) for name, each in files.items()}
    return read(Source("job.sh", text), lambda path, user: sources.get(path))


def started(script: Script) -> list[dict[str, list[str | None]]]:
    """The options of the launches of a script."""
    return [options_of(launch.options) for launch in launches(script)]


@pytest.mark.parametrize("line", ["source env.sh", ". env.sh", ". ./env.sh", 'source "$(dirname "$0")/env.sh"'])
def test_a_sourced_file_sets_variables(line: str) -> None:
    script = read(
        Source("job.sh", f"N=2\n{line}\ntorchrun --nnodes $N --nproc_per_node $M t.py"),
        lambda path, user: Source(path, "N=4\nexport M=8\n") if path.endswith("env.sh") else None,
    )
    assert started(script) == [{"nnodes": ["4"], "nproc_per_node": ["8"]}]
    assert [(export.name, text_of(export.value)) for export in script.exports] == [("M", "8")]


def test_what_a_sourced_file_may_not_set_is_unknown() -> None:
    text = "N=2\nif a; then source env.sh; fi\ntorchrun --nnodes $N t.py"
    assert started(whole(text, env_sh="N=4")) == [{"nnodes": ["?$N*"]}]
    text = "N=2\nfor x in a b; do source env.sh; torchrun --nnodes $N t.py; done"
    assert started(whole(text, env_sh="N=4")) == [{"nnodes": ["2"]}], "read by itself"


def test_a_function_of_a_sourced_file_sets_what_it_sets() -> None:
    text = "source lib.sh\nN=2\nM=8\nsetup\ntorchrun --nnodes $N --nproc_per_node $M t.py"
    assert started(whole(text, lib_sh="setup() {\n export N=4\n}\n")) == [{"nnodes": ["?$N*"], "nproc_per_node": ["8"]}]


def test_all_that_a_file_sets_is_exported_between_two_options() -> None:
    script = whole("set -a\nsource .env\nset +a\nB=2\n", _env="A=1\n")
    assert [export.name for export in script.exports] == ["A"]


def test_a_started_script_gets_arguments_and_exports_and_nothing_else() -> None:
    text = "export N=4\nM=8\nP=29500 srun bash run.sh 2 t.py"
    inner = 'torchrun --nnodes $N --nproc_per_node $M --master_port $P --max_restarts $1 "${@:2}" $2'
    assert started(whole(text, run_sh=inner)) == [
        {"nnodes": ["4"], "nproc_per_node": ["?$M*"], "master_port": ["29500"], "max_restarts": ["2"]}
    ]
    (launch,) = launches(whole(text, run_sh=inner))
    assert launch.outer is not None and launch.outer.launcher == "srun"
    assert launch.name.span.source.name == "run.sh"


@pytest.mark.parametrize("line", ["bash run.sh", "./run.sh", "srun run.sh", "srun apptainer exec x.sif bash ./run.sh"])
def test_forms_of_starting_a_script(line: str) -> None:
    script = read(Source("a.sh", line), lambda path, user: Source(path, "torchrun --nnodes 2 t.py"))
    assert started(script) == [{"nnodes": ["2"]}]


@pytest.mark.parametrize(
    "text",
    ["for n in 1 2; do bash run.sh $n; done", "if a; then bash run.sh; fi", "f() { bash run.sh $1; }\nf 1\nf 2"],
)
def test_a_script_that_may_not_run_or_runs_often_is_read_by_itself(text: str) -> None:
    read = whole(text, run_sh="torchrun --nnodes 2 t.py")
    assert [launch.launcher for launch in launches(read)] == ["bash"]
    assert not read.taken


def test_files_that_name_themselves_end() -> None:
    script = read(
        own := Source("a.sh", "source a.sh\nbash a.sh\nN=1\ntorchrun --nnodes $N t.py"), lambda path, user: own
    )
    assert started(script) == [{}, {"nnodes": ["1"]}]
    many = read(
        Source("a.sh", "source b.sh\n" * 200 + "torchrun t.py"),
        lambda path, user: Source(path, "source c.sh\n" * 200),
    )
    assert len(many.taken) < 100
    long = Source("b.sh", "N=1\n" * 200_000)
    assert len(read(Source("a.sh", "source b.sh\n" * 9), lambda path, user: long).taken) == 1


def lint(folder: Path, *names: str, **files: str) -> list[str]:
    """What `planc lint` prints of files whose names have a `_` for the dot, a line each."""
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return planc("lint", *names, "--output-format", "concise", cwd=folder).stdout.splitlines()


RUN = "torchrun --nnodes=4 --nproc-per-node=$GPUS --rdzv-backend=c10d --rdzv-endpoint=$HOST:29500 t.py $ARGS\n"


def test_a_job_is_held_against_the_script_that_it_starts(tmp_path: Path) -> None:
    job = f"{BATCH}#SBATCH --gpus-per-node=8\nexport GPUS=16\nsrun bash run.sh\n"
    expected = [
        "run.sh:1:10: error[PLN075] torchrun waits for 4 nodes of 2",
        "run.sh:1:21: error[PLN075] 16 processes on a node with 8 cards",
    ]
    for names in (["job.sbatch"], ["."], ["run.sh", "job.sbatch"]):
        assert lint(tmp_path, *names, job_sbatch=job, run_sh=RUN) == expected
    good = job.replace("16", "8").replace("--nodes=2", "--nodes=4")
    assert lint(tmp_path, "job.sbatch", job_sbatch=good) == []


def test_a_script_that_a_loop_starts_is_a_job_of_its_own(tmp_path: Path) -> None:
    run = "#!/bin/bash\ndeepspeed t.py --deepspeed ds.json --output_dir o --per_device_train_batch_size 4\n"
    loop = "#!/bin/bash\nfor seed in 1 2; do bash run.sh $seed; done\ntorchrun --standalone eval.py\n"
    (found,) = lint(tmp_path, ".", run_sh=run, all_sh=loop, ds_json='{"train_micro_batch_size_per_gpu": 8}')
    assert "error[PLN071]" in found


def test_a_finding_in_another_file_says_through_which_it_came(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("#!/bin/bash\nsource env.sh\ntorchrun --standalone t.py\n", encoding="utf-8")
    (tmp_path / "env.sh").write_text("export TORCH_DISTRIBUTED_DEBUG=DETAIL\n", encoding="utf-8")
    printed = planc("lint", "run.sh", cwd=tmp_path).stdout
    assert "--> env.sh:1:8" in printed
    assert "source env.sh\n  | ------------- read through here" in printed


def test_a_configuration_is_held_against_the_launch_of_a_started_script(tmp_path: Path) -> None:
    config = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 4\nnum_processes: 32\n"
    run = 'accelerate launch --config_file acc.yaml --machine_rank $SLURM_NODEID --main_process_ip "$HOST" t.py\n'
    job = f"{BATCH}srun bash run.sh\n"
    (found,) = lint(tmp_path, "job.sbatch", job_sbatch=job, run_sh=run, acc_yaml=config)
    assert found == "acc.yaml:3:1: error[PLN075] accelerate waits for 4 nodes of 2"


def test_values_of_a_sourced_file_are_held_against_a_configuration(tmp_path: Path) -> None:
    script = (
        "#!/bin/bash\nMBS=4\nsource env.sh\n"
        "deepspeed t.py --deepspeed ds.json --output_dir o --per_device_train_batch_size $MBS\n"
    )
    config = '{"train_micro_batch_size_per_gpu": 8}'
    assert lint(tmp_path, "a.sh", a_sh=script, env_sh="MBS=8\n", ds_json=config) == []
    (found,) = lint(tmp_path, "a.sh", a_sh=script, env_sh="MBS=2\n")
    assert "error[PLN071]" in found


def test_a_file_of_variables_is_no_unknown_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("NCCL_P2P_DISABLE=1\n", encoding="utf-8")
    script = "#!/bin/bash\nset -a; source .env; set +a\ntorchrun --standalone t.py\n"
    printed = lint(tmp_path, "a.sh", a_sh=script)
    assert all("PLN061" not in line for line in printed)
    assert lint(tmp_path, "a.sh", a_sh=script.replace(".env", "gone.env")) == [
        "a.sh:2:16: warning[PLN073] `gone.env` is not there"
    ]
    assert lint(tmp_path, "a.sh", a_sh=script.replace(".env", "/etc/profile.d/modules.sh")) == []


def test_a_carriage_return_in_a_started_script_is_told(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_bytes(b"export A=1\r\ntorchrun --standalone t.py\r\n")
    (found,) = lint(tmp_path, "a.sh", a_sh="#!/bin/bash\nsrun bash run.sh\n")
    assert found.startswith("run.sh:1:11: error[PLN060]")


def test_a_job_of_several_scripts_and_texts_makes_one_plan(tmp_path: Path) -> None:
    run = f'cat > ds.json <<EOF\n{{"train_micro_batch_size_per_gpu": 4, "dump_state": true}}\nEOF\n{RUN}'
    arguments = "export ARGS='--deepspeed ds.json --output_dir o --bf16'"
    job = f"{BATCH.replace('--nodes=2', '--nodes=4')}export GPUS=8\n{arguments}\nsrun bash run.sh\n"
    lint(tmp_path, "job.sbatch", job_sbatch=job, run_sh=run)
    printed = planc("import", "job.sbatch", cwd=tmp_path).stdout
    assert printed.startswith("# Made by `planc import` of job.sbatch, run.sh.")
    assert "micro        = 4" in printed
    assert "gpus_per_node = 8" in printed
    assert "dump_state" in printed, "no field stands for it"

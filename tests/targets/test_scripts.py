"""Launch scripts, run: what they start, with which arguments and environment, and when they refuse."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planc.plan.model import Plan
from planc.targets._environment import environment
from tests.compiling import analysed, errors, facts_of, written_out
from tests.targets.stubs import Call, Outcome, Stubs

HOSTILE = [
    "a b'; touch MARK; $(touch MARK)",
    '"; touch MARK; "',
    "`touch MARK`",
    "$(touch MARK)",
    "line\nbreak\n\ttab\n",
    "back\\slash \\n \\",
    "!history !! % %s %d",
    "--leading",
    "-x",
    "--",
    "",
    " ",
    "*?[a-z]{a,b}~",
    "~/home",
    "[0]=x",
    "[a]+=b",
    "a=b",
    "\u00fcn\u00ef\u4e2d\u6587 \U0001f600 \u202e",
    "# no comment",
    "a;b|c&d<e>f",
    "'",
    '"',
    "\\'",
    "EOF",
    "${HOME} $HOME",
]

FLAVOURS = {
    "torchrun, one node": ("torchrun", "torchrun.sh", 1),
    "torchrun, two nodes": ("torchrun", "torchrun.sh", 2),
    "accelerate, one node": ("accelerate", "accelerate.sh", 1),
    "accelerate, two nodes": ("accelerate", "accelerate.sh", 2),
    "job with torchrun, one node": ("slurm, torchrun", "job.sbatch", 1),
    "job with torchrun, two nodes": ("slurm, torchrun", "job.sbatch", 2),
    "job with accelerate, two nodes": ("slurm, accelerate", "job.sbatch", 2),
    "job with srun, two nodes": ("slurm { launcher = srun }", "job.sbatch", 2),
}


@pytest.fixture
def stubs(tmp_path: Path) -> Stubs:
    return Stubs(tmp_path / "stubs")


def literal(text: str) -> str:
    """The text as a string of the language."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def text_of(targets: str, launch: str, *, nodes: int = 1, cluster: str = "", rest: str = "") -> str:
    """The text of a plan with these targets and this `launch`."""
    return f"""
    gpu card {{ memory = 80 GiB  bf16 = true }}
    model small {{ layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000  family = "llama" }}
    plan run {{
      model = small
      cluster {{ gpu = card  nodes = {nodes}  gpus_per_node = 8  {cluster} }}
      shard {{ stage = 3 }}
      batch {{ global = {64 * nodes}  micro = 1 }}
      precision = bf16
      {rest}
      launch {{ {launch} }}
      emit = [{targets}]
    }}
    """


def plan(targets: str, launch: str, *, nodes: int = 1, cluster: str = "", rest: str = "") -> Plan:
    """A plan with these targets and this `launch`."""
    analysis = analysed(text_of(targets, launch, nodes=nodes, cluster=cluster, rest=rest))
    assert errors(analysis) == [], errors(analysis)
    return analysis.plans[0]


def start(
    stubs: Stubs, folder: Path, cwd: Path, flavour: str, *arguments: str, **variables: str
) -> tuple[list[Call], Outcome]:
    """The calls of the launcher that a flavour's script makes, and the outcome."""
    _, script, nodes = FLAVOURS[flavour]
    if script == "job.sbatch":
        outcome = stubs.submit(folder / script, *arguments, cwd=cwd, nodes=nodes, **variables)
    else:
        several = {"MASTER_ADDR": "n1", "NODE_RANK": "1"} if 1 < nodes else {}
        outcome = stubs.run(folder / script, *arguments, cwd=cwd, **(several | variables))
    return [call for name in ("torchrun", "accelerate", "python3") for call in outcome.of(name)], outcome


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_text_arrives_as_it_is_written(flavour: str, stubs: Stubs, tmp_path: Path) -> None:
    targets, _, nodes = FLAVOURS[flavour]
    mark = tmp_path / "mark"
    texts = [text.replace("MARK", str(mark)) for text in HOSTILE]
    names = [f"V{number}" for number in range(len(texts))] + [
        "nodes",
        "ranks",
        "script",
        "here",
        "config",
        "job",
        "cpus",
    ]
    values = texts + ["of the program"] * (len(names) - len(texts))
    variables = "  ".join(f"{name} = {literal(value)}" for name, value in zip(names, values, strict=True))
    arguments = ", ".join(literal(text) for text in texts)
    program = texts[0] + ".py"
    compiled = plan(targets, f"script = {literal(program)}  args = [{arguments}]  env {{ {variables} }}", nodes=nodes)
    folder = written_out(compiled, tmp_path / "out dir")
    calls, outcome = start(stubs, folder, tmp_path, flavour, "--more", texts[0])
    assert outcome.status == 0, outcome.stderr
    assert len(calls) == (16 if "srun" in flavour else nodes if "job" in flavour else 1)
    for call in calls:
        at = call.argv.index(program)
        # Else the launcher takes a `--` among the arguments for its own, and drops it.
        assert call.argv[at - 1] == ("-u" if "srun" in flavour else "--")
        assert call.argv[at + 1 :] == [*texts, "--more", texts[0]]
        assert [call.env[name] for name in names] == values
        assert call.cwd == str(tmp_path)
    assert not mark.exists()


_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")) | st.sampled_from("\n\t"), max_size=30)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(script=_TEXT.filter(lambda text: text != ""), args=st.lists(_TEXT, max_size=4), value=_TEXT)
def test_any_text_arrives_as_it_is_written(
    script: str, args: list[str], value: str, stubs: Stubs, tmp_path: Path
) -> None:
    listed = ", ".join(literal(text) for text in args)
    compiled = plan("torchrun", f"script = {literal(script)}  args = [{listed}]  env {{ VALUE = {literal(value)} }}")
    (call,) = stubs.run(written_out(compiled, tmp_path) / "torchrun.sh", cwd=tmp_path).of("torchrun")
    assert call.argv[5:] == [script if not script.startswith("-") else f"./{script}", *args]
    assert call.env["VALUE"] == value


def test_a_variable_that_a_shell_has_by_itself_is_refused(tmp_path: Path) -> None:
    """Else the script would take it for one of the caller's, and drop the plan's value without a word."""
    command = ["env", "-i", "bash", "-c", "compgen -v"]
    own = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert {"PATH", "UID", "SHLVL"} <= set(own)
    for name in (*own, "LOCAL_RANK", "PLANC_BACKEND", "planc_nodes", "not-one", "1st"):
        refused = analysed(text_of("torchrun", f'script = "t.py"  env {{ "{name}" = "1" }}'))
        assert [fault.code for fault in errors(refused)] == ["PLN902"], name


def test_a_program_whose_name_begins_with_a_dash_is_no_option(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("torchrun", 'script = "-m.py"'), tmp_path)
    (call,) = stubs.run(folder / "torchrun.sh", cwd=tmp_path).of("torchrun")
    assert call.argv[-1] == "./-m.py"


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_the_environment_of_the_caller_wins(flavour: str, stubs: Stubs, tmp_path: Path) -> None:
    targets, _, nodes = FLAVOURS[flavour]
    compiled = plan(f"{targets}, deepspeed", 'script = "t.py"  env { A = "plan"  B = "plan" }', nodes=nodes)
    folder = written_out(compiled, tmp_path)
    given = {"A": "caller", "OMP_NUM_THREADS": "7", "DEEPSPEED_TIMEOUT": "3", "MASTER_PORT": "4242"}
    calls, _ = start(stubs, folder, tmp_path, flavour, **given)
    for call in calls:
        assert {name: call.env[name] for name in given} == given
        assert call.env["B"] == "plan"
        standalone = "--standalone" in call.argv
        assert call.env.get("MASTER_PORT") == "4242"
        assert standalone or "srun" in flavour or any("4242" in argument for argument in call.argv)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_threads_are_cores_by_ranks(flavour: str, stubs: Stubs, tmp_path: Path) -> None:
    """From the plan's cores; else from those that the node counts, at least one."""
    targets, _, nodes = FLAVOURS[flavour]
    for cluster, threads in (("cpu_cores = 100", "12"), ("cpu_cores = 4", "1"), ("", "1")):
        folder = written_out(plan(targets, 'script = "t.py"', nodes=nodes, cluster=cluster), tmp_path)
        calls, _ = start(stubs, folder, tmp_path, flavour)
        counted = "12" if "srun" in flavour and not cluster else threads  # there Slurm counts the cores of the node
        assert {call.env["OMP_NUM_THREADS"] for call in calls} == {counted}


@pytest.mark.parametrize("flavour", [name for name in FLAVOURS if "two" in name and "job" not in name])
def test_without_a_master_nothing_starts(flavour: str, stubs: Stubs, tmp_path: Path) -> None:
    targets, script, nodes = FLAVOURS[flavour]
    folder = written_out(plan(targets, 'script = "t.py"', nodes=nodes), tmp_path)
    outcome = stubs.run(folder / script, cwd=tmp_path, NODE_RANK="0")
    assert (outcome.status, outcome.calls) == (2, [])
    assert "no master" in outcome.stderr


def test_in_an_allocation_the_master_is_its_first_host(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("torchrun", 'script = "t.py"', nodes=2), tmp_path)
    slurm = {"SLURM_JOB_NODELIST": "n[7-8]", "STUB_HOSTS": "n7,n8", "SLURM_JOB_ID": "50001"}
    outcome = stubs.run(folder / "torchrun.sh", cwd=tmp_path, **slurm)
    (call,) = outcome.of("torchrun")
    assert "--rdzv-endpoint=n7:20001" in call.argv
    assert "--rdzv-id=50001" in call.argv
    assert "--rdzv-backend=c10d" in call.argv
    assert "master n7:20001" in outcome.stdout


def test_where_slurm_cannot_name_the_hosts_nothing_starts(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("slurm", 'script = "t.py"', nodes=2), tmp_path)
    (stubs.programs / "scontrol").write_text("#!/bin/sh\nexit 1\n")
    outcome = stubs.submit(folder / "job.sbatch", cwd=tmp_path, nodes=2)
    assert outcome.status != 0
    assert outcome.calls == []


def test_accelerate_on_several_nodes_needs_a_rank(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("accelerate", 'script = "t.py"', nodes=2), tmp_path)
    outcome = stubs.run(folder / "accelerate.sh", cwd=tmp_path, MASTER_ADDR="n1")
    assert (outcome.status, outcome.calls) == (2, [])
    assert "NODE_RANK" in outcome.stderr


def test_a_job_starts_one_launcher_a_node(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("slurm", 'script = "t.py"  restarts = 2', nodes=2, cluster="cpu_cores = 64"), tmp_path)
    outcome = stubs.submit(folder / "job.sbatch", cwd=tmp_path, nodes=2, SLURM_CPUS_PER_TASK="64")
    (srun,) = outcome.of("srun")
    for option in (
        "--kill-on-bad-exit=1",
        "--ntasks=2",
        "--nodes=2",
        "--ntasks-per-node=1",
        "--cpus-per-task=64",
        "--export=ALL",
    ):
        assert option in srun.argv
    for call in outcome.of("torchrun"):
        assert call.argv == [
            "--nnodes=2", "--nproc-per-node=8", "--max-restarts=2", "--rdzv-backend=c10d", "--rdzv-endpoint=n1:10042",
            "--rdzv-id=20042", "--", "t.py",
        ]  # fmt: skip
    assert "master n1:10042" in outcome.stdout


def test_a_step_is_given_the_cpus_of_the_node_where_the_plan_names_none(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("slurm", 'script = "t.py"', nodes=2), tmp_path)
    (srun,) = stubs.submit(folder / "job.sbatch", cwd=tmp_path, nodes=2).of("srun")
    assert "--cpus-per-task=96" in srun.argv


def test_each_task_of_a_job_knows_its_own_node(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("slurm, accelerate", 'script = "t.py"', nodes=2), tmp_path)
    outcome = stubs.submit(folder / "job.sbatch", cwd=tmp_path, nodes=2)
    ranks = [call.argv[call.argv.index("--machine_rank") + 1] for call in outcome.of("accelerate")]
    assert ranks == ["0", "1"]
    for call in outcome.of("accelerate"):
        assert call.argv[call.argv.index("--config_file") + 1] == str(folder / "accelerate_fsdp2.yaml")
        assert call.argv[call.argv.index("--main_process_ip") + 1] == "n1"
        assert call.env["PET_RDZV_ID"] == "20042"


def test_a_job_of_another_size_than_the_plan_does_not_start(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("slurm", 'script = "t.py"', nodes=2), tmp_path)
    outcome = stubs.submit(folder / "job.sbatch", cwd=tmp_path, nodes=4)
    assert (outcome.status, outcome.calls) == (2, [])
    assert "2 nodes" in outcome.stderr
    outside = stubs.run(folder / "job.sbatch", cwd=tmp_path)
    assert (outside.status, outside.calls) == (2, [])
    assert "sbatch" in outside.stderr


@pytest.mark.parametrize("flavour", ["torchrun, one node", "job with torchrun, two nodes"])
def test_ds_config_is_found_beside_the_script(flavour: str, stubs: Stubs, tmp_path: Path) -> None:
    targets, _, nodes = FLAVOURS[flavour]
    flag = 'deepspeed { config_flag = ["--deepspeed", "--deepspeed_config"] }'
    folder = written_out(plan(f"{targets}, {flag}", 'script = "t.py"', nodes=nodes), tmp_path / "a b'c")
    calls, outcome = start(stubs, folder, tmp_path, flavour, "more")
    assert outcome.status == 0, outcome.stderr
    for call in calls:
        path = str(folder / "ds_config.json")
        assert call.argv[call.argv.index("t.py") :] == ["t.py", "--deepspeed", "--deepspeed_config", path, "more"]
    (folder / "ds_config.json").unlink()
    calls, outcome = start(stubs, folder, tmp_path, flavour)
    assert (outcome.status, calls) == (2, [])
    assert "ds_config.json" in outcome.stderr


@pytest.mark.parametrize("module", ["fsdp2", "lightning"])
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_a_compiled_module_is_found_beside_the_script(module: str, flavour: str, stubs: Stubs, tmp_path: Path) -> None:
    targets, _, nodes = FLAVOURS[flavour]
    folder = written_out(plan(f"{targets}, {module}", 'script = "t.py"', nodes=nodes), tmp_path / "a b'c")
    for own, path in ((None, str(folder)), ("/own:/more", f"{folder}:/own:/more")):
        calls, outcome = start(stubs, folder, tmp_path, flavour, **({} if own is None else {"PYTHONPATH": own}))
        assert outcome.status == 0, outcome.stderr
        assert [call.env["PYTHONPATH"] for call in calls] == [path] * len(calls) != []


def test_no_folder_is_named_where_no_module_was_compiled(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("torchrun", 'script = "t.py"'), tmp_path)
    assert all("PYTHONPATH" not in call.env for call in stubs.run(folder / "torchrun.sh", cwd=tmp_path).calls)


def test_a_job_in_a_container_finds_a_compiled_module(stubs: Stubs, tmp_path: Path) -> None:
    container = 'script = "t.py"  container { image = "trainer.sif"  runtime = apptainer }'
    folder = written_out(plan("slurm, fsdp2", container), tmp_path)
    (call,) = stubs.submit(folder / "job.sbatch", cwd=tmp_path, nodes=1).of("torchrun")
    assert call.env["PYTHONPATH"] == str(folder)


def test_a_job_may_be_told_where_its_files_are(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("slurm, accelerate", 'script = "t.py"', nodes=2), tmp_path)
    variables = {"STUB_COMMAND": "(null)"}
    lost = stubs.submit(folder / "job.sbatch", cwd=tmp_path, nodes=2, **variables)
    assert (lost.status, lost.calls) == (2, [])
    found = stubs.submit(folder / "job.sbatch", cwd=tmp_path, nodes=2, PLANC_DIR=str(folder), **variables)
    assert found.status == 0, found.stderr


def test_accelerate_uses_the_file_that_the_caller_names(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("accelerate", 'script = "t.py"'), tmp_path)
    (call,) = stubs.run(folder / "accelerate.sh", cwd=tmp_path).of("accelerate")
    assert call.argv[:3] == ["launch", "--config_file", str(folder / "accelerate_fsdp2.yaml")]
    assert call.env["ACCELERATE_GRADIENT_ACCUMULATION_STEPS"] == "8"
    (call,) = stubs.run(folder / "accelerate.sh", cwd=tmp_path, PLANC_BACKEND="deepspeed").of("accelerate")
    assert call.argv[2] == str(folder / "accelerate_deepspeed.yaml")
    outcome = stubs.run(folder / "accelerate.sh", cwd=tmp_path, PLANC_BACKEND="fsdp1")
    assert (outcome.status, outcome.calls) == (2, [])


def test_the_log_folder_exists_before_anything_starts(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("torchrun", 'script = "t.py"', rest='log { directory = "my logs/run" }'), tmp_path)
    stubs.run(folder / "torchrun.sh", cwd=tmp_path)
    assert (tmp_path / "my logs" / "run").is_dir()


def test_slurm_opens_no_file_in_a_folder_that_may_not_be_there(tmp_path: Path) -> None:
    folder = written_out(plan("slurm", 'script = "t.py"', rest='log { directory = "logs" }'), tmp_path)
    lines = (folder / "job.sbatch").read_text().splitlines()
    assert [line for line in lines if line.startswith(("#SBATCH --output", "#SBATCH --error"))] == [
        "#SBATCH --output=%x-%j.out"
    ]


def test_an_environment_is_activated_and_modules_are_loaded(stubs: Stubs, tmp_path: Path) -> None:
    """Both by commands that read unset variables, as older ones do."""
    (tmp_path / "my env" / "bin").mkdir(parents=True)
    (tmp_path / "my env" / "bin" / "activate").write_text('export ACTIVATED="yes$OLD_PROMPT"\n')
    setup = tmp_path / "setup"
    setup.write_text('module() { export LOADED="$*$OLD_LIST"; }\nexport -f module\n')
    launch = 'script = "t.py"  venv = "my env"  modules = ["cuda/12.8", "nccl 2"]'
    folder = written_out(plan("torchrun", launch), tmp_path)
    (call,) = stubs.run(folder / "torchrun.sh", cwd=tmp_path, BASH_ENV=str(setup)).of("torchrun")
    assert call.env["LOADED"] == "load cuda/12.8 nccl 2"
    assert call.env["ACTIVATED"] == "yes"
    outcome = stubs.run(folder / "torchrun.sh", cwd=tmp_path)
    assert (outcome.status, outcome.calls) == (2, [])
    assert "module" in outcome.stderr


def test_planc_adds_to_the_environment_what_nobody_has_set(stubs: Stubs, tmp_path: Path) -> None:
    cluster = 'nics { names = ["mlx5_0", "mlx5_1"] }'
    folder = written_out(plan("torchrun", 'script = "t.py"', nodes=2, cluster=cluster), tmp_path)
    given = {"MASTER_ADDR": "n1", "TMPDIR": str(tmp_path)}
    (call,) = stubs.run(folder / "torchrun.sh", cwd=tmp_path, **given).of("torchrun")
    own = tmp_path / f"planc-{os.getuid()}"
    assert call.env["PYTORCH_CUDA_ALLOC_CONF"] == "expandable_segments:True"
    assert call.env["NCCL_IB_HCA"] == "mlx5_0,mlx5_1"
    assert call.env["TRITON_CACHE_DIR"] == str(own / "triton")
    assert call.env["TORCH_EXTENSIONS_DIR"] == str(own / "torch_extensions")
    assert own.stat().st_mode & 0o777 == 0o700
    spoken = {"PYTORCH_ALLOC_CONF": "max_split_size_mb:1", "TRITON_CACHE_DIR": "/t", "NCCL_IB_HCA": "rdma"}
    (call,) = stubs.run(folder / "torchrun.sh", cwd=tmp_path, **given, **spoken).of("torchrun")
    assert "PYTORCH_CUDA_ALLOC_CONF" not in call.env  # torch would take it in place of the caller's
    assert {name: call.env[name] for name in spoken} == spoken


def test_kernels_are_built_in_no_folder_of_somebody_else(stubs: Stubs, tmp_path: Path) -> None:
    """Whoever may write there could have others run what he has put there."""
    folder = written_out(plan("torchrun", 'script = "t.py"'), tmp_path)
    (tmp_path / f"planc-{os.getuid()}").write_text("no folder")
    outcome = stubs.run(folder / "torchrun.sh", cwd=tmp_path, TMPDIR=str(tmp_path))
    (call,) = outcome.of("torchrun")
    assert "TRITON_CACHE_DIR" not in call.env
    assert "kernels are built in the home folder" in outcome.stderr


@pytest.mark.parametrize(
    ("targets", "gpu", "axes", "set_to"),
    [
        ("megatron", "compute_capability = 9.0", "tensor = 2", "1"),
        ("megatron", "compute_capability = 9.0", "context = 2", "1"),
        ("megatron", "compute_capability = 10.0", "tensor = 2", None),
        ("megatron", "compute_capability = 9.0", "", None),
        ("megatron", "", "tensor = 2", "1"),
        ("megatron", "vendor = amd", "tensor = 2", "1"),
        ("torchtitan", "compute_capability = 9.0", "tensor = 2", None),
    ],
)
def test_one_connection_is_for_megatron_alone(targets: str, gpu: str, axes: str, set_to: str | None) -> None:
    text = text_of(f"torchrun, {targets}", 'script = "t.py"', rest=f"parallel {{ {axes} }}")
    text = text.replace("bf16 = true", f"bf16 = true {gpu}").replace("stage = 3", "stage = 1")
    compiled = analysed(text).plans[0]
    variables = {variable.name: variable.value for variable in environment(compiled, facts_of(compiled))}
    assert variables.get("CUDA_DEVICE_MAX_CONNECTIONS") == set_to


def test_a_trace_shows_every_command(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("torchrun", 'script = "t.py"'), tmp_path)
    outcome = stubs.run(folder / "torchrun.sh", cwd=tmp_path, PLANC_TRACE="1")
    assert "exec torchrun --standalone --nnodes=1 --nproc-per-node=8" in outcome.stderr
    assert "torchrun" not in stubs.run(folder / "torchrun.sh", cwd=tmp_path).stderr


def test_the_environment_alone_runs_a_command_or_is_sourced(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("env", 'script = "t.py"  env { A = "it\'s $(id)" }'), tmp_path)
    (call,) = stubs.run(folder / "env.sh", "torchrun", "a b", cwd=tmp_path).of("torchrun")
    assert (call.argv, call.env["A"], call.env["OMP_NUM_THREADS"]) == (["a b"], "it's $(id)", "1")
    assert stubs.run(folder / "env.sh", cwd=tmp_path).status == 2
    caller = tmp_path / "caller.sh"
    caller.write_text(f'#!/bin/bash\nset -u\n. "{folder}/env.sh"\necho "after"\ntorchrun "$A"\n')
    caller.chmod(0o755)
    outcome = stubs.run(caller, cwd=tmp_path, A="mine")
    assert (outcome.status, outcome.stdout, outcome.of("torchrun")[0].argv) == (0, "after\n", ["mine"])
    assert not any(name.startswith("planc_") for name in outcome.of("torchrun")[0].env)


def test_srun_starts_one_task_a_rank(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("slurm { launcher = srun }", 'script = "t.py"', nodes=2), tmp_path)
    outcome = stubs.submit(folder / "job.sbatch", cwd=tmp_path, nodes=2)
    (srun,) = outcome.of("srun")
    for option in ("--ntasks=16", "--ntasks-per-node=8", "--distribution=block", "--cpus-per-task=12"):
        assert option in srun.argv
    ranks = outcome.of("python3")
    assert [int(call.env["RANK"]) for call in ranks] == list(range(16))
    for rank, call in enumerate(ranks):
        expected = {
            "LOCAL_RANK": rank % 8, "NODE_RANK": rank // 8, "GROUP_RANK": rank // 8, "WORLD_SIZE": 16,
            "LOCAL_WORLD_SIZE": 8, "MASTER_PORT": 10042,
        }  # fmt: skip
        assert {name: int(call.env[name]) for name in expected} == expected
        assert (call.env["MASTER_ADDR"], call.argv) == ("n1", ["-u", "t.py"])


CONTAINER = 'container { image = "IMAGE"  runtime = RUNTIME  mounts = ["/data", "/a:/b:ro"] }'


@pytest.mark.parametrize("launcher", ["torchrun", "srun", "accelerate"])
@pytest.mark.parametrize(("vendor", "cards"), [("", ["--nv"]), ("vendor = amd", ["--rocm"]), ("vendor = intel", [])])
def test_a_job_runs_in_a_container_of_apptainer(
    launcher: str, vendor: str, cards: list[str], stubs: Stubs, tmp_path: Path
) -> None:
    launch = f'script = "t.py"  env {{ A = "it\'s $(id)" }}  {CONTAINER}'
    launch = launch.replace("IMAGE", "my image.sif").replace("RUNTIME", "apptainer")
    targets = f"slurm {{ launcher = {launcher} }}, accelerate"
    text = text_of(targets, launch, nodes=2).replace("bf16 = true", f"bf16 = true {vendor}")
    analysis = analysed(text)
    assert errors(analysis) == []
    folder = written_out(analysis.plans[0], tmp_path / "out")
    (tmp_path / "work").mkdir()
    cwd = tmp_path / "work"
    outcome = stubs.submit(folder / "job.sbatch", "--more", cwd=cwd, nodes=2)
    assert outcome.status == 0, outcome.stderr
    binds = ["/data:/data", "/a:/b:ro", f"{cwd}:{cwd}", *([f"{folder}:{folder}"] if launcher == "accelerate" else [])]
    for call in outcome.of("apptainer"):
        expected = ["exec", *cards, "--pwd", str(cwd), *(word for bind in binds for word in ("--bind", bind))]
        assert call.argv[: len(expected) + 2] == [*expected, "my image.sif", "env"]
    calls = outcome.of("python3" if launcher == "srun" else launcher)
    assert len(calls) == (16 if launcher == "srun" else 2)
    for call in calls:  # the image sets other values of its own
        assert (call.env["A"], call.env["MASTER_ADDR"]) == ("it's $(id)", "n1")
        assert call.argv[-2:] == ["t.py", "--more"]


def test_a_job_runs_in_a_container_of_pyxis(stubs: Stubs, tmp_path: Path) -> None:
    launch = f'script = "t.py"  venv = "/opt/it\'s"  {CONTAINER}'
    launch = launch.replace("IMAGE", "nvcr.io#nvidia/pytorch:25.01-py3").replace("RUNTIME", "enroot")
    folder = written_out(plan("slurm", launch, nodes=2), tmp_path)
    (srun,) = stubs.submit(folder / "job.sbatch", cwd=tmp_path, nodes=2).of("srun")
    for option in (
        "--container-image=nvcr.io#nvidia/pytorch:25.01-py3",
        f"--container-mounts=/data:/data,/a:/b:ro,{tmp_path}:{tmp_path}",
        f"--container-workdir={tmp_path}",
    ):
        assert option in srun.argv
    assert srun.argv[srun.argv.index("planc") :][5] == "/opt/it's/bin/activate"  # read inside, where it lies
    assert "MASTER_ADDR=n1" in srun.argv
    blank = tmp_path / "my work"
    blank.mkdir()
    outcome = stubs.submit(folder / "job.sbatch", cwd=blank, nodes=2)
    assert (outcome.status, outcome.of("srun")) == (2, [])
    assert "a comma, a colon or a blank" in outcome.stderr


def test_an_elastic_run_starts_with_fewer_nodes(stubs: Stubs, tmp_path: Path) -> None:
    text = text_of("torchrun", 'script = "t.py"  min_nodes = 2  restarts = 3', nodes=4)
    text = text.replace("stage = 3", "stage = 0").replace("global = 256", "global = 192")
    (compiled,) = analysed(text).plans
    outcome = stubs.run(written_out(compiled, tmp_path) / "torchrun.sh", cwd=tmp_path, MASTER_ADDR="n1")
    (call,) = outcome.of("torchrun")
    assert call.argv[:3] == ["--nnodes=2:4", "--nproc-per-node=8", "--max-restarts=3"]
    assert "starts with 2 of the nodes" in outcome.stdout


@pytest.mark.parametrize("flavour", ["torchrun, two nodes", "job with torchrun, two nodes", "job with srun, two nodes"])
@pytest.mark.parametrize(
    ("cards", "asked", "told"),
    [("mlx5_0 mlx5_1", "", False), ("rdma0", "", True), ("rdma0", "=rdma0:1", False), ("rdma0", "^lo", False)],
)
def test_a_node_says_that_its_network_cards_have_other_names(
    flavour: str, cards: str, asked: str, told: bool, stubs: Stubs, tmp_path: Path
) -> None:
    """The folder in which Linux lists them is another one here."""
    compiled = plan(FLAVOURS[flavour][0], 'script = "t.py"', nodes=2, cluster='nics { names = ["mlx5_0", "mlx5_1"] }')
    script = written_out(compiled, tmp_path / "out") / FLAVOURS[flavour][1]
    script.write_text(script.read_text().replace("/sys/class/infiniband", str(tmp_path / "infiniband")))
    for card in cards.split():
        (tmp_path / "infiniband" / card).mkdir(parents=True)
    _, outcome = start(stubs, script.parent, tmp_path, flavour, **({"NCCL_IB_HCA": asked} if asked else {}))
    assert outcome.status == 0, outcome.stderr
    assert ("NCCL would use TCP" in outcome.stderr) is told

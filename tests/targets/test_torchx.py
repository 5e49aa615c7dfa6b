"""Jobs of TorchX: what the component carries, and how it is handed over."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from planc.plan.model import Plan
from tests.compiling import analysed, errors, file_of, files_of, written_out
from tests.targets.stubs import Stubs
from tests.targets.test_targets import emitted
from tests.targets.truth.skypilot import carried

HERE = Path(__file__).parent
JOBS = emitted(sorted((HERE / "torchx").glob("ok_*.plan")), "torchx_job.py")


def plan(emit: str, launch: str = 'script = "train.py"', rest: str = "shard { stage = 3 }", nodes: int = 1) -> Plan:
    """A plan without an error."""
    analysis = analysed(f"""
    gpu card {{ memory = 80 GiB  bf16 = true }}
    model small {{ layers = 8  hidden = 1024  heads = 8  ffn = 4096  vocab = 32_000  family = "llama" }}
    plan run {{
      model = small
      cluster {{ gpu = card  nodes = {nodes}  gpus_per_node = 8  cpu_memory = 1 TiB }}
      batch {{ global = 64  micro = 1 }}
      precision = bf16
      {rest}
      launch {{ {launch} }}
      emit = [{emit}]
    }}
    """)
    assert errors(analysis) == []
    return analysis.plans[0]


def script_of(found: Plan) -> str:
    """What bash runs on every node, read without TorchX."""
    tree = ast.parse(file_of(found, "torchx_job.py"))
    (script,) = (ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign))
    assert isinstance(script, str)
    return script


@pytest.mark.parametrize(("found", "file"), JOBS)
def test_components_are_python_in_ascii(found: Plan, file: object) -> None:
    text = file_of(found, "torchx_job.py")
    assert text.isascii()
    (job, literal) = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    assert (job.name, literal.name) == ("job", "_literal")


@pytest.mark.parametrize(
    ("emit", "rest", "script"),
    [
        ("torchx { scheduler = slurm }, torchrun, accelerate", "shard { stage = 3 }", "torchrun.sh"),
        ("torchx { scheduler = slurm }, accelerate", "shard { stage = 3 }", "accelerate.sh"),
        ("torchx { scheduler = slurm }, megatron", "", "megatron.sh"),
    ],
)
def test_the_script_is_that_of_the_trainer(emit: str, rest: str, script: str) -> None:
    found = plan(emit, rest=rest)
    carries = script_of(found)
    assert f"planc_script={script}\n" in carried(carries, "node.sh")
    others = [file for file in files_of(found) if not file.executable and file.path != "torchx_job.py"]
    assert [file.path for file in others if carried(carries, file.path) != file.text] == []


@pytest.mark.parametrize(
    ("scheduler", "launch", "expected"),
    [
        ("local_cwd", "", ["--workspace="]),
        ("local_docker", 'container { image = "train:1" }', []),
        (
            "slurm",
            'slurm { partition = "gpu" }  walltime = 90.5 min',
            ["--scheduler_args=partition=gpu,time=90:30", "--workspace="],
        ),
        (
            "kubernetes",
            'kubernetes { image = "train:1"  queue = "llm"  namespace = "team" }',
            ["--scheduler_args=queue=llm,namespace=team", "--workspace="],
        ),
    ],
)
def test_the_job_is_handed_to_its_scheduler(
    scheduler: str, launch: str, expected: list[str], stubs: Stubs, tmp_path: Path
) -> None:
    folder = written_out(
        plan(f"torchx {{ scheduler = {scheduler} }}", f'script = "train.py"  {launch}'), tmp_path / "out dir"
    )
    (call,) = stubs.run(folder / "torchx.sh", "--more", "a b", cwd=tmp_path).of("torchx")
    component = [f"{folder}/torchx_job.py:job", "--", "--more", "a b"]
    assert call.argv == ["run", f"--scheduler={scheduler}", *expected, *component]
    (call,) = stubs.run(folder / "torchx.sh", cwd=tmp_path, PLANC_DRYRUN="1").of("torchx")
    assert call.argv == ["run", f"--scheduler={scheduler}", *expected, "--dryrun", *component[:2]]


def test_an_image_is_made_of_the_folder_where_it_is_pushed(stubs: Stubs, tmp_path: Path) -> None:
    launch = 'script = "train.py"  kubernetes { image = "train:1"  queue = "llm" }'
    emit = 'torchx { scheduler = kubernetes  image_repo = "registry.example/train" }'
    folder = written_out(plan(emit, launch), tmp_path)
    (call,) = stubs.run(folder / "torchx.sh", cwd=tmp_path).of("torchx")
    assert call.argv[2] == "--scheduler_args=queue=llm,image_repo=registry.example/train"
    assert "--workspace=" not in call.argv


def test_a_component_that_torchx_would_not_find_is_not_handed_over(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("torchx { scheduler = local_cwd }"), tmp_path / "a:b")
    outcome = stubs.run(folder / "torchx.sh", cwd=tmp_path)
    assert (outcome.status, outcome.calls) == (2, [])
    assert "a colon" in outcome.stderr
    (folder / "torchx_job.py").unlink()
    outcome = stubs.run(folder / "torchx.sh", cwd=tmp_path)
    assert (outcome.status, outcome.calls) == (2, [])
    assert "compile the target torchx again" in outcome.stderr


@pytest.fixture
def stubs(tmp_path: Path) -> Stubs:
    made = Stubs(tmp_path / "stubs")
    (made.programs / "torchx").write_text((made.programs / "torchrun").read_text())
    (made.programs / "torchx").chmod(0o755)
    assert sys.executable in (made.programs / "torchx").read_text()
    return made

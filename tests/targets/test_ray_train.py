"""ray_train.py, run with stand-ins for Ray's classes, and ray_job.sh, with one for `ray`."""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from planc.diagnostics.diagnostic import Severity
from planc.plan.model import Plan
from tests.compiling import analysed, errors, file_of, plan_of, written_out
from tests.targets.stubs import Call, Outcome, Stubs
from tests.targets.test_scripts import HOSTILE, literal, plan, text_of

NODES = Path(__file__).parent / "ray-train" / "ok_nodes.plan"
CLASSES = ("CheckpointConfig", "FailureConfig", "RunConfig", "ScalingConfig", "TorchConfig", "TorchTrainer")

#: Beside how it was called, what the packages hold that Ray would send: they are gone when the script has ended.
_RAY = """\
import json, os, sys, time
given = json.loads(sys.argv[sys.argv.index("--runtime-env-json") + 1])
held = {}
for folder in given["py_modules"]:
    with open(os.path.join(folder, "__init__.py")) as file:
        held[os.path.basename(folder)] = file.read()
env = {"modules": json.dumps(held), "env_vars": json.dumps(given["env_vars"])}
call = {"name": "ray", "argv": sys.argv[1:], "env": env, "cwd": os.getcwd()}
with open(os.path.join(os.environ["STUB_CALLS"], "ray.json"), "w") as file:
    json.dump(call, file)
"""


@pytest.fixture
def stubs(tmp_path: Path) -> Stubs:
    stubs = Stubs(tmp_path / "stubs")
    for name, text in (
        ("ray", f"#!{sys.executable} -IS\n{_RAY}"),
        ("python3", f'#!/bin/sh\nexec {sys.executable} "$@"\n'),
    ):
        path = stubs.programs / name
        path.write_text(text)
        path.chmod(0o755)
    return stubs


@pytest.fixture(autouse=True)
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stand-ins that keep what they are given, and an environment of which the tests know all that counts."""

    def keeping(kind: str) -> Any:
        return lambda *given, **named: SimpleNamespace(kind=kind, given=given, **named)

    package, torch = ModuleType("ray.train"), ModuleType("ray.train.torch")
    for module in (package, torch):
        vars(module).update((name, keeping(name)) for name in CLASSES)
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))
    monkeypatch.setitem(sys.modules, "ray.train", package)
    monkeypatch.setitem(sys.modules, "ray.train.torch", torch)
    before = dict(os.environ)
    for name in before:
        if name.startswith(("NCCL", "PYTORCH", "OMP", "PLANC", "HF_", "TRITON", "TORCH", "DEEPSPEED")):
            del os.environ[name]
    yield
    os.environ.clear()
    os.environ.update(before)


def module_of(plan: Plan, folder: Path) -> dict[str, Any]:
    """The names of the module that is emitted for a plan."""
    path = folder / "ray_train.py"
    path.write_text(file_of(plan, "ray_train.py"), encoding="utf-8")
    return runpy.run_path(str(path))


def variables(module: dict[str, Any]) -> dict[str, str]:
    """The variables that the workers get."""
    given: dict[str, str] = module["run_config"]().worker_runtime_env["env_vars"]
    return given


def sent(stubs: Stubs, folder: Path, cwd: Path, *arguments: str, **variables: str) -> tuple[Outcome, Call]:
    """How the script ended, and its only call."""
    outcome = stubs.run(folder / "ray_job.sh", *arguments, cwd=cwd, **variables)
    assert outcome.status == 0, outcome.stderr
    (call,) = outcome.of("ray")
    return outcome, call


def test_the_configs_of_ray_say_what_the_plan_says(tmp_path: Path) -> None:
    module = module_of(plan_of(NODES, "by_trainer"), tmp_path)
    trainer = module["trainer"](len, train_loop_config={"a": 1})
    scaling, run, torch = trainer.scaling_config, trainer.run_config, trainer.torch_config
    assert (scaling.num_workers, scaling.use_gpu, scaling.accelerator_type) == (32, True, "A100-80G")
    assert (run.name, run.storage_path) == ("by_trainer", "/shared/runs")
    assert (run.failure_config.max_failures, run.checkpoint_config.num_to_keep) == (3, 3)
    assert (torch.backend, torch.timeout_s) == ("nccl", 1800)
    assert trainer.train_loop_config == {"a": 1}


def test_what_the_caller_of_the_trainer_gives_wins(tmp_path: Path) -> None:
    trainer = module_of(plan("ray-train", 'script = "t.py"'), tmp_path)["trainer"](len, torch_config="own")
    assert trainer.torch_config == "own"
    assert trainer.scaling_config.num_workers == 8


@pytest.mark.parametrize(
    ("nodes", "gpus", "strategy"), [(1, 8, "STRICT_PACK"), (2, 1, "STRICT_SPREAD"), (2, 8, "PACK")]
)
def test_workers_are_placed_as_strictly_as_ray_can(nodes: int, gpus: int, strategy: str, tmp_path: Path) -> None:
    text = text_of("ray-train", 'script = "t.py"', nodes=nodes).replace("gpus_per_node = 8", f"gpus_per_node = {gpus}")
    (found,) = analysed(text).plans
    assert module_of(found, tmp_path)["scaling_config"]().placement_strategy == strategy


@pytest.mark.parametrize(
    ("rest", "backend"),
    [
        ("", "nccl"),
        ("offload { optimizer = cpu  weights = cpu }", "cpu:gloo,cuda:nccl"),
        ("checkpoint { async = true }", "cpu:gloo,cuda:nccl"),
    ],
)
def test_tensors_of_the_host_are_exchanged_by_gloo(rest: str, backend: str, tmp_path: Path) -> None:
    module = module_of(plan("ray-train", 'script = "t.py"', rest=rest), tmp_path)
    assert module["torch_config"]().backend == backend


def test_text_of_the_plan_reaches_the_workers_as_it_is(tmp_path: Path) -> None:
    texts = [text for text in HOSTILE if "${" not in text]
    listed = "  ".join(f"V{number} = {literal(text)}" for number, text in enumerate(texts))
    directory = '/it\'s "here" \\ $(x)\n`y`'
    compiled = plan(
        "ray-train", f'script = "t.py"  env {{ {listed} }}', rest=f"checkpoint {{ directory = {literal(directory)} }}"
    )
    module = module_of(compiled, tmp_path)
    assert [variables(module)[f"V{number}"] for number in range(len(texts))] == texts
    assert module["run_config"]().storage_path == directory


def test_variables_that_are_set_where_the_run_is_started_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = module_of(plan("ray-train", 'script = "t.py"  env { A = "plan"  B = "plan" }'), tmp_path)
    before = {"A": "plan", "B": "plan", "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    assert variables(module) == before
    monkeypatch.setenv("A", "caller")
    monkeypatch.setenv("PYTORCH_ALLOC_CONF", "caller")
    assert variables(module) == {"A": "caller", "B": "plan", "PYTORCH_ALLOC_CONF": "caller"}


def test_the_one_thread_that_ray_gives_is_not_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = module_of(plan("ray-train", 'script = "t.py"', cluster="cpu_cores = 96"), tmp_path)
    for given, threads in ((None, "12"), ("1", "12"), ("3", "3")):
        if given is not None:
            monkeypatch.setenv("OMP_NUM_THREADS", given)
        assert variables(module)["OMP_NUM_THREADS"] == threads


def test_workers_on_other_nodes_than_planned_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = module_of(plan("ray-train", 'script = "t.py"', nodes=2), tmp_path)
    (run,) = module["trainer"](lambda config: config["x"]).given
    monkeypatch.setenv("PLANC_CACHE", str(tmp_path))
    for world, here in (("16", "7"), ("8", "8")):
        monkeypatch.setenv("WORLD_SIZE", world)
        monkeypatch.setenv("LOCAL_WORLD_SIZE", here)
        with pytest.raises(RuntimeError, match=f"{world} workers, {here} of them on this node, and the plan has 16, 8"):
            run({"x": 1})
    monkeypatch.setenv("WORLD_SIZE", "16")
    assert run({"x": 1}) == 1
    assert os.environ["TRITON_CACHE_DIR"] == f"{tmp_path}/planc-{os.getuid()}/triton"
    assert (tmp_path / f"planc-{os.getuid()}").stat().st_mode & 0o777 == 0o700


def test_kernels_are_built_elsewhere_where_the_nodes_disk_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (run,) = module_of(plan("ray-train", 'script = "t.py"'), tmp_path)["trainer"](lambda: "done").given
    monkeypatch.setenv("PLANC_CACHE", str(tmp_path / "missing"))
    monkeypatch.setenv("WORLD_SIZE", "8")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "8")
    assert run() == "done"
    assert "TRITON_CACHE_DIR" not in os.environ
    assert capsys.readouterr().out.startswith("planc: kernels are built in the home folder: ")


@pytest.mark.parametrize(
    ("name", "path", "content"),
    [("by_deepspeed", "ds_config.json", "DS_CONFIG"), ("by_trainer", "training_args.json", "TRAINING_ARGS")],
)
def test_the_module_holds_what_the_compiled_files_hold(name: str, path: str, content: str, tmp_path: Path) -> None:
    found = plan_of(NODES, name)
    assert module_of(found, tmp_path)[content] == json.loads(file_of(found, path))


def test_the_job_sends_the_program_and_the_modules(stubs: Stubs, tmp_path: Path) -> None:
    texts = [text for text in HOSTILE if text != "--"]
    listed = ", ".join(map(literal, texts))
    compiled = plan("fsdp2, ray-train", f"script = {literal(texts[0])}  args = [{listed}]")
    folder = written_out(compiled, tmp_path / "out dir")
    outcome, call = sent(stubs, folder, tmp_path, "--more", "--", "$(x)")
    at = call.argv.index("--")
    assert call.argv[:4] == ["job", "submit", "--working-dir", "."]
    assert call.argv[at + 1 :] == ["python", texts[0], *texts, "--more", "--", "$(x)"]
    assert call.cwd == str(tmp_path)
    names = ("ray_train", "parallelize")
    assert json.loads(call.env["modules"]) == {name: file_of(compiled, f"{name}.py") for name in names}
    assert outcome.stdout == "planc: 1 node x 8 workers, cluster on this machine\n"


def test_the_job_leaves_nothing_behind(stubs: Stubs, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    folder = written_out(plan("ray-train", 'script = "t.py"'), tmp_path)
    sent(stubs, folder, tmp_path, TMPDIR=str(temporary))
    assert list(temporary.iterdir()) == []


def test_the_job_sends_the_variables_of_the_caller_along(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("ray-train", 'script = "t.py"  env { A = "plan"  B = "plan" }'), tmp_path)
    given = {"A": 'it\'s "mine"\n$(x)', "PYTORCH_ALLOC_CONF": "mine", "OTHER": "not of the plan"}
    _, call = sent(stubs, folder, tmp_path, **given)
    del given["OTHER"]
    assert json.loads(call.env["env_vars"]) == given


def test_the_job_is_not_sent_without_a_module_that_the_program_imports(stubs: Stubs, tmp_path: Path) -> None:
    folder = written_out(plan("fsdp2, ray-train", 'script = "t.py"'), tmp_path)
    (folder / "parallelize.py").unlink()
    outcome = stubs.run(folder / "ray_job.sh", cwd=tmp_path)
    assert (outcome.status, outcome.calls) == (2, [])
    assert outcome.stderr == f"planc: no {folder}/parallelize.py: compile all targets of the plan\n"


def advice(targets: str, launch: str = "", rest: str = "") -> list[str]:
    """The notes, or else messages, of what Ray leaves to others."""
    analysis = analysed(text_of(targets, f'script = "t.py"  {launch}', rest=rest))
    assert errors(analysis) == [], errors(analysis)
    found = [one for one in analysis.diagnostics if one.severity is Severity.INFO and one.code == "PLN967"]
    return [(*one.notes, one.message)[0] for one in found]


def test_what_ray_does_not_do_is_said() -> None:
    rest = 'checkpoint { every = 100 steps  directory = "/out"  keep = 2 }  train { seed = 7 }'
    fields = ("shard.stage", "batch.global", "batch.micro", "precision", "train.seed", "checkpoint.every")
    assert advice("ray-train", rest=rest) == ["the program sets " + ", ".join(f"`{field}`" for field in fields)]
    assert advice("fsdp2, ray-train", rest=rest) == []  # fsdp2 says what is left
    assert advice("fsdp2, ray-train", "walltime = 2 h") == ["Ray ends no job after `launch.walltime`"]


def test_the_timeout_is_carried() -> None:
    analysis = analysed(text_of("ray-train", 'script = "t.py"  timeout = 30 min'))
    assert [found.code for found in analysis.diagnostics if found.severity is not Severity.INFO] == []

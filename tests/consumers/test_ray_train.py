"""ray_train.py and ray_job.sh, read by Ray: its classes, its parser, and two workers that train on gloo."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planc.plan.model import Plan
from planc.targets._launch import option, written
from planc.targets.ray_train import ACCELERATORS
from tests.compiling import analysed, errors, facts_of, file_of, plan_of, written_out
from tests.consumers.emitted import plans_that_write
from tests.consumers.running import PLANS, PROGRAMS, environment, needs
from tests.targets.test_ray_train import sent, stubs
from tests.targets.test_scripts import HOSTILE, literal, plan, text_of

pytestmark = [pytest.mark.consumer, needs("ray", "torch", "pyarrow", "pandas")]

__all__ = ("stubs",)  # a fixture

CASES = plans_that_write("ray_train.py")


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    """An environment that Ray may fill."""
    before = dict(os.environ)
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_AUTH_MODE="disabled")
    yield
    os.environ.clear()
    os.environ.update(before)


def module_of(plan: Plan, folder: Path) -> dict[str, Any]:
    """The names of the module that is emitted for a plan."""
    path = folder / "ray_train.py"
    path.write_text(file_of(plan, "ray_train.py"), encoding="utf-8")
    return runpy.run_path(str(path))


@pytest.mark.parametrize("plan", CASES)
def test_the_classes_of_ray_say_what_the_plan_says(plan: Plan, tmp_path: Path) -> None:
    module, world = module_of(plan, tmp_path), facts_of(plan)["world.size"]
    trainer = module["trainer"](lambda: None)
    scaling, run = trainer.scaling_config, trainer.run_config
    accelerator = option(plan, "ray-train", "accelerator")
    kind = {f"accelerator_type:{accelerator}": pytest.approx(0.001 * world)} if accelerator else {}
    assert scaling.total_resources == {"GPU": world, **kind}
    assert scaling.elasticity_enabled is False
    assert run.name == plan.name
    assert run.storage_path == (written(plan, "checkpoint.directory") or os.path.expanduser("~/ray_results"))
    assert run.failure_config.max_failures == plan.value("launch.restarts")
    assert run.checkpoint_config.num_to_keep == written(plan, "checkpoint.keep")
    assert trainer.backend_config.timeout_s == plan.value("launch.timeout")
    from ray.train.torch.config import _is_backend_nccl

    assert _is_backend_nccl(trainer.backend_config.backend)
    (placed,) = {scaling.placement_strategy} & _strategies()
    assert placed


def _strategies() -> set[str]:
    from ray.util.placement_group import VALID_PLACEMENT_GROUP_STRATEGIES

    return set(VALID_PLACEMENT_GROUP_STRATEGIES)


def test_ray_knows_the_kinds_of_card() -> None:
    from ray.util.accelerators import accelerators

    cards = {value for name, value in vars(accelerators).items() if name.startswith(("NVIDIA_", "AMD_INSTINCT_"))}
    assert set(ACCELERATORS) == cards


@pytest.mark.parametrize("text", ["/a b/c#d?e%20", "~/runs", "file:///a/b", "s3://bucket/a?region=eu-1"])
def test_ray_keeps_checkpoints_where_planc_lets_it(text: str) -> None:
    from ray.train.v2._internal.execution.storage import get_fs_and_path

    assert _codes(f"directory = {literal(text)}") == []
    assert get_fs_and_path(text)


@pytest.mark.parametrize("text", ["out", "./out", "s3://my bucket/a"])
def test_ray_keeps_no_checkpoints_where_planc_says_so(text: str) -> None:
    from pyarrow.lib import ArrowInvalid
    from ray.train.v2._internal.execution.storage import get_fs_and_path

    assert _codes(f"directory = {literal(text)}") == ["PLN999"]
    with pytest.raises(ArrowInvalid):
        get_fs_and_path(text)


def _codes(checkpoint: str = "", launch: str = "") -> list[str]:
    text = text_of("ray-train", f'script = "t.py"  {launch}', rest=f"checkpoint {{ {checkpoint} }}")
    return [found.code for found in errors(analysed(text))]


@pytest.mark.parametrize(
    "text", [*HOSTILE, "$", "$$", "100$", "$(HOME)", "$HOME", "${HOME}", "$$HOME", "a${NONE}b", "$-"]
)
def test_ray_leaves_values_alone_that_planc_lets_pass(text: str) -> None:
    from ray._private.utils import update_envs

    refused = _codes(launch=f"env {{ VALUE = {literal(text)} }}") == ["PLN999"]
    update_envs({"VALUE": text})
    assert refused == (os.environ["VALUE"] != text)


def test_rays_parser_reads_the_script_as_it_was_written(stubs: Any, tmp_path: Path) -> None:
    from ray.dashboard.modules.job.cli import submit

    listed = ", ".join(map(literal, HOSTILE))
    folder = written_out(plan("ray-train", f"script = {literal(HOSTILE[0])}  args = [{listed}]"), tmp_path)
    _, call = sent(stubs, folder, tmp_path, "--more", "--", "x")
    assert call.argv[:2] == ["job", "submit"]
    given = submit.make_context("submit", call.argv[2:]).params
    assert given["entrypoint"] == ("python", HOSTILE[0], *HOSTILE, "--more", "--", "x")
    assert given["working_dir"] == "."
    assert set(json.loads(given["runtime_env_json"])) == {"py_modules", "env_vars"}


@pytest.mark.slow
def test_workers_of_ray_train_as_the_module_says(tmp_path: Path) -> None:
    found = plan_of(PLANS / "ray.plan")
    folder = written_out(found, tmp_path)
    module, storage = folder / "ray_train.py", tmp_path / "it's $(x)"
    text = module.read_text()
    assert text.count('"/shared/runs"') == 1
    module.write_text(text.replace('"/shared/runs"', repr(str(storage))))
    short = tempfile.mkdtemp(prefix="r")  # the path of a socket has at most 107 characters
    variables = {
        "RAY_TMPDIR": short,
        "PLANC_CACHE": str(tmp_path),
        "PYTHONPATH": str(folder),
        "RAY_AUTH_MODE": "disabled",
    }
    try:
        run = subprocess.run(
            [sys.executable, str(PROGRAMS / "ray_trained.py"), str(tmp_path)],
            env=environment(RAY_USAGE_STATS_ENABLED="0", RAY_TRAIN_METRICS_ENABLED="0", **variables),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    finally:
        shutil.rmtree(short, ignore_errors=True)
    assert run.returncode == 0, run.stderr[-4000:]
    kept = Path(json.loads(run.stdout.splitlines()[-1])["checkpoint"])
    assert kept.parent == storage / found.name
    assert (kept / "kept.txt").read_text() == "kept"
    assert (
        len([folder for folder in kept.parent.iterdir() if folder.is_dir()]) == written(found, "checkpoint.keep") == 1
    )
    for rank in range(2):
        assert json.loads((tmp_path / f"{rank}.json").read_text()) == {
            "rank": rank, "sharded": True, "learns": True,
            "env": {
                "WORLD_SIZE": "2", "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2", "NODE_RANK": "0",
                "OMP_NUM_THREADS": "3", "TRITON_CACHE_DIR": f"{tmp_path}/planc-{os.getuid()}/triton",
                "TEXT": written(found, "launch.env")["TEXT"],
            },
        }  # fmt: skip

"""Emitted `lightning_trainer.py`: its Trainer made by the real classes, and a small Llama trained beside one process.

The CPU stands for the cards. FSDP and DeepSpeed ask for one, so that patches take those questions out; what shares,
reduces and saves is the own code of Lightning, torch and DeepSpeed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from planc.facts.facts import Facts
from planc.plan.model import Plan
from planc.plan.units import EPOCHS, STEPS
from planc.targets._launch import written
from planc.targets._lightning_obstacles import DDP, DEEPSPEED, FSDP, FSDP2, backend_of
from tests.compiling import analysed, errors, facts_of, file_of, files_of, written_out
from tests.consumers.emitted import plans_that_write
from tests.consumers.running import needs, ran

pytestmark = [pytest.mark.consumer, needs("lightning", "torch")]

CASES = plans_that_write("lightning_trainer.py")
STRATEGIES = {
    DDP: "DDPStrategy", FSDP: "ReducedAtOnce", FSDP2: "ModelParallelStrategy", DEEPSPEED: "DeepSpeedStrategy",
}  # fmt: skip
PRECISIONS = {"bf16": "bf16-mixed", "fp16": "16-mixed", "fp32": "32-true"}


@pytest.fixture(autouse=True)
def own_state() -> Iterator[None]:
    """An environment that Lightning may fill, and torch as it was."""
    import torch

    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)
    torch.use_deterministic_algorithms(False)


class Wandb:
    """Stands for the logger of a package that is not installed."""

    def __init__(self, save_dir: str) -> None:
        self.save_dir = save_dir


def module_of(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of the emitted module, run by Python."""
    import lightning.pytorch.loggers as loggers

    monkeypatch.setattr(loggers, "WandbLogger", Wandb)
    names: dict[str, Any] = {"__name__": "lightning_trainer"}
    exec(compile(file_of(plan, "lightning_trainer.py"), "lightning_trainer.py", "exec"), names)
    return names


@pytest.mark.parametrize("plan", CASES)
def test_the_trainer_is_made_by_the_real_classes(plan: Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    backend, facts = backend_of(plan), facts_of(plan)
    if backend == DEEPSPEED:
        pytest.importorskip("deepspeed", reason="DeepSpeed is not installed")
    monkeypatch.chdir(tmp_path)
    trainer = module_of(plan, monkeypatch)["trainer"](accelerator="cpu")
    strategy = trainer.strategy
    assert type(strategy).__name__ == STRATEGIES[backend]
    assert (trainer.num_nodes, trainer.num_devices) == (facts["cluster.nodes"], facts["cluster.gpus_per_node"])
    assert trainer.world_size == facts["world.size"]
    assert trainer.accumulate_grad_batches == facts["batch.accumulation"]
    assert strategy._timeout.total_seconds() == plan.value("launch.timeout")
    clip = written(plan, "optimizer.clip")
    assert trainer.gradient_clip_val == (float(clip) if clip and backend in (DDP, FSDP2) else None)
    duration = written(plan, "train.duration")
    if duration is not None and duration.dimension != EPOCHS:
        assert trainer.max_steps == facts["train.steps"]
    assert trainer.max_epochs == (duration.value if duration is not None and duration.dimension == EPOCHS else None)
    if backend != FSDP2 and (backend, plan.value("precision")) != (DDP, "fp16"):  # which no CPU has
        assert trainer.precision == PRECISIONS[plan.value("precision")]
    judge_strategy(plan, facts, strategy)
    judge_course(plan, trainer)


def judge_strategy(plan: Plan, facts: Facts, strategy: Any) -> None:
    """What the strategy was told."""
    import torch

    if isinstance(strategy, type) or type(strategy).__name__ == "DDPStrategy":
        return
    if type(strategy).__name__ == "ReducedAtOnce":
        dtypes = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
        mixed = strategy.mixed_precision_config
        assert mixed.param_dtype == dtypes[plan.value("precision")]
        assert mixed.reduce_dtype == dtypes[plan.value("precision.gradients")]
        assert strategy.cpu_offload.offload_params == (plan.value("offload.weights") == "cpu")
        assert ("HYBRID" in strategy.sharding_strategy.name) == (1 < facts["shard.replicas"])
        if 1 < facts["shard.replicas"]:
            assert strategy.kwargs["device_mesh"] == (facts["shard.replicas"], facts["shard.size"])
        assert bool(strategy._activation_checkpointing_kwargs) == (plan.value("recompute") == "full")
        assert strategy._state_dict_type == (written(plan, "checkpoint.format") or "full")
    elif type(strategy).__name__ == "ModelParallelStrategy":
        sizes = strategy._data_parallel_size, strategy._tensor_parallel_size
        assert sizes == (facts["parallel.data"], facts["parallel.tensor"])
    else:
        judge_deepspeed(plan, facts, strategy)


def judge_deepspeed(plan: Plan, facts: Facts, strategy: Any) -> None:
    """Lightning's own formatting gives DeepSpeed the file that planc emits for it."""
    trainer = SimpleNamespace(accumulate_grad_batches=facts["batch.accumulation"], gradient_clip_val=None)
    strategy._lightning_module = SimpleNamespace(trainer=trainer)
    strategy._init_config_if_needed()
    (file,) = (file for file in files_of(plan) if file.path == "ds_config.json")
    assert strategy.config == json.loads(file.text)


def judge_course(plan: Plan, trainer: Any) -> None:
    """What saves and who receives the records."""
    every, keep = written(plan, "checkpoint.every"), written(plan, "checkpoint.keep")
    directory = written(plan, "checkpoint.directory")
    if (every, keep, directory) != (None, None, None):
        saves = trainer.checkpoint_callback
        assert saves.save_top_k == (-1 if keep is None else keep)
        if every is not None and every.dimension == STEPS:
            assert saves._every_n_train_steps == every.value
        elif every is not None:
            assert saves._train_time_interval.total_seconds() == every.value
        if directory is not None:
            assert str(saves.dirpath) == os.path.realpath(directory)
    to = written(plan, "log.to")
    if to is not None:
        names = {"TensorBoardLogger": "tensorboard", "Wandb": "wandb"}
        assert sorted(names[type(logger).__name__] for logger in trainer.loggers) == sorted(to)
        folder = written(plan, "log.directory") or "."
        assert {logger.save_dir for logger in trainer.loggers} <= {folder}
    if written(plan, "log.every") is not None:
        assert trainer.log_every_n_steps == plan.value("log.every")


HEAD = """
    gpu cpu {{ memory = 8 GiB  bf16 = true }}
    model tiny {{ layers = 2  hidden = 16  heads = 2  ffn = 32  vocab = 64  family = "llama" }}
    plan run {{
      model = tiny
      cluster {{ gpu = cpu  nodes = 1  gpus_per_node = {ranks} }}
      batch {{ global = 8  micro = 1 }}
      precision = fp32
      optimizer = adamw {{ learning_rate = 0.01  clip = 0.5 }}
      train {{ duration = 3 steps  seed = 7 }}
      launch {{ script = "train_lightning.py" }}
      log {{ to = [] }}
      checkpoint {{ directory = "{folder}"  every = 1 steps  keep = 2  {form} }}
      {rest}
    }}
"""


class Case(NamedTuple):
    """A plan: what it says beside the head, and how it saves. `shares`: ranks that hold a weight together."""

    backend: str
    rest: str
    form: str = ""
    shares: int = 1
    sharded: int = 0
    recomputed: int = 0


_SHARDED = "format = sharded"
TWO = [
    Case("ddp", "shard { stage = 0 }  emit = [lightning, torchrun]"),
    Case("fsdp", "shard { stage = 3 }  recompute = full  emit = [lightning]", _SHARDED, 2, 3, 2),
    Case("fsdp", "shard { stage = 2 }  emit = [lightning]", _SHARDED, 2, 3),
    Case("fsdp2", "shard { stage = 3 }  emit = [lightning { backend = fsdp2 }, fsdp2]", "format = full", 2),
    Case("deepspeed", "shard { stage = 1 }  emit = [lightning, deepspeed]"),
]
FOUR = [
    Case("fsdp2", "parallel { tensor = 2 }  shard { stage = 3 }  emit = [lightning, fsdp2, torchrun]", "", 4),
    Case("fsdp", "shard { stage = 3  size = 2 }  emit = [lightning]", _SHARDED, 2, 3),
]


def plan_of(case: Case, ranks: int, folder: Path) -> Plan:
    """The plan of a case, which saves into a folder."""
    analysis = analysed(HEAD.format(ranks=ranks, folder=folder, form=case.form, rest=case.rest))
    assert errors(analysis) == [], errors(analysis)
    (plan,) = analysis.plans
    assert backend_of(plan) == case.backend
    return plan


@pytest.mark.slow
@needs("transformers", "deepspeed")
@pytest.mark.parametrize(("ranks", "cases"), [(2, TWO), (4, FOUR)])
def test_ranks_learn_what_one_process_learns(ranks: int, cases: list[Case], tmp_path: Path) -> None:
    """All cases by one launch, with the script that is emitted beside the first."""
    given = []
    for number, case in enumerate(cases):
        folder = tmp_path / str(number)
        compiled = written_out(plan_of(case, ranks, folder / "saved"), folder)
        given.append({"folder": str(compiled), "backend": case.backend, "rate": 0.01, "clip": 0.5})
    found = ran(Path(given[0]["folder"]) / "torchrun.sh", json.dumps(given))
    assert len(found) == ranks * len(cases)
    for report in found:
        case = cases[report["case"]]
        assert report["world"] == ranks
        assert report["steps"] == 3
        assert report["passed"] == [8, 8, 8], "every sample of a step once, whichever ranks share it"
        assert report["losses"] == pytest.approx(report["alone"], rel=1e-5)
        assert report["apart"] < 0.02, "weights differ by more of a step than rounding explains"
        assert report["sharded"] == case.sharded  # both layers, and the rest
        assert report["recomputed"] == case.recomputed
        if case.backend != DEEPSPEED:
            assert report["gradients"] == pytest.approx(report["held"], rel=0.01)  # flat shards are padded
        assert report["saved"] == ["epoch=0-step=2.ckpt", "epoch=0-step=3.ckpt"]
    for number, case in enumerate(cases):
        held = sum(report["held"] for report in found if report["case"] == number)
        whole = found[0]["whole"]
        assert held == pytest.approx(whole * ranks / case.shares, rel=0.05)  # norms are whole on each tensor rank


def test_a_run_that_is_not_the_plans_is_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import torch

    case = Case("fsdp", "shard { stage = 3 }  emit = [lightning]", _SHARDED)
    names = module_of(plan_of(case, 2, tmp_path), monkeypatch)
    stops = names["AsPlanned"]()

    class LlamaDecoderLayer(torch.nn.Module):
        """What the plan's family calls its layers."""

    model, other = torch.nn.Sequential(LlamaDecoderLayer()), torch.nn.Sequential(torch.nn.Linear(1, 1))
    stops.on_fit_start(SimpleNamespace(world_size=2), model)
    with pytest.raises(RuntimeError, match="4 ranks were started, and the plan is laid out for 2"):
        stops.on_fit_start(SimpleNamespace(world_size=4), model)
    with pytest.raises(RuntimeError, match="the model has no LlamaDecoderLayer"):
        stops.on_fit_start(SimpleNamespace(world_size=2), other)
    for size in (1, None):
        stops.on_train_start(SimpleNamespace(train_dataloader=SimpleNamespace(batch_size=size)), model)
    with pytest.raises(RuntimeError, match="the loader passes 3 samples at once, and the plan says 1"):
        stops.on_train_start(SimpleNamespace(train_dataloader=SimpleNamespace(batch_size=3)), model)


def test_lightning_refuses_what_the_module_goes_round() -> None:
    """Where a later version takes one of these, the module may say it in a simpler way."""
    from lightning.pytorch import Trainer
    from lightning.pytorch.plugins.precision.fsdp import FSDPPrecision
    from lightning.pytorch.strategies import ModelParallelStrategy
    from lightning.pytorch.utilities.exceptions import MisconfigurationException

    with pytest.raises(MisconfigurationException, match="not supported for `FSDPPrecision`"):
        FSDPPrecision("bf16-mixed").clip_grad_by_norm(None, 1.0)
    with pytest.raises(ValueError, match="does not support"):
        Trainer(accelerator="cpu", strategy=ModelParallelStrategy(), precision="16-mixed")


@needs("deepspeed")
def test_lightning_refuses_the_accumulation_in_deepspeeds_file() -> None:
    from lightning.pytorch.strategies import DeepSpeedStrategy
    from lightning.pytorch.utilities.exceptions import MisconfigurationException

    strategy = DeepSpeedStrategy(config={"gradient_accumulation_steps": 2})
    strategy._lightning_module = SimpleNamespace(trainer=None)
    with pytest.raises(MisconfigurationException, match="Do not set `gradient_accumulation_steps`"):
        strategy._format_batch_size_and_grad_accum_config()

"""A stated version lacks what an emitted file asks it for.

Why: accelerate asks for PyTorch 2.6 before it shards by FSDP2 or splits sequences, and for transformers 4.52
    before it splits layers; `parallelize.py` imports what PyTorch 2.6 brought; and of the keys of a file an
    older reader refuses some, or does not read them. Either shows when the run starts, after the job was
    queued, or never.

Example:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      versions { torch = "2.5" }
      launch   { script = "train.py" }
      emit     = [accelerate { layer_class = "Block" }]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Instead:
    gpu card { memory = 80 GiB  bf16 = true }
    cluster one { gpu = card  nodes = 1  gpus_per_node = 8 }
    model small { layers = 8  hidden = 1024  heads = 16  ffn = 4096  vocab = 32_000 }
    plan run {
      model    = small
      cluster  = one
      shard    { stage = 3 }
      versions { torch = "2.6" }
      launch   { script = "train.py" }
      emit     = [accelerate { layer_class = "Block" }]
      batch    { global = 64  micro = 1 }
      precision = bf16
    }

Fix: use the version that the help names, or leave out what asks for it: `accelerate { backend = deepspeed }`,
    say, for a plan that only shards.

Source: accelerate 1.5.2 to 1.15.0, utils/constants.py, utils/dataclasses.py and commands/launch.py; transformers
    4.46.0 to 5.23.0, training_args.py; torchtitan 0.1.0 and 0.2.0, the classes of its configuration; lightning
    2.2.0 and 2.3.0, pytorch/strategies; deepspeed 0.16.3, 0.16.4,
    0.17.5, 0.17.6, 0.18.2 and 0.18.3, runtime; Ray's documentation, Train API.

Versions: those that are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from planc.diagnostics.diagnostic import Diagnostic, Label, Severity
from planc.facts.facts import Facts
from planc.plan.evaluate import version_key
from planc.plan.model import Plan
from planc.plan.units import EPOCHS, PLAIN
from planc.rules._numbers import absent
from planc.rules._places import related
from planc.rules._variables import text_place, texts, version, with_text
from planc.rules.rule import Rule


class _Need(NamedTuple):
    """What of a target's files needs a version of a package, and whether the plan asks for it, by a field or at all."""

    target: str
    package: str
    least: str
    what: str
    path: str
    asks: Callable[[Plan, Facts], bool]


def check(plan: Plan, facts: Facts) -> Iterator[Diagnostic]:
    """For each package the latest version that an emitted file needs, where the stated one is older."""
    stated, unmet = texts(plan, "versions"), dict[str, _Need]()
    for need in _NEEDS:
        found, least = version(plan, need.package), version_key(need.least)
        if found is None or least <= found or not plan.emits(need.target) or not need.asks(plan, facts):
            continue
        if need.package not in unmet or version_key(unmet[need.package].least) < least:
            unmet[need.package] = need
    for package, need in unmet.items():
        span = text_place(plan, "versions", package)
        yield Diagnostic(
            f"{need.what} needs {package} {need.least}, not {stated[package]}",
            Label(span, f"from {need.least} on"),
            related(plan, span, *([(need.path, "asks for it")] if need.path else [])),
            help=(f'use `{package} = "{need.least}"` or later',),
            fixes=with_text(plan, "versions", package, need.least),
        )


def _always(plan: Plan, facts: Facts) -> bool:
    return True


def _is(path: str, value: object) -> Callable[[Plan, Facts], bool]:
    return lambda plan, facts: bool(plan.value(path) == value)


def _splits(path: str) -> Callable[[Plan, Facts], bool]:
    return lambda plan, facts: bool(1 < facts[path])


def _by_fsdp2(target: str) -> Callable[[Plan, Facts], bool]:
    """Whether the target shares the states by FSDP2."""

    def asks(plan: Plan, facts: Facts) -> bool:
        backend = next(choice.options.value("backend") for choice in plan.targets if choice.name == target)
        return plan.value("shard.stage") in (2, 3) and backend in (None, "fsdp2")

    return asks


def _both(*conditions: Callable[[Plan, Facts], bool]) -> Callable[[Plan, Facts], bool]:
    return lambda plan, facts: all(asks(plan, facts) for asks in conditions)


def _by_autotp(plan: Plan, facts: Facts) -> bool:
    return bool(1 < facts["parallel.tensor"] and facts["parallel.pipeline"] <= 1)


def _warms_up_by_share(plan: Plan, facts: Facts) -> bool:
    """Whether the warmup is a share of epochs whose steps nobody knows."""
    warmup, total = (plan.find(f"schedule.{name}") for name in ("warmup", "total"))
    if warmup is None or total is None or not absent(plan, "dataset.size"):
        return False
    return [getattr(found.value, "dimension", None) for found in (warmup, total)] == [PLAIN, EPOCHS]


_ACCELERATE, _TRAINER = _by_fsdp2("accelerate"), _by_fsdp2("transformers")
_TENSOR, _CONTEXT, _REPLICAS = _splits("parallel.tensor"), _splits("parallel.context"), _splits("shard.replicas")
_BF16, _AXES = _is("precision", "bf16"), "`parallelism_config` of accelerate"
_NEEDS = (
    _Need("accelerate", "torch", "2.6", "accelerate's FSDP2", "shard.stage", _ACCELERATE),
    _Need(
        "accelerate", "transformers", "4.52", "a split of layers by accelerate", "parallel.tensor",
        _both(_ACCELERATE, _TENSOR),
    ),
    _Need("accelerate", "accelerate", "1.6", "accelerate's FSDP2", "shard.stage", _ACCELERATE),
    _Need("accelerate", "accelerate", "1.10", _AXES, "parallel.tensor", _both(_ACCELERATE, _TENSOR)),
    _Need("accelerate", "accelerate", "1.10", _AXES, "parallel.context", _CONTEXT),
    _Need("accelerate", "accelerate", "1.10", _AXES, "shard.size", _both(_ACCELERATE, _REPLICAS)),
    _Need(
        "accelerate", "accelerate", "1.12", "`sp_size` of accelerate", "context",
        _both(_CONTEXT, _is("context", "ulysses")),
    ),
    _Need(
        "accelerate", "accelerate", "1.15", "the offload of activations", "offload.activations",
        _both(_ACCELERATE, _is("offload.activations", True)),
    ),
    _Need("fsdp2", "torch", "2.6", "`fully_shard` in parallelize.py", "", _always),
    _Need("transformers", "transformers", "5.10", "`fsdp_config` in training_args.json", "shard.stage", _TRAINER),
    _Need("transformers", "transformers", "5.0", "a share as `warmup_steps`", "schedule.warmup", _warms_up_by_share),
    _Need("transformers", "torch", "2.6", "the Trainer's FSDP2", "shard.stage", _TRAINER),
    _Need("torchtitan", "torchtitan", "0.2", "what planc writes for torchtitan", "", _always),
    _Need("lightning", "lightning", "2.3", "`ModelParallelStrategy`", "parallel.tensor", _TENSOR),
    _Need("lightning", "lightning", "2.3", "`device_mesh` of FSDPStrategy", "shard.size", _REPLICAS),
    _Need("deepspeed", "deepspeed", "0.16.4", "`tensor_parallel`", "parallel.tensor", _by_autotp),
    _Need("deepspeed", "deepspeed", "0.17.6", "the optimizer `Muon`", "optimizer", _is("optimizer", "muon")),
    _Need(
        "deepspeed", "deepspeed", "0.18.3", "`bf16_master_weights_and_grads`", "precision.master",
        _both(_BF16, _is("precision.master", "bf16")),
    ),
    _Need(
        "deepspeed", "deepspeed", "0.18.3", "`bf16_optimizer_states`", "optimizer.states",
        _both(_BF16, _is("optimizer.states", "bf16")),
    ),
    _Need("ray-train", "ray", "2.51", "`ray.train` of version 2", "", _always),
)  # fmt: skip

RULE = Rule(Severity.ERROR, "plan", check, ("versions",))

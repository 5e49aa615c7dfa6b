"""Saves and failures: how large a checkpoint is, how long it takes to write, and how often one is worth its time.

Letters as in Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps" (2006): d is the time of one
save, M the mean time between failures of the job, t the time of work between two saves.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import divide, growth, is_array, largest, product, real, where
from planc.facts.budget import cost
from planc.facts.fact import Fact
from planc.facts.states import optimizer_width
from planc.plan.model import Unknown
from planc.plan.units import TIME

_HIGHEST = 700.0  # e^709 is the largest power that a float holds; from 40 on, nothing is left of the share of work


def job_mtbf(of_one: Any, world: Any) -> Any:
    """Mean time between failures of the whole job.

    Formula: mtbf_per_gpu / ranks
    Source: failures of independent parts add up: rates of exponential distributions.
    Assumes: any failure stops the job; the time that is stated for a card holds its share of node and network.
    """
    return real(divide(of_one, world))


def checkpoint_bytes(
    num_parameters: Any, weight_width: Any, optimizer: Any, states: Any, momentum: Any, master: Any, precision: Any,
    in_fp32: Any, engine: Any, stage: Any, adapter: Any,
) -> Any:  # fmt: skip
    """Bytes of one checkpoint of the whole job.

    Formula: parameters x (weight + master copy + moments): for Adam in 16 bits 14 bytes, with FSDP2 12, with DeepSpeed at
        stage 3 12, as the master copy is then the only one
    Source: the model card of BLOOM: 329 GB of bf16 weights, 2.3 TB with optimizer states; DeepSpeed, zero_to_fp32.
    Assumes: each weight and state is written once, gradients are not; tied copies and the state of the data are left out.
    """
    if adapter is not None:
        return Unknown("the states of adapters are not derived in this version", ("adapter",), unset=True)
    own = optimizer_width(optimizer, states, momentum, master, precision, in_fp32)
    if isinstance(own, Unknown):  # unset, so that a measured time of the save can stand without it
        return Unknown(own.reason, own.missing, unset=True)
    copied = (stage == 3) * (engine == "deepspeed" and precision != "fp32")
    return product(num_parameters, where(copied, own, own + weight_width))


def save_time(measured: Any, num_bytes: Any, storage: Any) -> Any:
    """Time of one save.

    Formula: checkpoint.write_time if it is stated, else bytes / cluster.storage
    Source: definition of bandwidth.
    Assumes: where it is not measured: all ranks write at once, at the full declared bandwidth.
    """
    if measured is not None:
        return real(measured)
    if num_bytes is None:
        return Unknown("the size of a checkpoint is not derived for this plan", ("checkpoint.write_time",), unset=True)
    if storage is None:
        missing = ("cluster.storage", "checkpoint.write_time")
        return Unknown("`cluster.storage` is not set", missing, unset=True)
    if not is_array(storage) and storage == 0:
        return Unknown("the storage has no bandwidth", ("cluster.storage",))
    return real(divide(num_bytes, storage))


def young_interval(saving: Any, mtbf: Any, in_background: Any) -> Any:
    """Best time of work between two saves, first-order estimate.

    Formula: sqrt(2 d M)
    Source: Young, "A first order approximation to the optimum checkpoint interval" (1974).
    Assumes: d is far below M; failures come at a constant rate.
    """
    if in_background:
        return _IN_BACKGROUND
    return (2 * saving) ** 0.5 * mtbf**0.5  # as one product it may pass the range of floats


def best_interval(saving: Any, mtbf: Any, in_background: Any) -> Any:
    """Best time of work between two saves.

    Formula: sqrt(2 d M) (1 + sqrt(d / 2 M) / 3 + (d / 2 M) / 9) - d; M from d = 2 M on
    Source: Daly (2006), equation 37.
    Assumes: failures come at a constant rate; whole job; saves halt training.
    """
    if in_background:
        return _IN_BACKGROUND
    ratio = divide(saving, 2 * mtbf)
    if isinstance(ratio, Unknown):
        return ratio
    series = young_interval(saving, mtbf, None) * (1 + ratio**0.5 / 3 + ratio / 9) - saving
    return where(ratio < 1, series, mtbf)


def planned_interval(every: Any, step_seconds: Any) -> Any:
    """Time of work between two saves, as the plan has it.

    Formula: checkpoint.every; steps x step time
    Source: definition.
    """
    if every.dimension == TIME:
        return real(every.value)
    if step_seconds is None:
        return Unknown("the time of a step is not given", ("step.measured",))
    return real(product(every.value, step_seconds))


def overhead(interval: Any, saving: Any, mtbf: Any, in_background: Any) -> Any:
    """Share of the job's time that goes into saves, and into work that failures undo, at the plan's interval.

    Formula: 1 - t / (M (e^((t + d) / M) - 1))
    Source: Daly (2006), the wall-clock time of a job with exponential failures, there with the time of a restart.
    Assumes: failures come at a constant rate, during saves as well; starting again takes no time; saves halt training.
    """
    if in_background:
        return _IN_BACKGROUND
    work, spent = divide(interval, mtbf), divide(interval + saving, mtbf)
    if isinstance(spent, Unknown) or isinstance(work, Unknown):
        return work if isinstance(work, Unknown) else spent
    kept = divide(work, growth(-largest(-spent, -_HIGHEST)))
    return kept if isinstance(kept, Unknown) else 1 - kept


def best_overhead(interval: Any, saving: Any, mtbf: Any, in_background: Any) -> Any:
    """Share of the job's time that goes into saves, and into work that failures undo, at the best interval.

    Formula: as `checkpoint.overhead`, with t = `checkpoint.best_interval`
    Source: as `checkpoint.overhead`.
    Assumes: as `checkpoint.overhead`.
    """
    return overhead(interval, saving, mtbf, in_background)


def lost_time(seconds: Any, share: Any) -> Any:
    """Time that saves, and work that failures undo, add to the run at the plan's interval.

    Formula: time of the run x overhead / (1 - overhead)
    Source: definition.
    Assumes: as `checkpoint.overhead`.
    """
    if not is_array(share) and 1 <= share:
        return Unknown("the job fails sooner than it gets anywhere", ("checkpoint.every", "cluster.mtbf_per_gpu"))
    added = divide(share, 1 - share)
    return added if isinstance(added, Unknown) else product(seconds, added)


def failures(seconds: Any, lost: Any, mtbf: Any) -> Any:
    """Failures to be expected until the run ends.

    Formula: (time of the run + lost time) / M
    Source: definition of the mean.
    Assumes: as `checkpoint.overhead`.
    """
    return divide(seconds + lost, mtbf)


def whole_time(seconds: Any, lost: Any) -> Any:
    """Time of the run with its saves and with what failures undo.

    Formula: time of the run + lost time
    Source: definition.
    Assumes: as `checkpoint.overhead`.
    """
    return seconds + lost


def whole_gpu_time(seconds: Any, world: Any) -> Any:
    """Time of the run with saves and failures, summed over its cards.

    Formula: time of the run with them x ranks
    Source: definition.
    Assumes: as `checkpoint.overhead`.
    """
    return product(seconds, world)


_IN_BACKGROUND = Unknown("what a save in the background costs is not derived in this version", ("checkpoint.async",))

_ASYNC = "checkpoint.async?"

FACTS = (
    Fact("world.mtbf", "s", job_mtbf, ("cluster.mtbf_per_gpu", "world.size")),
    Fact("checkpoint.size", "bytes", checkpoint_bytes, (
        "model.total_parameters", "memory.weight_width", "optimizer", "optimizer.states", "optimizer.momentum?", "precision.master",
        "precision", "engine.weights_in_fp32", "engine.name", "shard.stage", "adapter?",
    )),
    Fact("checkpoint.save_time", "s", save_time, ("checkpoint.write_time?", "checkpoint.size?", "cluster.storage?")),
    Fact("checkpoint.young_interval", "s", young_interval, ("checkpoint.save_time", "world.mtbf", _ASYNC)),
    Fact("checkpoint.best_interval", "s", best_interval, ("checkpoint.save_time", "world.mtbf", _ASYNC)),
    Fact("checkpoint.best_overhead", "share", best_overhead, ("checkpoint.best_interval", "checkpoint.save_time", "world.mtbf", _ASYNC)),
    Fact("checkpoint.planned_interval", "s", planned_interval, ("checkpoint.every", "step.taken?")),
    Fact("checkpoint.overhead", "share", overhead, ("checkpoint.planned_interval", "checkpoint.save_time", "world.mtbf", _ASYNC)),
    Fact("checkpoint.lost", "s", lost_time, ("train.time", "checkpoint.overhead")),
    Fact("checkpoint.run_time", "s", whole_time, ("train.time", "checkpoint.lost")),
    Fact("checkpoint.run_gpu_time", "GPU s", whole_gpu_time, ("checkpoint.run_time", "world.size")),
    Fact("checkpoint.run_cost", "money", cost, ("checkpoint.run_gpu_time", "cluster.price_per_gpu")),
    Fact("checkpoint.failures", "count", failures, ("train.time", "checkpoint.lost", "world.mtbf")),
)  # fmt: skip

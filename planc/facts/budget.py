"""What the run costs: steps and tokens of its length, and with a step time its days, GPU-hours, money and energy.

The step time is the measured one if `explain --step-time` gives it, else that which is predicted, as in `throughput.py`. Failures and saves come on
top: `recovery.py` counts them.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import divide, is_array, product, real, rounded_up
from planc.facts.fact import Fact
from planc.plan.model import Unknown
from planc.plan.units import ENERGY, SAMPLES, STEPS, TIME, TOKENS, Amount, Dimension, times


def run_tokens(duration: Any, global_batch: Any, sequence_length: Any, dataset: Any, ramp: Any) -> Any:
    """Tokens of the whole run.

    Formula: tokens as written; samples x sequence_length; steps x global x sequence_length; epochs x dataset.size
    Source: every sample is cut or padded to the sequence length.
    """
    length = _without_epochs(duration, dataset)
    if isinstance(length, Unknown) or length.dimension == TOKENS:
        return length if isinstance(length, Unknown) else length.value
    if sequence_length is None:
        return _missing("batch.sequence_length")
    if length.dimension == SAMPLES:
        return product(length.value, sequence_length)
    return _GROWS if ramp is not None else product(product(length.value, global_batch), sequence_length)


def run_steps(duration: Any, global_batch: Any, sequence_length: Any, dataset: Any, ramp: Any) -> Any:
    """Optimizer steps of the whole run.

    Formula: steps as written; samples / global, or tokens / (global x sequence_length), rounded up; epochs x dataset.size
        likewise
    Source: definition; a run ends with the step that reaches its length.
    Assumes: the last step is a whole one. Megatron-LM rounds samples down (train_samples).
    """
    length = _without_epochs(duration, dataset)
    if isinstance(length, Unknown) or length.dimension == STEPS:
        return length if isinstance(length, Unknown) else length.value
    if ramp is not None:
        return _GROWS
    if length.dimension == SAMPLES:
        return rounded_up(length.value, global_batch)
    if sequence_length is None:
        return _missing("batch.sequence_length")
    return rounded_up(length.value, product(global_batch, sequence_length))


def run_time(steps: Any, seconds: Any) -> Any:
    """Time of the whole run.

    Formula: steps x step time
    Source: definition.
    Assumes: no failures, saves or evaluation, see `checkpoint.lost`.
    """
    return real(product(steps, seconds))


def gpu_time(seconds: Any, world: Any) -> Any:
    """Time of the whole run, summed over its cards.

    Formula: time of the run x ranks
    Source: definition.
    Assumes: as `train.time`.
    """
    return product(seconds, world)


def gpu_hours(gpu_seconds: Any) -> Any:
    """Hours of the whole run, summed over its cards.

    Formula: GPU time / 3600 s
    Source: definition.
    """
    return divide(gpu_seconds, 3600)


def cost(gpu_seconds: Any, price: Any) -> Any:
    """Price of the run's GPU-hours.

    Formula: GPU-hours x price_per_gpu
    Source: definition.
    Assumes: as `train.time`; the price of a GPU-hour holds its share of node, network and power.
    """
    return _money(gpu_seconds, price, TIME)


def energy(gpu_seconds: Any, power: Any) -> Any:
    """Energy that the run's cards take.

    Formula: GPU time x gpu.power
    Source: definition.
    Assumes: as `train.time`; cards draw full power all the time (less where they wait); hosts, network and cooling come on
        top, PUE is 1; of unlike cards, the lowest power counts for all.
    """
    return product(gpu_seconds, power)


def energy_cost(joules: Any, price: Any) -> Any:
    """Price of the energy that the run's cards take.

    Formula: energy x energy_price
    Source: definition.
    Assumes: as `train.energy`.
    """
    return _money(joules, price, ENERGY)


def _without_epochs(duration: Any, dataset: Any) -> Any:
    """The length of the run as an amount of steps, samples or tokens; epochs in the unit of the data's size."""
    if duration.dimension in (STEPS, SAMPLES, TOKENS):
        return duration
    if dataset is None:
        return _missing("dataset.size")
    length = product(duration.value, dataset.value)
    return length if isinstance(length, Unknown) else Amount(length, dataset.dimension)


def _money(count: Any, price: Any, per: Dimension) -> Any:
    """What a count costs at a price per unit of it: an amount of the price's currency."""
    paid = product(count, price.value)
    return paid if not is_array(paid) and isinstance(paid, Unknown) else Amount(paid, times(price.dimension, per))


def _missing(path: str) -> Unknown:
    return Unknown(f"`{path}` is not set", (path,), unset=True)


_GROWS = Unknown("the steps of a batch that grows are not derived in this version", ("batch.ramp",))
_LENGTH = ("train.duration", "batch.global", "batch.sequence_length?", "dataset.size?", "batch.ramp?")

FACTS = (
    Fact("train.tokens", "tokens", run_tokens, _LENGTH),
    Fact("train.steps", "steps", run_steps, _LENGTH),
    Fact("train.time", "s", run_time, ("train.steps", "step.taken")),
    Fact("train.gpu_time", "GPU s", gpu_time, ("train.time", "world.size")),
    Fact("train.gpu_hours", "count", gpu_hours, ("train.gpu_time",)),
    Fact("train.cost", "money", cost, ("train.gpu_time", "cluster.price_per_gpu")),
    Fact("train.energy", "J", energy, ("train.gpu_time", "cluster.gpu.power")),
    Fact("train.energy_cost", "money", energy_cost, ("train.energy", "cluster.energy_price")),
)

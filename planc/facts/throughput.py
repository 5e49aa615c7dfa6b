"""What the time of a step says: tokens per second, the rate of a card, and its share of the peak.

The time is that which was measured, `explain --step-time`, and else the predicted one, `step.time`.
"""

from __future__ import annotations

from typing import Any

from planc.facts.arithmetic import divide, product
from planc.facts.fact import Fact
from planc.plan.model import Unknown


def tokens_per_second(tokens: Any, seconds: Any) -> Any:
    """Tokens per second of the whole job.

    Formula: tokens of a step / step time
    Source: definition.
    """
    return divide(tokens, seconds)


def tokens_per_second_per_card(rate: Any, world: Any) -> Any:
    """Tokens per second and card.

    Formula: tokens per second / ranks
    Source: definition.
    """
    return divide(rate, world)


def flops_per_second_per_card(step_flops: Any, seconds: Any, world: Any) -> Any:
    """Model FLOPs per second and card.

    Formula: model FLOPs of a step / (step time x ranks)
    Source: Narayanan et al. (2021), section 5.1, there with recomputed FLOPs.
    Assumes: causal attention, see `flops.per_token`.
    """
    each = divide(step_flops, world)
    return each if isinstance(each, Unknown) else divide(each, seconds)


def model_utilization(rate: Any, peak: Any) -> Any:
    """MFU: share of the card's peak that the model's FLOPs make up.

    Formula: model FLOPs per second and card / peak rate
    Source: PaLM (2022), section 4.1; its scores are not causal, see `step.mfu_full_attention`.
    Assumes: causal attention, see `flops.per_token`.
    """
    return divide(rate, peak)


def model_utilization_full_attention(mfu: Any, per_token: Any, full: Any) -> Any:
    """MFU as those count it who take no account of the causal mask.

    Formula: MFU x model FLOPs with full attention / model FLOPs
    Source: PaLM (2022), appendix B; the convention of torchtitan, MosaicML and Korthikanti et al. (2022).
    """
    return _times(mfu, full, per_token)


def hardware_utilization(mfu: Any, per_token: Any, hardware: Any) -> Any:
    """HFU: share of the card's peak that all its FLOPs make up, recomputed ones as well.

    Formula: MFU x hardware FLOPs / model FLOPs
    Source: Korthikanti et al. (2022), section 6.3.
    Assumes: causal attention, see `flops.per_token`.
    """
    return _times(mfu, hardware, per_token)


def _times(share: Any, dividend: Any, divisor: Any) -> Any:
    ratio = divide(dividend, divisor)
    return ratio if isinstance(ratio, Unknown) else product(share, ratio)


_STEP = "step.taken"

FACTS = (
    Fact("step.tokens_per_second", "tokens/s", tokens_per_second, ("batch.tokens", _STEP)),
    Fact("step.tokens_per_second_per_card", "tokens/s", tokens_per_second_per_card, ("step.tokens_per_second", "world.size")),
    Fact("step.flops_per_second_per_card", "FLOP/s", flops_per_second_per_card, ("step.flops", _STEP, "world.size")),
    Fact("step.mfu", "share", model_utilization, ("step.flops_per_second_per_card", "flops.peak")),
    Fact("step.mfu_full_attention", "share", model_utilization_full_attention, ("step.mfu", "flops.per_token", "flops.per_token_full_attention")),
    Fact("step.hfu", "share", hardware_utilization, ("step.mfu", "flops.per_token", "flops.hardware_per_token")),
)  # fmt: skip

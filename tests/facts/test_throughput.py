"""What a step time says of tokens per second, MFU and HFU."""

import pytest

from planc.plan.model import Unknown
from tests.facts.given import facts_of

#: Tokens and FLOPs of a step of eight cards that takes two seconds.
STEP = {
    "flops__per_token": 30, "flops__per_token_full_attention": 36, "flops__hardware_per_token": 40,
    "batch__tokens": 800, "world__size": 8, "cluster__gpu__bf16": 6000, "step__measured": 2.0,
}  # fmt: skip


def test_rates_and_shares():
    facts = facts_of(**STEP)
    assert facts["step.tokens_per_second"] == 400
    assert facts["step.tokens_per_second_per_card"] == 50
    assert facts["step.flops_per_second_per_card"] == 1500
    assert facts["step.mfu"] == 0.25
    assert facts["step.mfu_full_attention"] == pytest.approx(0.3)
    assert facts["step.hfu"] == pytest.approx(1 / 3)


def test_without_a_step_time_there_is_no_rate():
    known = {name: value for name, value in STEP.items() if not name.startswith("step")}
    assert facts_of(**known)["step.mfu"].missing == ("step.measured",)


@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16", "fp8", "fp4"])
def test_the_peak_is_that_of_the_precision(precision):
    rates = {f"cluster__gpu__{name}": 10**at for at, name in enumerate(("fp32", "fp16", "bf16", "fp8", "fp4"))}
    assert facts_of(**rates, precision=precision)["flops.peak"] == rates[f"cluster__gpu__{precision}"]


@pytest.mark.parametrize("rate", [True, False, None])
def test_a_peak_that_is_not_known(rate):
    given = {} if rate is None else {"cluster__gpu__bf16": rate}
    peak = facts_of(**given)["flops.peak"]
    assert isinstance(peak, Unknown)
    assert (peak.missing, peak.unset) == (("cluster.gpu.bf16",), rate is None)


@pytest.mark.parametrize(
    "odd",
    [
        {"cluster__gpu__bf16": 0},
        {"world__size": 0},
        {"flops__per_token": 0},
        {"batch__tokens": 10**400},
        {"batch__tokens": 10**307, "step__measured": 1e-9},
    ],
)
def test_absurd_numbers_give_no_share(odd):
    facts = facts_of(**{**STEP, **odd})
    for path in ("step.mfu_full_attention", "step.hfu"):
        assert isinstance(facts[path], Unknown)

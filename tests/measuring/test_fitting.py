"""Factors are found where measurements tell them, and nowhere else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from planc.measuring.fitting import LEAST, MOST, Time, Times, fit_one, fit_times

FACTORS = st.floats(0.3, 4)


def step(compute: float, communication: float, hidden: float = 0.0) -> Time:
    """The step of a layout: some of its communication is hidden behind computation, the optimizer keeps its time."""
    return lambda a, b: a * compute + max(0.0, b * communication - a * hidden) + 0.01


@given(FACTORS, FACTORS)
def test_two_layouts_give_both_factors(compute: float, communication: float) -> None:
    layouts = [step(1, 0.1), step(0.6, 0.8)]
    found = fit_times(layouts, [layout(compute, communication) for layout in layouts], 1)
    assert found == (approx(compute), approx(communication), False)


@given(FACTORS)
def test_one_layout_gives_computation_alone(compute: float) -> None:
    found = fit_times([step(1, 0.3)], [step(1, 0.3)(compute, 1.5)], 1.5)
    assert found == (approx(compute), None, False)


def test_layouts_of_one_mixture_give_one_factor() -> None:
    layouts = [step(1, 0.5), step(2, 1), step(4, 2)]
    found = fit_times(layouts, [1.2 * layout(1, 1) for layout in layouts], 1)
    assert found is not None and found.communication is None
    assert 1.2 < found.compute < 1.5


def test_hidden_communication_gives_no_factor_of_its_own() -> None:
    layouts = [step(1, 0.2, hidden=0.5), step(2, 0.3, hidden=0.5)]
    assert fit_times(layouts, [1.11, 2.21], 1) == (approx(1.1, rel=0.01), None, False)


def test_beside_a_factor_at_the_end_the_other_is_fitted_again() -> None:
    layouts = [step(1, 0.1), step(0.6, 0.8)]
    found = fit_times(layouts, [1.11, 0.3], 1)  # no exchange at all would still be too slow for the second
    assert found is not None and (found.communication, found.is_beyond) == (None, True)
    assert found.compute == fit_one([lambda a: layouts[0](a, 1), lambda a: layouts[1](a, 1)], [1.11, 0.3])


def test_noise_is_spread_over_relative_errors() -> None:
    small, large = step(0.1, 0), step(100, 0)
    found = fit_times([small, large], [0.11 * 1.1, 100 * 0.9], 1)
    assert found is not None and found.compute == approx(1, rel=0.05)


def test_what_no_prediction_depends_on_is_not_known() -> None:
    assert fit_one([lambda factor: 5.0], [7.0]) is None
    assert fit_one([lambda factor: 100 + 0.1 * factor], [101.0]) is None
    assert fit_times([lambda a, b: 5.0, lambda a, b: 6.0], [5.0, 6.0], 1) is None


def test_factors_stay_within_reason() -> None:
    assert fit_one([lambda factor: factor], [1e9]) == MOST
    assert fit_one([lambda factor: factor], [1e-9]) == LEAST
    assert fit_times([step(1, 0)], [1e9], 1) == Times(MOST, None)


@given(st.floats(0.1, 10), st.floats(0.01, 10), FACTORS)
def test_memory_is_model_states_and_the_rest(states: float, rest: float, factor: float) -> None:
    def memory(of: float) -> float:
        return states + of * rest

    found = fit_one([memory], [memory(factor)])
    assert found is None or found == approx(factor, rel=1e-6)

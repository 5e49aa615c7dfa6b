"""What holds for all tests."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no fault of a property.
settings.register_profile("planc", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("planc")


@pytest.fixture
def quiet() -> Iterator[None]:
    """Consumers that keep their warnings to themselves."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)

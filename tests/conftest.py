"""What holds for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine is no fault of a property.
settings.register_profile("planc", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("planc")

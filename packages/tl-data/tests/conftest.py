"""Hypothesis's profile: few examples, always the same."""

from hypothesis import HealthCheck, settings

from tl_core.testing.interrupts import hear_interrupts

hear_interrupts()

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "quick", max_examples=20, deadline=None, suppress_health_check=SLOW, derandomize=True, database=None
)
settings.load_profile("quick")

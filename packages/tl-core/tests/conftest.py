"""Hypothesis's profiles: few examples, always the same, by default; many where sanitizers look for trouble."""

import os

from hypothesis import HealthCheck, settings

from tl_core.testing.interrupts import hear_interrupts

hear_interrupts()

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "quick", max_examples=20, deadline=None, suppress_health_check=SLOW, derandomize=True, database=None
)
settings.register_profile("sanitize", max_examples=200, deadline=None, suppress_health_check=SLOW)
settings.load_profile(os.environ.get("TL_HYPOTHESIS_PROFILE", "quick"))

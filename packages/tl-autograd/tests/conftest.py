"""Hypothesis's profiles: few examples by default, many where a run under sanitizers looks for trouble."""

import os

from hypothesis import HealthCheck, settings

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("quick", max_examples=20, deadline=None, suppress_health_check=SLOW)
settings.register_profile("sanitize", max_examples=200, deadline=None, suppress_health_check=SLOW)
settings.load_profile(os.environ.get("TL_HYPOTHESIS_PROFILE", "quick"))

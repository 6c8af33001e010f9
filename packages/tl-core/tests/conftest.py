"""Hypothesis's profiles: few examples, always the same, by default; many where sanitizers look for trouble. Tests of
other instruction sets."""

import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, settings

from tl_core.testing.interrupts import hear_interrupts

hear_interrupts()

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "quick", max_examples=20, deadline=None, suppress_health_check=SLOW, derandomize=True, database=None
)
settings.register_profile("sanitize", max_examples=200, deadline=None, suppress_health_check=SLOW)
settings.load_profile(os.environ.get("TL_HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture
def run_at_level(request):
    """Runs the tests of the file that asks, in a process of another instruction set."""

    def run(level):
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(request.path)],
            env=os.environ | {"TL_CPU_CAPABILITY": level},
            capture_output=True,
            text=True,
        )

    return run

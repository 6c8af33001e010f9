"""The short form of the fuzz program: no damaged package reads as another one, nothing crashes, hangs or runs."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("numpy")
sys.path.insert(0, str(Path(__file__).parent))

import fuzz_packages


def test_damaged_and_forged_packages():
    counts, faults = fuzz_packages.fuzz.run(600, seed=5, make_seeds=fuzz_packages.seeds)
    assert faults == []
    assert sum(counts.values()) == 600
    assert {f"{kind} forgery {end}" for kind in ("looked", "unpickled") for end in ("refused", "other")} <= {
        *counts
    }

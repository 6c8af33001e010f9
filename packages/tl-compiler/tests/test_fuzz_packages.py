"""The short form of the fuzz program: no damaged package reads as another one, nothing crashes, hangs or runs."""

import sys
from pathlib import Path

import pytest

from tl_checkpoint.testing import fuzzing

pytest.importorskip("numpy")
sys.path.insert(0, str(Path(__file__).parent))

import fuzz_packages


def test_damaged_and_forged_packages():
    counts, faults = fuzzing.run(fuzz_packages.good_files(), 600, seed=5)
    assert faults == []
    assert sum(counts.values()) == 600
    results = {f"{kind} forgery {end}" for kind in ("read_texts", "unpickle") for end in ("refused", "other")}
    assert results <= {*counts}

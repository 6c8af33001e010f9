"""The short form of the fuzz program: no damaged program loads as another, and nothing crashes, hangs or runs."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from tl_checkpoint.testing import fuzzing

pytest.importorskip("numpy")
sys.path.insert(0, str(Path(__file__).parent))

import fuzz_programs


@pytest.mark.filterwarnings("ignore")
def test_damaged_and_forged_programs():
    counts, faults = fuzzing.run(fuzz_programs.good_files(), 400, seed=3)
    assert faults == []
    assert sum(counts.values()) == 400
    assert any("forgery refused" in result for result in counts)


def test_forgeries_are_consistent_files():
    file = fuzz_programs.good_files()[0]
    forged = [file.forge(file.data, random.Random(i)) for i in range(20)]
    assert len({*forged}) > 15
    assert all(data[:2] == b"PK" for data in forged)

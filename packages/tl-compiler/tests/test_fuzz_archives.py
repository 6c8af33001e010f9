"""The short form of the fuzz program: no damaged archive loads as another, and nothing crashes, hangs or escapes."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from tl_checkpoint.testing import fuzzing

sys.path.insert(0, str(Path(__file__).parent))

import fuzz_archives


@pytest.mark.filterwarnings("ignore")
def test_damaged_and_forged_archives():
    counts, faults = fuzzing.run(fuzz_archives.good_files(), 300, seed=3)
    assert faults == []
    assert sum(counts.values()) == 300
    assert any("forgery refused" in result for result in counts)
    assert any("forgery other" in result for result in counts)


def test_forgeries_are_consistent_files():
    file = fuzz_archives.good_files()[0]
    forged = [file.forge(file.data, random.Random(i)) for i in range(20)]
    assert len({*forged}) > 15
    assert all(data[:2] == b"PK" for data in forged)


def test_what_an_archive_may_not_do_is_seen():
    assert not fuzz_archives.is_harmless("import", ("os",))
    assert not fuzz_archives.is_harmless("open", ("/etc/passwd", "r", 0))
    assert not fuzz_archives.is_harmless("compile", (b"lambda _cls, x: __import__('os')", "<string>"))
    assert not fuzz_archives.is_harmless("os.system", (b"true",))

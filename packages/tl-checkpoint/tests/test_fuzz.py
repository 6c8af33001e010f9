"""The short form of the fuzz program: no damaged file loads with other values, and nothing crashes, hangs or runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("numpy")
sys.path.insert(0, str(Path(__file__).parent))

import fuzz


@pytest.mark.filterwarnings("ignore:tl-autograd isn't loaded")
def test_damaged_and_forged_files():
    counts, faults = fuzz.run(1500, seed=3)
    assert faults == []
    assert sum(counts.values()) == 1500
    assert len(counts) > 20


@pytest.mark.filterwarnings("ignore:tl-autograd isn't loaded")
def test_the_program_finds_faults():
    seeds = fuzz.seeds()
    broken = [
        fuzz.Seed("crash", s.data, lambda data: fuzz.os.kill(fuzz.os.getpid(), 11), s.forge, s.meaning, True)
        if i == 0
        else fuzz.Seed("silent", s.data, lambda data: {"changed": 1}, s.forge, s.meaning, True)
        for i, s in enumerate(seeds[:2])
    ]
    one = fuzz.Case(broken[1], broken[1].data, "flip", True)
    assert fuzz.outcome(one, lambda size: None, [False]) == "FAULT changed"
    slow = fuzz.Seed("slow", b"x", lambda data: (_ for _ in ()).throw(fuzz.Hang), seeds[0].forge, None, True)
    assert fuzz.outcome(fuzz.Case(slow, b"x", "flip", True), lambda size: None, [False]) == "FAULT hang"
    wrong = fuzz.Seed("wrong", b"x", lambda data: [][1], seeds[0].forge, None, True)
    assert fuzz.outcome(fuzz.Case(wrong, b"x", "flip", True), lambda size: None, [False]).startswith(
        "FAULT IndexError"
    )
    assert fuzz.batch(broken[:1], 1, range(2))[0]["FAULT crash"] >= 1

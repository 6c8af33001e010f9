"""The short form of the fuzz program: no damaged file loads with other values, and nothing crashes, hangs or runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("numpy")
sys.path.insert(0, str(Path(__file__).parent))

from fuzz import good_files

from tl_checkpoint.testing.fuzzing import Case, GoodFile, Hang, load_case, run, run_batch

pytestmark = pytest.mark.filterwarnings("ignore:tl-autograd isn't loaded")


def test_damaged_and_forged_files():
    counts, faults = run(good_files(), 1500, seed=3)
    assert faults == []
    assert sum(counts.values()) == 1500
    assert len(counts) > 20


def raise_error(error):
    raise error


@pytest.mark.parametrize(
    ("load", "fault"),
    [
        (lambda data: {"changed": 1}, "FAULT changed"),
        (lambda data: raise_error(Hang()), "FAULT hang"),
        (lambda data: raise_error(IndexError("7")), "FAULT IndexError: 7"),
    ],
)
def test_faults_have_names(load, fault):
    file = GoodFile("file", b"x", load, lambda data, rng: data, None, True)
    assert load_case(Case(file, b"x", "flip", True), lambda size: None, [False]) == fault


def test_each_crash_is_a_fault():
    crash = GoodFile(
        "crash", b"x" * 99, lambda data: os.kill(os.getpid(), 11), lambda data, rng: data, None, True
    )
    counts, faults = run_batch([crash], 1, range(3))
    assert counts == {"FAULT crash": 3}
    assert sorted(fault.split()[0] for fault in faults) == ["0", "1", "2"]

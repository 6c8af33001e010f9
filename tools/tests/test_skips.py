"""Skipped tests are counted by reason and held against a budget."""

import subprocess
import sys
import tomllib
from collections import Counter

import pytest

from tools.packages import packages
from tools.skips import BUDGETS, reasons, verdict

TESTS = """
import pytest

@pytest.mark.parametrize("n", range(3))
def test_skip(n):
    pytest.skip("no machine")

@pytest.mark.xfail
def test_xfail():
    assert False

def test_pass():
    pass
"""


def test_reasons_of_a_report(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "--junitxml=report.xml", "test_it.py"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert reasons(tmp_path / "report.xml") == {"no machine": 3}


@pytest.mark.parametrize(("budget", "within"), [(3, True), (2, False)])
def test_the_budget(budget, within):
    text, result = verdict(Counter({"no machine": 2, "no root": 1}), budget)
    assert result is within
    assert text.splitlines()[0] == "    2 no machine"


def test_every_package_has_a_budget():
    sessions = {f"alone-{name}" for name in ("tl-core-nonumpy", *packages())} | {"tools"}
    assert set(tomllib.loads(BUDGETS.read_text())) == sessions

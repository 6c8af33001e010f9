import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tools.clients.suites import __main__ as suites
from tools.clients.suites import run as runs
from tools.clients.suites.run import Ending, endings, run
from tools.clients.suites.sources import bring
from tools.clients.suites.table import SUITES, Suite

TESTS = """
import os
import pytest

def test_good(): pass
def test_bad(): assert 1 + 1 == 3, "sum"
def test_ends_the_process(): os._exit(7)
def test_comes_after(): pass
def test_slow():
    while True: pass
def test_out(): raise AssertionError
@pytest.mark.xfail
def test_expected(): assert False
@pytest.mark.skip
def test_skipped(): pass
@pytest.fixture
def broken():
    yield
    raise RuntimeError("teardown")
def test_broken_afterwards(broken): pass
"""


def suite(left_out: Mapping[str, str]) -> Suite:
    return Suite("nobody/nothing", "1", ("tests",), ("tests/test_*.py",), ("nothing==1",), left_out=left_out)


def ran(
    folder: Path, tests: dict[str, str], left_out: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Ending]:
    (folder / "tests").mkdir()
    for name, text in tests.items():
        (folder / "tests" / name).write_text(text)
    return run(suite(left_out), folder, folder / "record", sys.executable, peer=True)


def test_each_test_ends_as_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "TEST_SECONDS", 1)
    found = ran(tmp_path, {"test_a.py": TESTS}, {"tests/test_a.py::test_out": "a reason"})
    outcomes = {name.partition("::")[2]: ending.outcome for name, ending in found.items()}
    assert outcomes == {
        "test_good": "passed",
        "test_bad": "failed",
        "test_ends_the_process": "crashed",
        "test_comes_after": "passed",
        "test_slow": "failed",
        "test_expected": "expected",
        "test_skipped": "skipped",
        "test_broken_afterwards": "failed",
    }
    assert found["tests/test_a.py::test_slow"].message == "TimeoutError: not done after 1 s of the processor"
    assert "sum" in found["tests/test_a.py::test_bad"].message
    assert "status 7" in found["tests/test_a.py::test_ends_the_process"].message


def test_hung_process_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "HUNG_SECONDS", 3)
    text = "import time\ndef test_a(): time.sleep(60)\ndef test_b(): pass\n"
    found = ran(tmp_path, {"test_a.py": text})
    assert [end.outcome for end in found.values()] == ["hung", "passed"]


def test_file_that_cannot_be_imported(tmp_path: Path) -> None:
    tests = {"test_a.py": "import no_such_module", "test_b.py": "def test_b(): pass", "test_c.py": "1 / 0"}
    found = ran(tmp_path, tests, {"tests/test_c.py": "a reason"})
    assert found["tests/test_a.py"].outcome == "uncollected"
    assert "no_such_module" in found["tests/test_a.py"].message
    assert found["tests/test_b.py::test_b"].outcome == "passed"
    assert not any("test_c" in name for name in found)


def test_failure_stands(tmp_path: Path) -> None:
    lines = [("a", "failed"), ("a", "passed"), ("b", "begun"), ("b", "passed")]
    record = tmp_path / "record"
    record.write_text("".join(json.dumps({"id": i, "outcome": o, "message": ""}) + "\n" for i, o in lines))
    assert {name: end.outcome for name, end in endings(record).items()} == {"a": "failed", "b": "passed"}


def test_share_by_test_and_by_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {
        f"f::{i}": Ending(o, m)
        for i, o, m in (("1", "passed", ""), ("2", "failed", "why"), ("3", "passed", ""))
    }
    peer = {name: Ending("passed", "") for name in ("f::1", "f::2", "g::4")} | {"f::3": Ending("failed", "")}
    by_test = suites.compare("einops", own, peer)
    assert (by_test.passed, by_test.of, by_test.failures) == (1, 3, (("why", 1),))
    monkeypatch.setattr(suites, "PASSED", tmp_path / "passed.json")
    suites.PASSED.write_text("{}")
    suites.record("einops", peer)
    assert json.loads(suites.PASSED.read_text()) == {"einops": {"f": 2, "g": 1}}
    by_file = suites.compare("einops", own, None)
    assert (by_file.passed, by_file.of) == (2, 3)


def test_checkout_is_copied(tmp_path: Path) -> None:
    kept = tmp_path / "source" / "nothing" / "tests"
    kept.mkdir(parents=True)
    (kept / "test_a.py").write_text("")
    (kept.parent / "other.py").write_text("")
    folder = bring("nothing", suite({}), tmp_path, tmp_path / "source")
    assert [path.name for path in folder.rglob("*.py")] == ["test_a.py"]
    assert bring("nothing", suite({}), tmp_path, None) == folder


def test_libraries_have_versions() -> None:
    assert all("==" in one.alone[0] for one in SUITES.values())

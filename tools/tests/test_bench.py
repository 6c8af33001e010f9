"""The bench measures ratios that are known beforehand, and reports what does not work."""

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from tools.bench import all_operators, parent, programs, report
from tools.bench import limits as machine
from tools.bench.cases import CASES, Case, Group, Program
from tools.bench.pair import Measured, Pair, Side
from tools.bench.ranks import Ranks
from tools.bench.results import Results
from tools.bench.worker import Bench

FAKE = """
__version__ = "1"
def set_num_threads(n): pass
def work(): return sum(range({size}))
def build(): raise MemoryError("no")
chain = []
{more}
"""
GROUP = Group("test", mean=0.5, each=0.6)


@pytest.fixture
def sides(tmp_path, monkeypatch):
    """Two modules, of which the second works ten times as long."""
    for name, size in (("quick", 300), ("slow", 3000)):
        (tmp_path / f"{name}.py").write_text(FAKE.format(size=size, more=""))
    monkeypatch.setattr("tools.packages.ROOT", tmp_path)
    monkeypatch.setattr(
        "tools.bench.pair.environment",
        lambda threads, unpinned: {"PYTHONPATH": f"{tmp_path}:{':'.join(sys.path)}"},
    )
    monkeypatch.setattr("tools.bench.programs.environment", lambda threads, unpinned: {})
    return Side("quick", sys.executable), Side("slow", sys.executable)


@pytest.fixture
def pair(sides):
    made = Pair(*sides, threads=1, clock="cpu")
    yield made
    made.close()


def test_a_known_ratio_is_measured(pair):
    measured = pair.measure(Case(GROUP, "work", "", "torch.work()"))
    assert 0.02 < measured.ratio < 0.5  # 0.1 where nobody else runs
    assert measured.met
    assert measured.ours < measured.peers


def test_time_is_held_against_the_machine():
    """The larger of the times of the operations and of the bytes, by the bandwidth of as many bytes."""
    limits = machine.Limits({"float32": 1e9}, [1 << 16, 1 << 20], [1e9, 1e8], [1e9, 1e7])
    assert limits.seconds(machine.Work(read=100)) == 0
    assert limits.share(machine.Work(read=100), 1.0) is None
    assert limits.seconds(machine.Work(read=40_000, written=20_000)) == pytest.approx(6e-5)
    assert limits.seconds(machine.Work(read=10**6, written=10**6)) == pytest.approx(0.11)
    products = machine.Work(read=40_000, flops=10**9, dtype="float32")
    assert limits.share(products, 4.0) == pytest.approx(0.25)
    assert limits.seconds(machine.Work(40_000, 0, 10**9, "bfloat16")) == pytest.approx(4e-5)


def test_what_cannot_be_run_apart_has_no_share(pair):
    measured = pair.measure(Case(GROUP, "work", "", "torch.work()"))
    assert measured.work == machine.Work() and measured.share is None


def test_what_takes_long_is_measured_once(sides, monkeypatch):
    monkeypatch.setattr("tools.bench.pair.SLOW", 0.0)
    pair = Pair(*sides, threads=1, clock="cpu")
    asked = []
    monkeypatch.setattr(pair, "round", lambda workers, samples: asked.append(samples) or (1.0, 2.0))
    measured = pair.measure(Case(GROUP, "work", "", "torch.work()"))
    pair.close()
    assert asked == [1]
    assert measured.ratio == 0.5


def test_both_sides_are_measured(sides):
    pair = Pair(sides[0], sides[0], threads=1, clock="cpu")
    measured = pair.measure(Case(GROUP, "work", "", "torch.work()"))
    pair.close()
    assert measured.ours > 0 and measured.peers > 0 and measured.ratio > 0


def test_a_second_process_of_ours_runs_what_a_case_is_held_against(pair):
    case = Case(GROUP, "work", "", "torch.work()", own="torch.work()\ntorch.work()\ntorch.work()")
    measured = pair.measure(case)
    assert not measured.error
    assert 0.1 < measured.ratio < 0.9  # a third where nobody else runs; the slow side would be a tenth
    assert pair.sides_of(case)[1][0].side is pair.sides[0]
    assert pair.sides_of(Case(GROUP, "work", "", "torch.work()"))[1][0].side is pair.sides[1]


def test_before_runs_before_every_sample_and_is_not_timed(pair):
    case = Case(GROUP, "pop", "x = []", "x.pop()", before="x.append(sum(range(1_000_000)))", rounds=2)
    assert pair.measure(case).ours < 1e-3


class Clock(ModuleType):
    """A module whose statements take the time that they say."""

    def __init__(self) -> None:
        super().__init__("clock")
        self.now = 0

    def read(self) -> int:
        """Nanoseconds since it was made."""
        return self.now

    def wait(self, milliseconds: int) -> None:
        """Lets time pass."""
        self.now += milliseconds * 1_000_000


def test_a_case_ends_its_own_services_while_the_other_ranks_run(tmp_path, monkeypatch):
    """So the next case of the process can start them again."""
    (tmp_path / "world").mkdir()
    (tmp_path / "world" / "__init__.py").write_text("from . import distributed\nset_num_threads = print\n")
    (tmp_path / "world" / "distributed.py").write_text(
        "def init_process_group(*args, **kwargs): pass\ndef is_initialized(): return False\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{':'.join(sys.path)}")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("world")
    outcomes = []
    for _ in range(2):
        ranks = Ranks(module, 2, "at_end.append(lambda: stop())", "import time; time.sleep(0.05)")
        other = ranks.others[0]
        ranks.names["stop"] = lambda other=other: outcomes.append(other.poll())
        del ranks
        assert other.returncode is not None
    assert outcomes == [None, None]


def test_what_a_statement_adds_is_what_is_left():
    clock = Clock()
    case = {
        "setup": "y = []",
        "run": "torch.wait(7)",
        "before": "torch.wait(100); y.append(1)",
        "after": "torch.wait(50); y.pop()",
        "less": "torch.wait(4)",
    }
    assert Bench(clock, clock.read, case).sample() == pytest.approx(0.003)
    assert Bench(clock, clock.read, {**case, "less": ""}).sample() == pytest.approx(0.007)


def test_every_operator_has_a_case_of_each_size():
    cases = all_operators.cases()
    names = [
        {c.name for c in cases if c.group is group} for group in (all_operators.SMALL, all_operators.LARGE)
    ]
    assert names[0] == names[1] and len(names[0]) * 2 == len(cases) > 1000
    for case in cases:
        compile(case.setup, case.name, "exec")
        compile(case.run, case.name, "exec")
    slow = [
        Measured("a", "g", None, ratio=1.4),
        Measured("b", "g", None, ratio=1.2),
        Measured("c", "g", None, ratio=2),
    ]
    assert [m.name for m in all_operators.slower(slow)] == ["c", "a"]


def test_what_fails_is_reported_and_the_bench_goes_on(pair):
    failed = pair.measure(Case(GROUP, "missing", "", "torch.nothing()"))
    assert "quick: AttributeError" in failed.error
    assert not failed.met
    dead = pair.measure(Case(GROUP, "dies", "import os", "os._exit(3)"))
    assert "ended with status 3" in dead.error
    assert not pair.measure(Case(GROUP, "work", "", "torch.work()")).error


def test_a_program_in_a_process_of_its_own(sides):
    side = Side("json", sys.executable)
    time, memory = programs.measure(side, side, Program("import", "import torch", 2.0, 1.1), 1, "cpu", False)
    assert not time.error
    assert 0.5 < time.ratio < 2
    assert memory.ratio == pytest.approx(1, abs=0.1)
    assert 2_000_000 < memory.ours < 100_000_000


def test_a_program_that_fails_is_reported():
    side = Side("nothing_of_that_name", sys.executable)
    found = programs.measure(side, side, Program("import", "import torch", 1.0, 1.0), 1, "cpu", False)
    assert all("ModuleNotFoundError" in m.error and not m.met for m in found)


def test_the_table():
    measured = [Measured("a", "g", 0.5, 1e-7, 4e-7, 0.25), Measured("b", "g", 0.5, 1e-3, 1e-3, 1.0)]
    assert report.row(measured[0]).split()[-4:] == ["0.250", "<=", "0.50", "met"]
    assert report.row(replace(measured[0], share=0.7)).split()[-5:] == ["0.250", "0.70", "<=", "0.50", "met"]
    assert "NOT MET" in report.row(measured[1])
    assert "100.0 ns" in report.row(measured[0])
    line, met = report.mean_row(GROUP, measured)
    assert "0.500" in line
    assert met
    assert not report.mean_row(GROUP, [*measured, Measured("c", "g", 0.5, error="x")])[1]


def test_cases_have_names_of_their_own_and_compile():
    assert len({(c.group, c.name) for c in CASES}) == len(CASES)
    for case in CASES:
        for text in (case.setup, case.run, case.before, case.after, case.less):
            compile(text, case.name, "exec")


def git(root: Path, *arguments: str) -> str:
    """Runs git in a repository and returns what it prints."""
    identity = ("-c", "user.name=tests", "-c", "user.email=tests@example.com")
    command = ["git", "-C", str(root), *identity, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def test_a_commit_is_unpacked_and_installed_once(tmp_path, monkeypatch):
    git(tmp_path, "init", "--quiet")
    for text in ("old", "new"):
        (tmp_path / "file.txt").write_text(text)
        git(tmp_path, "add", "file.txt")
        git(tmp_path, "commit", "--quiet", "--message", text)
    trees = []
    monkeypatch.setattr(parent, "install", lambda tree, python: trees.append((tree / "file.txt").read_text()))
    python = parent.parent_python("HEAD~1", tmp_path)
    assert python == parent.parent_python(git(tmp_path, "rev-parse", "HEAD~1"), tmp_path)
    assert parent.parent_python("HEAD", tmp_path) != python
    assert trees == ["old", "new"]
    with pytest.raises(SystemExit, match="'nothing' is no commit"):
        parent.parent_python("nothing", tmp_path)


def test_overhead_cases_have_the_bound_between_commits():
    chosen = list(parent.overhead(CASES))
    assert len(chosen) > 40
    assert all(case.limit is None and not case.peer and case.group.mean == 1.01 for case in chosen)
    assert {case.group.name for case in chosen} == {
        "call overhead",
        "item",
        "autograd",
        "chain of 1,000,000 nodes",
    }
    slow = [Measured("a", "g", None, ratio=1.03), Measured("b", "g", None, ratio=1.01)]
    assert not report.mean_row(chosen[0].group, slow)[1]


def test_results_are_written_after_each_group(tmp_path):
    file = tmp_path / "results.json"
    results = Results(file, {"date": "2026-01-01"})
    for name in ("a", "b"):
        results.add([Measured(name, "group", 0.5, 1.0, 2.0, 0.5)])
        cases = json.loads(file.read_text())["cases"]
        assert cases[-1]["name"] == name and cases[-1]["met"]
    assert len(cases) == 2
    Results(None, {}).add([])

"""Mutations of small files, and a mutation run of a small package."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import mutants
from tools.mutations import mutations
from tools.reach import insert_probes

ROOT = Path(__file__).resolve().parents[2]


def changes(source):
    """The line of each mutant that differs from the source."""
    lines = source.splitlines()
    result = set()
    for mutation in mutations(source):
        new = mutation.apply(source).splitlines()
        assert len(new) == len(lines)
        ((old, line),) = [(a, b) for a, b in zip(lines, new, strict=True) if a != b]
        assert lines[mutation.line - 1] == old
        result.add(line.strip())
    return result


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = a <= b", {"x = a < b"}),
        ("x = a not in (b)", {"x = a in (b)"}),
        ("x = (a) is not b", {"x = (a) is b"}),
        ("x = a and b or c", {"x = a or b or c", "x = a and b and c"}),
        ("x = (a + b) * c", {"x = (a - b) * c", "x = (a + b) / c"}),
        ("x = not a", {"x = (a)"}),
        ("x = -a", {"x = (a)"}),
        ("x = 'ü' + b  # ü", {"x = 'ü' - b  # ü"}),
        ("x = [a for a in b if a]", {"x = [a for a in b if (not (a))]"}),
        ("x = a if b else c", {"x = a if (not (b)) else c"}),
        ("x = True, 'text', 0.5", {"x = False, 'text', 0.5", "x = True, 'text', 1.5"}),
        ("x: int = 2", {"x: int = 3"}),
        ("return f(a)", {"return None"}),
        ("f(a)", {"pass"}),
        ("a.b = c", {"pass"}),
        ("a[b] = c", {"pass"}),
        ("a += b", {"pass"}),
        ("return None", set()),
        ("'documentation'", set()),
        ("raise ValueError('at most', 3)", set()),
        ("warn(a, stacklevel=2)", {"pass"}),
        ("x = f'{a + 1}'", set()),
        ("__slots__ = (1,)", set()),
    ],
)  # fmt: skip
def test_changes_of_a_line(line, expected):
    assert changes(f"def g():\n    {line}\n") == expected


def test_code_without_an_effect_has_no_mutations():
    assert not mutations("if TYPE_CHECKING:\n    x = 1\n")
    assert not mutations("@overload\ndef f(x: Literal[1] = 1) -> int: ...\n")
    assert not mutations("@decorator(1 + 2)\ndef f(x: Literal[1]) -> Literal[2]: ...\n")


def test_a_default_and_a_scope():
    (mutation,) = mutations("class A:\n    def f(self, x=1): ...\n")
    assert mutation.scope == ("A", "f") and mutation.kind == "constant"


def test_the_choice_follows_from_the_seed(tmp_path):
    (tmp_path / "compat").mkdir()
    (tmp_path / "a.py").write_text("def f(x):\n    return x + 1 if x else g(x)\n")
    (tmp_path / "compat" / "b.py").write_text("x = 1\n")
    (tmp_path / "version.py").write_text("x = 1\n")
    first, second = mutants.draw(tmp_path, 9, 1), mutants.draw(tmp_path, 9, 1)
    assert first == second and {m.mutation.kind for m in first} == {
        "operator",
        "condition",
        "constant",
        "return",
    }
    assert {str(m.file) for m in first} == {"a.py"}
    assert {m.diff for m in mutants.draw(tmp_path, 4, 2)} == {m.diff for m in first}


def statements(source):
    """The first line of the statement that runs before each change, and the changed line."""
    lines = source.splitlines()
    result = {}
    for mutation in mutations(source):
        start = mutation.statement
        statement = None if start is None else source[start:].splitlines()[0]
        assert result.setdefault(lines[mutation.line - 1].strip(), statement) == statement
    return result


def test_the_statement_before_a_change():
    source = """
LIMIT = 1
class A:
    size = 2
    def f(self, x=3):
        if x:
            return (
                x + 4)
        elif x > 5:
            y = 6
        @g(7)
        def h(z=8): pass
        with x: h(9)
"""
    assert statements(source) == {
        "LIMIT = 1": None,
        "size = 2": None,
        "def f(self, x=3):": None,
        "if x:": "if x:",
        "return (": "return (",
        "x + 4)": "return (",
        "elif x > 5:": "if x:",
        "y = 6": "y = 6",
        "def h(z=8): pass": "@g(7)",
        "with x: h(9)": "h(9)",
    }


def test_probes_leave_a_file_as_it_was_but_for_calls(tmp_path):
    source = "def f(ü):\n    if ü: return 1\n    @print\n    def g(): pass\n    return 2\n"
    starts = sorted({m.statement for m in mutations(source)} | {source.encode().index(b"@print")})
    text = insert_probes(source, {start: number for number, start in enumerate(starts)})
    calls = [f"__import__('reach_plugin').reach({n})" for n in range(4)]
    assert text == (
        f"def f(ü):\n    {calls[0]}\n    if ü: {calls[1]}; return 1\n    {calls[2]}\n    @print\n"
        f"    def g(): pass\n    {calls[3]}\n    return 2\n"
    )


def test_near_test_files_and_quick_tests_come_first(tmp_path):
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "normal.py").write_text("class Normal:\n    def mean(self):\n        return 3\n")
    mutant = mutants.draw(tmp_path, 1, 0)[0]
    texts = {"a": "import x", "b": "import normal", "c": "Normal(normal).mean"}
    seconds = {"a::x": 0.1, "b::x": 0.2, "c::x": 0.4, "c::y": 0.3}
    assert mutants.order_tests(texts, seconds, mutant) == ["c::y", "c::x", "b::x", "a::x"]


SOURCE = """
def f(x):
    while x > 0:
        x -= 1
    return x
LIMIT = 5
"""
TESTS = """
import multiprocessing
import subprocess
import sys
import small

def test_f():
    small.f(3)

def test_a_program():
    subprocess.run([sys.executable, "-c", "import small; small.f(3)"], check=True)

def test_a_fork():
    process = multiprocessing.get_context("fork").Process(target=small.f, args=(3,))
    process.start()
    process.join()

def test_nothing():
    pass
"""
TABLE = """
[[small]]
file = "__init__.py"
old = "LIMIT = 5"
new = "LIMIT = 6"
reason = "no code reads the limit"
"""


@pytest.fixture
def installed(repository, tmp_path, monkeypatch):
    """A package `small` that is installed beside its folder in a repository."""
    package = repository.package("small", "small", [])
    (package / "tests").mkdir()
    (package / "tests" / "test_small.py").write_text(TESTS)
    wheel = tmp_path / "site" / "small"
    wheel.mkdir(parents=True)
    (wheel / "__init__.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(wheel.parent))
    monkeypatch.setenv("PYTHONPATH", str(wheel.parent))
    return mutants.packages(repository.root)["small"]


def test_a_run_counts_and_shows_survivors(installed, monkeypatch, tmp_path, capsys):
    table = tmp_path / "mutants.toml"
    table.write_text(TABLE)
    monkeypatch.setattr(mutants, "EQUIVALENT", table)
    monkeypatch.setattr(mutants, "SLACK", 10.0)
    before = {f: f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()}
    assert mutants.run(installed, 6, 1) is False
    output = capsys.readouterr().out
    results = dict(re.findall(r"^\d+/6 __init__.py:(\d \w+): (.*) \(", output, re.MULTILINE))
    assert results["4 statement"] == "killed by the time limit"  # an endless loop
    assert results["6 constant"] == "equivalent 4 tests"
    assert re.search(r":5 return: survived 3 tests\n(.*\n)*-    return x\n\+    return None\n", output)
    assert "small, seed 1: 1 of 5 killed, 1 equivalent" in output
    assert {f: f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()} == before


def test_each_process_of_a_test_counts_as_the_test(installed, tmp_path):
    workplace = mutants.Workplace(tmp_path / "copy", installed)
    drawn = mutants.draw(workplace.source, 6, 1)
    before = workplace.source.joinpath("__init__.py").read_text()
    workplace.record(drawn)
    assert workplace.source.joinpath("__init__.py").read_text() == before
    names = ["test_f", "test_a_program", "test_a_fork"]
    inner = {f"tests/test_small.py::{name}" for name in names}
    for mutant in drawn:
        expected = inner if mutant.statement else {*inner, "tests/test_small.py::test_nothing"}
        assert set(workplace.reach.tests(mutant.statement)) == expected


def test_the_time_limit_contains_the_start_of_a_run(installed, tmp_path, monkeypatch):
    (installed.folder / "tests" / "conftest.py").write_text("import time\ntime.sleep(1)\n")
    workplace = mutants.Workplace(tmp_path / "copy", installed)
    workplace.record(mutants.draw(workplace.source, 6, 1))
    limits = []
    monkeypatch.setattr(
        workplace, "run_pytest", lambda arguments, limit, **variables: limits.append(limit) or (0, "")
    )
    workplace.run_tests(["tests/test_small.py::test_nothing"])
    assert limits[0] >= mutants.SLACK + 4


NAMED = """
class Bound:
    def __init__(self, value):
        self.value = value
    def __repr__(self):
        return f"Bound({vars(self)})"
"""
NAMING_TESTS = """
import pytest
import small

@pytest.mark.parametrize("bound", [small.Bound(7)], ids=repr)
def test_a_bound(bound):
    assert bound.value == 7
"""


def test_a_change_of_the_parameters_that_name_a_test_is_killed(installed, tmp_path):
    workplace = mutants.Workplace(tmp_path / "copy", installed)
    workplace.source.joinpath("__init__.py").write_text(NAMED)
    workplace.tests.joinpath("tests", "test_small.py").write_text(NAMING_TESTS)
    (mutant,) = [m for m in mutants.draw(workplace.source, 9, 1) if m.mutation.kind == "statement"]
    workplace.record([mutant])
    runs, _ = workplace.choose_tests(mutant)
    assert workplace.killer(mutant, runs) == "tests/test_small.py::test_a_bound[Bound({})]"


def test_tests_beyond_the_budget_are_left_out(installed, tmp_path, monkeypatch):
    workplace = mutants.Workplace(tmp_path / "copy", installed)
    (mutant, *_) = [m for m in mutants.draw(workplace.source, 6, 1) if not m.statement]
    workplace.reach.seconds = {f"tests/test_small.py::test_{n}": s for n, s in (("a", 9), ("b", 2), ("c", 3))}
    names = [f"tests/test_small.py::test_{name}" for name in "bca"]
    assert workplace.choose_tests(mutant) == ([names], False)
    monkeypatch.setattr(mutants, "BUDGET", 6)
    monkeypatch.setattr(mutants, "FIRST", 1)
    assert workplace.choose_tests(mutant) == ([names[:1], names[1:2]], True)


def test_tests_that_fail_without_a_mutant_stop_the_run(installed):
    (installed.folder / "tests" / "test_small.py").write_text("def test(): assert False\n")
    with pytest.raises(SystemExit, match="fail without a mutant"):
        mutants.run(installed, 1, 1)


def test_an_editable_package_is_refused(installed, monkeypatch):
    (installed.source / "__init__.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(installed.source.parent))
    with pytest.raises(SystemExit, match="install small as a wheel"):
        mutants.run(installed, 1, 1)


def test_the_command_reads_its_arguments():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tools.mutants", "tl-nothing", "5", "7"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 1 and "tl-nothing" in result.stderr


def test_entries_of_equivalents_are_complete():
    table = mutants.tomllib.loads(mutants.EQUIVALENT.read_text())
    for name, entries in table.items():
        source = mutants.packages()[name.replace("_", "-")].source
        for entry in entries:
            assert {*entry} == {"file", "old", "new", "reason"}
            lines = [line.strip() for line in (source / entry["file"]).read_text().splitlines()]
            assert "\n".join(lines).count(entry["old"]) >= 1

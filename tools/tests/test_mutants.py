"""Mutations of small files, and a mutation run of a small package."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import mutants
from tools.mutations import mutations

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


def test_near_test_files_come_first(tmp_path):
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "normal.py").write_text("class Normal:\n    def mean(self):\n        return 3\n")
    mutant = mutants.draw(tmp_path, 1, 0)[0]
    texts = {"a": "import x", "b": "import normal", "c": "Normal(normal).mean"}
    for name, text in texts.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    files = sorted(tmp_path.glob("test_*.py"))
    near, rest = mutants.order_tests(files, mutant)
    assert [f.stem for f in near] == ["test_c", "test_b"] and [f.stem for f in rest] == ["test_a"]


SOURCE = """
def f(x):
    while x > 0:
        x -= 1
    return x
LIMIT = 5
"""
TESTS = """
import small

def test_f():
    small.f(3)
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
    monkeypatch.setattr(mutants, "SLACK", 3.0)
    before = {f: f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()}
    assert mutants.run(installed, 6, 1) is False
    output = capsys.readouterr().out
    results = dict(re.findall(r"^\d+/6 __init__.py:(\d \w+): (.*) \(", output, re.MULTILINE))
    assert results["4 statement"] == "killed by the time limit"  # an endless loop
    assert results["6 constant"] == "equivalent"
    assert re.search(r":5 return: survived\n(.*\n)*-    return x\n\+    return None\n", output)
    assert "small, seed 1: 1 of 5 killed, 1 equivalent" in output
    assert {f: f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()} == before


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

"""Lines of Python files, classes and functions, and their limits."""

from tools import python_lengths
from tools.python_lengths import LIMITS, excesses, lengths

SOURCE = '''"""A file."""


class Outer:
    @property
    def method(self):
        """Two lines,

        or three."""

        def inner():
            return 1

        return inner


async def wait():
    return None
'''


def items(text=SOURCE):
    return list(lengths("a.py", text))


def test_files_classes_and_functions_are_measured():
    assert [(item.kind, item.name, item.line, item.lines) for item in items()] == [
        ("files", "a.py", 1, 18),
        ("classes", "a.py:Outer", 4, 11),
        ("functions", "a.py:Outer.method", 6, 6),
        ("functions", "a.py:Outer.method.inner", 11, 2),
        ("functions", "a.py:wait", 17, 2),
    ]


def test_a_function_in_a_statement_is_measured():
    assert [item.name for item in items("if True:\n    def f(): pass\n")] == ["a.py", "a.py:f"]


def test_a_string_that_is_no_docstring_counts():
    assert [item.lines for item in items('def f():\n    b"a"\n    return 1\n')] == [3, 3]


def function_of(lines):
    """A file whose function has this number of lines."""
    return "def f():\n" + "    g()\n" * (lines - 1)


def test_a_function_may_have_the_lines_of_the_limit():
    limit = LIMITS["functions"]
    assert list(excesses(items(function_of(limit)))) == []
    assert list(excesses(items(function_of(limit + 1)))) == [
        ("a.py", 1, f"f has {limit + 1} lines, at most {limit}")
    ]


def test_a_file_may_have_the_lines_of_the_limit():
    limit = LIMITS["files"]
    assert list(excesses(items("x = 1\n" * limit))) == []
    assert list(excesses(items("x = 1\n" * (limit + 1)))) == [
        ("a.py", 1, f"the file has {limit + 1} lines, at most {limit}")
    ]


def test_a_class_may_have_the_lines_of_the_limit():
    limit = LIMITS["classes"]
    assert list(excesses(items("class C:\n" + "    x = 1\n" * (limit - 1)))) == []
    assert list(excesses(items("class C:\n" + "    x = 1\n" * limit))) == [
        ("a.py", 1, f"C has {limit + 1} lines, at most {limit}")
    ]


def test_the_sources_of_all_packages_are_read(tmp_path):
    for path in ("noxfile.py", "packages/a/src/a/b.py", "tools/c.py", "docs/d.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    for path in ("packages/a/build/e.py", "packages/a/generated/f.py", "packages/a/.venv/g.py", "other/h.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    names = [path.name for path in python_lengths.sources(tmp_path)]
    assert names == ["noxfile.py", "b.py", "c.py", "d.py"]


def test_the_repository_keeps_the_limits():
    assert python_lengths.main() == 0

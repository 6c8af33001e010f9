"""`python -m tools.python_lengths`: lines of the Python files, classes and functions of this repository.

Each kind has a limit: 770 lines for a file, 400 for a class, 60 for a function without its docstring. An excess is
printed as `path:line: message`, and the exit status is 1 if there are any.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.packages import ROOT

LIMITS = {"files": 770, "classes": 400, "functions": 60}
FOLDERS = ("packages", "tools", "docs")
OTHER_FOLDERS = frozenset({"build", "vendor", "generated", "__pycache__", "_build"})


@dataclass(frozen=True)
class Length:
    """The lines of a file, class or function, and its name: `path` or `path:Class.method`."""

    kind: str
    name: str
    line: int
    lines: int

    @property
    def path(self) -> str:
        """The path of the file, from the root of the repository."""
        return self.name.partition(":")[0]


def sources(root: Path = ROOT) -> Iterator[Path]:
    """The Python files that people write, without those of hidden folders and of build folders."""
    yield from sorted(root.glob("*.py"))
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root).parts
            if OTHER_FOLDERS.isdisjoint(parts) and not any(part.startswith(".") for part in parts):
                yield path


def docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function's docstring, 0 if it has none."""
    first = node.body[0]
    if ast.get_docstring(node, clean=False) is None or first.end_lineno is None:
        return 0
    return first.end_lineno - first.lineno + 1


def definitions(tree: ast.AST, prefix: str) -> Iterator[Length]:
    """The classes and functions of a tree at every depth, named `path:Class.method`."""
    for node in ast.iter_child_nodes(tree):
        below = prefix
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{prefix}{node.name}"
            below = f"{name}."
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if isinstance(node, ast.ClassDef):
                yield Length("classes", name, node.lineno, lines)
            else:
                yield Length("functions", name, node.lineno, lines - docstring_lines(node))
        yield from definitions(node, below)


def lengths(path: str, text: str) -> Iterator[Length]:
    """The lengths of a file, and of its classes and functions.

    Args:
        path: the path of the file, from the root of the repository.
        text: the source.

    Example:
        >>> [(x.kind, x.name, x.lines) for x in lengths("a.py", "def f():\\n    return 1\\n")]
        [('files', 'a.py', 2), ('functions', 'a.py:f', 2)]
    """
    yield Length("files", path, 1, text.count("\n"))
    yield from definitions(ast.parse(text), f"{path}:")


def excesses(items: list[Length]) -> Iterator[tuple[str, int, str]]:
    """The path, line and message of each length above its limit.

    Args:
        items: the lengths of the repository.
    """
    for item in items:
        limit = LIMITS[item.kind]
        if item.lines > limit:
            name = item.name.partition(":")[2] or "the file"
            yield item.path, item.line, f"{name} has {item.lines} lines, at most {limit}"


def main() -> int:
    """Prints the excesses and a summary; the exit status is 1 if there are any."""
    items = [
        item for path in sources() for item in lengths(path.relative_to(ROOT).as_posix(), path.read_text())
    ]
    problems = list(excesses(items))
    for path, line, message in problems:
        print(f"{path}:{line}: {message}")
    for kind, limit in LIMITS.items():
        longest = max(item.lines for item in items if item.kind == kind)
        print(f"{kind}: at most {limit} lines, the longest has {longest}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""The main program: whether other processes can import it, and its imports."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

__all__ = ["can_be_imported", "imports", "is_a_file"]


def is_a_file() -> bool:
    """Whether other processes can import the main program."""
    main = sys.modules["__main__"]
    return getattr(main, "__spec__", None) is not None or os.path.exists(
        getattr(main, "__file__", None) or ""
    )


def can_be_imported() -> bool:
    """Whether a new process can safely run the main program again under another name.

    It can if the program tests its `__name__`, or is no file and so isn't run.
    """
    if getattr(sys.modules["__main__"], "__file__", None) is None:
        return True
    import ast  # here and below: workers import this module but don't call these functions

    tests = [node.test for node in _source() if isinstance(node, ast.If)]
    return any(isinstance(n, ast.Name) and n.id == "__name__" for test in tests for n in ast.walk(test))


def imports() -> list[str]:
    """The modules that the main program imports, which the fork server preloads."""
    import ast

    names: list[str] = []
    for node in _source():
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
    return names


def _source() -> list[ast.stmt]:
    """The statements of the main program; an empty list if it is no file of Python."""
    return _statements(getattr(sys.modules["__main__"], "__file__", None) or "")


@functools.cache
def _statements(path: str) -> list[ast.stmt]:
    import ast

    with contextlib.suppress(OSError, SyntaxError, ValueError), open(path, "rb") as file:
        return ast.parse(file.read()).body
    return []

"""Errors of running programs, with the lines of the source or of the archive's code that they come from."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .errors import Error

__all__ = ["CodeText", "SourcePositions", "error_of"]

_TITLE = "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript"
_END = " (most recent call last):\n"
# Exceptions that stay what they are: those of the process, and warnings that a filter raises.
_PLAIN = (NotImplementedError, RecursionError, MemoryError, Warning)


class SourcePositions:
    """The positions in a source that the lines of a function's code come from. Copies of the code share it.

    Args:
        first: the number of the first line that has a place.
        nodes: the node of the source for each line, or None.
        highlight: returns the text that points at a node.
    """

    def __init__(self, first: int, nodes: list[ast.AST | None], highlight: Callable[[ast.AST], str]) -> None:
        self._first, self._nodes, self._highlight = first, nodes, highlight

    def text_at(self, line: int) -> str | None:
        """The text that points at the source of a line, or None if no source has it."""
        for index in range(min(line - self._first, len(self._nodes) - 1), -1, -1):
            node = self._nodes[index]
            if node is not None:
                return self._highlight(node)
        return None

    def __deepcopy__(self, memo: dict[int, Any]) -> SourcePositions:
        return self


class CodeText(str):
    """The code of a function, with the positions of its lines.

    Args:
        positions: the positions.

    Example:
        >>> text = CodeText("def f() -> int:\\n  return 1\\n")
        >>> text.positions is None
        True
    """

    positions: SourcePositions | None = None


def error_of(name: str, node: ast.FunctionDef, file: str) -> Callable[[Exception], Exception]:
    """Returns the function that turns an exception of a function of a program into the error that its caller sees.

    Args:
        name: the dotted name of the function.
        node: its definition.
        file: the name of the file with its code.
    """
    positions: SourcePositions | None = getattr(node, "positions", None)
    own = name.rpartition(".")[2]

    def wrap(error: Exception) -> Exception:
        is_own = isinstance(error, Error)
        if not is_own and (type(error).__module__ != "builtins" or isinstance(error, _PLAIN)):
            return error
        line = error.__traceback__.tb_lineno if error.__traceback__ is not None else node.lineno
        frame = positions.text_at(line) if positions is not None else None
        if frame is None:
            frame = f'  File "{file}", line {line}, in {own}\n    {_statement_at(node, line)}\n'
        result = error if isinstance(error, Error) else Error()
        frames = [frame, *getattr(result, "frames", [])]
        message = getattr(result, "message", None) or _message(error)
        title = _TITLE + ("" if positions is not None else ", serialized code") + _END
        result.frames, result.message = frames, message  # type: ignore[attr-defined]  # the parts of the text
        result.args = (f"{title}{''.join(frames)}{message}",)
        if not is_own:
            result.__cause__ = error
        return result

    return wrap


def _message(error: Exception) -> str:
    """The last line of the text."""
    if isinstance(error, Error):
        return str(error)
    if isinstance(error, KeyError) and error.args:
        return f"RuntimeError: KeyError: {error.args[0]}"
    return f"RuntimeError: {error}"


def _statement_at(node: ast.FunctionDef, line: int) -> str:
    """The code of the innermost statement at a line, or "" if there is none."""
    text = ""
    for inner in ast.walk(node):
        if (
            isinstance(inner, ast.stmt)
            and inner is not node
            and inner.lineno <= line <= (inner.end_lineno or 0)
        ):
            text = ast.unparse(inner).splitlines()[0]
    return text

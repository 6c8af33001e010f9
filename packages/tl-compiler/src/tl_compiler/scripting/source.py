"""The source of functions and classes of Python, and errors that point into it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from ..jit.frontend import FrontendError, NotSupportedError, UnsupportedNodeError
from .type_comments import parse_source

__all__ = ["AnnotationError", "FunctionSource", "SourceRange", "source_of", "source_of_text"]


class AnnotationError(RuntimeError, ValueError):
    """An annotation states no type of TorchScript. PyTorch raises one or the other of these errors."""


class SourceRange:
    """A place in a function's source, whose text points at it as PyTorch's does.

    Args:
        source: the source.
        node: the node of the place.
    """

    def __init__(self, source: FunctionSource, node: ast.AST) -> None:
        self._source, self._node = source, node

    def highlight(self) -> str:
        """The lines around the place, with a mark below it."""
        line = getattr(self._node, "lineno", 1)
        end = getattr(self._node, "end_lineno", line) or line
        first = getattr(self._node, "col_offset", 0)
        lines = self._source.text.splitlines()
        width = getattr(self._node, "end_col_offset", first + 1) if end == line else len(lines[line - 1])
        shown = lines[max(line - 4, 0) : line]
        signs = " " * first + "~" * max(width - first, 1) + " <--- HERE"
        after = lines[line : line + 3]
        head = f'  File "{self._source.file}", line {self._source.first_line + line - 1}'
        return "\n".join([head, *shown, signs, *after]) + "\n"

    __str__ = highlight


class FunctionSource:
    """The source of one function.

    Args:
        node: the definition.
        text: the text that the node was parsed from.
        file: the name of the file.
        first_line: the number of the text's first line in the file.
        scope: returns the value of a global or captured name, or raises KeyError.
        name: the name, for messages.
    """

    def __init__(
        self,
        node: ast.FunctionDef,
        text: str,
        file: str,
        first_line: int,
        scope: Callable[[str], Any],
        name: str,
    ) -> None:
        self.node, self.text, self.file, self.first_line = node, text, file, first_line
        self.scope, self.name = scope, name

    def error(self, node: ast.AST, message: str) -> RuntimeError:
        """An error about a place of the function."""
        return RuntimeError(f"\n{message}:\n{SourceRange(self, node).highlight()}")

    def annotation_error(self, node: ast.AST, message: str) -> AnnotationError:
        """An error about an annotation of the function."""
        return AnnotationError(f"\n{message} at{SourceRange(self, node).highlight()}")

    def highlight(self, node: ast.AST) -> str:
        """The lines around a place of the function, with a mark below it."""
        return SourceRange(self, node).highlight()

    def called_from(self, error: Exception, name: str, node: ast.AST) -> Exception:
        """An error of a called function, with the line of the call."""
        caller = self.name.rpartition("<locals>.")[2]
        lines = SourceRange(self, node).highlight()
        note = f"'{name}' is being compiled since it was called from '{caller}'\n{lines}"
        if isinstance(error, FrontendError):
            error.callers.append(note)
        return RuntimeError(f"{error}{note}") if type(error) is RuntimeError else error

    def syntax_error(self, node: ast.AST, message: str = "") -> NotSupportedError:
        """An error about syntax that TorchScript lacks."""
        spot: Any = SourceRange(self, node)
        if message:
            return NotSupportedError(spot, message)
        result = UnsupportedNodeError(None, node, f"{_noun(node)} aren't supported")
        result.source_range = spot
        return result


_NOUNS = {"GeneratorExp": "GeneratorExp", "Try": "try blocks", "ClassDef": "class definitions", "Lambda": "Lambda",
          "Yield": "yield statements", "Import": "import statements", "Global": "global variables",
          "Set": "Set", "SetComp": "SetComp", "Await": "Await", "Nonlocal": "Nonlocal"}  # fmt: skip


def _noun(node: ast.AST) -> str:
    name = type(node).__name__
    return _NOUNS.get(name, f"{name} nodes" if name not in _NOUNS else name)


def _scope_of(function: Any) -> Callable[[str], Any]:
    import builtins

    names = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))

    def find(name: str) -> Any:
        if name in names:
            try:
                return names[name].cell_contents
            except ValueError:
                raise KeyError(name) from None
        if name in function.__globals__:
            return function.__globals__[name]
        return vars(builtins)[name]

    return find


def source_of(function: Any) -> FunctionSource:
    """Returns the source of a function.

    Args:
        function: the function, or a bound method.

    Raises:
        RuntimeError: the source can't be read.
    """
    function = inspect.unwrap(getattr(function, "__func__", function))
    name = getattr(function, "__qualname__", repr(function))
    try:
        lines, first = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function) or "<unknown>"
    except (OSError, TypeError) as error:
        raise OSError(
            f"Can't get source for {function}. TorchScript requires source access in order to carry out compilation, "
            "make sure original .py files are available."
        ) from error
    text = textwrap.dedent("".join(lines))
    try:
        body = parse_source(text).body
    except SyntaxError as error:
        raise RuntimeError(f"Expected a single top-level function: {name} ({error.msg})") from error
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        raise RuntimeError(
            f"Expected a single top-level function in {name}: a function that `lambda` makes can't be compiled"
        )
    return FunctionSource(body[0], text, file, first, _scope_of(function), name)


def source_of_text(text: str, scope: Callable[[str], Any], name: str, file: str) -> dict[str, FunctionSource]:
    """Returns the sources of the functions in a text, by name.

    Args:
        text: the text.
        scope: returns the value of a global name, or raises KeyError.
        name: the name of what defines the functions.
        file: the name of the file in messages.
    """
    return {
        node.name: FunctionSource(node, text, file, 1, scope, f"{name}.{node.name}" if name else node.name)
        for node in parse_source(text).body
        if isinstance(node, ast.FunctionDef)
    }

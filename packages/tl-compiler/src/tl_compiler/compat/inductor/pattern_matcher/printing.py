"""Patterns as text of Python."""

from __future__ import annotations

from typing import Any

from .patterns import (
    ListOf,
    MultiOutputPattern,
    Multiple,
    PatternExpr,
    RepeatedExpr,
    _TargetArgsExpr,
    _TargetExpr,
)

__all__ = ["PatternPrettyPrinter"]


class PatternPrettyPrinter:
    """Writes a pattern as statements of Python. A part that several others read gets a name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[int, str] = {}

    @staticmethod
    def run(obj: Any, output_name: str = "output") -> str:
        """The statements that build a pattern.

        Args:
            obj: the pattern.
            output_name: the name of the result.

        Example:
            >>> from tl_compiler.compat.inductor.pattern_matcher.patterns import CallFunction, KeywordArg
            >>> print(PatternPrettyPrinter.run(CallFunction(max, KeywordArg("x"), 1)))
            output = CallFunction(max, KeywordArg('x'), 1)
        """
        printer = PatternPrettyPrinter()
        text = printer.pretty_print(obj)
        return "\n".join([*printer.lines, f"{output_name} = {text}"])

    def pretty_print(self, obj: Any) -> str:
        """The text of a part of a pattern.

        Args:
            obj: the part.
        """
        if isinstance(obj, _TargetExpr) and obj.has_multiple_users():
            return self.memoize(obj)
        return self._text(obj)

    def memoize(self, obj: Any) -> str:
        """The name of a part, which has a statement of its own.

        Args:
            obj: the part.
        """
        if id(obj) not in self.names:
            text = self._text(obj)
            name = self.names[id(obj)] = f"tmp_{len(self.names)}"
            self.lines.append(f"{name} = {text}")
        return self.names[id(obj)]

    def _text(self, obj: Any) -> str:
        if isinstance(obj, _TargetArgsExpr):
            items = [_function(obj), *map(self.pretty_print, obj.args)]
            items += [f"{name}={self.pretty_print(value)}" for name, value in obj.kwargs.items()]
            if isinstance(obj.users, Multiple):
                items.append("_users=MULTIPLE")
            elif obj.users > 1:
                items.append(f"_users={obj.users}")
            return f"{type(obj).__name__}({', '.join(items)})"
        if isinstance(obj, _TargetExpr):
            return f"{type(obj).__name__}({_function(obj)})"
        if isinstance(obj, MultiOutputPattern):
            return f"MultiOutputPattern([{', '.join(map(self.pretty_print, obj.outputs))}])"
        if isinstance(obj, ListOf):
            return f"ListOf({self.pretty_print(obj.pattern)})"
        if isinstance(obj, RepeatedExpr):
            return f"RepeatedExpr({self.pretty_print(obj.inner_pattern)})"
        if isinstance(obj, list | tuple):
            text = ", ".join(map(self.pretty_print, obj))
            return f"[{text}]" if isinstance(obj, list) else f"({text}{',' * (len(obj) == 1)})"
        if isinstance(obj, PatternExpr) and repr(obj) == "*":
            return "Ignored()"
        return repr(obj)


def _function(pattern: _TargetExpr) -> str:
    first = pattern.fns[0]
    return (
        repr(first)
        if isinstance(first, str)
        else str(getattr(first, "_name", first.__name__)).replace("::", ".")
    )

"""The variables of a function while it is compiled: their values, and those that branches leave."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from .operands import Operand

__all__ = ["Scope", "assigned_names", "exits"]


class Scope:
    """The variables at a place of a function.

    Args:
        values: the operand of each variable.
        reasons: for a variable that isn't defined on each way, the reason.
    """

    def __init__(
        self, values: dict[str, Operand] | None = None, reasons: dict[str, str] | None = None
    ) -> None:
        self.values = dict(values or {})
        self.reasons = dict(reasons or {})

    def copy(self) -> Scope:
        """The same variables, for a branch."""
        return Scope(self.values, self.reasons)


def assigned_names(body: Iterable[ast.stmt]) -> list[str]:
    """Returns the names that statements assign, each once.

    Example:
        >>> assigned_names(ast.parse("x = 1\\nfor i in y:\\n    z, x = i").body)
        ['x', 'i', 'z']
    """
    names: dict[str, None] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names[node.id] = None
    return list(names)


def exits(body: list[ast.stmt]) -> bool:
    """Returns whether statements always leave the function or the turn of a loop.

    Example:
        >>> exits(ast.parse("if x:\\n    raise E\\nelse:\\n    return 1").body[0:1])
        True
    """
    for statement in body:
        if isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            return True
        choice = getattr(
            statement, "choice", None
        )  # the branch of an `if` whose condition the compiler knows
        if choice is not None:
            if exits(choice):
                return True
            continue
        if (
            isinstance(statement, ast.If)
            and statement.orelse
            and exits(statement.body)
            and exits(statement.orelse)
        ):
            return True
        if isinstance(statement, ast.With) and exits(statement.body):
            return True
    return False

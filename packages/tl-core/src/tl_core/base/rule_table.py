"""Rule tables: for one kind of tensor or analysis, the functions that decide the results of operators.

A rule is a function with the decorator of its table. Elsewhere the operator's row has its facts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["RULE_TABLES", "RuleTable"]

R = TypeVar("R")
RULE_TABLES: dict[str, RuleTable[Any]] = {}  # by kind


class RuleTable(dict[Any, R]):
    """The rules of one kind, by operator.

    A key is the operator's name, or the function that a program calls. `tools/operator_rules.py` lists all tables.

    Args:
        kind: the kind of rules, such as "sparse".

    Example:
        >>> SIZES = RuleTable("sizes")
        >>> @SIZES.rule("neg", "abs")
        ... def _unary(sizes):
        ...     return sizes
        >>> SIZES["abs"]([2, 3])
        [2, 3]
        >>> del RULE_TABLES["sizes"]
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        RULE_TABLES[kind] = self

    def rule(self, *operators: Any) -> Callable[[Any], Any]:
        """A decorator: the function is the rule of some operators.

        Args:
            *operators: the operators.

        Returns:
            The decorator, which returns the function.
        """

        def register(function: Any) -> Any:
            self.update(dict.fromkeys(operators, function))
            return function

        return register

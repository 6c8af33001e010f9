"""Tables of rules, each for one kind of call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Rule", "rule_decorator"]

Rule = Callable[..., Any]


def rule_decorator(table: dict[Any, Rule], target: Any) -> Callable[[Rule], Rule]:
    """Makes a decorator that puts a rule into a table.

    Args:
        table: the rules by what they are for.
        target: what the rule is for.

    Returns:
        The decorator; it returns the rule.

    Raises:
        RuntimeError: by the decorator, the table has a rule for the target.

    Example:
        >>> rules = {}
        >>> rule_decorator(rules, abs)(lambda node: node.args[0].type) is rules[abs]
        True
    """

    def register(rule: Rule) -> Rule:
        if target in table:
            raise RuntimeError(f"Rule already registered for {target}!")
        table[target] = rule
        return rule

    return register

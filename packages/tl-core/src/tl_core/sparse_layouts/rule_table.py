"""The rules by which operators take sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Rule = Callable[..., Any]
_RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """A decorator: the function answers for the operators of these names, given all arguments in order."""

    def register(function: Rule) -> Rule:
        for name in names:
            _RULES[name] = function
        return function

    return register


def call(name: str, functional: str, args: tuple[Any, ...]) -> Any:
    """What the operator makes of the arguments; NotImplemented without a rule.

    Args:
        name: the operator's name.
        functional: whether the form that returns a new tensor is meant.
        args: its arguments.
    """
    rule = _RULES.get(name) or _RULES.get(functional)
    return NotImplemented if rule is None else rule(*args)

"""The rules by which operators take sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core.base.rule_table import RuleTable

# A rule takes all arguments in order.
SPARSE: RuleTable[Callable[..., Any]] = RuleTable("sparse")
rule = SPARSE.rule


def call(name: str, functional: str, args: tuple[Any, ...]) -> Any:
    """What the operator makes of the arguments; NotImplemented without a rule.

    Args:
        name: the operator's name.
        functional: whether the form that returns a new tensor is meant.
        args: its arguments.
    """
    rule = SPARSE.get(name) or SPARSE.get(functional)
    return NotImplemented if rule is None else rule(*args)

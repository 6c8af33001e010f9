"""The order in which `einsum` contracts. tl finds it itself; the package opt_einsum need not be there."""

from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tl_backends.switch import Switch, assign, attach, overridden
from tl_core.settings.operators import EINSUM_ENABLED, EINSUM_STRATEGIES, EINSUM_STRATEGY

_STRATEGIES = tuple(EINSUM_STRATEGIES)

__all__ = ["enabled", "flags", "get_opt_einsum", "is_available", "set_flags", "strategy"]

enabled: bool
"""Whether `einsum` looks for a good order; else it contracts its operands from left to right."""
strategy: str
"""How `einsum` finds the order: "auto" and "greedy" contract the pair next that takes the fewest multiplications,
"optimal" takes the order with the fewest in all, for up to ten operands."""


@cache
def is_available() -> bool:
    """Whether the package opt_einsum is installed.

    Example:
        >>> from tl_backends.backends import opt_einsum
        >>> opt_einsum.is_available()
        False
    """
    return find_spec("opt_einsum") is not None


def get_opt_einsum() -> Any:
    """The package opt_einsum; None if it isn't installed.

    Example:
        >>> from tl_backends.backends import opt_einsum
        >>> opt_einsum.get_opt_einsum()
    """
    return import_module("opt_einsum") if is_available() else None


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple:
    """Sets the switches that are given; returns what both were, in this order.

    Raises:
        ValueError: the strategy is none of those that einsum knows; the attribute takes any of opt_einsum's own.

    Example:
        >>> from tl_backends.backends import opt_einsum
        >>> opt_einsum.set_flags()
        (True, 'auto')
    """
    if _strategy not in (None, *_STRATEGIES):
        raise ValueError(
            f"`strategy` must be one of the following: [{', '.join(_STRATEGIES)}] but is {_strategy}"
        )
    return assign(__name__, {"enabled": _enabled, "strategy": _strategy})


def flags(enabled: bool | None = None, strategy: str | None = None) -> AbstractContextManager[None]:
    """Sets the switches that are given for the time of a `with` block.

    Example:
        >>> from tl_backends.backends import opt_einsum
        >>> with opt_einsum.flags():
        ...     pass
    """
    return overridden(__name__, {"enabled": enabled, "strategy": strategy})


attach(
    __name__,
    enabled=Switch(EINSUM_ENABLED, True),
    strategy=Switch(EINSUM_STRATEGY, "auto"),
)

"""Operators with effects in graphs without writes: a token that each takes and returns keeps their order."""

from __future__ import annotations

from typing import Any

from .base import HigherOrderOperator

__all__ = ["WithEffects", "with_effects"]


class WithEffects(HigherOrderOperator):
    """Calls an operator. What it returns after the token are the operator's results.

    Args:
        token: what the call before returned; any value.
        op: the operator.
        args, kwargs: its arguments.

    Example:
        >>> import tl_core
        >>> with_effects(None, tl_core.ops.aten.neg.default, tl_core.ones(1))
        (None, tensor([-1.]))
    """

    has_effect = True

    def __init__(self) -> None:
        super().__init__("with_effects")

    def __call__(self, token: Any, op: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        out = op(*args, **kwargs)
        return (token, *out) if isinstance(out, (tuple, list)) else (token, out)


with_effects = WithEffects()

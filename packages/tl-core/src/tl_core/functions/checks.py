"""Conditions that a program states; the first that doesn't hold raises an error of its kind.

The message is a function that is called only then, so that stating a condition costs no formatting.

>>> from tl_core.functions import checks
>>> checks._check(True, lambda: "never made")
>>> checks._check_index(3 < 2, lambda: "only 2 rows")
Traceback (most recent call last):
IndexError: only 2 rows
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import _C

Message = Callable[[], object] | None


def _assert(condition: Any, message: object) -> None:
    """Raises AssertionError with the message if the condition, a bool or a tensor of one element, doesn't hold."""
    kind = type(condition)
    if kind is not bool and kind is not _C.Tensor and hasattr(kind, "__torch_function__"):
        from tl_core.overrides import handle_torch_function

        handle_torch_function(_assert, (condition,), condition, message)
        return
    assert condition, message


recordable_assert = _assert  # for other packages: a call that symbolic tracing records


def _fail_unless(condition: Any, kind: type[Exception], message: Message) -> None:
    if hasattr(condition, "__sym_hint__"):  # in a trace: known, a guard, or checked when the program runs
        condition = condition.node.expect_true("", 0)
    if not isinstance(condition, bool):
        raise TypeError(f"cond must be a bool, but got {type(condition)}")
    if condition:
        return
    if message is None:
        raise kind("Expected cond to be True, but got False")
    if not callable(message):
        raise TypeError("message must be a callable")
    raise kind(str(message()))


def _check(cond: Any, message: Message = None) -> None:
    """Raises RuntimeError if the condition is False."""
    _fail_unless(cond, RuntimeError, message)


def _check_is_size(i: Any, message: Message = None, *, max: int | None = None) -> None:
    """Raises RuntimeError if a number is negative, or greater than a number; in a trace it is a size from then on.

    Args:
        i: the number.
        message: what errors begin with, or a function that makes it; None for a text of its own.
        max: the largest number allowed; None for any.
    """
    if hasattr(i, "__sym_hint__"):
        i.node.expect_size("", 0)
    else:
        _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_index(cond: Any, message: Message = None) -> None:
    """Raises IndexError if the condition is False."""
    _fail_unless(cond, IndexError, message)


def _check_value(cond: Any, message: Message = None) -> None:
    """Raises ValueError if the condition is False."""
    _fail_unless(cond, ValueError, message)


def _check_type(cond: Any, message: Message = None) -> None:
    """Raises TypeError if the condition is False."""
    _fail_unless(cond, TypeError, message)


def _check_not_implemented(cond: Any, message: Message = None) -> None:
    """Raises NotImplementedError if the condition is False."""
    _fail_unless(cond, NotImplementedError, message)


def _check_with(error_type: type[Exception], cond: Any, message: Message = None) -> None:
    """Raises an error of a type if the condition is False."""
    _fail_unless(cond, error_type, message)


def _check_tensor_all(cond: Any, message: Message = None) -> None:
    """Raises RuntimeError unless every element of a bool tensor is True."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Message = None) -> None:
    """Raises an error of a type unless every element of a bool tensor is True."""
    if not isinstance(cond, _C.Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not _C.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _fail_unless(bool(cond.all()), error_type, message)


state, state_size = _check, _check_is_size  # for other packages

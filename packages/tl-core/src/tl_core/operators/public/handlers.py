"""What handlers of `__torch_dispatch__` get in the place of an operator that only this library has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core.dispatch.modes import ask_handlers, is_programs, modes_off
from tl_core.operators.python_operator import PythonOperator

from . import FORMULAS, public_call
from .dimensions import BY_DIMENSIONS, without_defaults

__all__ = ["asked", "replacement_of"]

Replacement = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


class _Asking:
    """Calls each operator of a formula as the program would: who handles operators here is asked."""

    takes_layers_apart = True

    def __call__(self, op: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(op, PythonOperator) or op._can_decompose():
            return self.whole(op, *args, **kwargs)
        return op(*args, **kwargs)  # its layer asks

    def whole(self, op: Any, /, *args: Any, **kwargs: Any) -> Any:
        """What handlers make of an operator that a layer would take apart.

        Args:
            op: the operator.
            *args, **kwargs: its arguments.

        Raises:
            TypeError: all of them declined.
        """
        result = ask_handlers(op, args, kwargs)
        if result is NotImplemented:
            raise TypeError(
                f"Multiple dispatch failed for 'torch.ops.{op.overloadpacket}'; "
                "all __torch_dispatch__ handlers returned NotImplemented"
            )
        return result

    def unseen(self, op: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The result of an operator that no mode sees.

        Args:
            op: the operator.
            *args, **kwargs: its arguments.
        """
        with modes_off(lambda mode: not is_programs(mode)):
            return op(*args, **kwargs)

    def parts(self, op: Any, /, *args: Any) -> Any:
        """The result of an operator that is made of others: handlers are asked about each of those.

        Args:
            op: the operator.
            *args: its arguments.
        """
        return op(*args)

    def origin(self, t: Any) -> None:
        """None: no graph says where a tensor comes from.

        Args:
            t: the tensor.
        """


_asking = _Asking()


def asked(op: Any, *args: Any) -> Any:
    """What handlers make of an operator that is made of others; trailing arguments with their defaults are left out.

    Args:
        op: the operator.
        *args: its arguments.

    Raises:
        TypeError: all of them declined.
    """
    return _asking(op, *without_defaults(op, args))


def _of_grid(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    public, args = public_call(func, args)
    return NotImplemented if public is func else _asking(public, *args, **kwargs)


def _of_formula(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return FORMULAS[func._native_name](_asking, *args, **kwargs)


def replacement_of(func: Any) -> Replacement | None:
    """What calls the operators that others know in the place of one of our own.

    Args:
        func: the operator.

    Returns:
        A function of the operator, its arguments and those by keyword, which gives NotImplemented where there are no
        such operators; None for an operator that others know.

    Example:
        >>> from tl_core.operators.packets import aten
        >>> replacement_of(aten.add.Tensor) is None, replacement_of(aten._convolve_input.default) is None
        (True, False)
    """
    if func._native_name in FORMULAS:
        return _of_formula
    return _of_grid if func._native_name in BY_DIMENSIONS else None

"""Functions of single elements. Operands without dimensions are promoted as all others."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent, indent
from typing import Any

import tl_core as _tl
from tl_core import _C
from tl_core._C import Tensor
from tl_core.base.row_facts import facts

from .promotion import operands, result_type
from .special_cases import SPECIAL_CASES

_UNARY, _BINARY = (
    {name: op for name, (op, n) in facts("array_api").items() if n == count} for count in (1, 2)
)
_INTEGERS_STAY = ("ceil", "floor", "round", "trunc")
__all__ = sorted([*_UNARY, *_BINARY, "clip", "positive", "where"])


def _set_name(function: Any, name: str, of: Callable[..., Any]) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (of.__doc__ or name).split("\n\n")[
        1 if (of.__doc__ or "").startswith(name + "(") else 0
    ]
    function.__doc__ += _example(name, of)
    return function


def _example(name: str, of: Callable[..., Any]) -> str:
    """The example of tl's own function under the standard's name, without options that the standard lacks."""
    source = of if ">>>" in (of.__doc__ or "") else getattr(_tl, name)
    _, _, session = (source.__doc__ or "").partition(">>> import tl_core as tl\n")
    steps = [">>> " + dedent("    " + step).rstrip() for step in session.split(">>> ")[1:]]
    portable = [step for step in steps if "=" not in step.partition("\n")[0]]
    if not portable:
        return ""
    lines = [">>> import tl_core as tl", ">>> from tl_core import array_api", *portable]
    shown = "\n".join(lines).replace(f"tl.{source.__name__}(", f"array_api.{name}(")
    return f"\n\n    Example:\n{indent(shown, '        ')}"


def _unary(name: str, of: Callable[..., Tensor]) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor, /) -> Tensor:
        return of(x)

    return _set_name(function, name, of)


def _binary(name: str, of: Callable[..., Tensor]) -> Callable[[Any, Any], Tensor]:
    def function(x1: Any, x2: Any, /) -> Tensor:
        return of(*operands(x1, x2))

    return _set_name(function, name, of)


def _rounding(name: str, of: Callable[..., Tensor]) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor, /) -> Tensor:
        if x.is_complex():
            return _tl.complex(of(x.real), of(x.imag))
        return of(x) if x.is_floating_point() else x.clone()

    return _set_name(function, name, of)


def _function(name: str, op: str) -> Callable[..., Any]:
    of = SPECIAL_CASES.get(name) or getattr(_tl, op)
    if name in _INTEGERS_STAY:
        return _rounding(name, of)
    return _unary(name, of) if name in _UNARY else _binary(name, of)


globals().update({name: _function(name, op) for name, op in {**_UNARY, **_BINARY}.items()})


def positive(x: Tensor, /) -> Tensor:
    """A copy of the array.

    Example:
        >>> positive(_C.tensor([1, -1]))
        tensor([ 1, -1])
    """
    return x.clone()


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """The elements, or the bounds where they lie outside; the type is the array's.

    Args:
        x: the array.
        min: the lower bound, a number or an array; None for none.
        max: the upper bound.

    Example:
        >>> clip(_C.tensor([1, 5, 9]), 2, 8)
        tensor([2, 5, 8])
    """
    out = x
    for bound, of in ((min, _tl.maximum), (max, _tl.minimum)):
        if bound is None:
            continue
        if not isinstance(bound, Tensor):
            dtype = x.dtype if x.is_floating_point() or isinstance(bound, int) else result_type(x, bound)
            bound = _clipping(bound, dtype, x)
        out = of(*operands(out, bound))
    return out.clone() if out is x else out.to(x.dtype)


def _clipping(bound: Any, dtype: Any, x: Tensor) -> Tensor:
    """A bound that no integer of the type reaches is as good as the last one."""
    if isinstance(bound, int) and not dtype.is_floating_point:
        limits = _tl.iinfo(dtype)
        bound = limits.min if bound < limits.min else limits.max if bound > limits.max else bound
    return _C.tensor(bound, dtype=dtype, device=x.device)


def where(condition: Tensor, x1: Any, x2: Any, /) -> Tensor:
    """Elements of one array where the condition holds, of the other where it doesn't.

    Args:
        condition: chooses `x1` where it is true.
        x1: the first array.
        x2: the second array, of a broadcastable shape.

    Example:
        >>> where(_C.tensor([True, False]), 1, _C.tensor([5, 6]))
        tensor([1, 6])
    """
    if not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        common = result_type(_C.tensor(x1).dtype, _C.tensor(x2).dtype)
        return _tl.where(condition, _C.tensor(x1, dtype=common), _C.tensor(x2, dtype=common))
    return _tl.where(condition, *operands(x1, x2))

"""Functions of single elements. Operands without dimensions are promoted as all others."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent, indent
from typing import Any

import tl_core as _tl
from tl_core import _C
from tl_core._C import Tensor

from . import special_cases as _special
from .promotion import operands, result_type

_UNARY: dict[str, Any] = {
    "abs": _tl.abs, "acos": _tl.acos, "acosh": _tl.acosh, "asin": _tl.asin, "asinh": _tl.asinh, "atan": _tl.atan,
    "atanh": _tl.atanh, "bitwise_invert": _tl.bitwise_not, "conj": _tl.conj_physical, "cos": _tl.cos,
    "cosh": _special.cosh,
    "exp": _tl.exp, "expm1": _special.expm1, "imag": _tl.imag, "isfinite": _tl.isfinite, "isinf": _tl.isinf,
    "isnan": _tl.isnan, "log": _tl.log, "log10": _tl.log10, "log1p": _tl.log1p, "log2": _tl.log2,
    "logical_not": _tl.logical_not, "negative": _tl.neg, "real": _tl.real, "reciprocal": _tl.reciprocal,
    "sign": _special.sign, "signbit": _tl.signbit, "sin": _tl.sin, "sinh": _special.sinh, "sqrt": _tl.sqrt,
    "square": _tl.square, "tan": _tl.tan, "tanh": _special.tanh,
}  # fmt: skip
_BINARY: dict[str, Any] = {
    "add": _tl.add, "atan2": _tl.atan2, "bitwise_and": _tl.bitwise_and, "bitwise_left_shift": _tl.bitwise_left_shift,
    "bitwise_or": _tl.bitwise_or, "bitwise_right_shift": _tl.bitwise_right_shift, "bitwise_xor": _tl.bitwise_xor,
    "copysign": _tl.copysign, "divide": _tl.div, "equal": _tl.eq, "floor_divide": _special.floor_divide,
    "greater": _tl.gt, "greater_equal": _tl.ge, "hypot": _tl.hypot, "less": _tl.lt, "less_equal": _tl.le,
    "logaddexp": _tl.logaddexp, "logical_and": _tl.logical_and, "logical_or": _tl.logical_or,
    "logical_xor": _tl.logical_xor, "maximum": _tl.maximum, "minimum": _tl.minimum, "multiply": _tl.mul,
    "nextafter": _tl.nextafter, "not_equal": _tl.ne, "pow": _tl.pow, "remainder": _special.remainder,
    "subtract": _tl.sub,
}  # fmt: skip
_INTEGERS_STAY = {"ceil": _tl.ceil, "floor": _tl.floor, "round": _tl.round, "trunc": _tl.trunc}
__all__ = sorted([*_UNARY, *_BINARY, *_INTEGERS_STAY, "clip", "positive", "where"])


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


globals().update({name: _unary(name, of) for name, of in _UNARY.items()})
globals().update({name: _binary(name, of) for name, of in _BINARY.items()})
globals().update({name: _rounding(name, of) for name, of in _INTEGERS_STAY.items()})


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

"""Names of operators that other implementations know, where this library's own differ."""

from __future__ import annotations

from typing import Any

from tl_core.operators.packets import OpOverload
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from ...fx.node import Node

__all__ = ["aliases", "portable_name", "positional_count"]

_Overloads = dict[tuple[int, ...], str]

# Rows here take numbers where they take tensors; elsewhere there are overloads for them. By an overload here: the
# overload elsewhere, by which of the arguments are numbers.
_SECOND: _Overloads = {(1,): "Scalar"}
_SHIFT: _Overloads = {(1,): "Tensor_Scalar", (0,): "Scalar_Tensor"}
_POWER: _Overloads = {(1,): "Tensor_Scalar", (0,): "Scalar"}
_SPECIAL: _Overloads = {(1,): "other_scalar", (0,): "self_scalar"}
_POLYNOMIAL: _Overloads = {(1,): "n_scalar", (0,): "x_scalar"}
_COMPARISONS = "eq ne lt le gt ge"
_BITWISE = "bitwise_and bitwise_or bitwise_xor"
_POLYNOMIALS = (
    "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h "
    "shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v "
    "shifted_chebyshev_polynomial_w hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p"
)
_OF_NUMBERS: dict[str, _Overloads] = {
    **{
        f"{name}.Tensor": _SECOND
        for name in f"{_COMPARISONS} {_BITWISE} fmod remainder copysign rsub".split()
    },
    **{f"bitwise_{side}_shift.Tensor": _SHIFT for side in ("left", "right")},
    **{f"{name}.Tensor_Tensor": _POWER for name in ("pow", "float_power")},
    "xlogy.Tensor": {(1,): "Scalar_Other", (0,): "Scalar_Self"},
    "where.self": {(2,): "ScalarOther", (1,): "ScalarSelf", (1, 2): "Scalar"},
    "lerp.Tensor": {(2,): "Scalar"},
    "special_xlog1py.default": _SPECIAL,
    "special_zeta.default": _SPECIAL,
    **{f"special_{name}.default": _POLYNOMIAL for name in _POLYNOMIALS.split()},
}
_OF_NUMBERS |= {f"clamp_{end}.default": {(): "Tensor", (1,): "default"} for end in ("min", "max")}
# These take numbers as tensors elsewhere too, and have an overload for numbers besides.
_ARITHMETIC: dict[str, _Overloads] = {
    **{f"{name}.Tensor": _SECOND for name in ("add", "sub", "mul", "div", "true_divide")},
    "div.Tensor_mode": {(1,): "Scalar_mode"},
    "floor_divide.default": _SECOND,
}
_HERE = {
    f"aten.{name.partition('.')[0]}{mark}.{there}": f"aten.{name.replace('.', mark + '.')}"
    for name, overloads in {**_OF_NUMBERS, **_ARITHMETIC}.items()
    for there in overloads.values()
    for mark in ("", "_")
}


def portable_name(node: Node) -> str:
    """The name of the operator that a node calls, as other implementations know it.

    Args:
        node: the node.
    """
    target: Any = node.target
    name = str(target)
    if not isinstance(target, OpOverload) or not name.startswith("aten."):
        return name
    base, overload = target.overloadpacket.__name__, target._overloadname
    if _moves_alone(node):
        return "aten.to.dtype_layout"
    row = f"{base.removesuffix('_')}.{overload}"
    overloads = _OF_NUMBERS.get(row, {})
    positions = sorted({i for key in overloads for i in key})
    numbers = tuple(i for i in positions if i < len(node.args) and _is_number(node.args[i]))
    return f"aten.{base}.{overloads[numbers]}" if numbers in overloads else name


def positional_count(node: Node) -> int:
    """How many of a node's arguments stand before the keywords, where other implementations know the operator.

    Args:
        node: the node.
    """
    return 1 if _moves_alone(node) else len(node.args)


def _moves_alone(node: Node) -> bool:
    """Whether it is `to` with a device and no type: the overload for devices needs a type elsewhere."""
    dtype = node.args[2] if len(node.args) > 2 else node.kwargs.get("dtype")
    return str(node.target) == "aten.to.device" and dtype is None


def _is_number(argument: Any) -> bool:
    value = argument.meta.get("val") if isinstance(argument, Node) else argument
    return isinstance(value, (bool, int, float, complex, SymInt, SymFloat, SymBool))


def aliases(name: str) -> list[str]:
    """Names under which an operator may be known here.

    Args:
        name: its name in a file, such as `aten.gt.Scalar`.

    Returns:
        The name, then others.

    Example:
        >>> aliases("aten.gt.Scalar")
        ['aten.gt.Scalar', 'aten.gt.Tensor']
    """
    return list(dict.fromkeys((name, _HERE.get(name, name))))

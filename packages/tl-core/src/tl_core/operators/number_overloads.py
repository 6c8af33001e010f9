"""Overloads of the namespace aten for numbers, where a row of ours takes a tensor or a number in one.

Programs and files call them by name; handlers meet the row's own overload.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tl_core
from tl_core.operators.composites import CompositeOperator
from tl_core.operators.names import overloads_by_packet
from tl_core.operators.packets import OpOverload, OpOverloadPacket, aten
from tl_core.operators.second_names import first_name

__all__ = ["names_of", "overload_of"]

_WRITTEN = "Tensor(a!) self"
_POLYNOMIALS = (
    "chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w "
    "hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p "
    "shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v "
    "shifted_chebyshev_polynomial_w"
)
_ALSO_INPLACE = (
    ("add", "Scalar", "Scalar other, Scalar alpha=1"),
    ("sub", "Scalar", "Scalar other, Scalar alpha=1"),
    ("mul", "Scalar", "Scalar other"),
    ("div", "Scalar", "Scalar other"),
    ("div", "Scalar_mode", "Scalar other, *, str? rounding_mode"),
    ("true_divide", "Scalar", "Scalar other"),
    ("floor_divide", "Scalar", "Scalar other"),
    ("copysign", "Scalar", "Scalar other"),
    ("lerp", "Scalar", "Tensor end, Scalar weight"),
    ("bitwise_left_shift", "Tensor_Scalar", "Scalar other"),
    ("bitwise_right_shift", "Tensor_Scalar", "Scalar other"),
    ("xlogy", "Scalar_Other", "Scalar other"),
)
_OTHERS = (
    "rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
    f"pow_.Tensor({_WRITTEN}, Tensor exponent) -> Tensor(a!)",
    f"float_power_.Scalar({_WRITTEN}, Scalar exponent) -> Tensor(a!)",
    f"float_power_.Tensor({_WRITTEN}, Tensor exponent) -> Tensor(a!)",
    f"floor_divide_.Tensor({_WRITTEN}, Tensor other) -> Tensor(a!)",
    *(f"bitwise_{name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor" for name in ("and", "or", "xor")),
    "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
    "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
    "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
    "special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor",
    "special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor",
    *(f"special_{name}.n_scalar(Tensor x, Scalar n) -> Tensor" for name in _POLYNOMIALS.split()),
)
_BOUND = "clamp_{side}{form}.Tensor(Tensor{alias} self, Tensor {side}) -> Tensor{alias}"


@functools.cache
def _schemas() -> dict[str, str]:
    """The schemas by name and overload: `add.Scalar`."""
    schemas = [
        f"{name}{form}.{overload}(Tensor{alias} self, {rest}) -> Tensor{alias}"
        for name, overload, rest in _ALSO_INPLACE
        for form, alias in (("", ""), ("_", "(a!)"))
    ]
    schemas += [
        _BOUND.format(side=side, form=form, alias=alias)
        for side in ("min", "max")
        for form, alias in (("", ""), ("_", "(a!)"))
    ]
    return {schema.partition("(")[0]: schema for schema in (*schemas, *_OTHERS)}


def _function(name: str) -> Callable[..., Any]:
    """What takes tensors and numbers in one."""
    if name in ("float_power_", "floor_divide_", "true_divide_"):
        return lambda self, *args: getattr(self, name)(*args)
    if name == "where":
        return tl_core.where
    if name.startswith("clamp_"):
        bound, in_place = name[6:9], name.endswith("_")
        return lambda self, limit: getattr(self, "clamp_" if in_place else "clamp")(**{bound: limit})
    packet = getattr(aten, name)
    if name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        return lambda self, other: packet(other, self)
    if name.rstrip("_") in ("add", "sub", "rsub"):
        return lambda self, other, alpha: packet(self, other, alpha=alpha)
    return packet


@functools.cache
def _names() -> dict[str, list[str]]:
    return overloads_by_packet(_schemas())


def names_of(packet: OpOverloadPacket) -> list[str]:
    """The names of the overloads for numbers that a packet has beside those of its rows.

    Args:
        packet: the packet.

    Example:
        >>> names_of(aten.mul)
        ['Scalar']
    """
    return _names().get(first_name(packet.__name__), [])


def overload_of(packet: OpOverloadPacket, overload: str) -> OpOverload | None:
    """The overload of a packet for numbers; None if it has none of that name.

    Args:
        packet: the packet.
        overload: the overload's name.

    Example:
        >>> op = overload_of(aten.add, "Scalar")
        >>> op(tl_core.ones(2), 2, 3)
        tensor([7., 7.])
    """
    name = first_name(packet.__name__)
    schema = _schemas().get(f"{name}.{overload}")
    if schema is None:
        return None
    return CompositeOperator(packet, overload, packet.__name__ + schema[len(name) :], _function(name))

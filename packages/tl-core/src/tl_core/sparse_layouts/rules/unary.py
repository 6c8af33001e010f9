"""Functions of one element that keep zeros, and others that need no other element."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.sparse_layouts.parts import coalesced, with_values
from tl_core.sparse_layouts.rule_table import rule

# f(0) = 0, so that only stored elements change.
_KEEP_ZEROS = (
    "abs angle asin asinh atan atanh ceil conj_physical deg2rad elu celu selu gelu mish erf erfinv expm1 floor frac "
    "hardshrink hardswish isinf isnan isneginf isposinf leaky_relu log1p neg positive rad2deg relu relu6 round sgn "
    "sign signbit silu sin sinh softshrink sqrt square tan tanh trunc"
)


def _on_values(name: str) -> Any:
    function = getattr(_C, name)

    def apply(x: Tensor, *rest: Any) -> Tensor:
        x = coalesced(x)
        return with_values(x, function(x.values(), *rest))

    return apply


def _inplace(name: str) -> Any:
    functional = _on_values(name)

    def apply(x: Tensor, *rest: Any) -> Tensor:
        if x.layout is _C.sparse_coo and not x.is_coalesced():
            raise RuntimeError(f"{name}_ requires coalesced input")
        return functional(x, *rest)

    return apply


for _name in _KEEP_ZEROS.split():
    if hasattr(_C, _name):
        rule(_name)(_on_values(_name))
        rule(f"{_name}_")(_inplace(_name))


@rule("round.decimals")
def round_decimals(x: Tensor, decimals: int) -> Tensor:
    """round(decimals=)"""
    x = coalesced(x)
    return with_values(x, _C.round(x.values(), decimals=decimals))


@rule("resolve_conj", "resolve_neg")
def unmarked(x: Tensor) -> Tensor:
    """Marked tensors exist among dense ones only: sparse ones are conjugated at once."""
    return x


@rule("conj", "_conj")
def conjugated(x: Tensor) -> Tensor:
    """conj"""
    return _C.conj_physical(x) if x.is_complex() else x


@rule("real")
def real(x: Tensor) -> Tensor:
    """real: of complex tensors a copy, not a view"""
    return with_values(coalesced(x), _C.real(coalesced(x).values()).clone()) if x.is_complex() else x


@rule("imag")
def imag(x: Tensor) -> Tensor:
    """imag: a copy, not a view"""
    return with_values(coalesced(x), _C.imag(coalesced(x).values()).clone())


@rule("pow.Tensor_Tensor")
def power(x: Tensor, exponent: Any) -> Tensor:
    """pow with a number: an exponent that is not positive would fill the tensor"""
    if isinstance(exponent, Tensor):
        raise RuntimeError("pow: a sparse tensor needs a number for its exponent")
    if exponent == 0 or (not isinstance(exponent, complex) and exponent < 0):
        raise RuntimeError(
            f"pow: a sparse tensor needs a positive exponent, got {exponent}: zeros that are not stored would become "
            "ones or infinite"
        )
    x = coalesced(x)
    return with_values(x, x.values() ** exponent)


@rule("dropout", "dropout_")
def dropout(x: Tensor, p: float, train: bool) -> Tensor:
    """dropout of the stored elements

    Args:
        x: the sparse tensor.
        p: the order, or the probability.
        train: whether anything is dropped.
    """
    x = coalesced(x)
    return with_values(x, _C.dropout(x.values(), p, train))


@rule("nan_to_num")
def nan_to_num(x: Tensor, nan: Any, posinf: Any, neginf: Any) -> Tensor:
    """nan_to_num

    Args:
        x: the sparse tensor.
        nan: what replaces NaN.
        posinf: what replaces infinity; None for the largest number.
        neginf: what replaces minus infinity; None for the smallest.
    """
    x = coalesced(x)
    return with_values(x, _C.nan_to_num(x.values(), nan, posinf, neginf))


@rule("fill_.Scalar", "fill_.Tensor")
def fill_(x: Tensor, value: Any) -> Tensor:
    """fill_: not for tensors that do not store all elements"""
    raise TypeError("Cannot assign to a sparse tensor")


@rule("contiguous")
def contiguous(x: Tensor, memory_format: Any) -> Tensor:
    """contiguous: the tensor itself"""
    return x


@rule("_local_scalar_dense")
def item(x: Tensor) -> Any:
    """item: the sum of what is stored of the one element"""
    if x.numel() != 1:
        raise RuntimeError(f"a Tensor with {x.numel()} elements cannot be converted to Scalar")
    return coalesced(x).values().sum().item()

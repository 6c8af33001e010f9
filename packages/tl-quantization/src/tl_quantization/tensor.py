"""Tensors whose elements are integers with a scale and a zero point.

>>> import tl_core, tl_quantization as tq
>>> q = tq.quantize_per_tensor(tl_core.tensor([-1.0, 0.0, 2.0]), scale=0.5, zero_point=10, dtype=tq.quint8)
>>> q.int_repr()
tensor([ 8, 10, 14], dtype=torch.uint8)
>>> q.dequantize()
tensor([-1.,  0.,  2.])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from tl_core import Tensor
from tl_core.base import operator_hooks
from tl_core.base.rule_table import RuleTable
from tl_core.tensors import quantized_tensor

from .dtypes import QScheme, bits_of
from .packing import pack_bits
from .tensor_quantizer import PerChannel, PerTensor, Quantizer

__all__ = ["implements", "integers_of", "is_quantized_tensor", "made_of", "quantizer_of"]

#: The rules of operators.
QUANTIZED: RuleTable[Callable[..., Any]] = RuleTable("quantized")


def implements(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function computes the operators of these names on quantized tensors.

    It is called with the operator, its arguments as a tuple and its keyword arguments as a dictionary.
    """
    return QUANTIZED.rule(*names)


@cache
def _operator(name: str) -> Any:
    operator = partial(quantized_tensor.call_operator, (name,))
    operator.__name__ = name.partition(".")[0]  # type: ignore[attr-defined]  # for messages
    return operator


def call(name: str, functional: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of an operator on quantized tensors; NotImplemented without a rule.

    Args:
        name: the operator's name.
        functional: the name of the form that returns a new tensor.
        args: its arguments.
        kwargs: its arguments by name.
    """
    base = functional.partition(".")[0]
    writes_out = name != functional and name.partition(".")[0] == base  # the result is copied to it
    for each in (functional,) if writes_out else (name, functional):
        rule = QUANTIZED.get(each.partition(".")[0])
        if rule is not None:
            return rule(_operator(each), args, kwargs)
    return NotImplemented


quantized_tensor.set_quantized_rules(call)


def is_quantized_tensor(x: Any) -> bool:
    """Whether an object is a quantized tensor.

    Args:
        x: the object.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> is_quantized_tensor(tl_core.ones(1)), is_quantized_tensor(None)
        (False, False)
    """
    return isinstance(x, Tensor) and x.is_quantized


def quantizer_of(x: Tensor) -> Quantizer:
    """The scales and zero points of a quantized tensor.

    Args:
        x: the tensor.

    Raises:
        RuntimeError: If `x` isn't quantized.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> tq.quantizer_of(tq.quantize_per_tensor(tl_core.ones(2), 0.5, 10, tq.quint8))
        PerTensor(scale=0.5, zero_point=10, dtype=torch.quint8)
    """
    scale, zero_point, *axis = quantized_tensor.quantizer(x)
    return PerChannel(scale, zero_point, axis[0], x.dtype) if axis else PerTensor(scale, zero_point, x.dtype)


def integers_of(x: Tensor) -> Tensor:
    """Views the integers as a plain tensor.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> x = tq.quantize_per_tensor(tl_core.tensor([0.4, 1.0]), 0.5, 10, tq.quint8)
        >>> tq.integers_of(x)
        tensor([11, 12], dtype=torch.uint8)
    """
    integers: Tensor = quantized_tensor.integers(x)
    return integers


def made_of(integers: Tensor, quantizer: Quantizer) -> Tensor:
    """A quantized tensor on the memory of its integers.

    Raises:
        TypeError: If the integers do not have the type that the quantizer's elements are kept in.

    >>> q = made_of(tl_core.tensor([3], dtype=tl_core.int8), PerTensor(0.5, 1, tl_core.qint8))
    >>> q.dequantize()
    tensor([1.])
    """
    tensor: Tensor = quantized_tensor.quantized(integers, quantizer.dtype, *quantizer.parts)
    return tensor


# ---- methods of Tensor


def _method(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        operator_hooks.quantized_methods[name] = function
        return function

    return register


@_method("int_repr")
def _int_repr(x: Tensor) -> Tensor:
    """The integers, as a plain tensor of its own; those of less than a byte are packed into a vector of bytes."""
    integers, bits = integers_of(x), bits_of(x.dtype)
    return pack_bits(integers.flatten(), bits) if bits < 8 else integers.clone()


@_method("dequantize")
def _dequantize(x: Tensor) -> Tensor:
    """The numbers of the integers, as float32."""
    return quantizer_of(x).numbers(integers_of(x))


@_method("qscheme")
def _qscheme(x: Tensor) -> QScheme:
    return quantizer_of(x).scheme


@_method("q_scale")
def _q_scale(x: Tensor) -> float:
    return _one("q_scale", x).scale


@_method("q_zero_point")
def _q_zero_point(x: Tensor) -> int:
    return _one("q_zero_point", x).zero_point


@_method("q_per_channel_scales")
def _q_per_channel_scales(x: Tensor) -> Tensor:
    return _several("q_per_channel_scales", x).scales


@_method("q_per_channel_zero_points")
def _q_per_channel_zero_points(x: Tensor) -> Tensor:
    return _several("q_per_channel_zero_points", x).zero_points


@_method("q_per_channel_axis")
def _q_per_channel_axis(x: Tensor) -> int:
    return _several("q_per_channel_axis", x).axis


def _one(name: str, x: Tensor) -> PerTensor:
    quantizer = quantizer_of(x)
    if not isinstance(quantizer, PerTensor):
        raise RuntimeError(f"{name}: expected a tensor with one scale, but got {quantizer.scheme}")
    return quantizer


def _several(name: str, x: Tensor) -> PerChannel:
    quantizer = quantizer_of(x)
    if not isinstance(quantizer, PerChannel):
        raise RuntimeError(f"{name}: expected a tensor with a scale a channel, but got {quantizer.scheme}")
    return quantizer


@_method("facts")
def _facts(x: Tensor) -> list[str]:
    """What is printed behind the numbers."""
    quantizer = quantizer_of(x)
    return [f"quantization_scheme={quantizer.scheme}", *quantizer.facts()]


@_method("__reduce_ex__")
def _reduce(x: Tensor) -> tuple[Any, ...]:
    return made_of, (integers_of(x), quantizer_of(x))

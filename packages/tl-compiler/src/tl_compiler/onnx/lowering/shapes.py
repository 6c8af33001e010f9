"""Shapes and types of tl's tensors in an ONNX model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import onnx_ir as ir

import tl_core
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from ..dtypes import onnx_dtype

__all__ = ["describe", "dimension", "element_type", "number_type", "replace_words", "shape_of"]

_OF_NUMBERS = {
    bool: ir.DataType.BOOL,
    SymBool: ir.DataType.BOOL,
    int: ir.DataType.INT64,
    SymInt: ir.DataType.INT64,
    float: ir.DataType.FLOAT,
    SymFloat: ir.DataType.FLOAT,
}


def dimension(size: Any, names: Mapping[Any, str]) -> int | str:
    """A size of a model: a number, or the text of an expression.

    Args:
        size: the size of a tensor.
        names: names of symbols that the user chose.
    """
    if not isinstance(size, SymInt):
        return int(size)
    expr = size.node.expr
    if expr in names:
        return names[expr]
    number = size.node.maybe_as_int()
    if number is not None:
        return int(number)
    return replace_words(str(expr), {str(symbol): name for symbol, name in names.items()})


def replace_words(text: str, names: Mapping[str, str]) -> str:
    """An expression of sizes with other names.

    Args:
        text: the expression.
        names: new names by old names.

    Example:
        >>> replace_words("2*s0 + s01", {"s0": "batch"})
        '2*batch + s01'
    """
    return re.sub(r"\w+", lambda match: names.get(match[0], match[0]), text)


def shape_of(tensor: Any, names: Mapping[Any, str]) -> Any:
    """The shape of a tensor in the model. A complex tensor has a last dimension of 2.

    Args:
        tensor: the tensor or fake.
        names: names of symbols that the user chose.
    """
    sizes = [dimension(n, names) for n in tensor.shape]
    return ir.Shape([*sizes, 2] if tensor.dtype.is_complex else sizes)


def number_type(value: Any) -> Any:
    """ONNX's element type of a number, symbolic or not; None for other values.

    Args:
        value: the number.
    """
    return _OF_NUMBERS.get(type(value))


def element_type(dtype: Any) -> Any:
    """ONNX's element type; complex numbers are pairs of real ones.

    Args:
        dtype: the element type.
    """
    return ir.DataType(onnx_dtype(dtype.to_real() if dtype.is_complex else dtype))


def describe(value: Any, meta: Any, names: Mapping[Any, str]) -> None:
    """Gives a value of the model the type and shape of a tensor or number.

    Args:
        value: the value of the model.
        meta: the tensor, fake or symbolic number.
        names: names of symbols that the user chose.
    """
    if isinstance(meta, tl_core.Tensor):
        value.shape = shape_of(meta, names)
        value.type = ir.TensorType(element_type(meta.dtype))
    elif (dtype := number_type(meta)) is not None:
        value.shape = ir.Shape([])
        value.type = ir.TensorType(dtype)

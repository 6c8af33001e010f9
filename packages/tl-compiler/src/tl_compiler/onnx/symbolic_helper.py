"""Helpers of symbolic functions: conversion of arguments, facts of values, nodes for common steps.

A symbolic function of `register_custom_op_symbolic` gets values of the graph for tensors, and plain numbers, lists and
texts for other arguments.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import tl_core

from .dtypes import DTYPE_OF_ONNX
from .errors import OnnxExporterError, SymbolicValueError
from .options import TensorProtoDataType
from .scalar_types import JitScalarType

__all__ = [
    "args_have_same_dtype",
    "cast_pytorch_to_onnx",
    "check_training_mode",
    "is_complex_value",
    "parse_args",
    "pytorch_name_to_type",
    "quantized_args",
    "scalar_name_to_pytorch",
    "scalar_type_to_onnx",
    "scalar_type_to_pytorch_type",
]

_TYPES = [t for t in JitScalarType if t.onnx_compatible() and not t.name.startswith("Q")]
cast_pytorch_to_onnx = {t.scalar_name(): t.onnx_type() for t in _TYPES} | {
    "Undefined": TensorProtoDataType.UNDEFINED
}
scalar_name_to_pytorch = {t.torch_name(): t.scalar_name() for t in JitScalarType}
scalar_type_to_onnx = [
    t.onnx_type() if t.onnx_compatible() else TensorProtoDataType.UNDEFINED for t in JitScalarType
]
scalar_type_to_pytorch_type = [t.dtype() if t in _TYPES else None for t in JitScalarType]
pytorch_name_to_type = {t.scalar_name(): t.dtype() for t in _TYPES}


# ---- conversion of arguments
def _numbers(kind: type) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        value = _constant(value)
        return [kind(v) for v in (value if isinstance(value, (list, tuple)) else [value])]

    return convert


def _number(kind: type) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        value = _constant(value)
        if isinstance(value, (list, tuple)):
            raise SymbolicValueError(f"expected a number of type {kind.__name__}", value)
        return kind(value)

    return convert


def _constant(value: Any) -> Any:
    """The number or list of a constant value; other objects stay as they are."""
    if not _is_value(value):
        return value
    if value.const_value is None:
        raise SymbolicValueError("expected a constant, but the value depends on the inputs", value)
    return value.const_value.numpy().tolist()


# Conversion of an argument by descriptor; `v` is a value of the graph, and `none` an omitted argument.
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "v": lambda value: value,
    "none": lambda value: None,
    "i": _number(int),
    "f": _number(float),
    "b": _number(bool),
    "s": lambda value: str(_constant(value)),
    "t": lambda value: value,
    "is": _numbers(int),
    "fs": _numbers(float),
}


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that converts the arguments behind the graph: `v` values, `i` integers, `f` floats, `is` lists.

    Args:
        arg_descriptors: a descriptor an argument, in order.

    Raises:
        ValueError: there is no such descriptor.
        AssertionError: on a call, there are more arguments than descriptors.

    Example:
        >>> @parse_args("v", "i")
        ... def scaled(g, x, factor):
        ...     return g, x, factor
        >>> scaled("graph", "x", 2.0)
        ('graph', 'x', 2)
    """
    if unknown := [d for d in arg_descriptors if d not in _CONVERSIONS]:
        raise ValueError(f"parse_args(): unknown descriptors {unknown}; there are {list(_CONVERSIONS)}")

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        names = list(inspect.signature(fn).parameters)[1:]
        by_name = dict(zip(names, arg_descriptors, strict=False))

        @functools.wraps(fn)
        def wrapper(g: Any, *args: Any, **kwargs: Any) -> Any:
            if len(args) > len(arg_descriptors):
                raise AssertionError(
                    f"A mismatch between the number of arguments ({len(args)}) and their descriptors "
                    f"({len(arg_descriptors)}) was found at symbolic function '{fn.__name__}'."
                )
            values = [_parse_arg(value, kind) for value, kind in zip(args, arg_descriptors, strict=False)]
            named = {name: _parse_arg(value, by_name.get(name, "v")) for name, value in kwargs.items()}
            return fn(g, *values, **named)

        return wrapper

    return decorate


def _parse_arg(value: Any, desc: str, arg_name: str | None = None, node: Any = None) -> Any:
    """An argument converted by a descriptor of `parse_args`; None stays None."""
    return None if value is None else _CONVERSIONS[desc](value)


def quantized_args(
    *arg_q_descriptors: bool, **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions that accept quantized arguments. Quantized tensors are not exported, so the function
    stays as it is.

    Args:
        arg_q_descriptors: whether each argument may be quantized.
        options: scale, zero point and whether the result is quantized.

    Example:
        >>> quantized_args(True)(abs) is abs
        True
    """
    return lambda fn: fn


# ---- facts of values
def _is_value(x: Any) -> bool:
    """Whether an object is a value of the graph."""
    return hasattr(x, "producer") and hasattr(x, "const_value")


def _is_none(x: Any) -> bool:
    """Whether an argument is omitted."""
    return x is None


def _is_constant(value: Any) -> bool:
    """Whether an argument doesn't depend on the inputs."""
    return not _is_value(value) or value.const_value is not None


def _is_tensor(x: Any) -> bool:
    """Whether an object is a value of the graph that is a tensor."""
    return _is_value(x)


def _is_fp(value: Any) -> bool:
    """Whether the elements of a value are floating-point numbers."""
    onnx_type = getattr(value, "dtype", None)
    return onnx_type is not None and DTYPE_OF_ONNX[int(onnx_type)].is_floating_point


def _is_bool(value: Any) -> bool:
    """Whether the elements of a value are bools."""
    onnx_type = getattr(value, "dtype", None)
    return onnx_type is not None and DTYPE_OF_ONNX[int(onnx_type)] == tl_core.bool


def is_complex_value(x: Any) -> bool:
    """Whether the elements of a value are complex. The exporter represents complex numbers by pairs of real ones.

    Args:
        x: the value.
    """
    onnx_type = getattr(x, "dtype", None)
    return onnx_type is not None and DTYPE_OF_ONNX[int(onnx_type)].is_complex


def args_have_same_dtype(args: Sequence[Any]) -> bool:
    """Whether all values have one element type.

    Args:
        args: the values.

    Example:
        >>> args_have_same_dtype([1, 2]), args_have_same_dtype([1, 2.0])
        (True, False)
    """
    return len({JitScalarType.from_value(a, JitScalarType.UNDEFINED) for a in args}) <= 1


def check_training_mode(op_train_mode: int, op_name: str) -> None:
    """Accepts the training mode of an operator. Operators are exported as the model calls them.

    Args:
        op_train_mode: whether the operator trains.
        op_name: the name of the operator.
    """


def _maybe_get_const(value: Any, descriptor: str) -> Any:
    """A constant converted by a descriptor of `parse_args`; other values stay as they are."""
    return _parse_arg(value, descriptor) if _is_constant(value) else value


def _get_const(value: Any, desc: str, arg_name: str) -> Any:
    """A constant converted by a descriptor of `parse_args`."""
    if not _is_constant(value):
        raise SymbolicValueError(f"the argument {arg_name} must be a constant", value)
    return _parse_arg(value, desc)


def _maybe_get_scalar(value: Any) -> Any:
    """The number of a constant of one element; other values stay as they are."""
    if _is_value(value) and value.const_value is not None and value.const_value.size == 1:
        return value.const_value.numpy().item()
    return value


_scalar = _maybe_get_scalar


def _get_tensor_rank(x: Any) -> int | None:
    """The number of dimensions, or None."""
    return None if getattr(x, "shape", None) is None else len(x.shape)


def _get_tensor_sizes(x: Any, allow_nonstatic: bool = True) -> list[int | None] | None:
    """The sizes, each None if it is dynamic; None if they are unknown."""
    if getattr(x, "shape", None) is None:
        return None
    sizes = [n if isinstance(n, int) else None for n in x.shape]
    return sizes if allow_nonstatic or None not in sizes else None


def _get_tensor_dim_size(x: Any, dim: int) -> int | None:
    """A size, or None if it is dynamic."""
    sizes = _get_tensor_sizes(x)
    return None if sizes is None else sizes[dim]


def _unpack_list(list_value: Any) -> list[Any]:
    """The elements of a list."""
    return list(list_value)


_unpack_tuple = _unpack_list


def _try_get_scalar_type(*args: Any) -> JitScalarType | None:
    """The element type of the first value that has one."""
    for arg in args:
        kind = JitScalarType.from_value(arg, JitScalarType.UNDEFINED)
        if kind != JitScalarType.UNDEFINED:
            return kind
    return None


# ---- errors
def _refuse(op: str, msg: str, value: Any = None) -> NoReturn:
    """Refuses an operator."""
    raise OnnxExporterError(f"{op} can't be exported to ONNX: {msg}")


_unimplemented = _refuse


def _onnx_unsupported(op_name: str, value: Any = None) -> NoReturn:
    """Refuses an operator without a reason."""
    _refuse(op_name, "a symbolic function refused it", value)


def _onnx_opset_unsupported(
    op_name: str, current_opset: int, supported_opset: int, value: Any = None
) -> NoReturn:
    """Refuses an operator in an operator set."""
    raise OnnxExporterError(
        f"{op_name} needs operator set {supported_opset}, but the model has {current_opset}"
    )


def _onnx_opset_unsupported_detailed(
    op_name: str, current_opset: int, supported_opset: int, reason: str, value: Any = None
) -> NoReturn:
    """Refuses an operator in an operator set, with the reason."""
    raise OnnxExporterError(
        f"{op_name} needs operator set {supported_opset}, but the model has {current_opset}: {reason}"
    )


# ---- nodes
def _list_input(values: Any) -> list[int]:
    return [int(v) for v in (values if isinstance(values, (list, tuple)) else [values])]


def _reshape_helper(g: Any, input: Any, shape: Any, allowzero: int = 0) -> Any:
    """A node `Reshape`."""
    return g.op("Reshape", input, shape, allowzero_i=allowzero)


def _squeeze_helper(g: Any, input: Any, axes_i: Any) -> Any:
    """A node `Squeeze`."""
    return g.op("Squeeze", input, _list_input(axes_i))


def _unsqueeze_helper(g: Any, input: Any, axes_i: Any) -> Any:
    """A node `Unsqueeze`."""
    return g.op("Unsqueeze", input, _list_input(axes_i))


def _reducesum_helper(g: Any, input: Any, axes_i: Any = None, keepdims_i: int = 1,
                      noop_with_empty_axes_i: int = 0) -> Any:  # fmt: skip
    """A node `ReduceSum`."""
    axes = () if axes_i is None else (_list_input(axes_i),)
    return g.op(
        "ReduceSum", input, *axes, keepdims_i=keepdims_i, noop_with_empty_axes_i=noop_with_empty_axes_i
    )


def _slice_helper(g: Any, input: Any, axes: Any, starts: Any, ends: Any, steps: Any = None) -> Any:
    """A node `Slice`."""
    more = () if steps is None else (_list_input(steps),)
    return g.op("Slice", input, _list_input(starts), _list_input(ends), _list_input(axes), *more)


def _size_helper(g: Any, self: Any, dim: Any) -> Any:
    """Nodes that read a size."""
    return g.op("Gather", g.op("Shape", self), dim, axis_i=0)


def _select_helper(g: Any, self: Any, dim: Any, index: Any, apply_reshape: bool = True) -> Any:
    """A node `Gather`."""
    return g.op("Gather", self, index, axis_i=int(_constant(dim)))


def _numel_helper(g: Any, self: Any) -> Any:
    """A node `Size`."""
    return g.op("Size", self)

"""Quantized tensors in files. tl-quantization, which has their class, is imported on first use."""

from __future__ import annotations

import importlib
import pickle
from collections import OrderedDict
from typing import Any

import tl_core
from tl_core.base.public_names import own_module_of
from tl_core.overrides import DisableTorchFunctionSubclass

from . import rebuild
from .class_names import QUANTIZED

__all__ = ["is_quantized", "is_quantized_dtype", "new", "parts", "scheme", "tensor"]

_PACKAGE = "tl_quantization"
_VALUES = (
    *("per_tensor_affine", "per_tensor_symmetric", "per_channel_affine"),
    *("per_channel_symmetric", "per_channel_affine_float_qparams"),
)
_NARROW = ("QUInt4x2Storage", "QUInt2x4Storage")


def scheme(full: str) -> Any:
    """The quantization scheme for a path; None for other paths.

    Raises UnpicklingError if tl-quantization isn't installed, and for a storage that tl lacks.
    """
    module, _, name = full.rpartition(".")
    if module == "torch" and name in _NARROW:
        raise pickle.UnpicklingError(
            f"the file holds {full}: tl has no quantized elements of less than a byte"
        )
    return getattr(_module("dtypes"), name) if module == "torch" and name in _VALUES else None


def _module(name: str) -> Any:
    try:
        importlib.import_module(_PACKAGE)
    except ModuleNotFoundError as error:
        if error.name != _PACKAGE:
            raise
        raise pickle.UnpicklingError(
            "the file holds quantized tensors, whose class is in the package tl-quantization: install that"
        ) from error
    return importlib.import_module(f"{_PACKAGE}.{name}")


def tensor(
    storage: Any,
    offset: Any,
    size: Any,
    stride: Any,
    parameters: Any,
    requires_grad: Any = False,
    backward_hooks: Any = None,
) -> Any:
    """A quantized tensor on a storage of integers.

    Args:
        storage: a storage of integers.
        offset: offset of the first element, in elements.
        size: sizes by dimension.
        stride: strides by dimension, in elements.
        parameters: the scheme with scales and zero points.
        requires_grad: whether gradients are recorded.
        backward_hooks: must be empty.
    """
    integers = rebuild.tensor(storage, offset, size, stride)
    names = [name for name, kind in QUANTIZED.items() if kind.dtype is integers.dtype]
    if not names or requires_grad or type(parameters) is not tuple or not parameters:
        raise pickle.UnpicklingError("a quantized tensor is made of something else")
    return _module("tensor").made_of(integers, _quantizer(names[0], integers, *parameters))


def _quantizer(name: str, integers: Any, scheme: Any, *rest: Any) -> Any:
    quantizer, dtypes = _module("tensor_quantizer"), _module("dtypes")
    dtype = getattr(dtypes, name)
    if scheme is dtypes.per_tensor_affine and tuple(map(type, rest)) == (float, int):
        return quantizer.PerTensor(*rest, dtype)
    if scheme in (dtypes.per_channel_affine, dtypes.per_channel_affine_float_qparams) and len(rest) == 3:
        floating, axis = scheme is not dtypes.per_channel_affine, rest[2]
        scales = _channels(rest[0], tl_core.float32 if floating else tl_core.float64)
        zeros = _channels(rest[1], tl_core.float32 if floating else tl_core.int64)
        fits = type(axis) is int and 0 <= axis < integers.dim()
        if fits and tuple(scales.shape) == tuple(zeros.shape) == (integers.shape[axis],):
            return quantizer.PerChannel(scales, zeros, axis, dtype)
    raise pickle.UnpicklingError("a quantized tensor has scales and zero points of another kind")


def _channels(values: Any, dtype: Any) -> Any:
    """The scales or zero points by channel: a tensor, or a list of numbers."""
    if type(values) is list and all(type(value) in (int, float) for value in values):
        return tl_core.tensor(values, dtype=dtype)
    if type(values) is tl_core.Tensor and not values.is_complex() and values.dtype is not tl_core.bool:
        return values
    raise pickle.UnpicklingError("a quantized tensor's scales and zero points must be numbers")


def is_quantized(kind: type) -> bool:
    """Whether a class is the class of quantized tensors."""
    return own_module_of(kind) == f"{_PACKAGE}.tensor"


def is_quantized_dtype(dtype: Any) -> bool:
    """Whether an element type is quantized."""
    return str(dtype).removeprefix("torch.") in QUANTIZED


def new(size: Any, dtype: Any) -> Any:
    """A quantized tensor to read into; `copy_` of a quantized tensor also copies the scales."""
    integers = tl_core.empty(size, dtype=QUANTIZED[str(dtype).removeprefix("torch.")].dtype)
    return _module("tensor").made_of(integers, _module("tensor_quantizer").PerTensor(1.0, 0, dtype))


def parts(t: Any) -> tuple[Any, str, tuple[Any, ...]]:
    """The integers of a quantized tensor, the path of their storage's class, and the further arguments of `tensor`."""
    with DisableTorchFunctionSubclass():
        integers = t.as_subclass(tl_core.Tensor)
    quantizer = t.quantizer
    numbers: tuple[Any, ...]
    if hasattr(quantizer, "axis"):
        numbers = (quantizer.scales, quantizer.zero_points, quantizer.axis)
    else:
        numbers = (float(quantizer.scale), int(quantizer.zero_point))
    geometry = (integers.storage_offset(), tuple(integers.shape), integers.stride())
    path = f"torch.{QUANTIZED[str(quantizer.dtype).removeprefix('torch.')].name}"
    return integers, path, (*geometry, (quantizer.scheme, *numbers), False, OrderedDict())

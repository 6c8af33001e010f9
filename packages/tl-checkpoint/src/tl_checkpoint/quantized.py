"""Quantized tensors in files. tl-quantization, which has their class, is imported on first use."""

from __future__ import annotations

import importlib
import math
import pickle
import sys
from collections import OrderedDict
from typing import Any

import tl_core

from . import rebuild
from .class_names import QUANTIZED
from .globals import Global
from .unfinished import Unfinished

__all__ = [
    "is_quantized_dtype",
    "is_script_object",
    "new",
    "parts",
    "scheme",
    "script_object",
    "tensor",
]

_PACKAGE = "tl_quantization"
# The classes of weights that are read as data: those of this package, which hold tensors and numbers.
_PACKED = ("__torch__.torch.classes.quantized.", "__torch__.torch.classes.rnn.")
_VALUES = (
    *("per_tensor_affine", "per_tensor_symmetric", "per_channel_affine"),
    *("per_channel_symmetric", "per_channel_affine_float_qparams"),
)


def scheme(full: str) -> Any:
    """The quantization scheme for a path; None for other paths.

    Raises UnpicklingError if tl-quantization isn't installed.
    """
    module, _, name = full.rpartition(".")
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
    names = [name for name, kind in QUANTIZED.items() if kind.dtype is getattr(storage, "dtype", None)]
    if not names or requires_grad or type(parameters) is not tuple or not parameters:
        raise pickle.UnpicklingError("a quantized tensor is made of something else")
    bits = _module("dtypes").bits_of(getattr(tl_core, names[0]))
    if bits < 8:
        integers = _unpack(storage, offset, size, stride, bits)
    else:
        integers = rebuild.tensor(storage, offset, size, stride)
    return _module("tensor").made_of(integers, _quantizer(names[0], integers, *parameters))


def _unpack(storage: Any, offset: Any, size: Any, stride: Any, bits: int) -> Any:
    """The integers of a storage in which several share a byte."""
    count = math.prod(size) if type(size) is tuple and all(type(n) is int and n >= 0 for n in size) else -1
    memory = storage.untyped()
    packed = tl_core.empty(0, dtype=tl_core.uint8, device=memory.device).set_(memory)
    if offset != 0 or count < 0 or packed.numel() != -(-count * bits // 8):
        raise pickle.UnpicklingError(
            f"a quantized tensor with elements of {bits} bits must fill its storage, but has the size {size} and the "
            f"offset {offset} in {packed.numel()} bytes"
        )
    integers = _module("packing").unpack_bits(packed, bits, count).reshape(size)
    if stride != integers.stride():
        raise pickle.UnpicklingError(f"a quantized tensor with elements of {bits} bits must be contiguous")
    return integers


def _quantizer(name: str, integers: Any, scheme: Any, *rest: Any) -> Any:
    quantizer, dtypes = _module("tensor_quantizer"), _module("dtypes")
    dtype = getattr(dtypes, name)
    if scheme is dtypes.per_tensor_affine and tuple(map(type, rest)) == (float, int):
        return quantizer.PerTensor(*rest, dtype)
    if scheme in (dtypes.per_channel_affine, dtypes.per_channel_affine_float_qparams) and len(rest) == 3:
        # PyTorch names per_channel_affine for both schemes.
        floating = (
            scheme is not dtypes.per_channel_affine or getattr(rest[1], "dtype", None) is tl_core.float32
        )
        axis = rest[2]
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


class _PackedWeight(Unfinished):
    """Placeholder of a packed weight, until the pickle has its state and the name of its class."""

    def finish(self, state: Any) -> Any:
        """The packed weight."""
        named = type(state) is tuple and len(state) == 2 and type(state[1]) is str
        if not named or not state[1].startswith(_PACKED):
            raise pickle.UnpicklingError(
                "a ScriptObject is read as data only if it is a packed weight of a quantized layer, but the pickle has "
                f"{state[1] if named else 'no class'!r}"
            )
        return _packed_weight(*state)


def _packed_weight(state: Any, name: str) -> Any:
    _module("packed.states")
    from tl_core.extensions.custom_classes import class_of

    try:
        return class_of(name)._of_state(state)
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        raise pickle.UnpicklingError(f"a packed weight is damaged: {error}") from error


def script_object(full: str) -> Global | None:
    """The entry for objects of classes in schemas; None for other paths.

    Args:
        full: the path of a global.
    """
    return Global(full, _PackedWeight) if full == "torch.ScriptObject" else None


def is_script_object(kind: type) -> bool:
    """Whether objects of a class have a class in schemas, such as packed weights."""
    module = sys.modules.get("tl_core.extensions.custom_classes")
    return module is not None and issubclass(kind, module.ScriptObject)


def is_quantized_dtype(dtype: Any) -> bool:
    """Whether an element type is quantized."""
    return str(dtype).removeprefix("torch.") in QUANTIZED


def new(size: Any, dtype: Any) -> Any:
    """A quantized tensor to read into; `copy_` of a quantized tensor also copies the scales."""
    integers = tl_core.empty(size, dtype=_module("dtypes").storage_dtype(dtype))
    return _module("tensor").made_of(integers, _module("tensor_quantizer").PerTensor(1.0, 0, dtype))


def parts(t: Any) -> tuple[Any, str, tuple[Any, ...]]:
    """The integers of a quantized tensor, the path of their storage's class, and the further arguments of `tensor`."""
    tensors = _module("tensor")
    integers, quantizer = tensors.integers_of(t), tensors.quantizer_of(t)
    numbers: tuple[Any, ...]
    if hasattr(quantizer, "axis"):
        numbers = (quantizer.scales, quantizer.zero_points, quantizer.axis)
    else:
        numbers = (float(quantizer.scale), int(quantizer.zero_point))
    path = f"torch.{QUANTIZED[str(quantizer.dtype).removeprefix('torch.')].name}"
    is_narrow = _module("dtypes").bits_of(quantizer.dtype) < 8
    elements = integers.clone(memory_format=tl_core.contiguous_format) if is_narrow else integers
    geometry = (elements.storage_offset(), tuple(elements.shape), elements.stride())
    integers = t.int_repr() if is_narrow else integers  # in a file, narrow elements share bytes
    return integers, path, (*geometry, (quantizer.scheme, *numbers), False, OrderedDict())

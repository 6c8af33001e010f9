"""Arrays as TensorFlow's protocol buffers hold them."""

from __future__ import annotations

import struct
from typing import Any

import numpy
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

import tl_core

__all__ = ["half_to_int", "int_to_half", "tensor_proto"]

_FIELDS = {
    tl_core.float16: ("DT_HALF", "half_val"),
    tl_core.bfloat16: ("DT_BFLOAT16", "half_val"),
    tl_core.float32: ("DT_FLOAT", "float_val"),
    tl_core.float64: ("DT_DOUBLE", "double_val"),
    tl_core.int8: ("DT_INT8", "int_val"),
    tl_core.uint8: ("DT_UINT8", "int_val"),
    tl_core.int16: ("DT_INT16", "int_val"),
    tl_core.int32: ("DT_INT32", "int_val"),
    tl_core.int64: ("DT_INT64", "int64_val"),
    tl_core.bool: ("DT_BOOL", "bool_val"),
    tl_core.complex64: ("DT_COMPLEX64", "scomplex_val"),
    tl_core.complex128: ("DT_COMPLEX128", "dcomplex_val"),
}


def half_to_int(f: float) -> int:
    """The bits of a number as float16.

    Example:
        >>> half_to_int(1.0)
        15360
    """
    return int(struct.unpack("<H", struct.pack("<e", f))[0])


def int_to_half(i: int) -> float:
    """The number that these bits are as float16.

    Example:
        >>> int_to_half(15360)
        1.0
    """
    return float(struct.unpack("<e", struct.pack("<H", i))[0])


def _values(tensor: tl_core.Tensor) -> list[Any]:
    flat = tensor.detach().cpu().reshape(-1)
    if tensor.dtype.is_complex:
        return list(tl_core.view_as_real(flat.resolve_conj()).reshape(-1).tolist())
    if tensor.dtype in (tl_core.float16, tl_core.bfloat16):
        return [n & 0xFFFF for n in flat.view(tl_core.int16).tolist()]
    return list(flat.tolist())


def tensor_proto(tag: str, tensor: Any) -> Summary:
    """A summary with a whole tensor.

    Args:
        tag: its name.
        tensor: the tensor, or an array.

    Raises:
        ValueError: TensorBoard has no such element type.

    Example:
        >>> tensor_proto("t", tl_core.ones(2)).value[0].tensor.float_val
        [1.0, 1.0]
    """
    tensor = tensor if isinstance(tensor, tl_core.Tensor) else tl_core.from_numpy(numpy.asarray(tensor))
    if tensor.dtype not in _FIELDS:
        raise ValueError(f"{tag}: TensorBoard has no element type {tensor.dtype}")
    dtype, field = _FIELDS[tensor.dtype]
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in tensor.shape])
    proto = TensorProto(dtype=dtype, tensor_shape=shape, **{field: _values(tensor)})
    plugin = SummaryMetadata.PluginData(plugin_name="tensor")
    return Summary(value=[Summary.Value(tag=tag, metadata=SummaryMetadata(plugin_data=plugin), tensor=proto)])

"""The older types of tensors by coordinates: `sparse.FloatTensor(indices, values)`."""

from __future__ import annotations

from tl_core import _C
from tl_core.tensor_types import TensorType


def _type(name: str, dtype: _C.dtype) -> TensorType:
    return TensorType(name, dtype, "cpu", __name__, _C.sparse_coo)


FloatTensor = _type("FloatTensor", _C.float32)
DoubleTensor = _type("DoubleTensor", _C.float64)
HalfTensor = _type("HalfTensor", _C.float16)
BFloat16Tensor = _type("BFloat16Tensor", _C.bfloat16)
ByteTensor = _type("ByteTensor", _C.uint8)
CharTensor = _type("CharTensor", _C.int8)
ShortTensor = _type("ShortTensor", _C.int16)
IntTensor = _type("IntTensor", _C.int32)
LongTensor = _type("LongTensor", _C.int64)

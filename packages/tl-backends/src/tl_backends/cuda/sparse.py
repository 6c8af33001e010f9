"""The older types of tensors by coordinates on CUDA devices: no tensor has them, and making one raises TypeError."""

import tl_core
from tl_core.tensor_types import TensorType

__all__ = [
    "BFloat16Tensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
]


def _type(name: str, dtype: tl_core.dtype) -> TensorType:
    return TensorType(name, dtype, "cuda", __name__, tl_core.sparse_coo)


FloatTensor = _type("FloatTensor", tl_core.float32)
DoubleTensor = _type("DoubleTensor", tl_core.float64)
HalfTensor = _type("HalfTensor", tl_core.float16)
BFloat16Tensor = _type("BFloat16Tensor", tl_core.bfloat16)
ByteTensor = _type("ByteTensor", tl_core.uint8)
CharTensor = _type("CharTensor", tl_core.int8)
ShortTensor = _type("ShortTensor", tl_core.int16)
IntTensor = _type("IntTensor", tl_core.int32)
LongTensor = _type("LongTensor", tl_core.int64)

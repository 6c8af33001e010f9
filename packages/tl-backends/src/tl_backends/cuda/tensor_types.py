"""The older types of tensors on CUDA devices: no tensor has them, and making one raises TypeError."""

import tl_core
from tl_core.tensor_types import TensorType

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
]

FloatTensor = TensorType("FloatTensor", tl_core.float32, "cuda", __name__)
DoubleTensor = TensorType("DoubleTensor", tl_core.float64, "cuda", __name__)
HalfTensor = TensorType("HalfTensor", tl_core.float16, "cuda", __name__)
BFloat16Tensor = TensorType("BFloat16Tensor", tl_core.bfloat16, "cuda", __name__)
ByteTensor = TensorType("ByteTensor", tl_core.uint8, "cuda", __name__)
CharTensor = TensorType("CharTensor", tl_core.int8, "cuda", __name__)
ShortTensor = TensorType("ShortTensor", tl_core.int16, "cuda", __name__)
IntTensor = TensorType("IntTensor", tl_core.int32, "cuda", __name__)
LongTensor = TensorType("LongTensor", tl_core.int64, "cuda", __name__)
BoolTensor = TensorType("BoolTensor", tl_core.bool, "cuda", __name__)

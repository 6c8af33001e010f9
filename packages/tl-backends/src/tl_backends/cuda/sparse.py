"""The older types of tensors by coordinates on CUDA devices: no tensor has them, and making one raises TypeError."""

import tl_core
from tl_core.tensors.tensor_types import older_types

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

(FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, ByteTensor, CharTensor, ShortTensor, IntTensor,
 LongTensor) = older_types("cuda", __name__, tl_core.sparse_coo)  # fmt: skip

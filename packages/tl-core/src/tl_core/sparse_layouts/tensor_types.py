"""The older types of tensors by coordinates: `sparse.FloatTensor(indices, values)`."""

from __future__ import annotations

from tl_core import _C
from tl_core.tensor_types import older_types

(FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, ByteTensor, CharTensor, ShortTensor, IntTensor,
 LongTensor) = older_types("cpu", __name__, _C.sparse_coo)  # fmt: skip

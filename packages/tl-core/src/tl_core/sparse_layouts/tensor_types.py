"""The older types of tensors by coordinates: `sparse.FloatTensor(indices, values)`."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.sparse_layouts.construction import sparse_coo_tensor
from tl_core.tensors.size import Size
from tl_core.tensors.tensor_types import constructors, older_types


def construct(dtype: Any, args: tuple[Any, ...]) -> Tensor:
    """Builds a tensor by coordinates, as the older constructors do.

    Args:
        dtype: its element type, unless there are values.
        args: nothing, the sizes, or coordinates and values, and then perhaps the sizes.

    Raises:
        TypeError: it is none of these.
    """
    size = args[0] if len(args) == 1 and isinstance(args[0], Size) else args or (0,)
    if all(isinstance(length, int) for length in size):
        return _C.empty(size, dtype=dtype, layout=_C.sparse_coo)
    if len(args) in (2, 3) and isinstance(args[0], Tensor) and isinstance(args[1], Tensor):
        return sparse_coo_tensor(*args)
    raise TypeError(
        "new(): a sparse tensor is made of sizes, or of coordinates, values and perhaps sizes, got "
        f"{', '.join(type(a).__name__ for a in args)}; sparse_coo_tensor() takes other things"
    )


constructors[_C.sparse_coo] = construct
(FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, ByteTensor, CharTensor, ShortTensor, IntTensor,
 LongTensor) = older_types("cpu", __name__, _C.sparse_coo)  # fmt: skip

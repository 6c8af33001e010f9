"""Batches of tensors of different sizes in one tensor.

The layout `torch.jagged` is for components that differ in one dimension, such as sequences of different lengths; all of
`operators` below runs on their elements without padding. The layout `torch.strided` is for components of any sizes.

>>> import tl_core as tl
>>> x = nested_tensor([tl.arange(3), tl.arange(5) + 3], layout=tl.jagged)
>>> x.values(), x.offsets()
(tensor([0, 1, 2, 3, 4, 5, 6, 7]), tensor([0, 3, 8]))
>>> list(x)
[tensor([0, 1, 2]), tensor([3, 4, 5, 6, 7])]
"""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.nested import layers as _layers  # they register what answers for operators
from tl_core.nested import padded as _padded
from tl_core.nested import pickling as _pickling
from tl_core.nested import pointwise as _pointwise
from tl_core.nested import reductions as _reductions
from tl_core.nested import shapes as _shapes
from tl_core.nested.construction import (
    as_nested_tensor,
    masked_select,
    narrow,
    nested_tensor,
    nested_tensor_from_jagged,
)

__all__ = [
    "as_nested_tensor",
    "masked_select",
    "narrow",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "to_padded_tensor",
]


def to_padded_tensor(
    input: Tensor, padding: float, output_size: Any = None, out: Tensor | None = None
) -> Tensor:
    """A dense copy of a nested tensor, filled up with `padding` behind the elements of each component.

    Args:
        input: a nested tensor.
        padding: the number to fill up with.
        output_size: the sizes of the result, at least as large as all components. Default: the smallest.
        out: where to put the result.

    Raises:
        TypeError: `input` is not nested.
        RuntimeError: `output_size` is too small.

    Example:
        >>> import tl_core as tl
        >>> to_padded_tensor(nested_tensor([[1.0, 2.0], [3.0]], layout=tl.jagged), 0.0)
        tensor([[1., 2.],
                [3., 0.]])
    """
    if not isinstance(input, Tensor) or not input.is_nested:
        raise NotImplementedError(
            f"to_padded_tensor(): argument 'input' must be a nested tensor, got {type(input).__name__}"
        )
    if input.layout is _C.jagged:
        return _padded.to_padded(input, padding, output_size, out)
    from tl_core.nested.strided import to_padded

    return to_padded(input, padding, output_size, out)

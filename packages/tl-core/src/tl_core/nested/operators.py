"""Operators of the namespace aten that convert padded tensors and masks to nested tensors."""

from __future__ import annotations

from tl_core.nested.from_padded import from_mask, from_padded, from_padded_and_example, is_left_aligned
from tl_core.operators.composites import add

add(
    [
        (
            (
                "_nested_from_padded(Tensor padded, Tensor cpu_nested_shape_example, "
                "bool fuse_transform_0213=False) -> Tensor"
            ),
            from_padded,
        ),
        (
            "_nested_from_padded_and_nested_example(Tensor padded, Tensor nt_example) -> Tensor",
            from_padded_and_example,
        ),
        (
            "_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True) -> Tensor",
            from_mask,
        ),
        (
            "_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool",
            is_left_aligned,
        ),
    ]
)

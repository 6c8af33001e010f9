"""Functions of `torch` whose names begin with an underscore and that programs call all the same."""

from __future__ import annotations

import tl_core
from tl_core import Tensor

__all__: list[str] = []


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape."""
    return input.is_same_size(other)


def _assert_async(
    input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero"
) -> None:
    """Raises RuntimeError with the text unless the tensor's only element is not zero.

    On a CPU there is nothing to wait for: it is checked at once.
    """
    if input.numel() != 1:
        raise RuntimeError(
            f"Boolean value of Tensor with {'no' if input.numel() == 0 else 'more than one'} value is ambiguous"
        )
    if not input.item():
        raise RuntimeError(assert_msg)


def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> bool:
    """Whether `input.data = from_` can be: both have the same layout, and both elements or neither."""
    return input.layout == from_.layout and input.is_meta == from_.is_meta


def _is_functional_tensor(t: Tensor) -> bool:
    """Whether it is a stand-in that records writes: never."""
    return False


def _shape_as_tensor(self: Tensor) -> Tensor:
    """The sizes as a tensor of int64."""
    return tl_core.tensor(list(self.shape), dtype=tl_core.int64)


def _reshape_from_tensor(self: Tensor, shape: Tensor) -> Tensor:
    """`reshape` to sizes that a tensor holds."""
    return self.reshape(shape.tolist())

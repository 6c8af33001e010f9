"""How masked tensors are made."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core.masked.maskedtensor.core import MaskedTensor, as_masked, check_parts, plain

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A masked tensor of a copy of the data, a leaf of the graph; as `MaskedTensor`.

    Args:
        data: the values.
        mask: True where they count, of the same shape.
        requires_grad: whether gradients are recorded.

    Example:
        >>> import tl_core as tl
        >>> x = masked_tensor(tl.tensor([1.0, 2.0]), tl.tensor([True, False]), requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        MaskedTensor(
          [  2.0000,       --]
        )
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """A masked tensor through which gradients flow to the data: zeros to elements that do not count.

    Args:
        data: the elements.
        mask: bool, of the same shape.

    Raises:
        TypeError, ValueError: as for `MaskedTensor`.

    Example:
        >>> import tl_core as tl
        >>> x = tl.tensor([1.0, 0.0], requires_grad=True)
        >>> as_masked_tensor(x, tl.tensor([True, False])).log().sum().backward()
        >>> x.grad
        tensor([1., 0.])
    """
    check_parts(data, mask)
    if not data.requires_grad or data.layout is not _C.strided:
        return as_masked(plain(data), mask)
    return as_masked(_C.where(mask, data, data.detach()), mask)

"""Looking at tensors inside of transforms."""

from __future__ import annotations

from tl_autograd import _C
from tl_core import Tensor

__all__ = ["debug_unwrap"]


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor that a transform wrapped, for printing while a function is looked into.

    Args:
        tensor: a tensor inside of a transform, or any other.
        recurse: whether all transforms are undone, or the innermost only.

    Returns:
        The tensor without the batch dimension hidden; what is computed from it is seen by no transform.

    Example::

        >>> from tl_autograd.func import debug_unwrap, vmap
        >>> shapes = []
        >>> _ = vmap(lambda x: (shapes.append(debug_unwrap(x).shape), x)[1])(tl_core.zeros(3, 2))
        >>> shapes
        [torch.Size([3, 2])]
    """
    found = _C.wrapping(tensor)
    if found is None:
        return tensor
    value = found[3]
    return debug_unwrap(value) if recurse else value

"""Version counters set back, which hides writes from autograd. `program_node.cpp` of tl-autograd checks counters."""

from __future__ import annotations

from collections.abc import Sequence

from tl_core import _C, Tensor
from tl_core.dispatch.context_managers import _DecoratorContextManager

__all__ = ["set_versions", "unsafe_preserve_version_counter"]


def set_versions(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Sets how often the memory of tensors was written.

    Args:
        tensors: the tensors.
        versions: a count for each.

    Raises:
        RuntimeError: the numbers of tensors and of versions differ. Then no version changes.

    Example:
        >>> import tl_core
        >>> x = tl_core.zeros(2).add_(1)
        >>> set_versions([x], [0])
        >>> x._version
        0
    """
    if len(tensors) != len(versions):
        raise RuntimeError(f"expected a version for each of {len(tensors)} tensors, got {len(versions)}")
    for tensor, version in zip(tensors, versions, strict=True):
        _C._set_version(tensor, version)


class unsafe_preserve_version_counter(_DecoratorContextManager):
    """A region after which tensors have the versions that they had when it was made: what was written goes unseen.

    What autograd has kept of them is then taken for unchanged, and gradients are wrong if it isn't.

    Args:
        tensors: a tensor, or a tuple of them.

    Raises:
        AssertionError: it is neither.

    Example:
        >>> import tl_core
        >>> x = tl_core.zeros(2)
        >>> with unsafe_preserve_version_counter(x):
        ...     _ = x.add_(1)
        >>> x._version
        0
    """

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        if not isinstance(self.tensors, tuple):
            raise AssertionError(f"tensors must be a tensor or a tuple of them, got {type(tensors).__name__}")
        self.prev_versions = tuple(tensor._version for tensor in self.tensors)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        set_versions(self.tensors, self.prev_versions)

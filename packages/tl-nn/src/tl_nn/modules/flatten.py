"""Layers that change the shape of their input."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Makes one dimension of a range of them.

    Args:
        start_dim, end_dim (int): The first and the last dimension of the range.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Flatten()(tl_core.zeros(32, 1, 5, 5)).shape
        torch.Size([32, 25])
    """

    __constants__ = ["start_dim", "end_dim"]
    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The flattened input."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Makes several dimensions of one.

    Args:
        dim (int or str): The dimension, or its name.
        unflattened_size (sequence of int, or of pairs of a name and an int): The new sizes. One size may be -1.
            Pairs where `dim` is a name.

    Raises:
        TypeError: If the sizes aren't a tuple or list of int, or of pairs where `dim` is a name.

    Example:
        >>> import tl_core, tl_nn
        >>> tl_nn.Unflatten(1, (2, 5))(tl_core.zeros(2, 10)).shape
        torch.Size([2, 2, 5])
    """

    NamedShape = tuple[tuple[str, int]]

    __constants__ = ["dim", "unflattened_size"]
    dim: int | str
    unflattened_size: Any

    def __init__(self, dim: int | str, unflattened_size: Any) -> None:
        super().__init__()
        if isinstance(dim, str):
            _check_named_shape(unflattened_size)
        elif isinstance(dim, int):
            _check_sizes(unflattened_size)
        else:
            raise TypeError(f"Unflatten: dim must be an int or a str, got {type(dim).__name__}")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """The unflattened input."""
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


def _check_named_shape(shape: Any) -> None:
    if not isinstance(shape, (tuple, list)):
        raise TypeError(
            f"unflattened_size must be a tuple of tuples but found type {type(shape).__name__}, as dim is a name"
        )
    for i, pair in enumerate(shape):
        if not isinstance(pair, (tuple, list)) or [type(x) for x in pair] != [str, int]:
            raise TypeError(
                f"unflattened_size must be a tuple of tuples of a name and a size, but found {pair!r} at pos {i}"
            )


def _check_sizes(sizes: Any) -> None:
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(sizes).__name__}")
    for index, size in enumerate(sizes):
        if not isinstance(size, int):
            raise TypeError(
                "unflattened_size must be tuple of ints, "
                f"but found element of type {type(size).__name__} at pos {index}"
            )

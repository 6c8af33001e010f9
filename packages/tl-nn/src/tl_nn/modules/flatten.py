"""Layers that change the shape of their input."""

from __future__ import annotations

from typing import Any

from tl_core import Tensor

from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    r"""Joins a range of dimensions to one.

    Formula:
        .. math::

            (S_0, \ldots, S_{k}) \to (S_0, \ldots, S_{a - 1}, \; S_a S_{a + 1} \cdots S_b, \; S_{b +
            1}, \ldots, S_k)

        `a` is `start_dim` and `b` is `end_dim`. Elements remain in their order, row by row.

    Args:
        start_dim (int): The first dimension of the range. The default is 1.
        end_dim (int): The last dimension of the range. The default is -1, the last of the input.

    Shape:
        - Input: `(*, S_a, ..., S_b, *)`. A tensor without dimensions is allowed with `start_dim` 0 or -1.
        - Output: `(*, S_a * ... * S_b, *)`.

    Notes:
        - The result is a view where the strides permit it, else a copy.

    Raises:
        IndexError: If the input lacks a dimension, when the layer is called.
        RuntimeError: If `start_dim` is behind `end_dim`, when the layer is called.

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
    r"""Splits one dimension into several.

    Formula:
        .. math::

            (\ldots, S, \ldots) \to (\ldots, U_1, \ldots, U_n, \ldots), \qquad U_1 \cdots U_n = S

        `S` is the size of the dimension `dim`, and `U` is `unflattened_size`. Elements remain in their order, row
        by row.

    Args:
        dim (int or str): The dimension, or its name.
        unflattened_size (tuple or list of int, or of pairs of a name and an int): The new sizes. One size may be
            -1, for the rest. Pairs where `dim` is a name.

    Shape:
        - Input: `(*, S, *)`.
        - Output: `(*, U_1, ..., U_n, *)`.

    Notes:
        - The result is a view of the input. The layer is the inverse of `Flatten`.

    Raises:
        TypeError: If the sizes aren't a tuple or list of int, or of pairs where `dim` is a name.
        RuntimeError: If the product of the sizes isn't `S`, when the layer is called.

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

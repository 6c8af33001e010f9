"""Sums of products over dimensions: functions whose arguments have several forms."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.overrides import overridable

__all__ = ["chain_matmul", "einsum", "tensordot"]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _subscripts(numbers: Sequence[Any]) -> str:
    """A list of numbers from 0 to 51, and perhaps an ellipsis, as subscripts."""
    if any(n is not Ellipsis and not 0 <= n < len(LETTERS) for n in numbers):
        raise ValueError(
            f"einsum(): subscripts in a list must be in the range [0, {len(LETTERS)}), got {list(numbers)}"
        )
    return "".join("..." if n is Ellipsis else LETTERS[n] for n in numbers)


def _from_lists(args: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    """The equation and operands of `einsum(a, [0, 1], b, [1, 2], [0, 2])`."""
    tensors, lists = args[0 : len(args) - 1 : 2], args[1::2]
    equation = ",".join(map(_subscripts, lists))
    return (f"{equation}->{_subscripts(args[-1])}" if len(args) % 2 else equation), list(tensors)


@functools.partial(overridable, spreads=True)
def einsum(*args: Any) -> Tensor:
    """Sums of products of elements, whose dimensions are named by subscripts.

    Operands are contracted two at a time, the cheapest pair first, each by one product of matrices.

    Parameters:
        equation : str
            `"ij,jk->ik"`: a letter for each dimension of each operand, then those of the result. Without an arrow
            the result has the letters that stand once, in order. `...` stands for dimensions that are broadcast.
        operands : Tensors
            Or one list of them. Instead of an equation each operand may be followed by a list of numbers below
            52, and the last one by the result's.

    Returns:
        Tensor

    Raises:
        RuntimeError
            If the equation cannot be read or doesn't fit the operands' shapes.

    Examples:
        >>> import tl_core as tl
        >>> tl.einsum("ij,kj->ik", tl.ones(2, 3), tl.ones(4, 3))
        tensor([[3., 3., 3., 3.],
                [3., 3., 3., 3.]])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and "
            "its subscripts list"
        )
    if isinstance(args[0], Tensor):
        equation, operands = _from_lists(args)
    else:
        equation, operands = args[0], list(args[1:])
    return _C.einsum(equation, operands)


def _dims(dims: Any) -> tuple[list[int], list[int]] | int:
    """Two lists of dimensions, or how many of the last and first."""
    if isinstance(dims, Tensor):
        if dims.numel() == 1:
            return int(dims.item())
        return dims[0].tolist(), dims[1].tolist()
    if isinstance(dims, (tuple, list)):
        first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
        return first, second
    return int(dims)


@overridable
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """The sums of products over dimensions of one tensor paired with dimensions of another.

    Parameters:
        a, b : Tensor
            Of one dtype.
        dims : int, or two lists of ints, or a tensor of them
            The dimensions of `a` and, in the same order, of `b`; a number means the last ones of `a` and the
            first ones of `b`.
        out : Tensor, optional
            Where the result goes.

    Returns:
        Tensor
            Of the other dimensions of `a`, then those of `b`.

    Raises:
        RuntimeError
            If paired dimensions differ in size, or there are fewer dimensions than asked for.

    Examples:
        >>> import tl_core as tl
        >>> tl.tensordot(tl.ones(2, 3, 4), tl.ones(4, 3, 5), dims=([1, 2], [1, 0])).shape
        torch.Size([2, 5])
    """
    pairs = _dims(dims)
    if isinstance(pairs, int):
        if pairs < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if pairs > min(a.dim(), b.dim()):
            raise RuntimeError(
                f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims} for {a.dim()} and {b.dim()} dimensions"
            )
        pairs = list(range(-pairs, 0)), list(range(pairs))
    return _C.tensordot(a, b, *pairs, out=out)


@overridable
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order with the fewest multiplications (Cormen et al., 15.2).

    Parameters:
        matrices : Tensors, 2-dimensional
            Each as many rows as the one before has columns.
        out : Tensor, optional
            Where the result goes.

    Returns:
        Tensor

    Raises:
        RuntimeError
            If one is no matrix, or two neighbours don't fit.

    Examples:
        >>> import tl_core as tl
        >>> tl.chain_matmul(tl.ones(2, 9), tl.ones(9, 3), tl.ones(3, 4)).shape
        torch.Size([2, 4])
    """
    return _C.chain_matmul(list(matrices), out=out)

"""The p-norm along dimensions, with a gradient of 0 where it is 0."""

from math import inf

from tl_core import Tensor, where


def vector_length(x: Tensor, p: float, dim: int | tuple[int, ...], keepdim: bool = False) -> Tensor:
    """The sum of the absolute values to the power of `p` along `dim`, to the power of `1 / p`.

    Args:
        x: the vectors.
        p: the exponent.
        dim: the dimension that is summed over.
        keepdim: whether it stays, of size 1.
    """
    size = x.abs()
    dims = dim if isinstance(dim, tuple) else (dim,)
    if p == inf:
        return size.amax(dims, keepdim)
    if p == -inf:
        return size.amin(dims, keepdim)
    if p == 0:
        return (size != 0).to(size.dtype).sum(dims, keepdim)
    if p == 1:
        return size.sum(dims, keepdim)
    total = _power(size, p).sum(dims, keepdim)
    nothing = total == 0
    return where(nothing, 0.0, _power(where(nothing, 1.0, total), 1 / p))


def _power(x: Tensor, p: float) -> Tensor:
    """`x ** p` of numbers that aren't negative; where x is 0, a gradient of 0 instead of an infinite one."""
    if p == 2:
        return x * x
    if p == 0.5:
        return x.sqrt()
    nothing = x == 0
    return where(nothing, x.detach() ** p, where(nothing, 1.0, x) ** p)

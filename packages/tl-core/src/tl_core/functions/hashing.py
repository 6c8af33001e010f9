"""Hashes of the elements of a tensor."""

from __future__ import annotations

import math

from tl_core import _C
from tl_core._C import Tensor
from tl_core.overrides import overridable

__all__ = ["hash_tensor"]

_UNSIGNED = (_C.uint16, _C.uint32)


@overridable
def hash_tensor(
    input: Tensor,
    dim: int | tuple[int, ...] = (),
    *,
    keepdim: bool = False,
    mode: int = 0,
    out: Tensor | None = None,
) -> Tensor:
    """The exclusive or of the elements' bits: each as float64 or int64, read as uint64.

    Args:
        input (Tensor, any shape): Numbers or bool; not complex, not float8.
        dim (int or tuple of int): The dimensions that are reduced; none are all.
        keepdim (bool): Whether reduced dimensions stay, with size 1.
        mode (int): The kind of hash; 0, the exclusive or, is the only one.
        out (Tensor, optional): Takes the result; of uint64.

    Returns:
        Tensor of uint64.

    Raises:
        RuntimeError: If the mode is another, a dimension appears twice, or there are no elements and no `dim`.
        IndexError: If a dimension is out of range, or has no elements.
        NotImplementedError: If the elements are complex or of a type that is only stored.

    Example:
        >>> import tl_core as tl
        >>> tl.hash_tensor(tl.tensor([[1, 2], [4, 8]]), 1)
        tensor([ 3, 12], dtype=torch.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    dims = _dimensions(input, (dim,) if isinstance(dim, int) else tuple(dim))
    result = _fold(_in_front(_bits(input), dims))
    if keepdim and input.dim():
        result = result.reshape([1 if d in dims else n for d, n in enumerate(input.shape)])
    if out is None:
        return result
    if out.dtype is not _C.uint64:
        raise RuntimeError(f"hash_tensor: expected out to be of dtype uint64, but got {out.dtype}")
    return out.resize_(result.shape).copy_(result) if out.shape != result.shape else out.copy_(result)


def _dimensions(input: Tensor, dims: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions to reduce, counted from the front."""
    count = max(input.dim(), 1)
    for d in dims:
        if not -count <= d < count:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {d})"
            )
    wrapped = tuple(d % count for d in dims) or tuple(range(input.dim()))
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
        if dims and input.dim() and not input.shape[d]:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    if not dims and not input.numel():
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            "with the 'dim' argument."
        )
    return wrapped


def _bits(input: Tensor) -> Tensor:
    """The elements in 64 bits each, as int64: its exclusive or is that of uint64."""
    is_stored_only = input.is_floating_point() and input.itemsize == 1
    if input.is_complex() or input.dtype in _UNSIGNED or input.is_quantized or is_stored_only:
        raise NotImplementedError(f"hash_tensor is not implemented for {input.dtype}")
    input = input.detach()
    if input.is_floating_point():
        return input.to(_C.float64).view(_C.int64)
    return input.view(_C.int64) if input.dtype is _C.uint64 else input.to(_C.int64)


def _in_front(bits: Tensor, dims: tuple[int, ...]) -> Tensor:
    """The dimensions to reduce as one, the first."""
    if not bits.dim():
        return bits.reshape(1)
    bits = bits.movedim(dims, tuple(range(len(dims))))
    sizes = tuple(bits.shape)
    return bits.reshape(math.prod(sizes[: len(dims)]), *sizes[len(dims) :])


def _fold(bits: Tensor) -> Tensor:
    """The exclusive or along the first dimension, by halves."""
    count = bits.shape[0]
    while count > 1:
        half = count // 2
        rest = bits[2 * half :]
        bits = bits[:half] ^ bits[half : 2 * half]
        if count % 2:
            bits[0] ^= rest[0]
        count = half
    return bits[0].view(_C.uint64)

"""Reductions, Fourier transforms and decompositions of matrices of `prims`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tl_core
from tl_core import Tensor
from tl_core.operators import packets

__all__ = ["rows"]

_ARGUMENTS = "(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor"


def rows() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The schemas of the operators, and their functions."""
    yield f"sum{_ARGUMENTS}", _reduction(_sum)
    yield f"prod{_ARGUMENTS}", _reduction(_prod)
    yield f"amax{_ARGUMENTS}", _reduction(tl_core.amax)
    yield f"amin{_ARGUMENTS}", _reduction(tl_core.amin)
    yield f"xor_sum{_ARGUMENTS}", _reduction(_xor_sum)
    yield (
        "var(Tensor inp, int[]? dims, float? correction=1, *, ScalarType? output_dtype=None) -> Tensor",
        _var,
    )
    yield "svd(Tensor A, *, bool full_matrices) -> (Tensor U, Tensor S, Tensor Vh)", _svd
    yield "fft_c2c(Tensor self, *, int[] dim, bool forward) -> Tensor", _fft_c2c
    yield "fft_c2r(Tensor self, *, int[] dim, SymInt last_dim_size) -> Tensor", _fft_c2r
    yield "fft_r2c(Tensor self, *, int[] dim, bool onesided) -> Tensor", _fft_r2c


def _dims_of(inp: Tensor, dims: Sequence[int] | None) -> list[int]:
    """The dimensions that are reduced: all of them for None and for an empty list."""
    if not dims:
        return list(range(inp.dim()))
    for dim in dims:
        if not 0 <= dim < max(inp.dim(), 1):
            raise AssertionError(f"idx {dim} is out of bounds for rank {inp.dim()}")
    if len(set(dims)) != len(dims):
        raise ValueError(f"duplicate value in the list of dims, {list(dims)}")
    return list(dims)


def _reduction(function: Callable[[Tensor, list[int]], Tensor]) -> Callable[..., Tensor]:
    def call(inp: Tensor, dims: Sequence[int] | None, *, output_dtype: Any = None) -> Tensor:
        result = function(inp, _dims_of(inp, dims))
        return result.to(inp.dtype if output_dtype is None else output_dtype)

    return call


def _sum(inp: Tensor, dims: list[int]) -> Tensor:
    return tl_core.sum(inp, dims)


def _prod(inp: Tensor, dims: list[int]) -> Tensor:
    result = inp
    for dim in sorted(dims, reverse=True):
        result = tl_core.prod(result, dim)
    return result if dims else inp.clone()


def _xor_sum(inp: Tensor, dims: list[int]) -> Tensor:
    result = inp
    for dim in sorted(dims, reverse=True):
        parts = result.unbind(dim)
        result = parts[0].clone() if parts else tl_core.zeros_like(result.sum(dim), dtype=inp.dtype)
        for part in parts[1:]:
            result = tl_core.bitwise_xor(result, part)
    return result


def _var(
    inp: Tensor, dims: Sequence[int] | None, correction: float | None = 1, *, output_dtype: Any = None
) -> Tensor:
    result = tl_core.var(inp, _dims_of(inp, dims), correction=1 if correction is None else correction)
    return result if output_dtype is None else result.to(output_dtype)


def _svd(A: Tensor, *, full_matrices: bool) -> Any:
    return tuple(tl_core.linalg.svd(A, full_matrices=full_matrices))


def _fft_c2c(self: Tensor, *, dim: Sequence[int], forward: bool) -> Tensor:
    result: Tensor = packets.aten._fft_c2c.default(self, list(dim), 0, forward)
    return result


def _fft_c2r(self: Tensor, *, dim: Sequence[int], last_dim_size: int) -> Tensor:
    result: Tensor = packets.aten._fft_c2r.default(self, list(dim), 0, last_dim_size)
    return result


def _fft_r2c(self: Tensor, *, dim: Sequence[int], onesided: bool) -> Tensor:
    result: Tensor = packets.aten._fft_r2c.default(self, list(dim), 0, onesided)
    return result

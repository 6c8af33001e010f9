"""Reductions and scans."""

from __future__ import annotations

from typing import Any

import tl_core
import tl_core.operators.packets

from .registry import decomposes

aten = tl_core.operators.packets.aten


@decomposes("std.correction")
def std(self: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    """The root of the variance."""
    return aten.sqrt.default(aten.var.correction(self, dim, correction=correction, keepdim=keepdim))


@decomposes("sum.default")
def sum_(self: Any, *, dtype: Any = None) -> Any:
    """The sum of all elements, as one over no dimensions in particular."""
    named = {} if dtype is None else {"dtype": dtype}
    return aten.sum.dim_IntList(self, [], **named)


@decomposes("all.default")
def all_(self: Any) -> Any:
    """Whether no element is false."""
    return _result_of_all(self, aten.any.default(aten.logical_not.default(self)))


@decomposes("all.dim")
def all_dim(self: Any, dim: int, keepdim: bool = False) -> Any:
    """The same along a dimension."""
    return _result_of_all(self, aten.any.dim(aten.logical_not.default(self), dim, keepdim))


@decomposes("all.dims")
def all_dims(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The same along several."""
    return _result_of_all(self, aten.any.dims(aten.logical_not.default(self), dim, keepdim))


def _result_of_all(self: Any, some_false: Any) -> Any:
    result = aten.logical_not.default(some_false)
    return aten._to_copy.default(result, dtype=tl_core.uint8) if self.dtype == tl_core.uint8 else result


@decomposes("max.default")
def max_(self: Any) -> Any:
    """The largest element."""
    return aten.amax.default(self, [])


@decomposes("min.default")
def min_(self: Any) -> Any:
    """The smallest element."""
    return aten.amin.default(self, [])


@decomposes("logsumexp.default")
def logsumexp(self: Any, dim: Any, keepdim: bool = False) -> Any:
    """log Σ exp(x), without overflow."""
    if not self.is_floating_point():
        self = aten._to_copy.default(self, dtype=tl_core.get_default_dtype())
    dims = [dim] if isinstance(dim, int) else list(dim)
    if self.ndim == 0:
        return aten.clone.default(self)
    largest = aten.amax.default(self, dims, True)
    finite = aten.where.self(aten.isinf.default(largest), aten.full_like.default(largest, 0), largest)
    total = aten.log.default(aten.sum.dim_IntList(aten.exp.default(self - finite), dims, True)) + finite
    return total if keepdim else aten.squeeze.dims(total, dims or list(range(self.ndim)))


@decomposes("linalg_vector_norm.default")
def vector_norm(self: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The norm of vectors."""
    if dtype is not None or self.is_complex() or self.dtype in (tl_core.float16, tl_core.bfloat16):
        return NotImplemented
    dims = list(range(self.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    x = aten.abs.default(self)
    if ord == float("inf"):
        return aten.amax.default(x, dims, keepdim)
    if ord == float("-inf"):
        return aten.amin.default(x, dims, keepdim)
    if ord == 0:
        return aten.sum.dim_IntList(aten._to_copy.default(self != 0, dtype=self.dtype), dims, keepdim)
    if ord == 1:
        return aten.sum.dim_IntList(x, dims, keepdim)
    if ord == 2:
        return aten.sqrt.default(aten.sum.dim_IntList(self * self, dims, keepdim))
    powers = aten.sum.dim_IntList(aten.pow.Tensor_Scalar(x, ord), dims, keepdim)
    return aten.pow.Tensor_Scalar(powers, 1.0 / ord)


@decomposes("cumsum_backward.default")
def cumsum_backward(grad: Any, dim: int) -> Any:
    """The sums from behind."""
    if grad.ndim == 0:
        return grad
    return aten.flip.default(aten.cumsum.default(aten.flip.default(grad, [dim]), dim), [dim])

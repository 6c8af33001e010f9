"""Reductions, norms and softmax."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.sparse_layouts import conversion
from tl_core.sparse_layouts.parts import (
    COMPRESSED,
    coalesced,
    coo,
    keys_of,
)
from tl_core.sparse_layouts.rule_table import rule
from tl_core.sparse_layouts.rules.structure import wrapped


def _dims(x: Tensor, dims: Any) -> set[int]:
    indices = (
        range(x.dim())
        if dims is None or dims == () or dims == []
        else [dims]
        if isinstance(dims, int)
        else dims
    )
    result = [wrapped(d, x.dim()) for d in indices]
    if len(set(result)) != len(result):
        raise RuntimeError(f"dim appears multiple times in the list of dims: {list(indices)}")
    return set(result)


def sum_along(x: Tensor, dims: Any, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The sum along dimensions: of COO sparse where sparse dimensions are left.

    Args:
        x: the sparse tensor.
        dims: the dimensions; None for all.
        keepdim: whether reduced dimensions stay, of size 1.
        dtype: the type of the result; None keeps it.
    """
    x = coalesced(conversion.compressed_to_coo(x) if x.layout in COMPRESSED else x)
    reduced, n = _dims(x, dims), x.sparse_dim()
    values = x.values()
    if dtype is None and not (values.is_floating_point() or values.is_complex()):
        dtype = _C.int64
    values = values.to(dtype) if dtype is not None else values
    dense = [d - n + 1 for d in sorted(reduced) if d >= n]
    values = values.sum(dense, keepdim=keepdim) if dense else values
    if reduced >= set(range(n)):
        total = values.sum(0)
        return total.reshape([1] * n + list(total.shape)) if keepdim else total
    rest = [d for d in range(n) if d not in reduced]
    size = [1 if d in reduced else s for d, s in enumerate(x.shape) if keepdim or d not in reduced]
    if keepdim:
        indices = x.indices().clone()
        for d in reduced & set(range(n)):
            indices[d].zero_()
    else:
        rows = x.indices().unbind()
        indices = _C.stack([rows[d] for d in rest])
    return coo(indices, values, size, len(rest) == n).coalesce()


@rule("sum.dim_IntList")
def sum_dims(x: Tensor, dims: Any, keepdim: bool, dtype: Any) -> Tensor:
    """sum along dimensions

    Args:
        x: the sparse tensor.
        dims: the dimensions; None for all.
        keepdim: whether reduced dimensions stay, of size 1.
        dtype: the type of the result; None keeps it.
    """
    if x.layout in COMPRESSED:
        return _sum_compressed(x, dims, keepdim, dtype)
    return sum_along(x, dims, keepdim, dtype)


def _sum_compressed(x: Tensor, dims: Any, keepdim: bool, dtype: Any) -> Tensor:
    """As the reference has it, a compressed layout stays, and needs both dimensions kept."""
    total = sum_along(x, dims, True, dtype)
    dense = total.to_dense() if total.layout is not _C.strided else total
    reduced = sorted(_dims(x, dims))
    if keepdim and dense.dim() == 2 and x.layout is _C.sparse_csr:
        return conversion.to_sparse(dense, layout=x.layout)
    return dense if keepdim else dense.squeeze(reduced)


@rule("mean", "mean.dim")
def mean(x: Tensor, *rest: Any) -> Tensor:
    """mean: zeros that are not stored count"""
    dims, keepdim, dtype = rest if len(rest) == 3 else (None, False, rest[0])
    reduced = _dims(x, dims)
    count = 1
    for d in reduced:
        count *= x.shape[d]
    total = sum_along(x, dims, keepdim, dtype) if dims is not None else _C.sum(x, dtype=dtype)
    return total / count


@rule("any")
def any_of(x: Tensor) -> Tensor:
    """any"""
    return coalesced(x).values().any()


@rule("all")
def all_of(x: Tensor) -> Tensor:
    """all: an element that is not stored is zero"""
    values = coalesced(x).values()
    return values.all() & (values.numel() == x.numel())


@rule("count_nonzero")
def count_nonzero(x: Tensor, dim: Any) -> Tensor:
    """count_nonzero"""
    values = coalesced(x).values()
    if dim is None:
        return _C.count_nonzero(values)
    return _C.count_nonzero(x.to_dense(), dim)


@rule("linalg_vector_norm", "norm.Scalar", "norm.ScalarOpt_dtype", "native_norm")
def norm(x: Tensor, p: Any = 2, dims: Any = None, *rest: Any) -> Tensor:
    """norm of all elements: those that are not stored add nothing

    Args:
        x: the sparse tensor.
        p: the order, or the probability.
        dims: the dimensions; None for all.
        rest: further arguments of the operator.
    """
    if isinstance(dims, (list, tuple)) and len(dims) not in (0, x.dim()):
        raise RuntimeError(
            f"norm_sparse currently only supports full reductions, so 'dim' must be empty, got {dims}"
        )
    if rest and rest[0]:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    if p is not None and p != float("inf") and p <= 0:
        raise RuntimeError(f"norm: a sparse tensor needs a positive order, got {p}")
    values = coalesced(x).values()
    return _C._call_operator(("linalg_vector_norm",), values, 2 if p is None else p, None, False, dtype=None)


def _extreme(name: str, fill: float) -> Any:
    function = getattr(_C, name)

    def reduce(x: Tensor, dims: Any = (), keepdim: bool = False) -> Tensor:
        """amax, amin: zeros that are not stored take part"""
        dense = function(x.to_dense(), dims if isinstance(dims, int) else tuple(dims), keepdim)
        return dense

    return reduce


rule("amax")(_extreme("amax", float("-inf")))
rule("amin")(_extreme("amin", float("inf")))
rule("max")(lambda x: _C.max(x.to_dense()))
rule("min")(lambda x: _C.min(x.to_dense()))
rule("prod")(lambda x, dtype: _C.prod(x.to_dense(), dtype=dtype))


@rule("trace")
def trace(x: Tensor) -> Tensor:
    """trace"""
    x = coalesced(conversion.compressed_to_coo(x) if x.layout in COMPRESSED else x)
    if x.sparse_dim() != 2:
        return _C.trace(x.to_dense())
    row, column = x.indices()
    return x.values().index_select(0, (row == column).nonzero().reshape(-1)).sum()


# ---- softmax ------------------------------------------------------------------------------------------------
def softmax_along(x: Tensor, dim: int, dtype: Any, log: bool) -> Tensor:
    """The softmax of the stored elements of each line: those that are not stored count as minus infinity.

    Args:
        x: the sparse tensor.
        dim: the dimension.
        dtype: the type of the result; None keeps it.
        log: whether the logarithm is returned.
    """
    if x.layout in COMPRESSED:
        result = softmax_along(conversion.compressed_to_coo(x), dim, dtype, log)
        return conversion.to_sparse(result, layout=x.layout)
    x = coalesced(x)
    dim, n = wrapped(dim, x.dim()), x.sparse_dim()
    values = x.values() if dtype is None else x.values().to(dtype)
    if not (values.is_floating_point() or values.is_complex()):
        raise RuntimeError(f"softmax: expected a floating-point tensor, got {values.dtype}")
    function = _C.log_softmax if log else _C.softmax
    if dim >= n:
        return coo(x.indices(), function(values, dim - n + 1), x.shape, True)
    rest = [d for d in range(n) if d != dim]
    keys = keys_of(x.indices()[rest], [x.shape[d] for d in rest])
    _, line = keys.unique(return_inverse=True)
    lines = int(line.max()) + 1 if line.numel() else 0
    return coo(x.indices(), _softmax_by_line(values, line, lines, log), x.shape, True)


def _softmax_by_line(values: Tensor, line: Tensor, lines: int, log: bool) -> Tensor:
    if values.numel() == 0:
        return values.clone()
    shape = (lines, *values.shape[1:])
    index = line.view(line.shape[0], *[1] * (values.dim() - 1)).expand(values.shape)
    most = _C.full(shape, float("-inf"), dtype=values.dtype)
    most = most.scatter_reduce(0, index, values.detach(), "amax")
    most = _C.where(most.isinf() & (most < 0), _C.zeros((), dtype=values.dtype), most)
    moved = values - most.index_select(0, line)
    powers = moved.exp()
    totals = values.new_zeros(shape).index_add(0, line, powers)
    if log:
        return moved - totals.log().index_select(0, line)
    return powers / totals.index_select(0, line)


@rule("softmax.int")
def softmax(x: Tensor, dim: int, dtype: Any) -> Tensor:
    """softmax

    Args:
        x: the sparse tensor.
        dim: the dimension.
        dtype: the type of the result; None keeps it.
    """
    return softmax_along(x, dim, dtype, False)


@rule("log_softmax.int")
def log_softmax(x: Tensor, dim: int, dtype: Any) -> Tensor:
    """log_softmax

    Args:
        x: the sparse tensor.
        dim: the dimension.
        dtype: the type of the result; None keeps it.
    """
    return softmax_along(x, dim, dtype, True)


@rule("_softmax")
def private_softmax(x: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """_softmax

    Args:
        x: the sparse tensor.
        dim: the dimension.
        half_to_float: whether half becomes float32.
    """
    return softmax_along(x, dim, _C.float32 if half_to_float else None, False)


@rule("_log_softmax")
def private_log_softmax(x: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """_log_softmax

    Args:
        x: the sparse tensor.
        dim: the dimension.
        half_to_float: whether half becomes float32.
    """
    return softmax_along(x, dim, _C.float32 if half_to_float else None, True)

"""Sums, products and quotients."""

from __future__ import annotations

import math
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.sparse_layouts import conversion
from tl_core.sparse_layouts.parts import (
    BLOCKED,
    COMPRESSED,
    batch_dims,
    blocksize_of,
    broadcast_shape,
    coalesced,
    coo,
    indices_of,
    is_sparse,
    keys_of,
    layout_name,
    sparse_sizes,
    with_values,
)
from tl_core.sparse_layouts.rule_table import rule
from tl_core.sparse_layouts.rules.structure import sparse_broadcast_to


def _same_coordinates(a: Tensor, b: Tensor) -> bool:
    """Of one compressed layout, whether both store the same coordinates."""
    if a.shape != b.shape or a._nnz() != b._nnz() or a._values().shape != b._values().shape:
        return False
    return all(_C.equal(i, j) for i, j in zip(indices_of(a), indices_of(b), strict=True))


def _like_layout(x: Tensor, like: Tensor) -> Tensor:
    """A COO tensor in the compressed layout of another."""
    blocksize = blocksize_of(like) if like.layout in BLOCKED else None
    if batch_dims(like):
        dense = x.to_dense()
        return conversion.to_sparse(
            dense, layout=like.layout, blocksize=blocksize, dense_dim=like.dense_dim()
        )
    return conversion.to_sparse(x, layout=like.layout, blocksize=blocksize)


# ---- sums ---------------------------------------------------------------------------------------------------
@rule("add.Tensor")
def add(a: Any, b: Any, alpha: Any) -> Tensor:
    """add

    Args:
        a: the first operand.
        b: the second operand.
        alpha: the factor of the product or of the second operand.
    """
    if not is_sparse(a) and is_sparse(b) and isinstance(a, Tensor):
        return _add_to_dense(a, b, alpha)
    if is_sparse(a) and a.layout in COMPRESSED and isinstance(b, Tensor) and not is_sparse(b):
        return _add_to_dense(b, a, alpha, is_first=True)
    if not (is_sparse(a) and is_sparse(b)):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if a.layout in COMPRESSED and a.shape != b.shape:
        raise RuntimeError(
            f"torch.add: Expected input tensors to have the same shape, but got tensor `self` with shape "
            f"{list(a.shape)} and tensor `other` with shape {list(b.shape)}"
        )
    if a.layout is not b.layout:
        raise RuntimeError(
            f"add(sparse, sparse): expected both of one layout, got {layout_name(a)} and {layout_name(b)}"
        )
    if a.shape != b.shape:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}"
        )
    if a.is_meta:
        return a.to(_C.promote_types(a.dtype, b.dtype), copy=True)
    if a.layout in COMPRESSED:
        if _same_coordinates(a, b):
            return with_values(a, _C.add(a.values(), b.values(), alpha=alpha))
        total = _C.add(conversion.compressed_to_coo(a), conversion.compressed_to_coo(b), alpha=alpha)
        return _like_layout(total, a)
    if a.sparse_dim() != b.sparse_dim() and 0 in (a._nnz(), b._nnz()):
        dtype = _C.promote_types(a.dtype, b.dtype)
        return a.to(dtype, copy=True) if b._nnz() == 0 else b.to(dtype) * alpha
    if a.sparse_dim() != b.sparse_dim():
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same number of sparse dimensions, but "
            f"{a.sparse_dim()} != {b.sparse_dim()}"
        )
    return _C.add(a, b, alpha=alpha)


def _add_to_dense(a: Tensor, b: Tensor, alpha: Any, is_first: bool = False) -> Tensor:
    """A dense tensor and a sparse one, which comes first where `is_first`."""
    if a.shape != b.shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(a.shape)} while other has "
            f"size {list(b.shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
        )
    dense = b.to_dense()
    return _C.add(dense, a, alpha=alpha) if is_first else _C.add(a, dense, alpha=alpha)


@rule("sub.Tensor")
def sub(a: Any, b: Any, alpha: Any) -> Tensor:
    """sub: the sum with the negative

    Args:
        a: the first operand.
        b: the second operand.
        alpha: the factor of the product or of the second operand.
    """
    if not isinstance(b, Tensor):
        return add(a, b, alpha)
    if _C.bool in (a.dtype, b.dtype):
        raise RuntimeError("Subtraction, the `-` operator, with a bool tensor is not supported.")
    negative = _C.neg(b.to(_C.promote_types(a.dtype, b.dtype)))  # an unsigned number has none of its type
    return _C.add(a, negative, alpha=alpha)


# ---- products -----------------------------------------------------------------------------------------------
@rule("mul.Tensor")
def mul(a: Any, b: Any) -> Tensor:
    """mul: sparse where one factor is"""
    if not is_sparse(a):
        return _scale(b, a)
    if not is_sparse(b):
        return _scale(a, b)
    return _both_sparse(a, b)


def _scale(x: Tensor, factor: Any) -> Tensor:
    """A sparse tensor times a number or a dense one."""
    if not isinstance(factor, Tensor) or factor.dim() == 0:
        factor = _beside_values(x, factor)
        return with_values(x, x._values() * factor) if not x.requires_grad else _on_values(x, factor)
    if x.layout is _C.sparse_coo:
        shape = broadcast_shape(x.shape, factor.shape)
        x = coalesced(sparse_broadcast_to(x, shape) if shape != tuple(x.shape) else x)
    else:
        shape = tuple(x.shape)
    factors = _C._values_at(factor.expand(shape), x)
    return with_values(x, x.values() * factors)


def _beside_values(x: Tensor, factor: Any) -> Any:
    """A tensor without dimensions widens the values of another one, which are a vector."""
    return factor.reshape(1) if isinstance(factor, Tensor) and x.dim() == 0 else factor


def _on_values(x: Tensor, factor: Any) -> Tensor:
    x = coalesced(x)
    return with_values(x, x.values() * factor)


def _both_sparse(a: Tensor, b: Tensor) -> Tensor:
    if b.dim() == 0 or a.dim() == 0:
        return _scale(a, b.to_dense()) if b.dim() == 0 else _scale(b, a.to_dense())
    if a.layout is not b.layout:
        raise RuntimeError(
            f"mul(sparse, sparse): expected both of one layout, got {layout_name(a)} and {layout_name(b)}"
        )
    if a.layout in COMPRESSED:
        if _same_coordinates(a, b):
            return with_values(a, a.values() * b.values())
        if a.shape != b.shape:
            raise RuntimeError(
                f"mul: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}"
            )
        return _like_layout(_both_sparse(conversion.compressed_to_coo(a), conversion.compressed_to_coo(b)), a)
    if a.sparse_dim() != b.sparse_dim() or sparse_sizes(a) != sparse_sizes(b):
        shape = broadcast_shape(a.shape, b.shape)
        if a.sparse_dim() != b.sparse_dim():
            return (
                _scale(a, b.to_dense())
                if math.prod(a.shape) >= math.prod(b.shape)
                else _scale(b, a.to_dense())
            )
        a, b = (sparse_broadcast_to(t, shape) if tuple(t.shape) != shape else t for t in (a, b))
    return _common(coalesced(a), coalesced(b))


def _common(a: Tensor, b: Tensor) -> Tensor:
    """The products at the coordinates that both store."""
    n = a.sparse_dim()
    x, y = keys_of(a.indices(), sparse_sizes(a)), keys_of(b.indices(), sparse_sizes(b))
    if y.shape[0] == 0:
        at = matches = y.new_empty(0)
    else:
        nearest = _C.searchsorted(y, x).clamp(max=y.shape[0] - 1)
        matches = (y[nearest] == x).nonzero().reshape(-1)
        at = nearest[matches]
    values = a.values().index_select(0, matches) * b.values().index_select(0, at)
    size = (*a.shape[:n], *values.shape[1:])
    return coo(a.indices()[:, matches], values, size, True)


# ---- quotients ----------------------------------------------------------------------------------------------
def _quotient(x: Any, other: Any, divide: Any, what: str = "division") -> Tensor:
    if not is_sparse(x):
        raise RuntimeError(f"Sparse {what} requires a sparse dividend")
    if is_sparse(other):
        if other.dim() != 0:
            raise RuntimeError(
                f"Sparse {what} requires a scalar or zero-dim dense tensor divisor (got shape {list(other.shape)} "
                "for divisor)"
            )
        raise RuntimeError(f"Sparse {what} requires a dense divisor")
    if isinstance(other, Tensor) and other.dim() != 0:
        if x.layout is _C.sparse_coo:
            raise RuntimeError(
                f"Sparse {what} requires a scalar or zero-dim dense tensor divisor (got shape {list(other.shape)} "
                "for divisor)"
            )
        other = _C._values_at(other.expand(x.shape), x)
    x, other = coalesced(x), _beside_values(x, other)
    return with_values(x, divide(x.values(), other))


@rule("div.Tensor", "true_divide.Tensor")
def div(x: Any, other: Any) -> Tensor:
    """div"""
    return _quotient(x, other, _C.div)


@rule("div.Tensor_mode")
def div_mode(x: Any, other: Any, rounding_mode: Any) -> Tensor:
    """div(rounding_mode=)

    Args:
        x: the sparse tensor.
        other: the other operand.
        rounding_mode: "trunc" or "floor".
    """
    return _quotient(x, other, lambda a, b: _C.div(a, b, rounding_mode=rounding_mode))


@rule("floor_divide", "floor_divide.Tensor")
def floor_divide(x: Any, other: Any) -> Tensor:
    """floor_divide"""
    return _quotient(x, other, _C.floor_divide, "floor division")


@rule("equal")
def equal(a: Tensor, b: Tensor) -> bool:
    """equal: of one layout, shape and stored elements"""
    if a.layout is not b.layout or a.shape != b.shape:
        return False
    return _C.equal(a.to_dense(), b.to_dense())

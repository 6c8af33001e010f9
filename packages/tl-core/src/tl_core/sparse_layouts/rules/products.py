"""Products of matrices."""

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
    check_within,
    coalesced,
    coo,
    indices_of,
    is_sparse,
    layout_name,
)
from tl_core.sparse_layouts.rule_table import rule
from tl_core.sparse_layouts.rules.structure import transpose
from tl_core.tensors.tensor_types import scalar_name


def _check_matrices(name: str, a: Tensor, b: Tensor) -> None:
    for which, x in (("mat1", a), ("mat2", b)):
        if x.dim() != 2:
            raise RuntimeError(f"{name}: expected {which} to be a matrix, got {x.dim()}-D tensor")
        if is_sparse(x) and x.dense_dim():
            raise RuntimeError(
                f"{name}: expected {which} without dense dimensions, got {x.sparse_dim()} sparse and {x.dense_dim()} "
                "dense ones"
            )
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"{name}: mat1 and mat2 shapes cannot be multiplied "
            f"({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    if a.dtype is not b.dtype and is_sparse(a) and is_sparse(b):
        one, other = (scalar_name(x.dtype) for x in (a, b))
        raise RuntimeError(f"mat1 dtype {one} does not match mat2 dtype {other}")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {a.dtype} != {b.dtype}")


def rows_of(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A matrix in compressed rows: offsets, columns and values; of coordinates by counting."""
    if x.layout is _C.sparse_csr:
        return x.crow_indices(), x.col_indices(), x.values()
    if x.layout is _C.sparse_coo:
        x = coalesced(x)
        row, column = x.indices()
        return _C._convert_indices_from_coo_to_csr(row, x.shape[0]), column, x.values()
    if x.layout is _C.sparse_csc:
        offsets, plain, order = _C._compressed_transpose(x.ccol_indices(), x.row_indices(), x.shape[0])
        return offsets, plain, x.values().index_select(0, order)
    return rows_of(conversion.compressed_to_coo(x))


def sparse_mm(a: Tensor, b: Tensor) -> Tensor:
    """A sparse matrix times a dense one."""
    if a.layout is _C.sparse_bsr and not _needs_gradient(a, b) and a.is_floating_point():
        return _C._bsr_mm(a.crow_indices(), a.col_indices(), a.values(), b)
    if a.layout is _C.sparse_csc:
        check_within(a.row_indices(), a.shape[0], "row")
        return _C._csr_mm_transposed(a.ccol_indices(), a.row_indices(), a.values(), b, a.shape[0])
    return _C._csr_mm(*rows_of(a), b)


def _needs_gradient(*tensors: Tensor) -> bool:
    return any(t.requires_grad for t in tensors)


@rule("mm")
def mm(a: Tensor, b: Tensor) -> Tensor:
    """mm: sparse of two sparse matrices, else dense"""
    _check_matrices("mm", a, b)
    if is_sparse(a) and is_sparse(b):
        return sparse_sparse_mm(a, b)
    if is_sparse(a):
        return sparse_mm(a, b)
    return sparse_mm(transpose(b, 0, 1), a.t()).t()


def sparse_sparse_mm(a: Tensor, b: Tensor) -> Tensor:
    """The product of two sparse matrices: every pair of factors, sorted by place and added up.

    Source: N. Bell, S. Dalton and L. N. Olson, *Exposing Fine-Grained Parallelism in Algebraic Multigrid Methods*,
    SIAM J. Sci. Comput. 34 (2012), which calls it expansion, sorting and compression.
    """
    (left, middle, x), (right, across, y) = rows_of(a), rows_of(b)
    left, middle, right, across = (i.to(_C.int64) for i in (left, middle, right, across))
    check_within(middle, a.shape[1], "column")
    check_within(across, b.shape[1], "column")
    row = _C._convert_indices_from_csr_to_coo(left, middle)[0]
    _C._convert_indices_from_csr_to_coo(right, across)
    times = (right[1:] - right[:-1])[middle]
    first = _C.arange(middle.shape[0]).repeat_interleave(times)
    begin = times.cumsum(0) - times
    second = right[middle[first]] + _C.arange(first.shape[0]) - begin[first]
    terms = x.index_select(0, first) * y.index_select(0, second)
    size = (a.shape[0], b.shape[1])
    product = coo(_C.stack([row[first], across[second]]), terms, size, False).coalesce()
    layout = a.layout if a.layout in COMPRESSED and b.layout in COMPRESSED else _C.sparse_coo
    if layout in BLOCKED or layout is _C.sparse_coo:
        return product
    return conversion.to_sparse(product, layout=layout)


@rule("addmm")
def addmm(x: Tensor, a: Tensor, b: Tensor, beta: Any, alpha: Any) -> Tensor:
    """addmm

    Args:
        x: the sparse tensor.
        a: the first operand.
        b: the second operand.
        beta: the factor of the first argument.
        alpha: the factor of the product or of the second operand.
    """
    _check_matrices("addmm", a, b)
    product = mm(a, b)
    shape = (a.shape[0], b.shape[1])
    if is_sparse(product) and not is_sparse(x):
        product = product.to_dense()
    if is_sparse(x) and x.layout is not product.layout:
        raise RuntimeError(
            f"addmm: computation on CPU is not implemented for {layout_name(x)} + {layout_name(a)} @ "
            f"{layout_name(b)}"
        )
    if not is_sparse(x):
        try:
            x = x.expand(shape)
        except RuntimeError as error:
            raise RuntimeError(
                f"addmm: the input of shape {list(x.shape)} does not expand to {list(shape)}"
            ) from error
    elif tuple(x.shape) != shape:
        raise RuntimeError(f"addmm: expected an input of shape {list(shape)}, got {list(x.shape)}")
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    return _C.add(x if beta == 1 else x * beta, product)


@rule("mv")
def mv(a: Tensor, v: Tensor) -> Tensor:
    """mv"""
    if a.dim() != 2 or v.dim() != 1:
        raise RuntimeError(f"mv: two tensor dim should be 2 and 1, got {a.dim()} and {v.dim()}")
    if a.shape[1] != v.shape[0]:
        raise RuntimeError(
            f"mv: expected self.size(-1) == vec.size(-1), size mismatch, got input ({a.shape[0]}x{a.shape[1]}), vec "
            f"({v.shape[0]})"
        )
    if is_sparse(v):
        v = v.to_dense()
    return mm(a, v.unsqueeze(1)).squeeze(1)


@rule("addmv")
def addmv(x: Tensor, a: Tensor, v: Tensor, beta: Any, alpha: Any) -> Tensor:
    """addmv

    Args:
        x: the sparse tensor.
        a: the first operand.
        v: the vector.
        beta: the factor of the first argument.
        alpha: the factor of the product or of the second operand.
    """
    product = mv(a, v) * alpha
    return product.expand(a.shape[0]) if beta == 0 else x * beta + product


@rule("dot", "vdot", "inner")
def dot(a: Tensor, b: Tensor) -> Tensor:
    """dot"""
    return _C.sum(a * b)


@rule("matmul")
def matmul(a: Tensor, b: Tensor) -> Tensor:
    """matmul"""
    if a.dim() == 2 and b.dim() == 2:
        return mm(a, b)
    if a.dim() == 2 and b.dim() == 1:
        return mv(a, b)
    if a.dim() == 1 and b.dim() == 2:
        return mv(transpose(b, 0, 1) if is_sparse(b) else b.t(), a)
    if a.dim() == 3 and b.dim() == 3:
        return bmm(a, b)
    if a.dim() == 1 and b.dim() == 1:
        return dot(a, b)
    return NotImplemented


@rule("bmm")
def bmm(a: Tensor, b: Tensor) -> Tensor:
    """bmm: the batch as one matrix of blocks along the diagonal"""
    if a.dim() != 3 or b.dim() != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"bmm: expected batches of matrices that can be multiplied, got {list(a.shape)} and {list(b.shape)}"
        )
    if not is_sparse(a):
        return bmm(transpose(b, 1, 2), a.transpose(1, 2)).transpose(1, 2)
    if is_sparse(b):
        raise RuntimeError("bmm: expected 'mat2' to be dense where 'self' is sparse")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {a.dtype} != {b.dtype}")
    x = coalesced(conversion.compressed_to_coo(a) if a.layout in COMPRESSED else a)
    if x.dense_dim():
        raise RuntimeError("bmm_sparse: Tensor 'self' must have 3 sparse dimensions")
    number, row, column = x.indices()
    batch, rows, inner = a.shape
    check_within(number, batch, "batch")
    check_within(row, rows, "row")
    check_within(column, inner, "column")
    offsets = _C._convert_indices_from_coo_to_csr(number * rows + row, batch * rows)
    out = _C._csr_mm(offsets, number * inner + column, x.values(), b.reshape(batch * inner, b.shape[2]))
    return out.reshape(batch, rows, b.shape[2])


@rule("baddbmm")
def baddbmm(x: Tensor, a: Tensor, b: Tensor, beta: Any, alpha: Any) -> Tensor:
    """baddbmm

    Args:
        x: the sparse tensor.
        a: the first operand.
        b: the second operand.
        beta: the factor of the first argument.
        alpha: the factor of the product or of the second operand.
    """
    product = bmm(a, b) * alpha
    return product if beta == 0 else x * beta + product


@rule("linear")
def linear(x: Tensor, weight: Tensor, bias: Any) -> Tensor:
    """linear: a sparse weight, or sparse input

    Args:
        x: the sparse tensor.
        weight: the weight, (out, in).
        bias: the bias, or None.
    """
    if is_sparse(x):
        product = mm(x, weight.t() if not is_sparse(weight) else transpose(weight, 0, 1))
    else:
        flat = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
        product = mm(weight, flat.t()).t().reshape(*x.shape[:-1], weight.shape[0])
    return product if bias is None else product + bias


@rule("triangular_solve")
def triangular_solve(
    b: Tensor, a: Tensor, upper: bool, transpose: bool, unitriangular: bool
) -> tuple[Tensor, Tensor]:
    """triangular_solve with a matrix of a compressed layout, which is made dense

    Args:
        b: the right-hand sides, (n, k), dense.
        a: the triangular matrix, (n, n).
        upper: whether the upper triangle is read, else the lower.
        transpose: whether the matrix is transposed first.
        unitriangular: whether the diagonal is taken for ones.
    """
    if is_sparse(b) or a.layout not in COMPRESSED:
        return NotImplemented
    dense = a.to_dense()
    if not a._nnz():
        return _C.full_like(b, math.nan), b.new_empty(0)
    solution, _ = _C.triangular_solve(b, dense, upper, transpose, unitriangular)
    return solution, b.new_empty(0)


def sampled(mask: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """The elements of a product of dense matrices at the coordinates of a CSR matrix, or of each of a batch.

    Args:
        mask: the sparse tensor whose indices are taken.
        a: the first operand.
        b: the second operand.
    """
    n = batch_dims(mask)
    if n == 0:
        return _C._csr_sampled_mm(mask.crow_indices(), mask.col_indices(), a, b)
    offsets, plain = indices_of(mask)
    shape = mask.shape[:n]
    a, b = a.expand(*shape, *a.shape[-2:]), b.expand(*shape, *b.shape[-2:])
    batch = math.prod(shape)
    flat = [t.reshape(batch, *t.shape[n:]) for t in (offsets, plain, a, b)]
    results = [_C._csr_sampled_mm(*parts) for parts in zip(*flat, strict=True)]
    return _C.stack(results).reshape(plain.shape) if results else a.new_zeros(plain.shape)

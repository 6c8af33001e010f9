"""The functions of `tl.sparse`, and those of sparse tensors that have names in `tl` itself."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base.keyword_names import also_named
from tl_core.linalg import solve
from tl_core.overrides import overridable
from tl_core.sparse_layouts import conversion
from tl_core.sparse_layouts.parts import (
    COMPRESSED,
    check_within,
    coalesced,
    compressed,
    coo,
    is_sparse,
    layout_name,
    stored,
    with_values,
)
from tl_core.sparse_layouts.rules import products, reductions, structure

__all__ = [
    "addmm",
    "dsmm",
    "hsmm",
    "hspmm",
    "log_softmax",
    "mm",
    "saddmm",
    "sampled_addmm",
    "smm",
    "softmax",
    "spdiags",
    "spmm",
    "spsolve",
    "sspaddmm",
    "sum",
]


# ---- products -----------------------------------------------------------------------------------------------
@overridable
def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of two matrices of which one is sparse; the gradient of a sparse one is sparse.

    Args:
        mat1: the first matrix, sparse or dense.
        mat2: the second matrix, sparse or dense.
        reduce: what becomes of the terms of an element: "sum", "mean", "amax" or "amin" of those that `mat1`, a matrix
            in compressed rows, stores.

    Returns:
        A dense matrix, or of two sparse ones a sparse one.

    Raises:
        RuntimeError: if the shapes or types do not fit.

    Example:
        >>> import tl_core as tl
        >>> tl.sparse.mm(tl.tensor([[0.0, 2.0]]).to_sparse(), tl.tensor([[1.0], [3.0]]))
        tensor([[6.]])
    """
    mat1, mat2 = stored(mat1), stored(mat2)
    return _C.mm(mat1, mat2) if reduce is None else _mm_reduced(mat1, mat2, reduce)


def _mm_reduced(a: Tensor, b: Tensor, reduce: str) -> Tensor:
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"torch.sparse.mm: reduce must be sum, mean, amax or amin, got {reduce!r}")
    if a.layout is not _C.sparse_csr or is_sparse(b):
        raise RuntimeError(
            f"torch.sparse.mm: reduce={reduce!r} takes a matrix in compressed rows and a dense one, got "
            f"{layout_name(a)} and {layout_name(b)}"
        )
    if reduce == "sum":
        return _C.mm(a, b)
    products._check_matrices("mm", a, b)
    counts = (a.crow_indices()[1:] - a.crow_indices()[:-1]).unsqueeze(1)
    if reduce == "mean":
        return _C.mm(a, b) / counts.clamp(min=1)
    row, column = _C._convert_indices_from_csr_to_coo(a.crow_indices(), a.col_indices())
    check_within(column, b.shape[0], "column")
    terms = a.values().unsqueeze(1) * b.index_select(0, column)
    out = b.new_zeros((a.shape[0], b.shape[1]))
    return out.scatter_reduce(0, row.unsqueeze(1).expand(terms.shape), terms, reduce, include_self=False)


@overridable
def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)` where `mat1` is sparse; its gradient is sparse.

    Args:
        mat: what is added.
        mat1: a sparse matrix.
        mat2: a dense matrix.
        beta: the factor of `mat`.
        alpha: the factor of the product.

    Returns:
        A dense matrix.

    Example:
        >>> import tl_core as tl
        >>> tl.sparse.addmm(tl.ones(1, 1), tl.tensor([[0.0, 2.0]]).to_sparse(), tl.tensor([[1.0], [3.0]]))
        tensor([[7.]])
    """
    return _C.addmm(mat, stored(mat1), stored(mat2), beta=beta, alpha=alpha)


@overridable
def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`, where `input` stores elements, and nowhere else.

    Args:
        input: a matrix in compressed rows, or a batch of them.
        mat1: a dense matrix.
        mat2: a dense matrix.
        beta: the factor of `input`.
        alpha: the factor of the product.
        out: what is written.

    Returns:
        A tensor of the layout of `input` with its coordinates.

    Raises:
        RuntimeError: if the shapes, types or layouts do not fit.

    Example:
        >>> import tl_core as tl
        >>> a = tl.eye(2).to_sparse_csr()
        >>> tl.sparse.sampled_addmm(a, tl.ones(2, 3), tl.ones(3, 2)).values()
        tensor([4., 4.])
    """
    if input.layout is not _C.sparse_csr:
        raise RuntimeError(
            f"sampled_addmm: Expected self to have sparse csr layout, but got {layout_name(input)}"
        )
    for name, x in (("mat1", mat1), ("mat2", mat2)):
        if is_sparse(x):
            raise RuntimeError(
                f"sampled_addmm: Expected {name} to have strided layout, but got {layout_name(x)}"
            )
        if x.dim() < 2:
            raise RuntimeError(f"sampled_addmm: Expected {name} to be a matrix, got {x.dim()}-D tensor")
        if x.dtype is not input.dtype:
            raise RuntimeError(
                f"sampled_addmm: Expected {name} and self to have the same dtype, got {x.dtype} and {input.dtype}"
            )
    if mat1.shape[:-2] != mat2.shape[:-2]:
        raise RuntimeError(
            f"sampled_addmm: Expected mat1 and mat2 to have the same batch size, got {list(mat1.shape)} and "
            f"{list(mat2.shape)}"
        )
    input = _of_batch(input, mat1.shape[:-2])
    if mat1.shape[-1] != mat2.shape[-2]:
        raise RuntimeError(
            "sampled_addmm: mat1 and mat2 shapes cannot be multiplied "
            f"({mat1.shape[-2]}x{mat1.shape[-1]} and {mat2.shape[-2]}x{mat2.shape[-1]})"
        )
    if (mat1.shape[-2], mat2.shape[-1]) != tuple(input.shape[-2:]):
        raise RuntimeError(
            f"sampled_addmm: self has shape {list(input.shape)}, the product {[mat1.shape[-2], mat2.shape[-1]]}"
        )
    values = products.sampled(input, mat1, mat2)
    if alpha != 1:
        values = values * alpha
    if beta != 0:
        values = values + (input.values() if beta == 1 else input.values() * beta)
    result = with_values(input, values)
    return result if out is None else _write_out(out, result)


def _of_batch(x: Tensor, batch: Any) -> Tensor:
    """A CSR matrix as each of a batch; a batch as it is."""
    if x.shape[:-2] == batch:
        return x
    if x.dim() > 2:
        raise RuntimeError(
            f"sampled_addmm: Expected mat1 and self to have the same batch size, got {list(batch)} and "
            f"{list(x.shape[:-2])}"
        )
    offsets, plain, values = (
        part.expand(*batch, *part.shape).contiguous()
        for part in (x.crow_indices(), x.col_indices(), x.values())
    )
    return compressed(offsets, plain, values, (*batch, *x.shape), x.layout)


def _write_out(out: Tensor, result: Tensor) -> Tensor:
    if out.layout is not result.layout:
        raise RuntimeError(f"expected out of the layout {layout_name(result)}, got {layout_name(out)}")
    if out.dtype is not result.dtype:
        raise RuntimeError(f"expected out of the type {result.dtype}, got {out.dtype}")
    if out.layout is _C.sparse_coo:
        return out.sparse_resize_and_clear_(result.shape, result.sparse_dim(), result.dense_dim()).copy_(
            result
        )
    out.data = result
    return out


@overridable
@also_named(mat2="mat")
def smm(input: Tensor, mat: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix as a COO tensor.

    Args:
        input: a sparse matrix.
        mat: a dense matrix.

    Example:
        >>> import tl_core as tl
        >>> tl.smm(tl.eye(2).to_sparse(), tl.ones(2, 1)).to_dense()
        tensor([[1.],
                [1.]])
    """
    return sspaddmm(_C.zeros(input.shape[0], mat.shape[-1], dtype=mat.dtype).to_sparse(), input, mat)


@overridable
def sspaddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Tensor | None = None
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` as a COO tensor.

    Args:
        input: a COO matrix.
        mat1: a sparse matrix.
        mat2: a dense matrix.
        beta: the factor of `input`.
        alpha: the factor of the product.
        out: what is written.

    Example:
        >>> import tl_core as tl
        >>> tl.sspaddmm(tl.eye(2).to_sparse(), tl.eye(2).to_sparse(), tl.ones(2, 2)).to_dense()
        tensor([[2., 1.],
                [1., 2.]])
    """
    if not is_sparse(mat1):
        raise RuntimeError("sspaddmm: Tensor 'mat1' needs to be sparse, got Strided")
    if not is_sparse(input):
        raise RuntimeError("sspaddmm: Argument #1: Expected a sparse tensor, got Strided")
    product = hspmm(mat1, mat2)
    rows = product.indices()[0]
    width = mat2.shape[1]
    indices = _C.stack([rows.repeat_interleave(width), _C.arange(width).repeat(rows.shape[0])])
    terms = coo(indices, product.values().reshape(-1), (mat1.shape[0], width), True)
    result = _C.add(input * beta, terms, alpha=alpha)
    return result if out is None else _write_out(out, result)


@overridable
def hspmm(mat1: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a COO and a dense matrix as a hybrid COO tensor: its columns are dense.

    Args:
        mat1: a COO matrix.
        mat2: a dense matrix.
        out: what is written.

    Example:
        >>> import tl_core as tl
        >>> tl.hspmm(tl.tensor([[0.0, 0.0], [1.0, 0.0]]).to_sparse(), tl.ones(2, 3))
        tensor(indices=tensor([[1]]),
               values=tensor([[1., 1., 1.]]),
               size=(2, 3), nnz=1, layout=torch.sparse_coo)
    """
    products._check_matrices("hspmm", mat1, mat2)
    if not is_sparse(mat1) or is_sparse(mat2):
        raise RuntimeError(
            f"hspmm: expected a sparse and a dense matrix, got {layout_name(mat1)} and {layout_name(mat2)}"
        )
    x = coalesced(conversion.compressed_to_coo(mat1) if mat1.layout in COMPRESSED else mat1)
    row, column = x.indices()
    nonempty, line = row.unique(return_inverse=True)
    offsets = _C._convert_indices_from_coo_to_csr(line, nonempty.shape[0])
    values = _C._csr_mm(offsets, column, x.values(), mat2)
    result = coo(nonempty.unsqueeze(0), values, (mat1.shape[0], mat2.shape[1]), True)
    return result if out is None else _write_out(out, result)


@overridable
def spmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices, as `mm`; an older name.

    Example:
        >>> import tl_core as tl
        >>> tl.spmm(tl.eye(2).to_sparse(), tl.ones(2, 1))
        tensor([[1.],
                [1.]])
    """
    return _C.mm(mat1, mat2)


@overridable
def dsmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices, as `mm`; an older name.

    Example:
        >>> import tl_core as tl
        >>> tl.dsmm(tl.eye(2).to_sparse(), tl.ones(2, 1))
        tensor([[1.],
                [1.]])
    """
    return _C.mm(mat1, mat2)


@overridable
def hsmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of a COO and a dense matrix, as `hspmm`; an older name.

    Example:
        >>> import tl_core as tl
        >>> tl.hsmm(tl.eye(2).to_sparse(), tl.ones(2, 1)).is_sparse
        True
    """
    return hspmm(mat1, mat2)


@overridable
def saddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` as a COO tensor, as `sspaddmm`; an older name.

    Args:
        input: what is added.
        mat1: the first matrix, sparse.
        mat2: the second matrix, dense.
        beta: the factor of the first argument.
        alpha: the factor of the product or of the second operand.

    Example:
        >>> import tl_core as tl
        >>> tl.saddmm(tl.eye(2).to_sparse(), tl.eye(2).to_sparse(), tl.ones(2, 2)).is_sparse
        True
    """
    return sspaddmm(input, mat1, mat2, beta=beta, alpha=alpha)


# ---- reductions ---------------------------------------------------------------------------------------------
@overridable
def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of a sparse tensor's elements, or along dimensions: sparse if sparse dimensions are left.

    Args:
        input: a sparse tensor.
        dim: which dimensions go; by default all.
        dtype: in which type to add; by default the tensor's own.

    Returns:
        A tensor without those dimensions; its gradient has the coordinates that `input` stores.

    Example:
        >>> import tl_core as tl
        >>> tl.sparse.sum(tl.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse(), 0).to_dense()
        tensor([3., 6.])
    """
    input = stored(input)
    if input.layout in COMPRESSED and dim is not None:
        return _C.sum(input, dim, dtype=dtype)
    if input.layout in COMPRESSED:
        return _C.sum(input, dtype=dtype)
    dtype = input.dtype if dtype is None else dtype
    return reductions.sum_along(input, dim, False, dtype)


@overridable
def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The softmax along a dimension of the stored elements: those that are not stored count as minus infinity.

    Args:
        input: a sparse tensor.
        dim: the dimension.
        dtype: in which type to compute; by default the tensor's own.

    Returns:
        A sparse tensor with the same coordinates.

    Example:
        >>> import tl_core as tl
        >>> tl.sparse.softmax(tl.tensor([[2.0, 0.0], [3.0, 3.0]]).to_sparse(), 1).to_dense()
        tensor([[1.0000, 0.0000],
                [0.5000, 0.5000]])
    """
    return _C.softmax(input, dim, dtype)


@overridable
def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, where elements are stored.

    Args:
        input: a sparse tensor.
        dim: the dimension.
        dtype: in which type to compute; by default the tensor's own.

    Returns:
        A sparse tensor with the same coordinates.

    Example:
        >>> import tl_core as tl
        >>> tl.sparse.log_softmax(tl.tensor([[2.0, 0.0], [3.0, 3.0]]).to_sparse(), 1).values()
        tensor([ 0.0000, -0.6931, -0.6931])
    """
    return _C.log_softmax(input, dim, dtype)


# ---- others -------------------------------------------------------------------------------------------------
@overridable
def spsolve(input: Tensor, other: Tensor, *, left: bool = True) -> Tensor:
    """The solution of a square system of linear equations with a sparse matrix: its factors fill a dense one.

    Args:
        input: a square matrix in compressed rows.
        other: the right-hand side, a vector or a matrix.
        left: whether the matrix stands on the left of the unknowns.

    Returns:
        A dense tensor shaped as `other`.

    Raises:
        RuntimeError: if the shapes, types or layouts do not fit, or the matrix has no inverse.

    Example:
        >>> import tl_core as tl
        >>> tl.sparse.spsolve(tl.tensor([[2.0, 0.0], [1.0, 4.0]]).to_sparse_csr(), tl.tensor([2.0, 9.0]))
        tensor([1., 2.])
    """
    if not is_sparse(input):
        raise RuntimeError("spsolve: expected input to be a sparse matrix, got Strided")
    if is_sparse(other):
        raise RuntimeError(f"spsolve: expected other to be dense, got {layout_name(other)}")
    if input.dim() != 2 or input.shape[0] != input.shape[1]:
        raise RuntimeError(f"spsolve: expected a square matrix, got {list(input.shape)}")
    return solve(_C._all_elements(input), other, left=left)


@overridable
def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """A sparse matrix of diagonals: row i of `diagonals` stands `offsets[i]` above the main one.

    A positive offset k leaves out the first k elements of its row.

    Args:
        diagonals: a diagonal a row, or a single one.
        offsets: where they stand, all different.
        shape: of the matrix.
        layout: sparse_coo, sparse_csr or sparse_csc; by default sparse_coo.

    Returns:
        A matrix that stores the elements of the diagonals, also those that are zero.

    Raises:
        RuntimeError: if an offset occurs twice, or the arguments do not fit.

    Example:
        >>> import tl_core as tl
        >>> tl.sparse.spdiags(tl.tensor([1, 2, 3]), tl.tensor([1]), (3, 3)).to_dense()
        tensor([[0, 2, 0],
                [0, 0, 3],
                [0, 0, 0]])
    """
    if layout not in (None, _C.sparse_coo, _C.sparse_csr, _C.sparse_csc):
        raise RuntimeError(f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {layout}")
    if len(shape) != 2:
        raise RuntimeError(f"Output shape must be 2d, got {tuple(shape)}")
    lines = diagonals if diagonals.dim() == 2 else diagonals.unsqueeze(0)
    if lines.dim() != 2:
        raise RuntimeError(f"Diagonals must be vector or matrix, got {diagonals.dim()}-D tensor")
    at = offsets.reshape(-1) if offsets.dim() == 0 else offsets
    if at.dim() != 1:
        raise RuntimeError(f"Offsets must be scalar or vector, got {offsets.dim()}-D tensor")
    if at.dtype is not _C.int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {_SHORT.get(at.dtype, at.dtype)}")
    if lines.shape[0] != at.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({lines.shape[0]}) does not match the number of offsets ({at.shape[0]})"
        )
    if at.unique().shape[0] != at.shape[0]:
        raise RuntimeError("Offset tensor contains duplicate values")
    column = _C.arange(lines.shape[1]).expand(lines.shape)
    row = column - at.unsqueeze(1)
    inside = ((row >= 0) & (row < shape[0]) & (column < shape[1])).nonzero().t()
    indices = _C.stack([row[tuple(inside)], column[tuple(inside)]])
    result = coo(indices, lines[tuple(inside)], shape, False)
    if layout in (None, _C.sparse_coo):
        return result
    return conversion.to_sparse(result, layout=layout)


_SHORT = {_C.int32: "Int", _C.int16: "Short", _C.int8: "Char", _C.uint8: "Byte", _C.float32: "Float"}


def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """A sparse tensor expanded to a larger shape, as the elements that it stores."""
    return structure.sparse_broadcast_to(input, size)

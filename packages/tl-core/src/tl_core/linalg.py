"""Linear algebra: what is solved and decomposed, for matrices and batches of them.

In float32, float64 and their complex types: by LAPACK (`tl_core.functions.lapack` chooses the library), small matrices
also by tl itself.

>>> import tl_core as tl
>>> from tl_core import linalg
>>> linalg.solve(tl.tensor([[2.0, 0.0], [0.0, 4.0]]), tl.tensor([2.0, 2.0]))
tensor([1.0000, 0.5000])
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base.errors import LinAlgError
from tl_core.base.keyword_names import also_named
from tl_core.base.type_info import finfo
from tl_core.overrides import overridable

__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]

_OWN = _C._linalg
cross, multi_dot, vector_norm = _OWN.linalg_cross, _OWN.linalg_multi_dot, _OWN.linalg_vector_norm
householder_product, qr = _OWN.linalg_householder_product, _OWN.linalg_qr
matrix_exp, solve = _OWN.linalg_matrix_exp, _OWN.linalg_solve
svd, svdvals = _OWN.linalg_svd, _OWN.linalg_svdvals
matmul = _OWN.linalg_matmul
cholesky, cholesky_ex = _OWN.linalg_cholesky, _OWN.linalg_cholesky_ex
lu, lu_factor, lu_factor_ex = _OWN.linalg_lu, _OWN.linalg_lu_factor, _OWN.linalg_lu_factor_ex
ldl_factor, ldl_factor_ex = _OWN.linalg_ldl_factor, _OWN.linalg_ldl_factor_ex
eig, eigvals, eigh, eigvalsh = _OWN.linalg_eig, _OWN.linalg_eigvals, _OWN.linalg_eigh, _OWN.linalg_eigvalsh
det, slogdet, inv, inv_ex = _OWN.linalg_det, _OWN.linalg_slogdet, _OWN.linalg_inv, _OWN.linalg_inv_ex
lu_solve, ldl_solve, lstsq = _OWN.linalg_lu_solve, _OWN.linalg_ldl_solve, _OWN.linalg_lstsq
solve_triangular, solve_ex = _OWN.linalg_solve_triangular, _OWN.linalg_solve_ex
vecdot, vander, matrix_power = _OWN.linalg_vecdot, _OWN.linalg_vander, _OWN.linalg_matrix_power
tensorinv, tensorsolve = _OWN.linalg_tensorinv, _OWN.linalg_tensorsolve


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as a view: by default of those in the last two dimensions.

    Args:
        A: the matrices.
        offset: the diagonal, above the main one if positive.
        dim1: the dimension of rows.
        dim2: the dimension of columns.

    >>> import tl_core as tl
    >>> diagonal(tl.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return _C.diagonal(A, offset, dim1, dim2)


# ---- norms of matrices -----------------------------------------------------------------------------------------------
def _check_matrices(name: str, A: Tensor) -> None:
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")


def _as_dtype(A: Tensor, dtype: Any) -> Tensor:
    name = "linalg.matrix_norm"
    if not (A.is_floating_point() or A.is_complex()):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype}")
    if dtype is None or dtype == A.dtype:
        return A
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {dtype}")
    if A.is_complex() != dtype.is_complex:
        kind = "complex" if A.is_complex() else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {dtype}")
    if _C.promote_types(A.dtype, dtype) != dtype:
        raise RuntimeError(
            f"{name}: the dtype of the input ({A.dtype}) should be convertible without narrowing to the specified "
            f"dtype ({dtype})"
        )
    return A.to(dtype)


def _singular_norm(A: Tensor, ord: Any, dim: Sequence[int], keepdim: bool, out: Tensor | None) -> Tensor:
    """The sum of the singular values of the matrices in two dimensions, the largest or the smallest of them."""
    if A.dtype.itemsize // (1 + A.is_complex()) < 4:
        raise RuntimeError(f"linalg.matrix_norm: Low precision dtypes not supported. Got {A.dtype}")
    which = 0 if ord == "nuc" else 1 if ord > 0 else -1
    norms = _C._call_operator(("_linalg_singular_norm",), A.movedim(tuple(dim), (-2, -1)), which)
    if keepdim:
        norms = norms[..., None, None].movedim((-2, -1), tuple(dim))
    return norms if out is None else _C.sum(norms.unsqueeze(-1), -1, out=out)


@overridable
@also_named(input="A")
def matrix_norm(
    A: Tensor,
    ord: Any = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """A norm of matrices.

    ``ord`` is "fro", the root of the sum of squares; "nuc", the sum of the singular values; 2 or -2, the largest or
    the smallest of them; 1 or -1, the largest or smallest sum of magnitudes of a column; infinity or its negative, of
    a row.

    Args:
        A: the matrices, (*, m, n).
        ord: "fro", "nuc", 1, -1, 2, -2, inf or -inf.
        dim: the two dimensions of the matrices.
        keepdim: whether they stay, of size 1.
        dtype: the type in which the norm is computed; None for the input's.
        out: a tensor that takes the result.

    >>> import tl_core as tl
    >>> matrix_norm(tl.tensor([[0.0, 2.0], [1.0, 0.0]]), "nuc")
    tensor(3.)
    """
    _check_matrices("linalg.matrix_norm", A)
    if isinstance(dim, int) or len(dim) != 2:
        value = dim if isinstance(dim, int) else " ".join(map(str, dim))
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {value}")
    rows, columns = (d % A.ndim if -A.ndim <= d < A.ndim else A.size(d) for d in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got {tuple(dim)}")
    if isinstance(ord, complex):
        raise RuntimeError(
            f"linalg.matrix_norm: Expected a non-complex scalar as the order of norm, got {ord}"
        )
    if (isinstance(ord, str) and ord not in ("fro", "nuc")) or (
        not isinstance(ord, str) and abs(ord) not in (1, 2, inf)
    ):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    A = _as_dtype(A, dtype)
    if ord == "fro":
        return vector_norm(A, 2, [rows, columns], keepdim, out=out)
    if ord == "nuc" or abs(ord) == 2:
        return _singular_norm(A, ord, (rows, columns), keepdim, out)
    along, left = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = _C.sum(_C.abs(A), along, True)
    if not keepdim:
        sums, left = sums.squeeze(along), left - (along < left)
    if ord < 0:
        return _C.amin(sums, left, keepdim, out=out)
    largest = _C.amax if sums.size(left) else _C.sum  # of an empty matrix 0
    return largest(sums, left, keepdim, out=out)


@overridable
@also_named(input="A")
def norm(
    A: Tensor,
    ord: Any = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """The norm of vectors or, with two dimensions and an ``ord``, of matrices.

    Without ``ord`` it is the root of the sum of squares, by default of all elements.

    Args:
        A: the vectors or matrices.
        ord: the order; None for the 2-norm of all elements.
        dim: the dimension or dimensions; None for all.
        keepdim: whether they stay, of size 1.
        out: a tensor that takes the result.
        dtype: the type in which the norm is computed; None for the input's.

    >>> import tl_core as tl
    >>> norm(tl.tensor([[0.0, 2.0], [1.0, 0.0]]), 2)
    tensor(2.)
    """
    dims = [dim] if isinstance(dim, int) else dim
    if dims is not None and len(dims) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    if ord is None:
        return vector_norm(A, 2, dims, keepdim, dtype=dtype, out=out)
    if dims is None and (A.ndim > 2 or (A.ndim == 0 and not isinstance(ord, str))):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.ndim}D."
        )
    if isinstance(ord, str) or (A.ndim if dims is None else len(dims)) == 2:
        return matrix_norm(A, ord, (-2, -1) if dims is None else dims, keepdim, dtype=dtype, out=out)
    return vector_norm(A, ord, dims, keepdim, dtype=dtype, out=out)


def _norm_of_inverse(A: Tensor, p: Any) -> Tensor:
    """Infinity for what has no inverse."""
    try:
        return matrix_norm(solve(A, _C.eye(A.size(-1), dtype=A.dtype, device=A.device)), p)
    except LinAlgError:
        if A.ndim == 2:
            return _C.abs(A.new_full((), inf))
        return _C.stack([_norm_of_inverse(one, p) for one in A])


@overridable
@also_named(input="A")
def cond(A: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The condition of matrices: the norm of each times that of its inverse.

    ``p`` is an order of `matrix_norm`; by default it is the largest singular value over the smallest.

    Args:
        A: the matrices, (*, m, n).
        p: the order of the norm; None for 2.
        out: a tensor that takes the result.

    >>> import tl_core as tl
    >>> cond(tl.tensor([[0.0, 2.0], [1.0, 0.0]]))
    tensor(2.)
    """
    if A.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if not isinstance(p, str) and (1 if p is None else abs(p)) not in (1, 2, inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    spectral = p is None or p in (2, -2)
    if not spectral and A.size(-2) != A.size(-1):
        raise RuntimeError(
            f"linalg.cond(ord={p}): A must be batches of square matrices, but they are {A.size(-2)} by {A.size(-1)} "
            "matrices"
        )
    if A.size(-2) == 0 or A.size(-1) == 0:
        return _C.sum(_C.abs(A), (-2, -1), out=out)
    if spectral:
        values = svdvals(A)
        largest, smallest = values.select(-1, 0), values.select(-1, -1)
        return _C.div(smallest, largest, out=out) if p == -2 else _C.div(largest, smallest, out=out)
    inverse = _norm_of_inverse(A, p)
    return _C.where(inverse == inf, inverse, matrix_norm(A, p) * inverse, out=out)


@overridable
@also_named(input="A")
def matrix_rank(
    A: Tensor,
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """How many singular values are greater than a tolerance.

    It is the greater of ``atol`` and ``rtol`` times the largest singular value; ``rtol`` is by default what rounding
    may leave of a zero, and 0 beside an ``atol``. ``tol`` is another name of ``atol``. Of a ``hermitian`` matrix only
    the lower triangle is read.

    Args:
        A: the matrices, (*, m, n).
        tol: the tolerance, absolute: the older name of `atol`.
        hermitian: whether the matrices are symmetric or Hermitian, so that eigenvalues do.
        atol: the absolute tolerance; None for 0.
        rtol: the tolerance relative to the largest singular value; None for the size times the step at 1.
        out: a tensor of int64 that takes the result.

    >>> import tl_core as tl
    >>> matrix_rank(tl.ones(3, 3))
    tensor(1)
    """
    if A.ndim < 2:
        raise RuntimeError(
            "torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions."
        )
    least = tol if atol is None else atol
    for name, tolerance in (("atol", least), ("rtol", rtol)):
        if isinstance(tolerance, Tensor) and tolerance.is_complex():
            raise RuntimeError(
                f"torch.linalg.matrix_rank: {name} tensor of complex type is not supported. Got {tolerance.dtype}"
            )
    if hermitian and A.size(-2) != A.size(-1):
        raise RuntimeError(
            f"linalg.matrix_rank: A must be batches of square matrices, but they are {A.size(-2)} by {A.size(-1)} "
            "matrices"
        )
    values = svdvals(A.tril() + A.tril(-1).transpose(-2, -1).conj() if hermitian else A)
    if values.size(-1) == 0:
        return _C.sum(values > 0, -1, out=out)
    limit = _as_tensor(0.0 if least is None else least, values)
    rounding = finfo(values.dtype).eps * max(A.shape[-2:])
    if rtol is not None:
        share = _as_tensor(rtol, values)
    else:
        share = (
            _C.where(limit > 0, 0.0, _as_tensor(rounding, values)) if tol is None else _as_tensor(0.0, values)
        )
    limit = _C.maximum(limit, share * values.select(-1, 0))
    return _C.sum(values > limit.unsqueeze(-1), -1, out=out)


@overridable
@also_named(input="A")
def pinv(
    A: Tensor,
    rcond: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The Moore-Penrose inverses of matrices, from their singular values.

    Args:
        A: the matrices, (*, m, n).
        rcond: an older name of rtol.
        hermitian: whether the matrices are Hermitian; only the lower triangles are read then.
        atol: singular values up to it count as zero; a number, or a tensor with one for each matrix.
        rtol: the same as a share of the largest singular value; None: the rounding error, or 0 beside an atol.
        out: the tensor that takes the result, (*, n, m).

    Raises:
        RuntimeError: A has fewer than two dimensions, or is of an integer type.

    Example:
        >>> import tl_core as tl
        >>> pinv(tl.tensor([[2.0], [0.0]]))
        tensor([[0.5000, 0.0000]])
    """
    share = rcond if rtol is None else rtol
    limits = (None if x is None else _real_tensor(x, A) for x in (atol, share))
    least, relative = limits
    return _OWN.linalg_pinv(A, atol=least, rtol=relative, hermitian=hermitian, out=out)


def _real_tensor(number: Any, like: Tensor) -> Tensor:
    if isinstance(number, Tensor):
        return number
    return _C.scalar_tensor(number, dtype=like.dtype.to_real(), device=like.device)


def _as_tensor(number: Any, like: Tensor) -> Tensor:
    return number if isinstance(number, Tensor) else like.new_full((), number)

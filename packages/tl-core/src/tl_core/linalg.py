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
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base.errors import LinAlgError
from tl_core.base.keyword_names import also_named
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
def _overload(name: str, word: str, order: Any) -> tuple[str, ...]:
    """The name of the row for an order, which is a number or a word."""
    return (f"{name}.{word}" if isinstance(order, str) else name,)


def _into(result: Tensor, out: Tensor | None) -> Tensor:
    """The result, or the out tensor that takes it."""
    return result if out is None else _C.mul(result, 1, out=out)


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
    keepdims: bool | None = None,
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
        keepdims: the array API's name of keepdim.

    >>> import tl_core as tl
    >>> matrix_norm(tl.tensor([[0.0, 2.0], [1.0, 0.0]]), "nuc")
    tensor(3.)
    """
    names = _overload("linalg_matrix_norm", "str_ord", ord)
    keeps = keepdim if keepdims is None else keepdims
    result = _C._call_operator(names, A, ord, [dim] if isinstance(dim, int) else dim, keeps, dtype=dtype)
    return _into(result, out)


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
    result = _C._call_operator(_overload("linalg_norm", "ord_str", ord), A, ord, dim, keepdim, dtype=dtype)
    return _into(result, out)


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
    return _into(_C._call_operator(_overload("linalg_cond", "p_str", p), A, p), out)


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
    least = tol if atol is None else atol
    share = 0.0 if rtol is None and tol is not None else rtol
    if isinstance(least, Tensor) or isinstance(share, Tensor):
        name = "linalg_matrix_rank.atol_rtol_tensor"
        least, share = (None if x is None else _real_tensor(x, A) for x in (least, share))
    else:
        name = "linalg_matrix_rank.atol_rtol_float"
    rank = _C._call_operator((name,), A, atol=least, rtol=share, hermitian=hermitian)
    return _into(rank, out)


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

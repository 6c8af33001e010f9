"""Decompositions of low rank by random projection (Halko et al., Finding Structure with Randomness, 2009)."""

from __future__ import annotations

import warnings

from tl_core import _C, linalg
from tl_core._C import Tensor
from tl_core.overrides import overridable

__all__ = ["lu", "pca_lowrank", "svd_lowrank"]


def _product(a: Tensor, b: Tensor) -> Tensor:
    return a.to_dense() @ b if a.layout is not _C.strided and a.ndim > 2 else a @ b


def _difference(A: Tensor, M: Tensor | None, x: Tensor) -> Tensor:
    """(A - M) x"""
    product = _product(A, x)
    return product if M is None else product - M @ x


def _range_basis(A: Tensor, q: int, niter: int, M: Tensor | None) -> Tensor:
    """Orthonormal columns that nearly span the range of A - M, by `niter` steps of subspace iteration."""

    sizes = (A.size(-1), q)
    if A.is_floating_point() or A.is_complex():
        probes = _C.randn(sizes, dtype=A.dtype, device=A.device)
    else:
        probes = _C.randn(sizes, device=A.device)
    basis = linalg.qr(_difference(A, M, probes)).Q
    adjoint, adjoint_m = A.transpose(-2, -1).conj(), None if M is None else M.transpose(-2, -1).conj()
    for _ in range(niter):
        basis = linalg.qr(_difference(adjoint, adjoint_m, basis)).Q
        basis = linalg.qr(_difference(A, M, basis)).Q
    return basis


@overridable
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The largest singular values of a matrix and their vectors, nearly: A - M = U diag(S) V^H.

    Args:
        A: the matrices, (*, m, n), dense or sparse.
        q: a little more than the expected rank.
        niter: the steps of subspace iteration.
        M: what is subtracted from A, broadcast to its shape; None subtracts nothing.

    Returns:
        U (*, m, q), S (*, q) descending, and V (*, n, q).

    Raises:
        ValueError: q or niter doesn't suit the shape.

    Example:
        >>> U, S, V = svd_lowrank(ones(4, 3), q=2)
        >>> S.shape
        torch.Size([2])
    """
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    _check_rank(A, q, niter)
    M = None if M is None else M.broadcast_to(A.shape)
    wide = A.size(-2) < A.size(-1)
    if wide:
        A, M = A.transpose(-2, -1).conj(), None if M is None else M.transpose(-2, -1).conj()
    basis = _range_basis(A, q, niter, M)
    small = _product(A.transpose(-2, -1).conj(), basis).transpose(-2, -1).conj()
    if M is not None:
        small = small - basis.transpose(-2, -1).conj() @ M
    U, S, Vh = linalg.svd(small, full_matrices=False)
    U, V = basis @ U, Vh.transpose(-2, -1).conj()
    return (V, S, U) if wide else (U, S, V)


def _check_rank(A: Tensor, q: int, niter: int) -> None:
    fewer = min(A.shape[-2:])
    if not 0 <= q <= fewer:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={fewer}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")


@overridable
def pca_lowrank(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of the rows of a matrix, nearly.

    Args:
        A: m observations of n variables, (*, m, n), dense or sparse.
        q: the number of components, a little more than the expected rank; None: the smallest of 6, m and n.
        center: whether the mean of each column is subtracted first.
        niter: the steps of subspace iteration.

    Returns:
        U (*, m, q), S (*, q) and V (*, n, q), whose columns are the principal directions.

    Raises:
        ValueError: q or niter doesn't suit the shape.

    Example:
        >>> U, S, V = pca_lowrank(eye(4), q=2)
        >>> V.shape
        torch.Size([4, 2])
    """
    q = min(6, *A.shape[-2:]) if q is None else q
    _check_rank(A, q, niter)
    if not center:
        return svd_lowrank(A, q, niter)
    if A.layout is not _C.strided:
        mean = A.sum(-2, keepdim=True).to_dense() / A.shape[-2]
        return svd_lowrank(A, q, niter, mean)
    return svd_lowrank(A - A.mean(-2, keepdim=True), q, niter)


@overridable
def lu(
    A: Tensor, pivot: bool = True, get_infos: bool = False, out: tuple[Tensor, ...] | None = None
) -> tuple[Tensor, ...]:
    """The LU factors of matrices in one, and the exchanges of rows; deprecated in favor of linalg.lu_factor.

    Args:
        A: the matrices, (*, m, n).
        pivot: whether rows are exchanged; the CPU cannot do without.
        get_infos: whether LAPACK's codes are returned too, rather than an error raised.
        out: the tensors that take the results.

    Returns:
        The factors, the pivots and, if asked for, an int32 for each matrix.

    Raises:
        RuntimeError: U has a zero on its diagonal, unless get_infos.

    Example:
        >>> lu(tensor([[4.0]]))[0]
        tensor([[4.]])
    """
    warnings.warn(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor and torch.linalg.lu_factor_ex: "
        "torch.lu(A) is torch.linalg.lu_factor(A)",
        stacklevel=2,
    )
    results = lu_factors(A, pivot, get_infos)
    if out is None:
        return results
    if len(out) != len(results):
        raise TypeError(f"expected tuple of {len(results)} elements but got {len(out)}")
    for target, value in zip(out, results):
        target.resize_(value.shape).copy_(value)
    return tuple(out)


def lu_factors(A: Tensor, pivot: bool, get_infos: bool) -> tuple[Tensor, ...]:
    """The LU factors of matrices in one, the exchanges of rows, and LAPACK's codes.

    Args:
        A: the matrices, (*, m, n).
        pivot: whether rows are exchanged.
        get_infos: whether the codes are returned; without, an error is raised.

    Raises:
        RuntimeError: If U has a zero on its diagonal, unless get_infos.

    Example:
        >>> len(lu_factors(tensor([[4.0]]), True, True))
        3
    """
    factors = _C._lu_with_info(A, pivot=pivot, check_errors=not get_infos)
    return factors if get_infos else tuple(factors)[:2]

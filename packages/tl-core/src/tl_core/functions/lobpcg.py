"""Extreme eigenvalues of large symmetric matrices (Knyazev, Toward the Optimal Preconditioned Eigensolver, 2001)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tl_core import _C, linalg
from tl_core._C import Tensor
from tl_core.base.type_info import finfo
from tl_core.overrides import overridable

__all__ = ["lobpcg"]


@overridable
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[Any], None] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The k largest or smallest eigenvalues of A x = B x diag(E), and their vectors, without factorizing A.

    Args:
        A: symmetric matrices, dense or sparse, of at least 3 k rows.
        k: how many pairs; by default the columns of `X`, or one.
        B: a positive definite matrix; the identity if it isn't given.
        X: where the search begins; random columns if it isn't given.
        n: how many columns the search has, where `X` isn't given; k by default.
        iK: what residuals are multiplied with, near the inverse of A.
        niter: the most steps; 1000 by default, without a bound if it is negative.
        tol: what a residual's norm may be in units of the matrix's and the eigenvalue's.
        largest: whether the largest are wanted, as by default, or the smallest.
        method: "ortho" or "basic"; both orthonormalize the basis of every step.
        tracker: called after every step with an object whose `E`, `X`, `R`, `ivars`, `fvars` tell where the search is.
        ortho_iparams, ortho_fparams, ortho_bparams: accepted; the orthonormalization has no parameters.

    Returns:
        E of shape (..., k) and X of shape (..., rows, k). Gradients reach A and B through E.

    Raises:
        ValueError: if A has fewer than 3 k rows, or the method is unknown.
        RuntimeError: if A isn't square and real.

    Example:
        >>> import tl_core as tl
        >>> E, X = lobpcg(tl.diag(tl.arange(1.0, 13.0)), k=2)
        >>> E
        tensor([12.0000, 11.0000])
    """
    _check(A, B, method)
    width = k if k is not None else 1 if X is None else X.size(-1)
    if width < 1:
        raise ValueError(f"lobpcg: k must be at least 1, got {width}")
    if A.size(-1) < 3 * width:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={A.size(-1)}) is smaller than 3 x the "
            f"number of requested eigenpairs (={width})"
        )
    steps = 1000 if niter is None else niter
    bound = tol if tol is not None else finfo(A.dtype).eps ** 0.5
    search = _Search(width, steps, bound, largest is None or largest, tracker)
    columns = max(n or width, width)
    if A.dim() == 2:
        start = _C.randn((A.size(-1), columns), dtype=A.dtype, device=A.device) if X is None else X
        return _differentiable(A, B, *search.run(A, B, iK, start))
    batch = A.shape[:-2]
    flat = A.reshape(-1, *A.shape[-2:])
    pairs = [
        lobpcg(
            flat[i], width, None if B is None else B.expand(A.shape).reshape(flat.shape)[i],
            None if X is None else X.expand(*batch, *X.shape[-2:]).reshape(-1, *X.shape[-2:])[i],
            n, None if iK is None else iK.expand(A.shape).reshape(flat.shape)[i], niter, tol, largest, method, tracker,
        )
        for i in range(flat.size(0))
    ]  # fmt: skip
    return (
        _C.stack([E for E, _ in pairs]).reshape(*batch, width),
        _C.stack([V for _, V in pairs]).reshape(*batch, A.size(-1), width),
    )


def _check(A: Tensor, B: Tensor | None, method: str | None) -> None:
    if method not in (None, "ortho", "basic"):
        raise ValueError(f"lobpcg: method must be 'ortho' or 'basic', got {method!r}")
    for name, matrix in (("A", A), ("B", B)):
        if matrix is None:
            continue
        if matrix.dim() < 2 or matrix.size(-1) != matrix.size(-2):
            raise RuntimeError(f"lobpcg: {name} must be square, got shape {matrix.shape}")
        if not matrix.is_floating_point():
            raise RuntimeError(f"lobpcg: {name} must be real and floating, got {matrix.dtype}")


def _differentiable(A: Tensor, B: Tensor | None, E: Tensor, X: Tensor) -> tuple[Tensor, Tensor]:
    """The eigenvalues as functions of the matrices: to first order x^T (A - E B) x with x fixed."""
    if not (A.requires_grad or (B is not None and B.requires_grad)):
        return E, X
    value = (X * (A @ X)).sum(-2)
    if B is not None:
        value = value - E * (X * (B @ X)).sum(-2) + E
    return value, X


class _Progress:
    """What a tracker sees."""

    def __init__(self, E: Tensor, X: Tensor, R: Tensor, step: int, converged: int):
        self.E, self.X, self.R = E, X, R
        self.ivars = {"istep": step, "converged_count": converged}
        self.fvars: dict[str, float] = {}


class _Search:
    """The steps: Rayleigh-Ritz in the span of the vectors, their residuals and the last directions."""

    def __init__(self, k: int, steps: int, tol: float, largest: bool, tracker: Callable[[Any], None] | None):
        self.k, self.steps, self.tol, self.largest, self.tracker = k, steps, tol, largest, tracker

    def run(self, A: Tensor, B: Tensor | None, iK: Tensor | None, start: Tensor) -> tuple[Tensor, Tensor]:
        A, B = A.detach(), None if B is None else B.detach()
        E, X = self._ritz(A, B, start.detach(), start.size(-1))
        directions, step = None, 0
        while self.steps < 0 or step < self.steps:
            residual = A @ X - (X if B is None else B @ X) * E
            converged = self._count_converged(A, B, E, X, residual)
            if self.tracker is not None:
                self.tracker(_Progress(E[: self.k], X[:, : self.k], residual, step, converged))
            if converged >= self.k:
                break
            correction = residual if iK is None else iK @ residual
            parts = [X, correction] if directions is None else [X, correction, directions]
            before = X
            E, X = self._ritz(A, B, _C.cat(parts, -1), X.size(-1))
            directions = X - before @ (before.T @ (X if B is None else B @ X))
            step += 1
        return E[: self.k], X[:, : self.k]

    def _count_converged(self, A: Tensor, B: Tensor | None, E: Tensor, X: Tensor, residual: Tensor) -> int:
        """How many of the first pairs have a small residual, without a gap."""
        scale = (linalg.norm(A @ X, dim=0) + E.abs() * linalg.norm(X if B is None else B @ X, dim=0)) / 2
        small = (linalg.norm(residual, dim=0) <= self.tol * scale).tolist()
        return small.index(False) if False in small else len(small)

    def _ritz(self, A: Tensor, B: Tensor | None, S: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """The best vectors in the span of the columns of S."""
        basis = _orthonormal(S, B)
        values, vectors = linalg.eigh(basis.T @ (A @ basis))
        if self.largest:
            values, vectors = values.flip(-1), vectors.flip(-1)
        return values[:width].contiguous(), basis @ vectors[:, :width]


def _orthonormal(S: Tensor, B: Tensor | None) -> Tensor:
    """Columns with Q^T B Q = I that span those of S, without what is dependent."""
    S = S / linalg.norm(S, dim=0).clamp(min=finfo(S.dtype).tiny)
    for _ in range(2):  # once more, for what rounding left
        weights, vectors = linalg.eigh(S.T @ (S if B is None else B @ S))
        independent = weights > weights[-1] * finfo(S.dtype).eps * S.size(-1)
        S = S @ (vectors[:, independent] / weights[independent].sqrt())
    return S

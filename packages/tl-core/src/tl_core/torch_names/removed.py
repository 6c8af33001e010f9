"""Functions that the reference has removed but still names, so that old programs are told what to call instead."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["eig", "lstsq", "matrix_rank", "solve", "symeig"]


def _refuse(name: str, instead: str) -> NoReturn:
    raise RuntimeError(
        f"torch.{name}: This function was deprecated since version 1.9 and is now removed. Call {instead} instead"
    )


def eig(*args: Any, **kwargs: Any) -> NoReturn:
    """Removed: raises RuntimeError that names `linalg.eig`, whose results are complex."""
    _refuse("eig", "torch.linalg.eig (its eigenvalues are complex) or torch.linalg.eigvals")


def lstsq(*args: Any, **kwargs: Any) -> NoReturn:
    """Removed: raises RuntimeError that names `linalg.lstsq`, whose arguments are in the other order."""
    _refuse("lstsq", "torch.linalg.lstsq(A, B) (the arguments are in the other order)")


def matrix_rank(*args: Any, **kwargs: Any) -> NoReturn:
    """Removed: raises RuntimeError that names `linalg.matrix_rank`."""
    _refuse("matrix_rank", "torch.linalg.matrix_rank(A, hermitian=symmetric)")


def solve(*args: Any, **kwargs: Any) -> NoReturn:
    """Removed: raises RuntimeError that names `linalg.solve`, whose arguments are in the other order."""
    _refuse("solve", "torch.linalg.solve(A, B) (the arguments are in the other order, no LU is returned)")


def symeig(*args: Any, **kwargs: Any) -> NoReturn:
    """Removed: raises RuntimeError that names `linalg.eigh` and `linalg.eigvalsh`."""
    _refuse("symeig", "torch.linalg.eigh or torch.linalg.eigvalsh, with UPLO='L' unless upper was True")

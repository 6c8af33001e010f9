"""`torch._linalg_utils`: products and facts that functions of linear algebra share."""

from __future__ import annotations

from typing import Any

import tl_core
from tl_core import Tensor

__all__: list[str] = []


def is_sparse(A: Any) -> bool:
    """Whether it is a sparse tensor; TypeError for what is no tensor."""
    if not isinstance(A, Tensor):
        raise TypeError(f"expected Tensor but got {type(A)}")
    return A.is_sparse


def get_floating_dtype(A: Tensor) -> Any:
    """The type in which a function of the tensor computes."""
    return A.dtype if A.dtype.is_floating_point or A.dtype.is_complex else tl_core.float32


def matmul(A: Tensor | None, B: Tensor) -> Tensor:
    """A @ B; None is the identity."""
    return B if A is None else tl_core.matmul(A, B)


def transpose(A: Tensor) -> Tensor:
    """The matrices transposed."""
    return A.transpose(-1, -2)


def bform(X: Tensor, A: Tensor | None, Y: Tensor) -> Tensor:
    """X.T @ A @ Y."""
    return matmul(X.mT, matmul(A, Y))


def qform(A: Tensor | None, S: Tensor) -> Tensor:
    """S.T @ A @ S."""
    return bform(S, A, S)


def basis(A: Tensor) -> Tensor:
    """An orthogonal basis of the columns."""
    return tl_core.linalg.qr(A).Q


def symeig(A: Tensor, largest: bool | None = False) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of a symmetric matrix, ascending, or descending where `largest`."""
    values, vectors = tl_core.linalg.eigh(A)
    return (values.flip(-1), vectors.flip(-1)) if largest else (values, vectors)

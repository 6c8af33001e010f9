"""Functions that the reference has removed but still names, so that old programs are told what to call instead."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["eig", "lstsq", "matrix_rank", "solve", "symeig"]


def _refuse(name: str, instead: str) -> NoReturn:
    raise RuntimeError(
        f"torch.{name}: This function was deprecated since version 1.9 and is now removed. Call {instead} instead"
    )


def eig(*args: Any, **kwargs: Any) -> NoReturn:
    """Removed: raises RuntimeError that names `linalg.eig`, whose results are complex.

    Example:
        >>> import tl_core
        >>> from tl_core.tensors import removed
        >>> try:
        ...     removed.eig(tl_core.eye(2))
        ... except RuntimeError as error:
        ...     print("linalg.eig" in str(error))
        ...
        True
    """
    _refuse("eig", "torch.linalg.eig (its eigenvalues are complex) or torch.linalg.eigvals")


def lstsq(*args: Any, **kwargs: Any) -> NoReturn:
    """Removed: raises RuntimeError that names `linalg.lstsq`, whose arguments are in the other order.

    Example:
        >>> import tl_core
        >>> from tl_core.tensors import removed
        >>> try:
        ...     removed.lstsq(tl_core.eye(2), tl_core.eye(2))
        ... except RuntimeError as error:
        ...     print("linalg.lstsq" in str(error))
        ...
        True
    """
    _refuse("lstsq", "torch.linalg.lstsq(A, B) (the arguments are in the other order)")


def matrix_rank(*args: Any, **kwargs: Any) -> NoReturn:
    """Removed: raises RuntimeError that names `linalg.matrix_rank`.

    Example:
        >>> import tl_core
        >>> from tl_core.tensors import removed
        >>> try:
        ...     removed.matrix_rank(tl_core.eye(2))
        ... except RuntimeError as error:
        ...     print("linalg.matrix_rank" in str(error))
        ...
        True
    """
    _refuse("matrix_rank", "torch.linalg.matrix_rank(A, hermitian=symmetric)")


def solve(*args: Any, **kwargs: Any) -> NoReturn:
    """Removed: raises RuntimeError that names `linalg.solve`, whose arguments are in the other order.

    Example:
        >>> import tl_core
        >>> from tl_core.tensors import removed
        >>> try:
        ...     removed.solve(tl_core.eye(2), tl_core.eye(2))
        ... except RuntimeError as error:
        ...     print("linalg.solve" in str(error))
        ...
        True
    """
    _refuse("solve", "torch.linalg.solve(A, B) (the arguments are in the other order, no LU is returned)")


def symeig(*args: Any, **kwargs: Any) -> NoReturn:
    """Removed: raises RuntimeError that names `linalg.eigh` and `linalg.eigvalsh`.

    Example:
        >>> import tl_core
        >>> from tl_core.tensors import removed
        >>> try:
        ...     removed.symeig(tl_core.eye(2))
        ... except RuntimeError as error:
        ...     print("linalg.eigh" in str(error))
        ...
        True
    """
    _refuse("symeig", "torch.linalg.eigh or torch.linalg.eigvalsh, with UPLO='L' unless upper was True")

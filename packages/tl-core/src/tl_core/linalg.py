"""Linear algebra: what is solved and decomposed, for matrices and batches of them.

Computed by tl itself, in float32, float64 and their complex types.

>>> import tl_core as tl
>>> from tl_core import linalg
>>> linalg.solve(tl.tensor([[2.0, 0.0], [0.0, 4.0]]), tl.tensor([2.0, 2.0]))
tensor([1.0000, 0.5000])
"""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor, matmul
from tl_core.errors import LinAlgError

__all__ = [
    "LinAlgError",
    "cross",
    "diagonal",
    "householder_product",
    "matmul",
    "matrix_exp",
    "multi_dot",
    "qr",
    "solve",
    "vector_norm",
]

_OWN: Any = _C._linalg
cross, multi_dot, vector_norm = _OWN.linalg_cross, _OWN.linalg_multi_dot, _OWN.linalg_vector_norm
householder_product, qr = _OWN.linalg_householder_product, _OWN.linalg_qr
matrix_exp, solve = _OWN.linalg_matrix_exp, _OWN.linalg_solve


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as a view: by default of those in the last two dimensions.

    >>> import tl_core as tl
    >>> diagonal(tl.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return _C.diagonal(A, offset, dim1, dim2)

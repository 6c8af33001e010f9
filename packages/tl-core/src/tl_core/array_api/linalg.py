"""Linear algebra in the standard's signatures: `matmul` and its kin, and the extension `linalg`."""

from __future__ import annotations

from typing import Any, Literal

import tl_core as _tl
from tl_core import linalg as _linalg
from tl_core._C import Tensor
from tl_core.functions.contractions import tensordot as tensor_product

from .promotion import operands
from .reductions import _along_last, _axes
from .reductions import sum as _sum

__all__ = ["cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
           "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
           "trace", "vecdot", "vector_norm"]  # fmt: skip


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The product of matrices.

    Example:
        >>> matmul(_tl.ones(2, 3), _tl.ones(3))
        tensor([3., 3.])
    """
    return _tl.matmul(*operands(x1, x2))


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Matrices with rows for columns.

    Example:
        >>> matrix_transpose(_tl.ones(2, 3)).shape
        torch.Size([3, 2])
    """
    return x.mT


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: Any = 2) -> Tensor:
    """The sum of products over some axes of two arrays.

    Args:
        x1: the first array.
        x2: the second array, of a broadcastable shape.
        axes: how many axes are contracted, or the axes of both.

    Example:
        >>> tensordot(_tl.ones(2, 3), _tl.ones(2, 3))
        tensor(6.)
    """
    a, b = operands(x1, x2)
    return tensor_product(a, b, dims=axes)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The products of vectors along an axis, the first conjugated.

    Args:
        x1: the first array.
        x2: the second array, of a broadcastable shape.
        axis: the axis.

    Example:
        >>> vecdot(_tl.tensor([1, 2]), _tl.tensor([3, 4]))
        tensor(11)
    """
    x1, x2 = operands(x1, x2)
    if min(x1.ndim, x2.ndim) < -axis or axis >= 0 or x1.shape[axis] != x2.shape[axis]:
        raise ValueError(
            f"vecdot(): axis must be negative and of one length in both arrays, got {axis} for the shapes "
            f"{tuple(x1.shape)} and {tuple(x2.shape)}"
        )
    products = _tl.conj_physical(x1) * x2
    return _sum(products, axis=axis, dtype=products.dtype)


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """The triangular factor of positive definite matrices.

    Example:
        >>> cholesky(_tl.eye(1) * 4)
        tensor([[2.]])
    """
    return _linalg.cholesky(x, upper=upper)


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """The cross product of vectors of three elements along an axis.

    Args:
        x1: the first array.
        x2: the second array, of a broadcastable shape.
        axis: the axis or axes; None for all.

    Example:
        >>> cross(_tl.tensor([1, 0, 0]), _tl.tensor([0, 1, 0]))
        tensor([0, 0, 1])
    """
    x1, x2 = operands(x1, x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            f"cross(): axis {axis} must have 3 elements, got {x1.shape[axis]} and {x2.shape[axis]}"
        )
    return _linalg.cross(*_tl.broadcast_tensors(x1, x2), dim=axis)


def det(x: Tensor, /) -> Tensor:
    """The determinants of matrices.

    Example:
        >>> det(_tl.eye(2))
        tensor(1.)
    """
    return _linalg.det(x)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """The diagonals of matrices.

    Example:
        >>> diagonal(_tl.eye(2))
        tensor([1., 1.])
    """
    return _linalg.diagonal(x, offset=offset)


def eigh(x: Tensor, /) -> Any:
    """The eigenvalues and eigenvectors of Hermitian matrices.

    Example:
        >>> eigh(_tl.eye(2)).eigenvalues
        tensor([1., 1.])
    """
    return _linalg.eigh(x)


def eigvalsh(x: Tensor, /) -> Tensor:
    """The eigenvalues of Hermitian matrices.

    Example:
        >>> eigvalsh(_tl.eye(2))
        tensor([1., 1.])
    """
    return _linalg.eigvalsh(x)


def inv(x: Tensor, /) -> Tensor:
    """The inverses of matrices.

    Example:
        >>> inv(_tl.eye(1) * 4)
        tensor([[0.2500]])
    """
    return _linalg.inv(x)


def matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """A norm of matrices.

    Args:
        x: the array.
        keepdims: whether reduced axes stay, of size 1.
        ord: "fro", "nuc", 1, -1, 2, -2, inf or -inf.

    Example:
        >>> matrix_norm(_tl.ones(2, 2))
        tensor(2.)
    """
    return _linalg.matrix_norm(x, ord, (-2, -1), keepdim=keepdims)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """Matrices multiplied with themselves.

    Example:
        >>> matrix_power(_tl.eye(1) * 2, 3)
        tensor([[8.]])
    """
    return _linalg.matrix_power(x, n)


def matrix_rank(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """How many singular values of matrices are larger than `rtol` times the largest.

    Example:
        >>> matrix_rank(_tl.ones(2, 2))
        tensor(1)
    """
    return _linalg.matrix_rank(x, rtol=rtol)


def outer(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The products of each element of one vector with each of another.

    Example:
        >>> outer(_tl.tensor([1, 2]), _tl.tensor([3]))
        tensor([[3],
                [6]])
    """
    return _tl.outer(*operands(x1, x2))


def pinv(x: Tensor, /, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverses of matrices.

    Example:
        >>> pinv(_tl.eye(1) * 4)
        tensor([[0.2500]])
    """
    return _linalg.pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> Any:
    """Matrices as products of one with orthonormal columns and an upper triangular one.

    Example:
        >>> qr(_tl.ones(3, 2)).Q.shape
        torch.Size([3, 2])
    """
    return _linalg.qr(x, mode)


def slogdet(x: Tensor, /) -> Any:
    """The signs of determinants, and the logarithms of their magnitudes.

    Example:
        >>> slogdet(_tl.eye(2)).sign
        tensor(1.)
    """
    return _linalg.slogdet(x)


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The solutions of linear equations; only an array of one dimension is a vector.

    Example:
        >>> solve(_tl.eye(1) * 4, _tl.ones(1))
        tensor([0.2500])
    """
    x1, x2 = operands(x1, x2)
    if x2.ndim == 1:
        return _linalg.solve(x1, x2.expand(*x1.shape[:-1]).unsqueeze(-1)).squeeze(-1)
    batch = _tl.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return _linalg.solve(x1.expand(*batch, *x1.shape[-2:]), x2.expand(*batch, *x2.shape[-2:]))


def svd(x: Tensor, /, *, full_matrices: bool = True) -> Any:
    """The singular vectors and values of matrices.

    Example:
        >>> svd(_tl.eye(2)).S
        tensor([1., 1.])
    """
    return _linalg.svd(x, full_matrices=full_matrices)


def svdvals(x: Tensor, /) -> Tensor:
    """The singular values of matrices.

    Example:
        >>> svdvals(_tl.eye(2))
        tensor([1., 1.])
    """
    return _linalg.svdvals(x)


def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sums of the diagonals of matrices.

    Args:
        x: the array.
        offset: the diagonal, above the main one if positive.
        dtype: the type of the result; None for the default.

    Example:
        >>> trace(_tl.eye(2))
        tensor(2.)
    """
    return _sum(_linalg.diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(x: Tensor, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Tensor:
    """A norm of vectors along some axes, or of all elements.

    Args:
        x: the array.
        axis: the axis or axes; None for all.
        keepdims: whether reduced axes stay, of size 1.
        ord: the order of the norm.

    Example:
        >>> vector_norm(_tl.tensor([3.0, 4.0]))
        tensor(5.)
    """
    _axes(x, axis)
    return _along_last(x, axis, keepdims, lambda flat: _linalg.vector_norm(flat, ord, -1))

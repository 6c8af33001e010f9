"""Vector and matrix p-norms under the one name `norm`."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.linalg import matrix_norm
from tl_core.overrides import overridable

__all__ = ["norm"]


def _check_sparse(p: Any, dtype: Any) -> None:
    if dtype is not None and p == "fro":
        raise ValueError("dtype argument is not supported in frobenius norm")
    if dtype is not None:
        raise RuntimeError("norm_sparse currently does not support 'dtype' argument")


@overridable
def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """The p-norm of all elements, or along one or more dimensions.

    ``p`` is a number, infinity among them, ``"fro"`` for the root of the sum of squares, or ``"nuc"`` for the sum of
    the singular values of matrices.

    Args:
        input: the tensor.
        p: the order: a number, "fro" or "nuc".
        dim: the dimension or dimensions; None for all.
        keepdim: whether they stay, of size 1.
        out: a tensor that takes the result.
        dtype: the type in which the norm is computed; None for the input's.

    >>> norm(tensor([3.0, 4.0]))
    tensor(5.)
    """
    if input.layout is not _C.strided:
        _check_sparse(p, dtype)
    dims = [dim] if isinstance(dim, int) else dim
    if isinstance(p, str):
        if p == "nuc":
            both = tuple(range(input.ndim)) if dim is None else dim
            return matrix_norm(input, p, both, keepdim, dtype=dtype, out=out)
        if p != "fro":
            raise RuntimeError(f"norm(): p must be a number, 'fro' or 'nuc', but got {p!r}")
        if dims is not None and len(dims) > 2:
            raise RuntimeError(f"norm(): p='fro' takes at most 2 dimensions, but got dim={dim}")
        p = 2
    options = {} if out is None else {"out": out}
    name = "linalg_vector_norm" if out is None else "linalg_vector_norm.out"
    return _C._call_operator((name,), input, 2 if p is None else p, dims, keepdim, dtype=dtype, **options)

"""The operators of `torch.ops.symm_mem` that need no symmetric memory: products with a collective before or after."""

from __future__ import annotations

from collections.abc import Sequence

import tl_core
from tl_core import Tensor, library

from ..groups.process_groups import group_named
from . import functional_operators

__all__: list[str] = []

_OPERATORS = library.Library("symm_mem", "DEF")


def _check_dim(dim: int, tensor: Tensor, function: str, name: str) -> int:
    if not -tensor.dim() <= dim < tensor.dim():
        raise ValueError(
            f"{function}: {name} {dim} is out of range for a tensor of {tensor.dim()} dimensions"
        )
    return dim % tensor.dim()


def gather_along(tensor: Tensor, dim: int, group_name: str) -> Tensor:
    """All ranks' tensors, one after another along a dimension.

    Args:
        tensor: of one size on all ranks.
        dim: the dimension.
        group_name: the group's name.
    """
    size = group_named(group_name).size()
    rows = functional_operators.all_gather_into_tensor(tensor.contiguous(), size, group_name)
    return rows if dim == 0 else tl_core.cat(rows.chunk(size), dim)


def fused_all_gather_matmul(
    A: Tensor, Bs: Sequence[Tensor], gather_dim: int, group_name: str, *, return_A: bool = True
) -> tuple[Tensor | None, list[Tensor]]:
    """The products of a tensor that the ranks have in pieces with several matrices.

    Args:
        A: this rank's piece.
        Bs: the matrices.
        gather_dim: the dimension that the ranks cut.
        group_name: the group's name.
        return_A: whether to return the complete tensor.

    Returns:
        The complete tensor or None, and the products.

    Raises:
        ValueError: A has fewer than two dimensions, B isn't a matrix, or A lacks the dimension.
    """
    if A.dim() < 2:
        raise ValueError(f"fused_all_gather_matmul: A must have at least 2 dimensions, got {A.dim()}")
    for i, B in enumerate(Bs):
        if B.dim() != 2:
            raise ValueError(f"fused_all_gather_matmul: Bs[{i}] must be a matrix, got {B.dim()} dimensions")
    dim = _check_dim(gather_dim, A, "fused_all_gather_matmul", "gather_dim")
    complete = gather_along(A, dim, group_name)
    return (complete if return_A else None), [complete @ B for B in Bs]


def fused_matmul_reduce_scatter(
    A: Tensor, B: Tensor, reduce_op: str, scatter_dim: int, group_name: str
) -> Tensor:
    """This rank's piece of the reduction of the ranks' products.

    Args:
        A: the left factor, of two or more dimensions.
        B: the right factor, a matrix.
        reduce_op: "sum" or "avg".
        scatter_dim: the dimension of the product that is cut; its size is a multiple of the group's.
        group_name: the group's name.

    Raises:
        ValueError: A has fewer than two dimensions, B isn't a matrix, another reduction, or the dimension can't be
            cut in equal pieces.
    """
    if A.dim() < 2 or B.dim() != 2:
        raise ValueError(
            "fused_matmul_reduce_scatter: A must have at least 2 dimensions and B must be a matrix, got "
            f"{A.dim()} and {B.dim()} dimensions"
        )
    if reduce_op not in ("sum", "avg"):
        raise ValueError(f"fused_matmul_reduce_scatter: reduce_op must be sum or avg, got {reduce_op!r}")
    product = A @ B
    size = group_named(group_name).size()
    dim = _check_dim(scatter_dim, product, "fused_matmul_reduce_scatter", "scatter_dim")
    if product.shape[dim] % size:
        raise ValueError(
            f"fused_matmul_reduce_scatter: the size {product.shape[dim]} of scatter_dim {dim} isn't a multiple of "
            f"the {size} ranks"
        )
    rows = product if dim == 0 else tl_core.cat(product.chunk(size, dim))
    return functional_operators.reduce_scatter_tensor(rows.contiguous(), reduce_op, size, group_name)


def low_contention_all_gather(tensor: Tensor, group_name: str) -> Tensor:
    """All ranks' tensors, one after another.

    Args:
        tensor: of one size on all ranks.
        group_name: the group's name.
    """
    return gather_along(tensor, 0, group_name)


def low_contention_reduce_scatter(tensor: Tensor, reduce_op: str, group_name: str) -> Tensor:
    """This rank's part of the reduction of all ranks' tensors.

    Args:
        tensor: the tensor.
        reduce_op: "sum" or "avg".
        group_name: the group's name.
    """
    size = group_named(group_name).size()
    return functional_operators.reduce_scatter_tensor(tensor, reduce_op, size, group_name)


_ROWS = (
    (
        (
            "fused_all_gather_matmul(Tensor A, Tensor[] Bs, int gather_dim, str group_name, *, bool return_A=True) "
            "-> (Tensor?, Tensor[])"
        ),
        fused_all_gather_matmul,
    ),
    (
        (
            "fused_matmul_reduce_scatter(Tensor A, Tensor B, str reduce_op, int scatter_dim, str group_name) "
            "-> Tensor"
        ),
        fused_matmul_reduce_scatter,
    ),
    ("_low_contention_all_gather(Tensor tensor, str group_name) -> Tensor", low_contention_all_gather),
    (
        "_low_contention_reduce_scatter(Tensor tensor, str reduce_op, str group_name) -> Tensor",
        low_contention_reduce_scatter,
    ),
)
for _schema, _function in _ROWS:
    _OPERATORS.define(_schema)
    _OPERATORS.impl(_schema.partition("(")[0], _function, "CompositeExplicitAutograd")

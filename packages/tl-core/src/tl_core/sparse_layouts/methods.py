"""The methods of Tensor that convert to sparse layouts; what they do is loaded when one is called."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base.keyword_names import also_named
from tl_core.overrides import overridable


@overridable
def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The tensor in a sparse layout, COO unless another one is asked for.

    Args:
        sparse_dim: how many leading dimensions of a COO tensor are sparse; by default all.
        layout: the layout.
        blocksize: the shape of a block of the layouts sparse_bsr and sparse_bsc.
        dense_dim: how many of the last dimensions stay dense.

    Returns:
        A sparse tensor of the elements that are not zero; the tensor itself if it has that layout.

    Raises:
        RuntimeError: for a conversion that does not exist, or arguments that do not fit the tensor.

    Example:
        >>> import tl_core as tl
        >>> tl.tensor([[0, 2], [3, 0]]).to_sparse(layout=tl.sparse_csr)
        tensor(crow_indices=tensor([0, 1, 2]),
               col_indices=tensor([1, 0]),
               values=tensor([2, 3]), size=(2, 2), nnz=2, layout=torch.sparse_csr)
    """
    from tl_core.sparse_layouts import conversion

    return conversion.to_sparse(self, sparse_dim, layout=layout, blocksize=blocksize, dense_dim=dense_dim)


@overridable
def to_sparse_coo(self: Tensor) -> Tensor:
    """The tensor by coordinates, as `to_sparse()`.

    Example:
        >>> import tl_core as tl
        >>> tl.tensor([0, 5]).to_sparse_coo().indices()
        tensor([[1]])
    """
    from tl_core.sparse_layouts import conversion

    return conversion.to_sparse(self)


@overridable
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The tensor in compressed rows (CSR).

    Args:
        dense_dim: how many of the last dimensions of a dense tensor stay dense.

    Example:
        >>> import tl_core as tl
        >>> tl.tensor([[0, 2], [3, 0]]).to_sparse_csr().col_indices()
        tensor([1, 0])
    """
    from tl_core.sparse_layouts import conversion

    return conversion.to_sparse(self, layout=_C.sparse_csr, dense_dim=dense_dim)


@overridable
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The tensor in compressed columns (CSC).

    Args:
        dense_dim: how many of the last dimensions of a dense tensor stay dense.

    Example:
        >>> import tl_core as tl
        >>> tl.tensor([[0, 2], [3, 0]]).to_sparse_csc().row_indices()
        tensor([1, 0])
    """
    from tl_core.sparse_layouts import conversion

    return conversion.to_sparse(self, layout=_C.sparse_csc, dense_dim=dense_dim)


@overridable
def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """The tensor as blocks in compressed rows (BSR).

    Args:
        blocksize: the shape of a block, which divides that of the matrix.
        dense_dim: how many of the last dimensions of a dense tensor stay dense.

    Example:
        >>> import tl_core as tl
        >>> tl.eye(4).to_sparse_bsr((2, 2)).values().shape
        torch.Size([2, 2, 2])
    """
    from tl_core.sparse_layouts import conversion

    return conversion.to_sparse(self, layout=_C.sparse_bsr, blocksize=blocksize, dense_dim=dense_dim)


@overridable
def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Tensor:
    """The tensor as blocks in compressed columns (BSC).

    Args:
        blocksize: the shape of a block, which divides that of the matrix.
        dense_dim: how many of the last dimensions of a dense tensor stay dense.

    Example:
        >>> import tl_core as tl
        >>> tl.eye(4).to_sparse_bsc((2, 2)).values().shape
        torch.Size([2, 2, 2])
    """
    from tl_core.sparse_layouts import conversion

    return conversion.to_sparse(self, layout=_C.sparse_bsc, blocksize=blocksize, dense_dim=dense_dim)


@overridable
def smm(self: Tensor, mat: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix as a COO tensor; as `smm`."""
    from tl_core.sparse_layouts import functions

    return functions.smm(self, mat)


@overridable
def sspaddmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * self + alpha * (mat1 @ mat2)` as a COO tensor; as `sspaddmm`.

    Args:
        mat1: the first matrix, sparse.
        mat2: the second matrix, dense.
        beta: the factor of the first argument.
        alpha: the factor of the product or of the second operand.
    """
    from tl_core.sparse_layouts import functions

    return functions.sspaddmm(self, mat1, mat2, beta=beta, alpha=alpha)


@overridable
@also_named(dim="dimension")
def narrow_copy(self: Tensor, dimension: int, start: int, length: int) -> Tensor:
    """A copy of `length` positions of a dimension, from `start` on; also of a sparse tensor.

    Args:
        dimension: the dimension.
        start: the first index.
        length: how many.
    """
    return _C.narrow_copy(self, dimension, start, length)


@overridable
def resize_as_sparse_(self: Tensor, the_template: Tensor) -> Tensor:
    """Gives a sparse tensor, in place, the sizes of another of its layout.

    Args:
        the_template: the sparse tensor whose sizes are taken.

    Raises:
        RuntimeError: if a tensor is dense, or the layouts differ.

    Example:
        >>> import tl_core as tl
        >>> tl.eye(2).to_sparse_csr().resize_as_sparse_(tl.eye(3).to_sparse_csr()).shape
        torch.Size([3, 3])
    """
    for name, x in (("self", self), ("src", the_template)):
        if x.layout is _C.strided:
            raise RuntimeError(
                f"resize_as_sparse_compressed_: {name}  expected sparse compressed tensor layout but got Strided"
            )
    return self.resize_as_(the_template)


_FUNCTIONS = (
    to_sparse, to_sparse_coo, to_sparse_csr, to_sparse_csc, to_sparse_bsr, to_sparse_bsc, smm, sspaddmm, narrow_copy,
    resize_as_sparse_,
)  # fmt: skip
METHODS = {f.__name__: f for f in _FUNCTIONS}

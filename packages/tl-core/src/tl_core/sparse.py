"""Tensors of which only some elements are stored: the layout `torch.sparse_coo`.

>>> import tl_core as tl
>>> tl.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
tensor(indices=tensor([[0, 1],
                       [2, 0]]),
       values=tensor([3., 4.]),
       size=(2, 3), nnz=2, layout=torch.sparse_coo)
"""

from __future__ import annotations

import itertools
from types import TracebackType
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.overrides import handle_torch_function, has_torch_function

__all__ = ["check_sparse_tensor_invariants", "mm", "sum"]


class check_sparse_tensor_invariants:
    """Whether the indices of new sparse tensors are looked at: switched for the process, or in a `with` block.

    Parameters:
        enable : bool
            What the block switches to.

    Examples:
        >>> import tl_core as tl
        >>> with tl.sparse.check_sparse_tensor_invariants():
        ...     tl.sparse_coo_tensor([[5]], [1.0], (2,))
        Traceback (most recent call last):
        RuntimeError: size is inconsistent with indices: for dim 0, size is 2 but found index 5
    """

    _on = False

    def __init__(self, enable: bool = True) -> None:
        self._wanted = enable
        self._before: list[bool] = []

    @staticmethod
    def is_enabled() -> bool:
        """Whether indices are looked at."""
        return check_sparse_tensor_invariants._on

    @staticmethod
    def enable() -> None:
        """Look at indices from now on."""
        check_sparse_tensor_invariants._on = True

    @staticmethod
    def disable() -> None:
        """Do not look at indices from now on."""
        check_sparse_tensor_invariants._on = False

    def __enter__(self) -> None:
        self._before.append(self.is_enabled())
        check_sparse_tensor_invariants._on = self._wanted

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        check_sparse_tensor_invariants._on = self._before.pop()


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A sparse tensor of its elements and their places; without them, one that stores nothing.

    Parameters:
        indices : Tensor or sequence
            The places, one a column; a row for each sparse dimension. Several elements at one place add up.
        values : Tensor or sequence
            The elements, as many as `indices` has columns; further dimensions are the dense ones. Gradients flow
            to a tensor.
        size : sequence of int, optional
            The shape; by default the smallest that holds all places.
        dtype, device
            Of the values; by default their own.
        pin_memory : bool
            Accepted for compatibility.
        requires_grad : bool
            Whether gradients are wanted.
        check_invariants : bool, optional
            Whether to look at the indices; by default as `check_sparse_tensor_invariants` says.
        is_coalesced : bool, optional
            Whether the places are in order, and no two alike. False by default.

    Raises:
        RuntimeError
            If the parts do not fit together, or, where indices are looked at, one is out of range.

    Examples:
        >>> import tl_core as tl
        >>> tl.sparse_coo_tensor([[1, 1]], [2.0, 3.0], (3,)).to_dense()
        tensor([0., 5., 0.])
    """
    if has_torch_function((indices, values)):
        return handle_torch_function(
            sparse_coo_tensor,
            (indices, values),
            indices,
            values,
            size,
            dtype=dtype,
            device=device,
            requires_grad=requires_grad,
            check_invariants=check_invariants,
            is_coalesced=is_coalesced,
        )
    if values is None:
        shape = tuple(indices if size is None else size)
        indices, values = _C.empty(len(shape), 0, dtype=_C.int64), _C.empty(0, dtype=dtype, device=device)
        return _made(indices, values, shape, True, requires_grad)
    if isinstance(indices, Tensor):
        indices = indices.detach()
    places = _C.tensor(indices, dtype=_C.int64) if not isinstance(indices, Tensor) else indices.to(_C.int64)
    elements = values if isinstance(values, Tensor) else _C.tensor(values, dtype=dtype, device=device)
    elements = elements.to(device=device, dtype=dtype or elements.dtype)
    if elements.dim() == 0:
        elements = elements.reshape(1)
    shape = _smallest(places, elements) if size is None else tuple(size)
    if check_sparse_tensor_invariants.is_enabled() if check_invariants is None else check_invariants:
        _check_indices(places, shape, bool(is_coalesced))
    return _made(places, elements, shape, bool(is_coalesced), requires_grad)


def _made(places: Tensor, elements: Tensor, shape: Any, coalesced: bool, requires_grad: bool) -> Tensor:
    made = _C._sparse_coo_tensor(places, elements, shape, coalesced)
    return made.requires_grad_() if requires_grad else made


def _smallest(indices: Tensor, values: Tensor) -> tuple[int, ...]:
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if indices.numel() == 0:
        return (0,) * indices.shape[0] + tuple(values.shape[1:])
    _check_not_negative(indices)
    return tuple(n + 1 for n in indices.amax(1).tolist()) + tuple(values.shape[1:])


def _check_not_negative(indices: Tensor) -> None:
    for dim, least in enumerate(indices.amin(1).tolist() if indices.numel() else ()):
        if least < 0:
            raise RuntimeError(f"found negative index {least} for dim {dim}")


def _check_indices(indices: Tensor, shape: tuple[int, ...], coalesced: bool) -> None:
    if indices.dim() != 2 or indices.numel() == 0:
        return
    _check_not_negative(indices)
    for dim, (most, length) in enumerate(zip(indices.amax(1).tolist(), shape, strict=False)):
        if most >= length:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {length} but found index {most}"
            )
    columns = indices.t().tolist()
    if coalesced and any(a >= b for a, b in itertools.pairwise(columns)):
        raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


def mm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices of which one is sparse; the gradient of either is dense.

    Parameters:
        mat1, mat2 : Tensor
            The matrices.

    Examples:
        >>> import tl_core as tl
        >>> tl.sparse.mm(tl.tensor([[0.0, 2.0]]).to_sparse(), tl.tensor([[1.0], [3.0]]))
        tensor([[6.]])
    """
    return _C.mm(mat1, mat2)


def sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of a sparse tensor's elements, or along dimensions: sparse if sparse dimensions are left.

    Parameters:
        input : Tensor
            A sparse tensor.
        dim : int or sequence of int, optional
            Which dimensions go; by default all.
        dtype : dtype, optional
            In which type to add; by default the tensor's own.

    Examples:
        >>> import tl_core as tl
        >>> tl.sparse.sum(tl.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse(), 0).to_dense()
        tensor([3., 6.])
    """
    input = input.coalesce()
    values, n = input.values(), input.sparse_dim()
    values = values if dtype is None else values.to(dtype)
    wanted = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    gone = {d % input.dim() if -input.dim() <= d < input.dim() else _out_of_range(d, input) for d in wanted}
    dense = [d - n + 1 for d in gone if d >= n]
    if dense:
        values = values.sum(dense)
    kept = [d for d in range(n) if d not in gone]
    if not kept:
        return values.sum(0)
    shape = [length for d, length in enumerate(input.shape) if d not in gone]
    return _C._sparse_coo_tensor(input.indices()[kept], values, shape, len(kept) == n).coalesce()


def _out_of_range(dim: int, input: Tensor) -> int:
    n = input.dim()
    raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")

"""Sparse tensors of their parts."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.overrides import handle_torch_function, has_torch_function
from tl_core.sparse_layouts.invariants import (
    check_compressed,
    check_coo,
    check_not_negative,
    check_sparse_tensor_invariants,
)
from tl_core.sparse_layouts.parts import BLOCKED, BY_ROWS, COMPRESSED
from tl_core.tensors.parameter import as_leaf

__all__ = [
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
]


def _wants_checks(flag: bool | None) -> bool:
    return check_sparse_tensor_invariants.is_enabled() if flag is None else flag


def _elements(values: Any, dtype: Any, device: Any) -> Tensor:
    if not isinstance(values, Tensor):
        return _C.tensor(list(values) if isinstance(values, range) else values, dtype=dtype, device=device)
    return values.to(device=device, dtype=dtype or values.dtype)


def _refuse_pinning(pin_memory: Any) -> None:
    if pin_memory:
        raise RuntimeError("pin_memory=True needs an accelerator, and there is none; leave it out on a CPU")


# ---- COO ----------------------------------------------------------------------------------------------------
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
    """A sparse tensor of its elements and their coordinates; without them, one that stores nothing.

    Args:
        indices: the coordinates, one a column; a row for each sparse dimension. Several elements at one place add up.
        values: the elements, as many as `indices` has columns; further dimensions are the dense ones. Gradients flow
            to a tensor.
        size: the shape; by default the smallest that holds all coordinates.
        dtype: of the values; by default their own.
        device: of the values; by default their own.
        pin_memory: refused, because there is no accelerator.
        requires_grad: whether gradients are wanted.
        check_invariants: whether to look at the parts; by default as `check_sparse_tensor_invariants` says.
        is_coalesced: whether the coordinates are in order, and no two alike. False by default.

    Returns:
        A tensor of the layout `torch.sparse_coo`.

    Raises:
        RuntimeError: if the parts do not fit together, or, where they are looked at, an index is out of range.

    Example:
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
    _refuse_pinning(pin_memory)
    if values is None:
        shape = tuple(indices if size is None else size)
        indices = _C.empty(len(shape), 0, dtype=_C.int64, device=device)
        return _make_coo(indices, _C.empty(0, dtype=dtype, device=device), shape, True, requires_grad)
    coordinates = _coordinates(indices, values, device)
    elements = _elements(values, dtype, device)
    if elements.dim() == 0:
        elements = elements.reshape(1)
    shape = _smallest(coordinates, elements) if size is None else tuple(size)
    if _wants_checks(check_invariants):
        check_coo(coordinates, elements, shape, bool(is_coalesced))
    return _make_coo(coordinates, elements, shape, bool(is_coalesced), requires_grad)


def _coordinates(indices: Any, values: Any, device: Any) -> Tensor:
    if isinstance(indices, Tensor):
        if device is None and isinstance(values, Tensor):
            device = values.device
        return indices.detach().to(device=device, dtype=_C.int64)
    return _C.tensor(indices, dtype=_C.int64, device=device)


def _make_coo(
    coordinates: Tensor, elements: Tensor, shape: Any, coalesced: bool, requires_grad: bool
) -> Tensor:
    tensor = _C._sparse_coo_tensor(coordinates, elements, shape, coalesced)
    return as_leaf(tensor, requires_grad)


def _smallest(indices: Tensor, values: Tensor) -> tuple[int, ...]:
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if indices.numel() == 0:
        return (0,) * indices.shape[0] + tuple(values.shape[1:])
    check_not_negative(indices)
    return tuple(n + 1 for n in indices.amax(1).tolist()) + tuple(values.shape[1:])


# ---- the compressed layouts ---------------------------------------------------------------------------------
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A tensor in compressed rows or columns of its parts.

    Args:
        compressed_indices: where each row (sparse_csr, sparse_bsr) or column (sparse_csc, sparse_bsc) begins among
            the elements; one number more than there are rows or columns, after the dimensions of a batch.
        plain_indices: the column, or the row, of each element.
        values: the elements, or blocks of them; further dimensions are the dense ones. Gradients flow to a tensor.
        size: the shape; by default the smallest that holds all coordinates.
        dtype: of the values; by default their own.
        layout: the layout, which must be given.
        device: of the values; by default their own.
        pin_memory: refused, because there is no accelerator.
        requires_grad: whether gradients are wanted.
        check_invariants: whether to look at the parts; by default as `check_sparse_tensor_invariants` says.

    Returns:
        A tensor of that layout.

    Raises:
        RuntimeError: if the parts do not fit together, or, where they are looked at, an index is wrong.

    Example:
        >>> import tl_core as tl
        >>> a = tl.sparse_compressed_tensor([0, 1, 2], [1, 0], [5.0, 6.0], (2, 2), layout=tl.sparse_csc)
        >>> a.to_dense()
        tensor([[0., 6.],
                [5., 0.]])
    """
    if has_torch_function((compressed_indices, plain_indices, values)):
        return handle_torch_function(
            sparse_compressed_tensor,
            (compressed_indices, plain_indices, values),
            compressed_indices,
            plain_indices,
            values,
            size,
            dtype=dtype,
            layout=layout,
            device=device,
            requires_grad=requires_grad,
            check_invariants=check_invariants,
        )
    _refuse_pinning(pin_memory)
    if layout not in COMPRESSED:
        raise RuntimeError(f"sparse_compressed_tensor: expected a sparse compressed layout, got {layout}")
    elements = _elements(values, dtype, device)
    offsets = _index(compressed_indices, plain_indices, elements.device if device is None else device)
    plain = _index(plain_indices, compressed_indices, elements.device if device is None else device)
    shape = _estimate_shape(offsets, plain, elements, layout) if size is None else tuple(size)
    if _wants_checks(check_invariants):
        check_compressed(offsets, plain, elements, shape, layout)
    tensor = _C._sparse_compressed_tensor(offsets, plain, elements, shape, layout)
    return as_leaf(tensor, requires_grad)


def _index(index: Any, sibling: Any, device: Any) -> Tensor:
    """Integers as the other indices have them where only those are a tensor."""
    if isinstance(index, Tensor):
        return index.detach().to(device=device)
    dtype = sibling.dtype if isinstance(sibling, Tensor) else _C.int64
    return _C.tensor(index, dtype=dtype, device=device)


def _estimate_shape(offsets: Tensor, plain: Tensor, values: Tensor, layout: Any) -> tuple[int, ...]:
    if offsets.dim() < 1 or plain.dim() != offsets.dim() or values.dim() < offsets.dim():
        raise RuntimeError(
            "compressed_indices, plain_indices and values must have at least one dimension, the same number of those "
            f"of a batch, got shapes {list(offsets.shape)}, {list(plain.shape)} and {list(values.shape)}"
        )
    batch = offsets.dim() - 1
    block = tuple(values.shape[batch + 1 : batch + 3]) if layout in BLOCKED else (1, 1)
    dense = values.shape[batch + 1 + (2 if layout in BLOCKED else 0) :]
    lines = offsets.shape[-1] - 1
    across = int(plain.max()) + 1 if plain.numel() else 0
    rows, columns = (lines, across) if layout in BY_ROWS else (across, lines)
    return (*offsets.shape[:-1], rows * block[0], columns * block[1], *dense)


def _only(layout: Any, requested: Any, function: str) -> Any:
    if requested not in (None, layout):
        raise RuntimeError(f"{function}: layout must be {layout} but got {requested}")
    return layout


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A tensor in compressed rows (CSR); arguments as in `sparse_compressed_tensor`.

    Args:
        crow_indices: where each row begins among the elements, and where the last one ends.
        col_indices: the column of each element.
        values: the elements.
        size: the shape; by default the smallest that holds all coordinates.
        dtype: of the values; by default their own.
        layout: None or this layout.
        device: of the values; by default their own.
        pin_memory: refused, because there is no accelerator.
        requires_grad: whether gradients are wanted.
        check_invariants: whether to look at the parts; by default as `check_sparse_tensor_invariants` says.

    Returns:
        A tensor of the layout `torch.sparse_csr`.

    Raises:
        RuntimeError: if another layout is asked for, the parts do not fit together, or, where they are looked at, an
            index is wrong.

    Example:
        >>> import tl_core as tl
        >>> tl.sparse_csr_tensor([0, 1, 2], [1, 0], [5.0, 6.0]).to_dense()
        tensor([[0., 5.],
                [6., 0.]])
    """
    return sparse_compressed_tensor(
        crow_indices, col_indices, values, size, dtype=dtype, device=device,
        layout=_only(_C.sparse_csr, layout, "sparse_csr_tensor"),
        pin_memory=pin_memory, requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A tensor in compressed columns (CSC); arguments as in `sparse_compressed_tensor`.

    Args:
        ccol_indices: where each column begins among the elements, and where the last one ends.
        row_indices: the row of each element.
        values: the elements.
        size: the shape; by default the smallest that holds all coordinates.
        dtype: of the values; by default their own.
        layout: None or this layout.
        device: of the values; by default their own.
        pin_memory: refused, because there is no accelerator.
        requires_grad: whether gradients are wanted.
        check_invariants: whether to look at the parts; by default as `check_sparse_tensor_invariants` says.

    Returns:
        A tensor of the layout `torch.sparse_csc`.

    Raises:
        RuntimeError: if another layout is asked for, the parts do not fit together, or, where they are looked at, an
            index is wrong.

    Example:
        >>> import tl_core as tl
        >>> tl.sparse_csc_tensor([0, 1, 2], [1, 0], [5.0, 6.0]).to_dense()
        tensor([[0., 6.],
                [5., 0.]])
    """
    return sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, dtype=dtype, device=device,
        layout=_only(_C.sparse_csc, layout, "sparse_csc_tensor"),
        pin_memory=pin_memory, requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


def sparse_bsr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A tensor of blocks in compressed rows (BSR); arguments as in `sparse_compressed_tensor`.

    Args:
        crow_indices: where each row of blocks begins among the blocks, and where the last one ends.
        col_indices: the column of each block, counted in blocks.
        values: the blocks.
        size: the shape; by default the smallest that holds all coordinates.
        dtype: of the values; by default their own.
        layout: None or this layout.
        device: of the values; by default their own.
        pin_memory: refused, because there is no accelerator.
        requires_grad: whether gradients are wanted.
        check_invariants: whether to look at the parts; by default as `check_sparse_tensor_invariants` says.

    Returns:
        A tensor of the layout `torch.sparse_bsr`.

    Raises:
        RuntimeError: if another layout is asked for, the parts do not fit together, or, where they are looked at, an
            index is wrong.

    Example:
        >>> import tl_core as tl
        >>> tl.sparse_bsr_tensor([0, 1], [1], [[[1.0, 2.0], [3.0, 4.0]]]).to_dense()
        tensor([[0., 0., 1., 2.],
                [0., 0., 3., 4.]])
    """
    return sparse_compressed_tensor(
        crow_indices, col_indices, values, size, dtype=dtype, device=device,
        layout=_only(_C.sparse_bsr, layout, "sparse_bsr_tensor"),
        pin_memory=pin_memory, requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


def sparse_bsc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A tensor of blocks in compressed columns (BSC); arguments as in `sparse_compressed_tensor`.

    Args:
        ccol_indices: where each column of blocks begins among the blocks, and where the last one ends.
        row_indices: the row of each block, counted in blocks.
        values: the blocks.
        size: the shape; by default the smallest that holds all coordinates.
        dtype: of the values; by default their own.
        layout: None or this layout.
        device: of the values; by default their own.
        pin_memory: refused, because there is no accelerator.
        requires_grad: whether gradients are wanted.
        check_invariants: whether to look at the parts; by default as `check_sparse_tensor_invariants` says.

    Returns:
        A tensor of the layout `torch.sparse_bsc`.

    Raises:
        RuntimeError: if another layout is asked for, the parts do not fit together, or, where they are looked at, an
            index is wrong.

    Example:
        >>> import tl_core as tl
        >>> tl.sparse_bsc_tensor([0, 1], [1], [[[1.0, 2.0], [3.0, 4.0]]]).to_dense()
        tensor([[0., 0.],
                [0., 0.],
                [1., 2.],
                [3., 4.]])
    """
    return sparse_compressed_tensor(
        ccol_indices, row_indices, values, size, dtype=dtype, device=device,
        layout=_only(_C.sparse_bsc, layout, "sparse_bsc_tensor"),
        pin_memory=pin_memory, requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip

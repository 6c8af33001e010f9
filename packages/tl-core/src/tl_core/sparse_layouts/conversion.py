"""Between the layouts, by operators that have derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.sparse_layouts.invariants import in_order
from tl_core.sparse_layouts.parts import (
    BLOCKED,
    BY_ROWS,
    COMPRESSED,
    NAMES,
    batch_dims,
    blocksize_of,
    check_within,
    coalesced,
    compressed,
    coo,
    coordinates_of,
    indices_of,
    is_sparse,
    keys_of,
    layout_name,
    sparse_sizes,
)


def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The tensor in a sparse layout.

    Args:
        sparse_dim: how many dimensions are sparse.
        layout: the layout of the result; None keeps it.
        blocksize: the sizes of a block, for blocked layouts.
        dense_dim: how many are dense.
    """
    if sparse_dim is not None:
        if layout is not None or blocksize is not None or dense_dim is not None:
            raise TypeError("to_sparse() takes either sparse_dim or layout, blocksize and dense_dim")
        return _record(self, lambda x: _to_coo(x, sparse_dim))
    layout = _C.sparse_coo if layout is None else layout
    if blocksize is not None and hasattr(blocksize, "__len__") and len(blocksize) != 2:
        raise RuntimeError(
            "to_sparse: blocksize needs to be a tuple of size 2 such that each element evenly divides the "
            f"corresponding input tensor size, but got {len(blocksize)}"
        )
    _check_arguments(self, layout, blocksize, dense_dim)
    if layout is _C.sparse_coo:
        return _record(self, lambda x: _to_coo(x, None if dense_dim is None else x.dim() - dense_dim))
    if layout is _C.strided:
        return self.to_dense()
    if layout not in COMPRESSED:
        raise RuntimeError(f"to_sparse: no tensor is converted to the layout {layout}")
    return _record(self, lambda x: _to_compressed(x, layout, blocksize, dense_dim))


def _record(self: Tensor, convert: Callable[[Tensor], Tensor]) -> Tensor:
    """What `convert` makes; the gradient is that of all elements, unless it is only read where some are stored."""
    on_zeros = getattr(self, "on_zeros", None)  # of fakes
    run = convert if on_zeros is None else lambda x: x.on_zeros(convert)
    if not _C._reads_dense_gradient(self):
        return run(self)
    result = run(self.detach())
    return (
        self
        if result is self
        else _C._sparse_like(self.to_dense(masked_grad=False) if is_sparse(self) else self, result)
    )


def _check_arguments(self: Tensor, layout: Any, blocksize: Any, dense_dim: int | None) -> None:
    if blocksize is not None and layout not in BLOCKED:
        raise RuntimeError(
            f"to_sparse: conversion from {layout_name(self)} to {NAMES[layout]} with blocksize argument given is not "
            "supported"
        )
    if dense_dim is not None and self.layout is not _C.strided:
        raise RuntimeError(
            f"to_sparse: conversion from {layout_name(self)} to {NAMES[layout]} with dense_dim argument given is not "
            "supported"
        )


# ---- to coordinates -----------------------------------------------------------------------------------------
def _to_coo(self: Tensor, sparse_dim: int | None) -> Tensor:
    if self.layout is _C.sparse_coo:
        if sparse_dim not in (None, self.sparse_dim()):
            raise RuntimeError(
                "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not "
                "supported"
            )
        return self
    if self.layout in COMPRESSED:
        return compressed_to_coo(self)
    n = self.dim() if sparse_dim is None else sparse_dim
    if not 0 <= n <= self.dim():
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{self.dim()}] range, but {n} is given"
        )
    if n == 0 and self.dim() > 0:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    indices = _nonzero(self, n).t().contiguous()
    return coo(indices, _elements_at(self, indices), self.shape, True)


def _nonzero(dense: Tensor, n: int) -> Tensor:
    """Where some element of the dimensions from n on is not zero, in C order."""
    mask = dense.detach() != 0
    if n < dense.dim():
        mask = mask.any(tuple(range(n, dense.dim())))
    return mask.nonzero()


def _elements_at(dense: Tensor, indices: Tensor) -> Tensor:
    if indices.shape[0] == 0:
        return dense.unsqueeze(0).expand(indices.shape[1], *dense.shape).clone()
    return dense[tuple(indices)]


def compressed_to_coo(self: Tensor) -> Tensor:
    """The coordinates of a tensor of a compressed layout; the dimensions of a batch are sparse then."""
    n = batch_dims(self)
    number, row, column = coordinates_of(self)
    for index, length, size, what in zip(
        (row, column), self.shape[n : n + 2], blocksize_of(self), ("row", "column"), strict=True
    ):
        check_within(index, length // size, what)
    values = self.values().flatten(0, n) if n else self.values()
    if self.layout in BLOCKED:
        (r, c), blocks = blocksize_of(self), number.shape[0]
        row = (row.view(-1, 1, 1) * r + _C.arange(r).view(1, r, 1)).expand(blocks, r, c).reshape(-1)
        column = (column.view(-1, 1, 1) * c + _C.arange(c).view(1, 1, c)).expand(blocks, r, c).reshape(-1)
        number = number.view(-1, 1, 1).expand(blocks, r, c).reshape(-1)
        values = values.flatten(0, 2)
    indices = _C.stack([*_unravel(number, self.shape[:n]), row, column])
    result = coo(indices, values, self.shape, in_order(indices))
    return result if result.is_coalesced() else result.coalesce()


def _unravel(number: Tensor, sizes: Any) -> list[Tensor]:
    """The indices of the dimensions `sizes` of which `number` counts the coordinates."""
    indices: list[Tensor] = []
    for n in reversed(tuple(sizes)):
        indices.append(number % max(n, 1))
        number = number // max(n, 1)
    return indices[::-1]


# ---- to compressed rows and columns -------------------------------------------------------------------------
def _to_compressed(self: Tensor, layout: Any, blocksize: Any, dense_dim: int | None) -> Tensor:
    blocksize = _checked_blocksize(blocksize, layout)
    if self.layout is _C.strided:
        return _dense_to_compressed(self, layout, blocksize, dense_dim or 0)
    if self.layout is _C.sparse_coo:
        if self.sparse_dim() != 2:
            raise RuntimeError(
                f"to_sparse: conversion from Sparse to {NAMES[layout]} for input tensors with sparse_dim()!=2 is not "
                "supported"
            )
        return _coo_to_compressed(coalesced(self), layout, blocksize)
    return _between_compressed(self, layout, blocksize)


def _checked_blocksize(blocksize: Any, layout: Any) -> tuple[int, int]:
    if layout not in BLOCKED:
        return (1, 1)
    if blocksize is None:
        raise RuntimeError(f"to_sparse: conversion to {NAMES[layout]} requires a blocksize argument")
    blocksize = tuple(
        int(n) for n in (blocksize if hasattr(blocksize, "__len__") else (blocksize, blocksize))
    )
    if len(blocksize) != 2 or min(blocksize) <= 0:
        raise RuntimeError(
            f"to_sparse: blocksize needs to be a tuple of size 2 with positive integers, got {blocksize}"
        )
    return blocksize[0], blocksize[1]


def _check_divides(sizes: tuple[int, int], blocksize: tuple[int, int]) -> None:
    if sizes[0] % blocksize[0] or sizes[1] % blocksize[1]:
        raise RuntimeError(
            f"to_sparse: tensor sparse size ({sizes[0]}, {sizes[1]}) must be divisible by given blocksize "
            f"({blocksize[0]}, {blocksize[1]})"
        )


def _dense_to_compressed(self: Tensor, layout: Any, blocksize: tuple[int, int], dense_dim: int) -> Tensor:
    n = self.dim() - dense_dim - 2
    if n < 0:
        raise RuntimeError(
            f"to_sparse: conversion to {NAMES[layout]} needs two dimensions besides dense_dim={dense_dim}, got a "
            f"tensor of shape {list(self.shape)}"
        )
    rows, columns = self.shape[n : n + 2]
    _check_divides((rows, columns), blocksize)
    batch, dense = math.prod(self.shape[:n]), self.shape[n + 2 :]
    (r, c) = blocksize
    blocks = self.reshape(batch, rows // r, r, columns // c, c, *dense).transpose(2, 3)
    if layout not in BY_ROWS:
        blocks = blocks.transpose(1, 2)
    coordinates = _nonzero(blocks, 3)
    lines = blocks.shape[1]
    count = _equal_counts(coordinates[:, 0], batch)
    values = blocks[tuple(coordinates.t())]
    if layout not in BLOCKED:
        values = values.reshape(coordinates.shape[0], *dense)
    offsets = _C._convert_indices_from_coo_to_csr(
        coordinates[:, 0] * lines + coordinates[:, 1], batch * lines
    )
    offsets = _offsets_of_batch(offsets, batch, lines, count)
    shape = self.shape[:n]
    return compressed(
        offsets.reshape(*shape, lines + 1),
        coordinates[:, 2].reshape(*shape, count),
        values.reshape(*shape, count, *values.shape[1:]),
        self.shape,
        layout,
    )


def _equal_counts(number: Tensor, batch: int) -> int:
    """How many elements each matrix of a batch has."""
    if batch == 0:
        return 0
    counts = _C.bincount(number, minlength=batch)
    if not bool((counts == counts[0]).all()):
        raise RuntimeError(
            "Expect the same number of specified elements per batch, got "
            f"{', '.join(str(n) for n in counts[:8].tolist())}{', …' if batch > 8 else ''}"
        )
    return int(counts[0])


def _offsets_of_batch(offsets: Tensor, batch: int, lines: int, count: int) -> Tensor:
    """(batch, lines + 1) offsets of those of all lines, one matrix after the other."""
    starts = _C.arange(batch).view(batch, 1)
    return offsets[starts * lines + _C.arange(lines + 1)] - starts * count


def _coo_to_compressed(self: Tensor, layout: Any, blocksize: tuple[int, int]) -> Tensor:
    """Of a coalesced tensor of two sparse dimensions."""
    row, column = self.indices()
    values = self.values()
    rows, columns = self.shape[:2]
    check_within(row, rows, "row")
    check_within(column, columns, "column")
    if layout in BLOCKED:
        _check_divides((rows, columns), blocksize)
        row, column, values = _gathered_blocks(row, column, values, columns, blocksize)
        rows, columns = rows // blocksize[0], columns // blocksize[1]
    offsets = _C._convert_indices_from_coo_to_csr(row, rows)
    if layout in BY_ROWS:
        return compressed(offsets, column, values, self.shape, layout)
    offsets, plain, order = _C._compressed_transpose(offsets, column, columns)
    return compressed(offsets, plain, values.index_select(0, order), self.shape, layout)


def _gathered_blocks(
    row: Tensor, column: Tensor, values: Tensor, columns: int, blocksize: tuple[int, int]
) -> tuple[Tensor, Tensor, Tensor]:
    """The rows, columns and values of the blocks that hold some element."""
    r, c = blocksize
    across = max(columns // c, 1)
    key, to = ((row // r) * across + column // c).unique(return_inverse=True)
    blocks = values.new_zeros((key.shape[0], r, c, *values.shape[1:]))
    blocks = blocks.index_put((to, row % r, column % c), values)
    return key // across, key % across, blocks


def _between_compressed(self: Tensor, layout: Any, blocksize: tuple[int, int]) -> Tensor:
    if self.layout in BLOCKED and layout in BLOCKED and blocksize != blocksize_of(self):
        raise RuntimeError(
            f"to_sparse: conversion from {layout_name(self)} to {NAMES[layout]} with blocksize changed from "
            f"{list(blocksize_of(self))} to {list(blocksize)} is not supported"
        )
    if self.layout is layout:
        return self
    if self.layout in BLOCKED and layout not in BLOCKED:
        kind = str(layout).rpartition("_")[2]
        raise RuntimeError(
            f"sparse_compressed_to_sparse_{kind}: expected SparseCsr or SparseCsc layout but got {layout_name(self)}"
        )
    if self.layout not in BLOCKED and layout in BLOCKED:
        if batch_dims(self):
            raise RuntimeError(
                f"to_sparse: conversion from {layout_name(self)} to {NAMES[layout]} for batched inputs is not supported"
            )
        result = _coo_to_compressed(compressed_to_coo(self), layout, blocksize)
        return _with_index_type(result, indices_of(self)[0].dtype)
    return _by_other_dimension(self, layout)


def _with_index_type(x: Tensor, dtype: Any) -> Tensor:
    offsets, plain = indices_of(x)
    if offsets.dtype is dtype:
        return x
    return compressed(offsets.to(dtype), plain.to(dtype), x.values(), x.shape, x.layout)


def _by_other_dimension(self: Tensor, layout: Any) -> Tensor:
    """Rows to columns, and columns to rows; each matrix of a batch by itself."""
    n = batch_dims(self)
    across = (
        self.shape[n + (1 if self.layout in BY_ROWS else 0)]
        // blocksize_of(self)[1 if self.layout in BY_ROWS else 0]
    )
    offsets, plain = indices_of(self)
    shape, count = self.shape[:n], plain.shape[-1]
    batch = math.prod(shape)
    values = self.values().reshape(batch, *self.values().shape[n:])
    turned = [
        _C._compressed_transpose(o, p, across)
        for o, p in zip(offsets.reshape(batch, -1), plain.reshape(batch, count), strict=True)
    ]
    parts = [
        _C.stack([t[0] for t in turned]) if turned else offsets.new_zeros((0, across + 1)),
        _C.stack([t[1] for t in turned]) if turned else plain.reshape(0, count),
        _C.stack([v.index_select(0, t[2]) for v, t in zip(values, turned, strict=True)])
        if turned
        else values,
    ]
    offsets, plain, values = (p.reshape(*shape, *p.shape[1:]) for p in parts)
    return compressed(offsets, plain, values, self.shape, layout)


# ---- from compressed rows and columns to dense --------------------------------------------------------------
def compressed_to_dense(self: Tensor) -> Tensor:
    """All elements of a tensor of a compressed layout, without a derivative."""
    n = batch_dims(self)
    if self.is_meta:
        return _C.empty(self.shape, dtype=self.dtype, device=self.device)
    number, row, column = coordinates_of(self)
    values = self._values().flatten(0, n) if n else self._values()
    r, c = blocksize_of(self)
    batch, (rows, columns), dense = math.prod(self.shape[:n]), self.shape[n : n + 2], self.shape[n + 2 :]
    rows, columns = rows // r, columns // c
    check_within(row, rows, "row")
    check_within(column, columns, "column")
    values = values.reshape(number.shape[0], r, c, *dense)
    out = values.new_zeros((batch, rows, columns, r, c, *dense))
    out.index_put_((number, row, column), values, accumulate=self.dtype is not _C.bool)
    return out.transpose(2, 3).reshape(self.shape)


def dense_at(self: Tensor, mask: Tensor) -> Tensor:
    """The elements of a dense tensor where one of a compressed layout stores some, in the shape of its values."""
    n = batch_dims(mask)
    number, row, column = coordinates_of(mask)
    r, c = blocksize_of(mask)
    batch, (rows, columns), dense = math.prod(mask.shape[:n]), mask.shape[n : n + 2], mask.shape[n + 2 :]
    check_within(row, rows // r, "row")
    check_within(column, columns // c, "column")
    blocks = self.reshape(batch, rows // r, r, columns // c, c, *dense).transpose(2, 3)
    return blocks[number, row, column].reshape(mask._values().shape)


def sparse_at(self: Tensor, mask: Tensor) -> Tensor:
    """The elements of a sparse tensor where another stores some, zeros where it has none."""
    if mask.layout in BLOCKED or self.layout in BLOCKED:
        return _C._values_at(self.to_dense(), mask)
    source = coalesced(self if self.layout is _C.sparse_coo else compressed_to_coo(self))
    if mask.layout is _C.sparse_coo:
        coordinates = mask._indices()
    else:
        number, row, column = coordinates_of(mask)
        coordinates = _C.stack([*_unravel(number, mask.shape[: batch_dims(mask)]), row, column])
    n = source.sparse_dim()
    if coordinates.shape[0] != n:
        return _C._values_at(self.to_dense(), mask)
    values = values_at_keys(source, keys_of(coordinates, sparse_sizes(source)))
    return values.reshape(mask._values().shape)


def values_at_keys(source: Tensor, targets: Tensor) -> Tensor:
    """The values of a coalesced COO tensor at numbered coordinates."""
    keys, values = keys_of(source.indices(), sparse_sizes(source)), source.values()
    if keys.shape[0] == 0:
        return values.new_zeros((targets.shape[0], *values.shape[1:]))
    at = _C.searchsorted(keys, targets).clamp(max=keys.shape[0] - 1)
    matches = (keys[at] == targets).view(targets.shape[0], *[1] * (values.dim() - 1))
    return _C.where(matches, values[at], _C.zeros((), dtype=values.dtype))

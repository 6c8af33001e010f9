"""What sparse tensors are made of, and how they are put together again."""

from __future__ import annotations

import math
from typing import Any

from tl_core import _C
from tl_core._C import Tensor

COMPRESSED = (_C.sparse_csr, _C.sparse_csc, _C.sparse_bsr, _C.sparse_bsc)
BLOCKED = (_C.sparse_bsr, _C.sparse_bsc)
BY_ROWS = (_C.sparse_csr, _C.sparse_bsr)
NAMES = {
    _C.strided: "Strided",
    _C.sparse_coo: "Sparse",
    _C.sparse_csr: "SparseCsr",
    _C.sparse_csc: "SparseCsc",
    _C.sparse_bsr: "SparseBsr",
    _C.sparse_bsc: "SparseBsc",
}


def is_sparse(x: Any) -> bool:
    """Whether it is a tensor of any sparse layout."""
    return isinstance(x, Tensor) and x.layout is not _C.strided


def layout_name(x: Tensor) -> str:
    """As errors have it: "SparseCsr"."""
    return NAMES[x.layout]


def coalesced(x: Tensor) -> Tensor:
    """A COO tensor in order; one of a compressed layout as it is."""
    return x if x.layout is not _C.sparse_coo or x.is_coalesced() else x.coalesce()


def stored(x: Tensor) -> Tensor:
    """The tensor; of a sparse one the stored elements alone, so that gradients are read where it stores some."""
    if not (is_sparse(x) and _C._reads_dense_gradient(x)):
        return x
    x = coalesced(x)
    return with_values(x, x.values())


def with_values(x: Tensor, values: Tensor) -> Tensor:
    """The same coordinates with other elements."""
    return _C._with_values(x, values)


def coo(indices: Tensor, values: Tensor, size: Any, is_coalesced: bool = False) -> Tensor:
    """A COO tensor of its parts; nothing is looked at.

    Args:
        indices: the indices, (sparse dimensions, elements), int64.
        values: the elements.
        size: the sizes.
        is_coalesced: whether the indices are sorted and different; None if it isn't known.
    """
    return _C._sparse_coo_tensor(indices, values, tuple(size), is_coalesced)


def compressed(offsets: Tensor, plain: Tensor, values: Tensor, size: Any, layout: Any) -> Tensor:
    """A tensor of a compressed layout of its parts; nothing is looked at.

    Args:
        offsets: the compressed indices.
        plain: the plain indices.
        values: the elements.
        size: the sizes.
        layout: the layout of the result; None keeps it.
    """
    return _C._sparse_compressed_tensor(offsets, plain, values, tuple(size), layout)


def indices_of(x: Tensor) -> tuple[Tensor, Tensor]:
    """The compressed and the plain indices of a tensor of a compressed layout."""
    if x.layout in BY_ROWS:
        return x.crow_indices(), x.col_indices()
    return x.ccol_indices(), x.row_indices()


def batch_dims(x: Tensor) -> int:
    """How many dimensions of the batch a tensor of a compressed layout has."""
    return x.dim() - x.sparse_dim() - x.dense_dim() if x.layout in COMPRESSED else 0


def blocksize_of(x: Tensor) -> tuple[int, int]:
    """The shape of a block; (1, 1) where there are none."""
    if x.layout not in BLOCKED:
        return (1, 1)
    n = batch_dims(x)
    r, c = x._values().shape[n + 1 : n + 3]
    return (r, c)


def lines_of(offsets: Tensor, count: int) -> Tensor:
    """The line, a row or a column, of each element: (batch, count) of offsets (batch, lines + 1).

    Raises RuntimeError for offsets that do not rise from 0 to `count`.
    """
    steps = offsets.diff(dim=-1)
    good = (offsets[..., 0] == 0).all() & (offsets[..., -1] == count).all() & (steps >= 0).all()
    if not bool(good):
        raise RuntimeError(f"compressed indices must rise from 0 to the number of plain indices, {count}")
    batch, lines = steps.shape
    line = _C.arange(lines, dtype=_C.int64).repeat(batch)
    return line.repeat_interleave(steps.reshape(-1).to(_C.int64)).reshape(batch, count)


def coordinates_of(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Of each element, or block, of a compressed layout: the number of its matrix in the batch, its row, its column."""
    offsets, plain = indices_of(x)
    count = plain.shape[-1]
    batch = math.prod(x.shape[: batch_dims(x)])
    lines = lines_of(offsets.reshape(batch, -1), count).reshape(-1)
    plain = plain.reshape(-1).to(_C.int64)
    number = _C.arange(batch, dtype=_C.int64).repeat_interleave(count)
    return (number, lines, plain) if x.layout in BY_ROWS else (number, plain, lines)


def check_within(index: Tensor, length: int, what: str) -> None:
    """Raises RuntimeError for an index out of range.

    Args:
        index: the index or indices.
        length: how many.
        what: what errors call it.
    """
    if index.numel() and not (int(index.min()) >= 0 and int(index.max()) < length):
        raise RuntimeError(
            f"{what} indices must be in [0, {length}), got {int(index.min())} … {int(index.max())}"
        )


def keys_of(indices: Tensor, sizes: Any) -> Tensor:
    """The number of each column of indices, counted in C order."""
    total = math.prod(max(int(n), 1) for n in sizes)
    if total >= 1 << 63:
        raise RuntimeError(f"the sparse dimensions {tuple(sizes)} have too many coordinates to be numbered")
    key = _C.zeros(indices.shape[1], dtype=_C.int64)
    for row, n in zip(indices, sizes, strict=True):
        key = key * int(n) + row
    return key


def sparse_sizes(x: Tensor) -> tuple[int, ...]:
    """The sizes of the sparse dimensions of a COO tensor."""
    return tuple(x.shape[: x.sparse_dim()])


def broadcast_shape(a: Any, b: Any) -> tuple[int, ...]:
    """The shape that both expand to; RuntimeError if there is none."""
    a, b = tuple(a), tuple(b)
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        raise RuntimeError(f"the sizes {list(a)} and {list(b)} do not broadcast")
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))
